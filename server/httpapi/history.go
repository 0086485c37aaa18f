package httpapi

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/problems"
	"github.com/vitrine-dev/vitrine/server/query"
)

// historyRecord is the response of showHistory.
type historyRecord struct {
	ID item.ID `json:"ugc_id"`
	// Entries are the changes, newest first.
	Entries []historyEntry `json:"entries"`
	Links   links          `json:"_links"`
}

// historyEntry is a library.HistoryEntry whose changes are present even if there are none.
type historyEntry struct {
	library.HistoryEntry
	Changes []item.Change `json:"changes"`
}

// showHistory answers GET /v2/content/items/{id}/history (extension). It refuses a token with a query: the history tells about times when
// the item was outside the scope, and may contain values that the query excludes.
func (s *Server) showHistory(x *exchange) error {
	id, err := x.pathNumber("id")
	if err != nil {
		return err
	}
	if x.narrowed() {
		return &problem{Type: problems.ClassRefused, Detail: "a token with a query cannot read histories: a history would reveal what an item was while it was outside the query"}
	}
	if id < 1 {
		return noItem(id)
	}
	entries, err := s.lib.History(x.r.Context(), x.grant.property, id)
	if err != nil {
		return orNoItem(err, id)
	}
	out := historyRecord{ID: id, Entries: []historyEntry{}, Links: links{self: x.linkHere()}}
	for _, e := range entries {
		if shown, ok := x.shownEntry(e); ok {
			out.Entries = append(out.Entries, shown)
		}
	}
	return x.show(marshal(out))
}

// shownEntry returns an entry of a history without what the caller must not learn. It returns false if that is the whole entry.
func (x *exchange) shownEntry(e library.HistoryEntry) (historyEntry, bool) {
	shown := historyEntry{e, slices.Clone(e.Changes)}
	if shown.Changes == nil {
		shown.Changes = []item.Change{}
	}
	if x.audience() != query.Private {
		shown.Changes = slices.DeleteFunc(shown.Changes, func(c item.Change) bool { return query.IsSubmissionField(c.Member) })
	}
	if namespace, _, _ := strings.Cut(e.By.Token, "/"); x.foreign(namespace) {
		shown.By = library.Actor{Token: "-/-"}
	}
	return shown, len(shown.Changes) > 0 || len(e.Changes) == 0
}

// actor names who sends the request, for the histories of items and for the log.
func (x *exchange) actor() library.Actor {
	return library.Actor{Token: x.grant.owner.Namespace + "/" + x.grant.owner.Name, User: x.person.User}
}

// maxReason is the maximum length of a reason, in characters.
const maxReason = 500

// reason returns the parameter reason: why the caller changes an item. It is a parameter, because every member of the body of a patch is a
// member of the item, and because a header could not contain every text. The log does not contain its value.
func (x *exchange) reason() (string, error) {
	value, err := x.optional("reason")
	if err != nil {
		return "", err
	}
	value = strings.TrimSpace(value)
	switch {
	case utf8.RuneCountInString(value) > maxReason:
		return "", invalid("reason", "must have at most %d characters", maxReason)
	case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) || !utf8.ValidString(value):
		return "", invalid("reason", "must be text without control characters")
	}
	return value, nil
}
