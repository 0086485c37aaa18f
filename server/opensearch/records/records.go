// Package records keeps the definitions of a library in the definitions index. Conditional writes detect the changes of other replicas. Each
// replica has all definitions in memory and follows their changes by sequence number.
//
// The package may import cluster, schema, definitions, flight, transfer, library and item.
package records

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/flight"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// State is the state of the definitions index in memory. It is immutable.
type State struct {
	Set       definitions.Set
	Marks     map[string]string
	AuthorKey []byte
	// copied is true if the library is a copy of another library that was not used yet. use decides whether it can be opened.
	copied bool
}

// Frozen returns the current freeze, or an empty string if there is none.
func (k *State) Frozen() transfer.Freeze { return transfer.Freeze(k.Marks[transfer.MarkFrozen]) }

// Records is the definitions index as this replica sees it.
type Records struct {
	cluster *cluster.Client
	names   schema.Names
	logger  *slog.Logger
	// interval is the time between two checks for changes.
	interval time.Duration
	// Prepare creates what a property needs before this replica serves a change: its index, if the property is new, and the tags of rules.
	Prepare func(ctx context.Context, p library.PropertyID, isNew bool, tags []item.Tag) error
	// Forget forgets what this replica remembers about a property, because the property may have been created again.
	Forget func(library.PropertyID)

	feed  *definitions.TokenFeed
	state atomic.Pointer[State]

	// changing is held while changes are read from the index, and while the index is changed.
	changing flight.Mutex
	// seen contains the last seen state of every document.
	seen map[string]seenRecord
	// next is the lowest sequence number that may be new. term is the highest primary term that this replica has seen.
	next, term int64
	// gapped is the time at which the operation with the sequence number `next` was first missing, or zero.
	gapped time.Time

	// currency is advanced by the follower and by watch.
	currency  *currency
	problemMu sync.Mutex
	failure   error
	// unreadable contains, by id, the errors of the documents that this version cannot read.
	unreadable map[string]error
}

// seenRecord is one state of a document and the source of the document's definition.
type seenRecord struct {
	cluster.Version
	source definitions.Source
}

// New returns Records without definitions. Open reads them, and Follow follows their changes at an interval. The caller sets Prepare and
// Forget before it calls Open.
func New(c *cluster.Client, n schema.Names, logger *slog.Logger, interval time.Duration) *Records {
	r := &Records{cluster: c, names: n, logger: logger, interval: interval, feed: definitions.NewTokenFeed(), currency: newCurrency(), seen: map[string]seenRecord{}}
	set, _ := definitions.NewSet(nil) // can fail only for entries
	r.state.Store(&State{Set: set, Marks: map[string]string{}})
	return r
}

// Open creates the keys of a new library and reads all records.
func (r *Records) Open(ctx context.Context) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	// An index that rejects writes already has keys.
	if err := r.Create(ctx, key, ""); err != nil && !cluster.IsBlocked(err) {
		return err
	}
	unlock, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	began := time.Now()
	if err := r.Reload(ctx); err != nil {
		return err
	}
	if problem := r.Problem(); problem != "" {
		return fmt.Errorf("read the definitions: %s", problem)
	}
	r.currency.advance(began)
	if r.Now().copied {
		return r.use(ctx)
	}
	return nil
}

// MarkLeader is the mark that names the term of the current leader.
const MarkLeader = "leader"

// Anyone stands for the term in calls of callers that need not be the leader, such as those that create definitions over HTTP.
const Anyone = ""

// Lock keeps this replica from reading and storing changes until the caller calls unlock.
func (r *Records) Lock(ctx context.Context) (unlock func(), err error) {
	return r.cluster.Lock(ctx, &r.changing)
}

// Tokens yields all tokens, and after that their changes. See library.Library.
func (r *Records) Tokens(ctx context.Context) iter.Seq2[library.TokenEvent, error] {
	return r.feed.Listen(ctx)
}

// Now returns the definitions as this replica has read them.
func (r *Records) Now() *State { return r.state.Load() }

// Frozen returns the freeze that this replica has seen, or an empty string if there is none.
func (r *Records) Frozen() transfer.Freeze { return r.Now().Frozen() }

// permit returns library.ErrDeposed unless term is anyone or the current term. While the library is frozen, permit accepts every term,
// because a new leader cannot store its own.
func (r *Records) permit(term string) error {
	if term == Anyone || r.Frozen() != "" || term == r.Now().Marks[MarkLeader] {
		return nil
	}
	return library.ErrDeposed
}

// Change stages changes of the definitions, stores them, and makes them visible in this replica. If another replica stored a change
// first, change calls stage again with the newer state. It fails with library.ErrDeposed if the term has ended.
func (r *Records) Change(ctx context.Context, term string, stage func(*definitions.Change) error) error {
	unlock, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	look := r.CatchUp
	for range cluster.MaxAttempts {
		if err := look(ctx); err != nil {
			return err
		}
		if err := r.permit(term); err != nil {
			return err
		}
		c := definitions.NewChange(r.Now().Set)
		if err := stage(c); err != nil {
			return err
		}
		if len(c.Changed) == 0 {
			return nil
		}
		if err := r.Frozen().Err(); err != nil {
			return err
		}
		if err := r.prepareAll(ctx, c); err != nil {
			return err
		}
		stored, err := r.store(ctx, c.Changed)
		if err != nil {
			return err
		}
		if stored {
			r.publish(c, r.Now().Marks)
			return nil
		}
		if err := r.CatchUp(ctx); err != nil {
			return err
		}
		if r.holds(c.Changed) {
			return nil // the response to the first attempt was lost, and the conflict was with this change itself
		}
		// CatchUp does not see documents that were deleted by hand.
		look = r.Reload
	}
	return fmt.Errorf("%w: other writes keep changing the same definitions", library.ErrUnavailable)
}

// holds reports whether the definitions of this replica equal the given entries. A nil entry means that the definition does not exist.
func (r *Records) holds(changed map[definitions.Source]*definitions.Entry) bool {
	set := r.Now().Set
	for s, e := range changed {
		now := set.Entry(s)
		if (now == nil) != (e == nil) || now != nil && !now.Same(e) {
			return false
		}
	}
	return true
}

// prepareAll creates what the properties of a change need, before the change becomes visible.
func (r *Records) prepareAll(ctx context.Context, c *definitions.Change) error {
	defer r.watch(ctx)()
	before := r.Now().Set
	for p, served := range c.Catalogues() {
		was := before.Catalogue(p)
		if was == served {
			continue
		}
		tags := make([]item.Tag, len(served.TagRules))
		for i, rule := range served.TagRules {
			tags[i] = rule.Tag
		}
		if err := r.Prepare(ctx, p, was == nil, tags); err != nil {
			return err
		}
	}
	return nil
}

// store replaces the states of definitions that this replica has last seen with the given entries. A nil entry removes the definition.
// store returns false if another replica has changed one of the documents.
func (r *Records) store(ctx context.Context, changed map[definitions.Source]*definitions.Entry) (bool, error) {
	ops := make([]cluster.Operation, 0, len(changed))
	sources := make([]definitions.Source, 0, len(changed))
	for s, e := range changed {
		rec := record{Type: typeDefinition, Gone: e == nil}
		if e != nil {
			value, err := e.Encode()
			if err != nil {
				return false, err
			}
			rec.Value = string(value)
		}
		op := cluster.Operation{Index: r.names.Definitions(), ID: definitionID(s), Doc: rec}
		if seen, there := r.seen[op.ID]; there {
			op.At = &seen.Version
		}
		ops, sources = append(ops, op), append(sources, s)
	}
	stop := r.watch(ctx)
	outcomes := r.cluster.Bulk(ctx, ops, cluster.RefreshNow)
	stop()
	if err := cluster.FirstError(outcomes); err != nil {
		return false, err
	}
	stored := true
	for _, o := range outcomes {
		stored = stored && !o.Conflict
	}
	if !stored {
		return false, nil // the next CatchUp reads the stored entries
	}
	for i, o := range outcomes {
		r.seen[ops[i].ID] = seenRecord{o.Version, sources[i]}
	}
	return true, nil
}

// publish makes a change visible in this replica.
func (r *Records) publish(c *definitions.Change, marks map[string]string) {
	r.forgetProperties(c.Changed)
	r.state.Store(&State{Set: c.Set, Marks: marks, AuthorKey: r.Now().AuthorKey})
	if c.Tokens {
		r.feed.Set(c.Set.Tokens())
	}
}

// forgetProperties forgets what this replica remembers about the properties that changed entries declare. Another replica may have purged
// such a property and created it again, even if this replica saw only the creation.
func (r *Records) forgetProperties(changed map[definitions.Source]*definitions.Entry) {
	for _, e := range changed {
		if e != nil && e.Latest.PropertySpec != nil {
			r.Forget(e.Latest.Property)
		}
	}
}

// SetMark stores a mark. It fails with library.ErrDeposed if the term has ended.
func (r *Records) SetMark(ctx context.Context, term, key, value string) error {
	unlock, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.CatchUp(ctx); err != nil {
		return err
	}
	if err := r.permit(term); err != nil {
		return err
	}
	if r.Now().Marks[key] == value {
		return nil
	}
	if err := r.Frozen().Err(); err != nil && key != transfer.MarkFrozen {
		return err
	}
	path := fmt.Sprintf("/%s/_doc/%s?refresh=true&require_alias=true", r.names.Definitions(), markID(key))
	if err := r.cluster.Do(ctx, http.MethodPut, path, record{Type: typeMark, Name: key, Value: value}, &cluster.PutDocument{}); err != nil {
		return fmt.Errorf("store mark %s: %w", key, err)
	}
	return r.CatchUp(ctx)
}

// decoded is the decoded content of documents of the definitions index.
type decoded struct {
	marks   map[string]string
	entries map[definitions.Source]*definitions.Entry
	seen    map[string]seenRecord
	// meta is nil if the documents do not contain a Meta.
	meta *Meta
	// unreadable contains, by id, the errors of definitions that cannot be decoded.
	unreadable map[string]error
}

// decode decodes documents and adds their marks to marks. It does not change r.
func (r *Records) decode(hits []recordHit, marks map[string]string) (*decoded, error) {
	d := &decoded{marks: marks, entries: map[definitions.Source]*definitions.Entry{}, seen: map[string]seenRecord{}, unreadable: map[string]error{}}
	for _, h := range hits {
		seen, again := d.seen[h.ID]
		if !again {
			seen = r.seen[h.ID]
		}
		switch h.Source.Type {
		case typeMeta:
			d.meta = &Meta{}
			if err := json.Unmarshal([]byte(h.Source.Value), d.meta); err != nil {
				return nil, fmt.Errorf("read the keys of the library: %w", err)
			}
		case typeMark:
			d.marks[h.Source.Name] = h.Source.Value
		case typeDefinition:
			if !h.Source.Gone {
				e, err := definitions.DecodeEntry([]byte(h.Source.Value))
				if err != nil {
					d.unreadable[h.ID] = fmt.Errorf("record %s: %w", h.ID, err)
					r.keepReadable(d, seen.source)
					break
				}
				seen.source = definitions.SourceOf(e.Latest)
				d.entries[seen.source] = e
			} else if seen.source != (definitions.Source{}) {
				d.entries[seen.source] = nil
			}
		}
		d.seen[h.ID] = seenRecord{h.Version, seen.source}
	}
	return d, nil
}

// Reload reads all records. If it fails, nothing changes.
func (r *Records) Reload(ctx context.Context) error {
	index := r.names.Definitions()
	var stats cluster.StatsOf
	if err := r.look(ctx, http.MethodGet, "/"+index+"/_stats/docs?level=shards", nil, &stats); err != nil {
		return fmt.Errorf("read the definitions: %w", err)
	}
	// A refresh makes all operations up to the checkpoint visible.
	checkpoint, err := stats.Indices.Checkpoint(schema.SharedIndex(index))
	if err != nil {
		return fmt.Errorf("read the definitions: %w", err)
	}
	if err := r.look(ctx, http.MethodPost, "/"+index+"/_refresh", nil, &cluster.OnShards{}); err != nil {
		return fmt.Errorf("read the definitions: %w", err)
	}
	hits, err := r.since(ctx, 0)
	if err != nil {
		return err
	}
	read, err := r.decode(hits, map[string]string{})
	if err != nil {
		return err
	}
	meta := read.meta
	if meta == nil {
		return fmt.Errorf("read the definitions: index %s contains no key of a library: restore it from a snapshot", index)
	}
	if meta.Format > format {
		return fmt.Errorf("read the definitions: a newer Vitrine wrote them in format %d, but this version reads only formats up to %d", meta.Format, format)
	}
	key, err := base64.StdEncoding.DecodeString(meta.AuthorKey)
	if err != nil {
		return fmt.Errorf("read the keys of the library: %w", err)
	}
	maps.DeleteFunc(read.entries, func(_ definitions.Source, e *definitions.Entry) bool { return e == nil })
	set, err := definitions.NewSet(read.entries)
	if err != nil {
		return fmt.Errorf("read the definitions: %w", err)
	}
	r.seen, r.term, r.next, r.gapped = read.seen, 0, checkpoint+1, time.Time{}
	for _, h := range hits {
		r.term = max(r.term, h.Term)
	}
	r.setUnreadable(read, true)
	r.forgetProperties(read.entries)
	r.state.Store(&State{Set: set, Marks: read.marks, AuthorKey: key, copied: meta.Transfer != "" || meta.Copied != "" && !meta.Used})
	r.feed.Set(set.Tokens())
	return nil
}

// Operations returns the operations that store the definitions and the marks of a transfer.
func (r *Records) Operations(f *transfer.Facts) ([]cluster.Operation, error) {
	var ops []cluster.Operation
	put := func(id string, doc record) {
		ops = append(ops, cluster.Operation{Index: r.names.Definitions(), ID: id, Doc: doc, Over: true})
	}
	for s, e := range f.Definitions {
		value, err := e.Encode()
		if err != nil {
			return nil, err
		}
		put(definitionID(s), record{Type: typeDefinition, Value: string(value)})
	}
	for key, value := range f.Marks {
		put(markID(key), record{Type: typeMark, Name: key, Value: value})
	}
	return ops, nil
}
