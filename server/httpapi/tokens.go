package httpapi

import (
	"crypto/sha256"
	"iter"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// grant describes the access that a token value gives.
type grant struct {
	property library.PropertyID
	owner    library.Owner
	// rights is the token. Only the members that describe its rights are of interest here, not its values.
	rights library.Token
	// readOnlyQuery is that of the property, in the state of the library that rights belongs to.
	readOnlyQuery string
	// filters contains the UUIDs in rights.Filters.
	filters map[string]bool
	// expires is the first instant at which the token value is refused. Zero means never.
	expires time.Time
	// allowance is shared by all values of one token. It stays the same when the token changes.
	allowance *allowance
	// log writes the lines of the access log. It adds the property and the name of the token to them.
	log slog.Handler
}

// restricted reports whether the token may only list certain filters.
func (g grant) restricted() bool { return g.rights.Filters != nil }

// actions returns the names of the actions that the token permits. A token with a query cannot import (see importItems).
func (g grant) actions() []string {
	names := []string{}
	for _, a := range library.Actions() {
		if g.rights.Allows(a) && (a != library.Import || g.rights.Query == "") {
			names = append(names, string(a))
		}
	}
	return names
}

// sameRights reports whether two tokens permit the same operations on the same items. It does not compare Filters, because a token with
// filters can begin no import or export. Waits and streams of events check the filter itself again.
func sameRights(a, b library.Token) bool {
	return a.ReadWrite == b.ReadWrite && a.Query == b.Query && (a.Allow == nil) == (b.Allow == nil) && slices.Equal(a.Allow, b.Allow)
}

func (g grant) expired(now time.Time) bool { return !g.expires.IsZero() && !now.Before(g.expires) }

// tokenTable finds the grant of a token value or of a person. Readers load immutable maps. follow replaces the maps when tokens change.
type tokenTable struct {
	current atomic.Pointer[grants]
	// log is the handler from which the handlers of the grants are made.
	log slog.Handler
}

// grants are the grants of all tokens.
type grants struct {
	// ofValues contains the grants by the digests of all valid token values.
	ofValues map[library.Digest]grant
	// ofPeople contains the grants of the tokens with subjects.
	ofPeople map[library.Owner]grant
}

func (t *tokenTable) synced() bool { return t.current.Load() != nil }

// find returns the grant of a token.
//
// The duration of the map lookup depends on the key, but it reveals nothing, because the key is the SHA-256 digest of the presented token.
// To learn from the duration how similar two digests are, an attacker would have to choose digests, that is, to invert SHA-256. This is why
// find compares digests and never tokens.
func (t *tokenTable) find(token string, now time.Time) (grant, bool) {
	known := t.current.Load()
	if known == nil {
		return grant{}, false
	}
	g, ok := known.ofValues[sha256.Sum256([]byte(token))]
	if !ok || g.expired(now) {
		return grant{}, false
	}
	return g, true
}

// findFor returns the grant of a person.
func (t *tokenTable) findFor(p Person, now time.Time) (grant, bool) {
	known := t.current.Load()
	if known == nil {
		return grant{}, false
	}
	g, ok := known.ofPeople[p.Token]
	if !ok || g.expired(now) || !slices.Contains(g.rights.Subjects, p.subject()) {
		return grant{}, false
	}
	return g, true
}

// heldToken is the latest state of a token from the library.
type heldToken struct {
	event     library.TokenEvent
	allowance *allowance
	log       slog.Handler
}

// follow processes events until the sequence ends. The current table stays in use until the new table is complete.
func (t *tokenTable) follow(events iter.Seq2[library.TokenEvent, error]) error {
	held := map[library.Owner]heldToken{}
	synced := false
	for e, err := range events {
		if err != nil {
			return err
		}
		switch {
		case e.Synced:
			synced = true
		case e.Token == nil:
			delete(held, e.Owner)
		default:
			a := held[e.Owner].allowance // stays the same when the token changes
			if a == nil {
				a = &allowance{}
			}
			held[e.Owner] = heldToken{e, a, accessLog(t.log, e.Property, e.Owner.String())}
		}
		if synced {
			t.publish(held)
		}
	}
	return nil
}

// publish replaces the table. The library gives a value to only one token, but until all events of a change have arrived, two tokens can
// have the value. In this case, publish omits the value, so it works for neither token.
func (t *tokenTable) publish(held map[library.Owner]heldToken) {
	table, people := make(map[library.Digest]grant, len(held)), map[library.Owner]grant{}
	claimed := make(map[library.Digest]bool, len(held))
	for owner, h := range held {
		g := grant{
			property: h.event.Property, owner: owner, rights: *h.event.Token, readOnlyQuery: h.event.ReadOnlyQuery, allowance: h.allowance, log: h.log,
		}
		if g.restricted() {
			g.filters = make(map[string]bool, len(h.event.Token.Filters))
			for _, uuid := range h.event.Token.Filters {
				g.filters[uuid] = true
			}
		}
		// A token without a value has expired. The first value is the current one.
		if len(g.rights.Subjects) > 0 && len(g.rights.Values) > 0 {
			g.expires = g.rights.Values[0].Expires
			people[owner] = g
		}
		for _, v := range h.event.Token.Values {
			if claimed[v.Digest] {
				if table[v.Digest].allowance != h.allowance {
					delete(table, v.Digest)
				}
				continue
			}
			claimed[v.Digest] = true
			g.expires = v.Expires
			table[v.Digest] = g
		}
	}
	t.current.Store(&grants{table, people})
}
