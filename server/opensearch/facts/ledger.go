package facts

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
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// Ledger is one state of a property's ledger document. It is immutable.
type Ledger struct {
	// at is nil if the document does not exist.
	at       *cluster.Version
	Sequence item.ID
	// Imported is mutations.Stage.Imported.
	Imported bool
	// Names contains the hashes of all field names that items have ever had. Namespaces contains the namespaces of all tags that items have
	// ever had themselves.
	Names      map[mutations.NameSum]bool
	Namespaces map[string]bool
	token      string
}

// Ledgers caches the ledgers of all properties as last seen by this replica. An outdated state does no harm, because a change based on it
// conflicts.
type Ledgers struct {
	cluster *cluster.Client
	names   schema.Names
	mu      sync.Mutex
	known   map[library.PropertyID]*Ledger
	// changing contains a mutex for each property. The mutex is held while the property's ledger is changed.
	changing sync.Map
}

// Lock prevents other writes of this replica from changing a ledger until the caller calls unlock.
func (ls *Ledgers) Lock(ctx context.Context, p library.PropertyID) (unlock func(), err error) {
	m, _ := ls.changing.LoadOrStore(p, &flight.Mutex{})
	return ls.cluster.Lock(ctx, m.(*flight.Mutex))
}

func ledgerID(p library.PropertyID) string { return "ledger-" + schema.EncodeProperty(p) }

func (ls *Ledgers) path(p library.PropertyID) string {
	return "/" + ls.names.Facts() + "/_doc/" + url.PathEscape(ledgerID(p))
}

// Get returns the last known state of a ledger. If no state is known, Get reads it.
func (ls *Ledgers) Get(ctx context.Context, p library.PropertyID) (*Ledger, error) {
	ls.mu.Lock()
	known := ls.known[p]
	ls.mu.Unlock()
	if known != nil {
		return known, nil
	}
	return ls.read(ctx, p)
}

// read reads a ledger from the cluster.
func (ls *Ledgers) read(ctx context.Context, p library.PropertyID) (*Ledger, error) {
	var found cluster.GotDocument[fact]
	ctx, cancel := cluster.Limited(ctx, cluster.WriteAttempt)
	defer cancel()
	l := &Ledger{Names: map[mutations.NameSum]bool{}, Namespaces: map[string]bool{}}
	err := ls.cluster.Do(ctx, http.MethodGet, ls.path(p), nil, &found)
	if err != nil && !cluster.IsAbsent(err) {
		return nil, fmt.Errorf("read the ledger of property %s: %w", p, err)
	}
	if err == nil {
		l.at, l.Sequence, l.token = &found.Version, found.Source.Sequence, found.Source.Token
		if l.Names, err = found.Source.sums(); err != nil {
			return nil, fmt.Errorf("read the ledger of property %s: %w", p, err)
		}
		l.Namespaces, l.Imported = found.Source.namespaces(), found.Source.imported()
	}
	ls.keep(p, l)
	return l, nil
}

func (ls *Ledgers) keep(p library.PropertyID, l *Ledger) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l == nil {
		delete(ls.known, p)
	} else {
		ls.known[p] = l
	}
}

// Change replaces the state `from` of a ledger. It adds the ids, field names and namespaces of a stage, and takes over its Imported. It
// returns false if the ledger was in another state. In this case, the next get returns that state.
func (ls *Ledgers) Change(ctx context.Context, p library.PropertyID, from *Ledger, st *mutations.Stage) (bool, error) {
	next := &Ledger{Sequence: max(st.Sequence, from.Sequence), Imported: st.Imported, Names: from.Names, Namespaces: from.Namespaces, token: rand.Text()}
	if len(st.Names) > 0 {
		next.Names, next.Namespaces = maps.Clone(from.Names), maps.Clone(from.Namespaces)
		maps.Copy(next.Names, st.Names)
		maps.Copy(next.Namespaces, st.Namespaces)
	}
	op := cluster.Operation{
		Index: ls.names.Facts(), ID: ledgerID(p), At: from.at,
		Doc: ledgerFact(p, next),
	}
	is := ls.cluster.Bulk(ctx, []cluster.Operation{op}, cluster.RefreshNone)[0]
	if is.Err != nil {
		ls.keep(p, nil)
		return false, is.Err
	}
	if is.Conflict {
		// If the response to the first attempt was lost, the conflict may be with this change itself.
		now, err := ls.read(ctx, p)
		return err == nil && now.token == next.token, err
	}
	next.at = &is.Version
	ls.keep(p, next)
	return true, nil
}

// ledgerFact returns the document of a ledger.
func ledgerFact(p library.PropertyID, l *Ledger) fact {
	sums := make([]byte, 0, 8*len(l.Names))
	for n := range l.Names {
		sums = binary.BigEndian.AppendUint64(sums, uint64(n))
	}
	key := strings.Join(slices.Sorted(maps.Keys(l.Namespaces)), "/")
	if l.Imported {
		key = importedMark + key
	}
	return fact{Property: p, Key: key, Sequence: l.Sequence, Names: base64.StdEncoding.EncodeToString(sums), Token: l.token}
}
