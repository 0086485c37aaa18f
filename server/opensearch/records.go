package opensearch

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
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// known is the state of the definitions index in memory. It is immutable.
type known struct {
	set       definitions.Set
	marks     map[string]string
	authorKey []byte
	// copied is true if the library is a copy of another library that was not used yet. use decides whether it can be opened.
	copied bool
}

// frozen returns the current freeze, or an empty string if there is none.
func (k *known) frozen() transfer.Freeze { return transfer.Freeze(k.marks[transfer.MarkFrozen]) }

// records is the definitions index as this replica sees it.
type records struct {
	cluster *cluster
	names   names
	logger  *slog.Logger
	// interval is the time between two checks for changes.
	interval time.Duration
	// prepare creates what a property needs before this replica serves a change: its index, if the property is new, and the tags of rules.
	prepare func(ctx context.Context, p library.PropertyID, isNew bool, tags []item.Tag) error
	// forget forgets what this replica remembers about a property, because the property may have been created again.
	forget func(library.PropertyID)

	feed  *definitions.TokenFeed
	state atomic.Pointer[known]

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
	version
	source definitions.Source
}

func newRecords(c *cluster, n names, logger *slog.Logger, interval time.Duration) *records {
	r := &records{cluster: c, names: n, logger: logger, interval: interval, feed: definitions.NewTokenFeed(), currency: newCurrency(), seen: map[string]seenRecord{}}
	set, _ := definitions.NewSet(nil) // can fail only for entries
	r.state.Store(&known{set: set, marks: map[string]string{}})
	return r
}

// open creates the keys of a new library and reads all records.
func (r *records) open(ctx context.Context) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	meta, err := newMetaRecord(key, "")
	if err != nil {
		return err
	}
	// An existing library keeps its keys, because this operation conflicts with the existing document. An index that rejects writes already
	// has keys.
	op := operation{index: r.names.definitions(), id: recordMeta, doc: meta}
	if err := failure(r.cluster.bulk(ctx, []operation{op}, refreshNow)); err != nil && !isBlocked(err) {
		return err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	began := time.Now()
	if err := r.reload(ctx); err != nil {
		return err
	}
	if problem := r.problem(); problem != "" {
		return fmt.Errorf("read the definitions: %s", problem)
	}
	r.currency.advance(began)
	if r.now().copied {
		return r.use(ctx)
	}
	return nil
}

// markLeader is the mark that names the term of the current leader.
const markLeader = "leader"

// anyone stands for the term in calls of callers that need not be the leader, such as those that create definitions over HTTP.
const anyone = ""

// lock keeps this replica from reading and storing changes until the caller calls unlock.
func (r *records) lock(ctx context.Context) (unlock func(), err error) {
	return r.cluster.lock(ctx, &r.changing)
}

// tokens yields all tokens, and after that their changes. See library.Library.
func (r *records) tokens(ctx context.Context) iter.Seq2[library.TokenEvent, error] {
	return r.feed.Listen(ctx)
}

// now returns the definitions as this replica has read them.
func (r *records) now() *known { return r.state.Load() }

// frozen returns the freeze that this replica has seen, or an empty string if there is none.
func (r *records) frozen() transfer.Freeze { return r.now().frozen() }

// permit returns library.ErrDeposed unless term is anyone or the current term. While the library is frozen, permit accepts every term,
// because a new leader cannot store its own.
func (r *records) permit(term string) error {
	if term == anyone || r.frozen() != "" || term == r.now().marks[markLeader] {
		return nil
	}
	return library.ErrDeposed
}

// change stages changes of the definitions, stores them, and makes them visible in this replica. If another replica stored a change
// first, change calls stage again with the newer state. It fails with library.ErrDeposed if the term has ended.
func (r *records) change(ctx context.Context, term string, stage func(*definitions.Change) error) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	look := r.catchUp
	for range maxAttempts {
		if err := look(ctx); err != nil {
			return err
		}
		if err := r.permit(term); err != nil {
			return err
		}
		c := definitions.NewChange(r.now().set)
		if err := stage(c); err != nil {
			return err
		}
		if len(c.Changed) == 0 {
			return nil
		}
		if err := r.frozen().Err(); err != nil {
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
			r.publish(c, r.now().marks)
			return nil
		}
		if err := r.catchUp(ctx); err != nil {
			return err
		}
		if r.holds(c.Changed) {
			return nil // the response to the first attempt was lost, and the conflict was with this change itself
		}
		// catchUp does not see documents that were deleted by hand.
		look = r.reload
	}
	return fmt.Errorf("%w: other writes keep changing the same definitions", library.ErrUnavailable)
}

// holds reports whether the definitions of this replica equal the given entries. A nil entry means that the definition does not exist.
func (r *records) holds(changed map[definitions.Source]*definitions.Entry) bool {
	set := r.now().set
	for s, e := range changed {
		now := set.Entry(s)
		if (now == nil) != (e == nil) || now != nil && !now.Same(e) {
			return false
		}
	}
	return true
}

// prepareAll creates what the properties of a change need, before the change becomes visible.
func (r *records) prepareAll(ctx context.Context, c *definitions.Change) error {
	defer r.watch(ctx)()
	before := r.now().set
	for p, served := range c.Catalogues() {
		was := before.Catalogue(p)
		if was == served {
			continue
		}
		tags := make([]item.Tag, len(served.TagRules))
		for i, rule := range served.TagRules {
			tags[i] = rule.Tag
		}
		if err := r.prepare(ctx, p, was == nil, tags); err != nil {
			return err
		}
	}
	return nil
}

// store replaces the states of definitions that this replica has last seen with the given entries. A nil entry removes the definition.
// store returns false if another replica has changed one of the documents.
func (r *records) store(ctx context.Context, changed map[definitions.Source]*definitions.Entry) (bool, error) {
	ops := make([]operation, 0, len(changed))
	sources := make([]definitions.Source, 0, len(changed))
	for s, e := range changed {
		rec := record{Type: recordDefinition, Gone: e == nil}
		if e != nil {
			value, err := e.Encode()
			if err != nil {
				return false, err
			}
			rec.Value = string(value)
		}
		op := operation{index: r.names.definitions(), id: recordID(s), doc: rec}
		if seen, there := r.seen[op.id]; there {
			op.at = &version{seen.Seq, seen.Term}
		}
		ops, sources = append(ops, op), append(sources, s)
	}
	stop := r.watch(ctx)
	outcomes := r.cluster.bulk(ctx, ops, refreshNow)
	stop()
	if err := failure(outcomes); err != nil {
		return false, err
	}
	stored := true
	for _, o := range outcomes {
		stored = stored && !o.conflict
	}
	if !stored {
		return false, nil // the next catchUp reads the stored entries
	}
	for i, o := range outcomes {
		r.seen[ops[i].id] = seenRecord{o.version, sources[i]}
	}
	return true, nil
}

// publish makes a change visible in this replica.
func (r *records) publish(c *definitions.Change, marks map[string]string) {
	r.forgetProperties(c.Changed)
	r.state.Store(&known{set: c.Set, marks: marks, authorKey: r.now().authorKey})
	if c.Tokens {
		r.feed.Set(c.Set.Tokens())
	}
}

// forgetProperties forgets what this replica remembers about the properties that changed entries declare. Another replica may have purged
// such a property and created it again, even if this replica saw only the creation.
func (r *records) forgetProperties(changed map[definitions.Source]*definitions.Entry) {
	for _, e := range changed {
		if e != nil && e.Latest.PropertySpec != nil {
			r.forget(e.Latest.Property)
		}
	}
}

// setMark stores a mark. It fails with library.ErrDeposed if the term has ended.
func (r *records) setMark(ctx context.Context, term, key, value string) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	if err := r.permit(term); err != nil {
		return err
	}
	if r.now().marks[key] == value {
		return nil
	}
	if err := r.frozen().Err(); err != nil && key != transfer.MarkFrozen {
		return err
	}
	path := fmt.Sprintf("/%s/_doc/%s?refresh=true&require_alias=true", r.names.definitions(), markID(key))
	if err := r.cluster.do(ctx, http.MethodPut, path, record{Type: recordMark, Name: key, Value: value}, &putDocument{}); err != nil {
		return fmt.Errorf("store mark %s: %w", key, err)
	}
	return r.catchUp(ctx)
}

// decoded is the decoded content of documents of the definitions index.
type decoded struct {
	marks   map[string]string
	entries map[definitions.Source]*definitions.Entry
	seen    map[string]seenRecord
	// meta is nil if the documents do not contain a metaRecord.
	meta *metaRecord
	// unreadable contains, by id, the errors of definitions that cannot be decoded.
	unreadable map[string]error
}

// decode decodes documents and adds their marks to marks. It does not change r.
func (r *records) decode(hits []recordHit, marks map[string]string) (*decoded, error) {
	d := &decoded{marks: marks, entries: map[definitions.Source]*definitions.Entry{}, seen: map[string]seenRecord{}, unreadable: map[string]error{}}
	for _, h := range hits {
		seen, again := d.seen[h.ID]
		if !again {
			seen = r.seen[h.ID]
		}
		switch h.Source.Type {
		case recordMeta:
			d.meta = &metaRecord{}
			if err := json.Unmarshal([]byte(h.Source.Value), d.meta); err != nil {
				return nil, fmt.Errorf("read the keys of the library: %w", err)
			}
		case recordMark:
			d.marks[h.Source.Name] = h.Source.Value
		case recordDefinition:
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
		d.seen[h.ID] = seenRecord{h.version, seen.source}
	}
	return d, nil
}

// reload reads all records. If it fails, nothing changes.
func (r *records) reload(ctx context.Context) error {
	index := r.names.definitions()
	var stats statsOf
	if err := r.look(ctx, http.MethodGet, "/"+index+"/_stats/docs?level=shards", nil, &stats); err != nil {
		return fmt.Errorf("read the definitions: %w", err)
	}
	// A refresh makes all operations up to the checkpoint visible.
	checkpoint, err := stats.Indices.checkpoint(sharedIndex(index))
	if err != nil {
		return fmt.Errorf("read the definitions: %w", err)
	}
	if err := r.look(ctx, http.MethodPost, "/"+index+"/_refresh", nil, &onShards{}); err != nil {
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
	if meta.Format > recordFormat {
		return fmt.Errorf("read the definitions: a newer Vitrine wrote them in format %d, but this version reads only formats up to %d", meta.Format, recordFormat)
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
	r.state.Store(&known{set: set, marks: read.marks, authorKey: key, copied: meta.Transfer != "" || meta.Copied != "" && !meta.Used})
	r.feed.Set(set.Tokens())
	return nil
}
