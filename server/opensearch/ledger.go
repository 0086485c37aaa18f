package opensearch

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/vitrine-dev/vitrine/server/flight"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
)

// ledger is one state of a property's ledger document. It is immutable.
type ledger struct {
	// at is nil if the document does not exist.
	at       *version
	sequence item.ID
	// names contains the hashes of all field names that items have ever had. namespaces contains the namespaces of all tags that items have
	// ever had themselves.
	names      map[mutations.NameSum]bool
	namespaces map[string]bool
	token      string
}

// ledgers caches the ledgers of all properties as last seen by this replica. An outdated state does no harm, because a change based on it
// conflicts.
type ledgers struct {
	cluster *cluster
	names   names
	mu      sync.Mutex
	known   map[library.PropertyID]*ledger
	// changing contains a mutex for each property. The mutex is held while the property's ledger is changed.
	changing sync.Map
}

// lock prevents other writes of this replica from changing a ledger until the caller calls unlock.
func (ls *ledgers) lock(ctx context.Context, p library.PropertyID) (unlock func(), err error) {
	m, _ := ls.changing.LoadOrStore(p, &flight.Mutex{})
	return ls.cluster.lock(ctx, m.(*flight.Mutex))
}

func ledgerID(p library.PropertyID) string { return "ledger-" + encodeProperty(p) }

func (ls *ledgers) path(p library.PropertyID) string {
	return "/" + ls.names.facts() + "/_doc/" + url.PathEscape(ledgerID(p))
}

// get returns the last known state of a ledger. If no state is known, get reads it.
func (ls *ledgers) get(ctx context.Context, p library.PropertyID) (*ledger, error) {
	ls.mu.Lock()
	known := ls.known[p]
	ls.mu.Unlock()
	if known != nil {
		return known, nil
	}
	return ls.read(ctx, p)
}

// read reads a ledger from the cluster.
func (ls *ledgers) read(ctx context.Context, p library.PropertyID) (*ledger, error) {
	var found gotDocument[fact]
	ctx, cancel := limited(ctx, writeAttempt)
	defer cancel()
	l := &ledger{names: map[mutations.NameSum]bool{}, namespaces: map[string]bool{}}
	err := ls.cluster.do(ctx, http.MethodGet, ls.path(p), nil, &found)
	if err != nil && !isAbsent(err) {
		return nil, fmt.Errorf("read the ledger of property %s: %w", p, err)
	}
	if err == nil {
		l.at, l.sequence, l.token = &found.version, found.Source.Sequence, found.Source.Token
		if l.names, err = found.Source.sums(); err != nil {
			return nil, fmt.Errorf("read the ledger of property %s: %w", p, err)
		}
		l.namespaces = found.Source.namespaces()
	}
	ls.keep(p, l)
	return l, nil
}

func (ls *ledgers) keep(p library.PropertyID, l *ledger) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l == nil {
		delete(ls.known, p)
	} else {
		ls.known[p] = l
	}
}

// change replaces the state `from` of a ledger. It adds the ids, field names and namespaces of a stage. It returns false if the ledger was
// in another state. In this case, the next get returns that state.
func (ls *ledgers) change(ctx context.Context, p library.PropertyID, from *ledger, st *mutations.Stage) (bool, error) {
	next := &ledger{sequence: max(st.Sequence, from.sequence), names: from.names, namespaces: from.namespaces, token: rand.Text()}
	if len(st.Names) > 0 {
		next.names, next.namespaces = maps.Clone(from.names), maps.Clone(from.namespaces)
		maps.Copy(next.names, st.Names)
		maps.Copy(next.namespaces, st.Namespaces)
	}
	op := operation{
		index: ls.names.facts(), id: ledgerID(p), at: from.at,
		doc: ledgerFact(p, next),
	}
	is := ls.cluster.bulk(ctx, []operation{op}, refreshNone)[0]
	if is.err != nil {
		ls.keep(p, nil)
		return false, is.err
	}
	if is.conflict {
		// If the response to the first attempt was lost, the conflict may be with this change itself.
		now, err := ls.read(ctx, p)
		return err == nil && now.token == next.token, err
	}
	next.at = &is.version
	ls.keep(p, next)
	return true, nil
}

// ledgerFact returns the document of a ledger.
func ledgerFact(p library.PropertyID, l *ledger) fact {
	sums := make([]byte, 0, 8*len(l.names))
	for n := range l.names {
		sums = binary.BigEndian.AppendUint64(sums, uint64(n))
	}
	namespaces := strings.Join(slices.Sorted(maps.Keys(l.namespaces)), "/")
	return fact{Property: p, Key: namespaces, Sequence: l.sequence, Names: base64.StdEncoding.EncodeToString(sums), Token: l.token}
}
