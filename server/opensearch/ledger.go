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
	"sync"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
)

// fact is a document of the facts index: the ledger of a property, or a tag that was made, which is its id alone.
type fact struct {
	Property library.PropertyID `json:"property"`
	// Sequence is the highest item id that was ever drawn or imported. It rises before an item with that id is stored, so
	// that no id is drawn twice.
	Sequence item.ID `json:"sequence,omitempty"`
	// Names are the sums of all field names that items have had, eight bytes each.
	Names string `json:"names,omitempty"`
	// Token identifies the write that stored the document.
	Token string `json:"token,omitempty"`
}

func factMapping() object {
	return object{"dynamic": "strict", "properties": object{
		"property": object{"type": "keyword"}, "sequence": object{"type": "long"},
		"names": object{"type": "keyword", "index": false, "doc_values": false},
		"token": object{"type": "keyword", "index": false, "doc_values": false},
	}}
}

// ledger is one state of a property's record. It is replaced and never changed.
type ledger struct {
	// at is nil for a record that is not there.
	at       *version
	sequence item.ID
	names    map[mutations.NameSum]bool
	token    string
}

// ledgers are the records of all properties as this replica saw them last. An old state does no harm: it is found out when
// the record is changed.
type ledgers struct {
	library *Library
	mu      sync.Mutex
	known   map[library.PropertyID]*ledger
	// changing holds a mutex for each property, held while its record is changed.
	changing sync.Map
}

// lock keeps other writes of this replica from changing a record, until the returned function is called.
func (ls *ledgers) lock(ctx context.Context, p library.PropertyID) (unlock func(), err error) {
	m, _ := ls.changing.LoadOrStore(p, newMutex())
	return m.(mutex).lock(ctx)
}

func ledgerID(p library.PropertyID) string { return "ledger-" + encodeProperty(p) }

func (ls *ledgers) path(p library.PropertyID) string {
	return "/" + ls.library.names.facts() + "/_doc/" + url.PathEscape(ledgerID(p))
}

// get returns the last known state of a record, or reads it.
func (ls *ledgers) get(ctx context.Context, p library.PropertyID) (*ledger, error) {
	ls.mu.Lock()
	known := ls.known[p]
	ls.mu.Unlock()
	if known != nil {
		return known, nil
	}
	return ls.read(ctx, p)
}

// read reads a record.
func (ls *ledgers) read(ctx context.Context, p library.PropertyID) (*ledger, error) {
	var found struct {
		Seq    int64 `json:"_seq_no"`
		Term   int64 `json:"_primary_term"`
		Source fact  `json:"_source"`
	}
	l := &ledger{names: map[mutations.NameSum]bool{}}
	err := ls.library.cluster.do(ctx, http.MethodGet, ls.path(p), nil, &found)
	if err != nil && !isAbsent(err) {
		return nil, fmt.Errorf("read the ledger of property %s: %w", p, err)
	}
	if err == nil {
		l.at, l.sequence, l.token = &version{found.Seq, found.Term}, found.Source.Sequence, found.Source.Token
		sums, err := base64.StdEncoding.DecodeString(found.Source.Names)
		if err != nil {
			return nil, fmt.Errorf("read the ledger of property %s: %w", p, err)
		}
		for ; len(sums) >= 8; sums = sums[8:] {
			l.names[mutations.NameSum(binary.BigEndian.Uint64(sums))] = true
		}
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

// change replaces a state of a record. It reports false when the record was in another state, which the next get returns.
func (ls *ledgers) change(ctx context.Context, p library.PropertyID, from *ledger, sequence item.ID, names map[mutations.NameSum]bool) (bool, error) {
	next := &ledger{sequence: max(sequence, from.sequence), names: from.names, token: rand.Text()}
	if len(names) > 0 {
		next.names = maps.Clone(from.names)
		maps.Copy(next.names, names)
	}
	sums := make([]byte, 0, 8*len(next.names))
	for n := range next.names {
		sums = binary.BigEndian.AppendUint64(sums, uint64(n))
	}
	op := operation{
		index: ls.library.names.facts(), id: ledgerID(p), at: from.at,
		doc: fact{Property: p, Sequence: next.sequence, Names: base64.StdEncoding.EncodeToString(sums), Token: next.token},
	}
	is := ls.library.cluster.bulk(ctx, []operation{op}, refreshNone)[0]
	if is.err != nil {
		ls.keep(p, nil)
		return false, is.err
	}
	if is.conflict {
		// It may be with this change itself, when its first answer got lost.
		now, err := ls.read(ctx, p)
		return err == nil && now.token == next.token, err
	}
	next.at = &is.version
	ls.keep(p, next)
	return true, nil
}

// forgetFacts deletes the facts of a property: its ledger and its tags.
func (l *Library) forgetFacts(ctx context.Context, p library.PropertyID) error {
	l.ledgers.keep(p, nil)
	l.made.forget()
	// What was stored just now has to be found.
	err := l.cluster.do(ctx, http.MethodPost, "/"+l.names.facts()+"/_refresh", nil, nil)
	if err == nil {
		body := object{"query": object{"term": object{"property": string(p)}}}
		err = l.cluster.do(ctx, http.MethodPost, "/"+l.names.facts()+"/_delete_by_query?conflicts=proceed&refresh=true", body, nil)
	}
	if err != nil {
		return fmt.Errorf("forget the facts of property %s: %w", p, err)
	}
	return nil
}
