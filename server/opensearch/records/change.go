package records

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

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
	defer r.watch(ctx, nil)()
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

// storedAtOnce is the maximum number of definitions in one call of Bulk. The time limit of a write applies to each call, so that a load of
// 65,536 definitions has enough time.
const storedAtOnce = 2000

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
	own := &ownWrites{versions: make(map[string]cluster.Version, len(ops))}
	stop := r.watch(ctx, own)
	stored, err := r.storeParts(ctx, ops, own)
	stop()
	if err != nil || !stored {
		return false, err // the next CatchUp reads the stored entries
	}
	for i, op := range ops {
		r.seen[op.ID] = seenRecord{own.versions[op.ID], sources[i]}
	}
	return true, nil
}

// storeParts runs operations in parts until one of them fails or is a conflict. It returns true if it has run all of them.
func (r *Records) storeParts(ctx context.Context, ops []cluster.Operation, own *ownWrites) (bool, error) {
	for some := range slices.Chunk(ops, storedAtOnce) {
		outcomes := r.cluster.Bulk(ctx, some, cluster.RefreshNow)
		if err := cluster.FirstError(outcomes); err != nil {
			return false, err
		}
		if slices.ContainsFunc(outcomes, func(o cluster.Outcome) bool { return o.Conflict }) {
			return false, nil
		}
		own.add(some, outcomes)
	}
	return true, nil
}

// ownWrites contains the versions of the documents that a change has stored so far. This replica serves them when the change is complete.
type ownWrites struct {
	mu       sync.Mutex
	versions map[string]cluster.Version
}

func (o *ownWrites) add(ops []cluster.Operation, outcomes []cluster.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, op := range ops {
		o.versions[op.ID] = outcomes[i].Version
	}
}

// has reports whether the change has stored a document. o may be nil.
func (o *ownWrites) has(h recordHit) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	v, there := o.versions[h.ID]
	return there && v == h.Version
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

// watch advances currency in the background while the caller stores a change. The follower cannot advance it, because the caller holds
// changing. While an unread document of another change may revoke a token, watch does not advance it. The caller must not change r until it
// has called stop.
func (r *Records) watch(ctx context.Context, own *ownWrites) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		pause := time.NewTicker(Trusted / 2)
		defer pause.Stop()
		from := r.next
		for {
			select {
			case <-ctx.Done():
				return
			case <-pause.C:
			}
			began := time.Now()
			hits, err := r.since(ctx, from)
			if err != nil || r.revoke(hits, own) {
				continue
			}
			for i := 0; i < len(hits) && hits[i].Seq == from && own.has(hits[i]); i++ {
				from++ // the next check need not read it again
			}
			if r.attached(ctx) == nil {
				r.currency.advance(began)
			}
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// revoke reports whether documents that this replica has neither read nor written yet may revoke a token.
func (r *Records) revoke(hits []recordHit, own *ownWrites) bool {
	set := r.Now().Set
	return slices.ContainsFunc(hits, func(h recordHit) bool {
		seen := r.seen[h.ID]
		if seen.Version == h.Version || own.has(h) {
			return false
		}
		e := set.Entry(seen.source)
		return h.Source.Gone || h.Term > r.term || e != nil && e.Latest.Token != nil
	})
}
