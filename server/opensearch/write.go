package opensearch

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/indices"
	"github.com/vitrine-dev/vitrine/server/opensearch/records"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// Write changes items. See library.Library. The cluster stores items one by one. If another replica changes an item at the same time,
// Write re-evaluates only that item's mutations.
func (l *Library) Write(ctx context.Context, p library.PropertyID, muts []library.Mutation) ([]library.Outcome, error) {
	end, err := l.writing(ctx, len(muts))
	if err != nil {
		return nil, err
	}
	defer end()
	if err := l.records.Frozen().Err(); err != nil {
		return nil, err
	}
	// The timeout also limits the wait for other writes, because all writes wait while the cluster does not respond.
	ctx, cancel := l.cluster.Bounded(ctx)
	defer cancel()
	w := &write{library: l, property: p, outcomes: make([]library.Outcome, len(muts)), token: rand.Text()}
	defer w.settle(ctx)
	pending := make([]pendingMutation, len(muts))
	for i, m := range muts {
		pending[i] = pendingMutation{i, m}
	}
	if l.options.Pressure() >= library.Full {
		pending = w.deletions(pending)
	}
	for range cluster.MaxAttempts {
		again, err := w.attempt(ctx, pending)
		if err != nil {
			return w.fail(pending, err)
		}
		if pending = again; len(pending) == 0 {
			return w.outcomes, nil
		}
	}
	return w.fail(pending, fmt.Errorf("%w: other writes keep changing the same items", library.ErrUnavailable))
}

// deletions returns the deletions among mutations and rejects all other mutations.
func (w *write) deletions(muts []pendingMutation) (deletions []pendingMutation) {
	for _, m := range muts {
		if m.Delete {
			deletions = append(deletions, m)
			continue
		}
		w.outcomes[m.at] = library.Outcome{ID: m.ID, Err: fmt.Errorf("%w: the process is short of memory", library.ErrUnavailable)}
	}
	return deletions
}

// fail ends the write with an error. If no item is stored, the whole call returns the error. Otherwise, only the given mutations get the
// error.
func (w *write) fail(muts []pendingMutation, err error) ([]library.Outcome, error) {
	if !w.stored {
		return nil, err
	}
	for _, m := range muts {
		w.outcomes[m.at].Err = err
	}
	return w.outcomes, nil
}

// write is the state of one call of Write.
type write struct {
	library  *Library
	property library.PropertyID
	outcomes []library.Outcome
	// token is stored with every item that this write stores. If a response is lost, the write recognizes its own items by the token.
	token string
	// stored is true after an item has been stored. From then on, an error applies only to single mutations.
	stored bool
}

// attempt decides mutations and stores the resulting items. It returns the mutations of items that another write has changed at the same
// time.
func (w *write) attempt(ctx context.Context, pending []pendingMutation) ([]pendingMutation, error) {
	l := w.library
	set := l.records.Now().Set
	served := set.Catalogue(w.property)
	if served == nil {
		return nil, fmt.Errorf("write to property %s: %w", w.property, library.ErrNoProperty)
	}
	target, err := l.indices.Writable(ctx, w.property)
	if err != nil {
		return nil, err
	}
	b := &base{view: newView(l.conn, served, l.now()), set: set, tags: l.facts.Tags, target: target, ctx: ctx}
	if err := b.fetch(ctx, pending); err != nil {
		if !cluster.IsIndexMissing(err) {
			return nil, err
		}
		return pending, l.indices.AwaitSuccessor(ctx, target, l.records.Frozen)
	}
	st, err := w.stage(ctx, b, pending)
	if err != nil {
		return nil, err
	}
	if len(st.Units) > 0 {
		if err := l.records.Change(ctx, records.Anyone, func(c *definitions.Change) error { return stageUnits(c, st.Units) }); err != nil {
			return nil, err
		}
	}
	if err := l.facts.Tags.Add(ctx, w.property, slices.Collect(maps.Keys(st.Tags))...); err != nil {
		return nil, err
	}
	lost, failed, err := w.store(ctx, b, st)
	if err != nil {
		return nil, err
	}
	return w.again(pending, lost, failed), nil
}

// stageUnits stages the units that were sent with items, except for units that already exist.
func stageUnits(c *definitions.Change, units map[definitions.Source]*definitions.Entry) error {
	fresh := maps.Clone(units)
	maps.DeleteFunc(fresh, func(s definitions.Source, _ *definitions.Entry) bool { return c.Entry(s) != nil })
	return c.Stage(fresh)
}

// stage decides mutations. When it returns, the ledger contains the ids and field names that these mutations use.
func (w *write) stage(ctx context.Context, b *base, pending []pendingMutation) (*mutations.Stage, error) {
	l := w.library
	unlock, err := l.facts.Ledgers.Lock(ctx, w.property)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for range cluster.MaxAttempts {
		if b.ledger, err = l.facts.Ledgers.Get(ctx, w.property); err != nil {
			return nil, err
		}
		st := mutations.NewStage(w.property, b, map[string]bool{})
		st.Namer, st.Now = mutations.NewNamer(l.records.Now().AuthorKey), l.now()
		st.Sequence, st.Imported = b.ledger.Sequence, b.ledger.Imported
		st.KeepHistory = b.catalogue.Spec.KeptHistory()
		for _, m := range pending {
			w.outcomes[m.at] = st.Mutate(m.Mutation)
		}
		// This replica may know only an outdated state of the ledger, in which Imported has another value. Imported becomes true only together
		// with the first item, so a state without it that knows of an item is certain. Confirm any other state.
		certain := len(st.Items) == 0 || b.ledger.Sequence > 0 && !b.ledger.Imported
		if certain && st.Sequence == b.ledger.Sequence && len(st.Names) == 0 {
			return st, nil
		}
		taken, err := l.facts.Ledgers.Change(ctx, w.property, b.ledger, st)
		if err != nil {
			return nil, err
		}
		if taken {
			return st, nil
		}
	}
	return nil, fmt.Errorf("%w: other writes keep reserving ids at the same time", library.ErrUnavailable)
}

// store writes items and waits until searches find them. It returns the ids of the items that another write has changed. It also returns
// the errors of the items that were not, or may not have been, stored. It fails if no item is known to be stored.
func (w *write) store(ctx context.Context, b *base, st *mutations.Stage) (lost map[item.ID]bool, failed map[item.ID]error, err error) {
	ops, ids, err := w.operations(b, st)
	if err != nil {
		return nil, nil, err
	}
	if len(ops) == 0 {
		if len(st.Items) > 0 { // the write relies on items that another write may have stored just now
			w.stored = true
			w.refresh(ctx)
		}
		return nil, nil, nil
	}
	if slices.ContainsFunc(st.Items, func(it mutations.Item) bool { return it.Erase }) {
		if err := w.library.eraser.Note(ctx, w.property); err != nil {
			return nil, nil, err
		}
	}
	var conflicts []item.ID
	gone := map[item.ID]bool{}
	for _, it := range st.Items {
		gone[it.ID] = it.Item == nil
	}
	failed = map[item.ID]error{}
	for i, o := range w.send(ctx, b, ops) {
		switch {
		case o.Err != nil:
			failed[ids[i]], err = o.Err, o.Err
		case o.Conflict:
			conflicts = append(conflicts, ids[i])
		default:
			w.stored = true
		}
	}
	if err != nil && !w.stored && len(conflicts) == 0 {
		return nil, nil, err
	}
	if len(conflicts) == 0 {
		return nil, failed, nil
	}
	// If the response to the first attempt was lost, a conflict may be with this write itself.
	found, err := w.library.indices.Load(ctx, b.index(), conflicts, schema.FieldWrite)
	if err != nil {
		if !w.stored {
			return nil, nil, err
		}
		for _, id := range conflicts {
			failed[id] = err
		}
		return nil, failed, nil
	}
	lost = map[item.ID]bool{}
	for _, id := range conflicts {
		is := found[id]
		own := is == nil && gone[id] || is != nil && !gone[id] && is.Token() == w.token
		if !own {
			lost[id] = true
		}
	}
	if len(lost) < len(conflicts) {
		w.stored = true
		w.refresh(ctx)
	}
	return lost, failed, nil
}

// send sends operations. If a copy is replacing the index, send waits until the replacement is complete. It reports operations that the
// cluster rejected for this reason as conflicts, because sequence numbers of the index have no meaning in the copy.
func (w *write) send(ctx context.Context, b *base, ops []cluster.Operation) []cluster.Outcome {
	outcomes := w.library.cluster.Bulk(ctx, ops, cluster.RefreshWait)
	wait := sync.OnceValue(func() error { return w.library.indices.AwaitSuccessor(ctx, b.target, w.library.records.Frozen) })
	for i, o := range outcomes {
		if indices.Replaced(o.Err) {
			err := wait()
			outcomes[i] = cluster.Outcome{Conflict: err == nil, Err: err}
		}
	}
	return outcomes
}

// settle waits for the duration of a lease if the write stored an item. After that, no replica relies on a state before this write.
func (w *write) settle(ctx context.Context) {
	if w.stored {
		cluster.Sleep(ctx, lease)
		w.library.fresh.wrote(w.library.names.Items(w.property))
	}
}

// refresh refreshes the index after the response to a request was lost, or if the write found its items as it wants them. In these cases,
// the write has not waited until searches find the items. If the refresh fails, the write still succeeds, because a caller that repeats the
// write could create the items twice. The index refreshes itself within Options.RefreshInterval.
func (w *write) refresh(ctx context.Context) {
	if err := w.library.cluster.Do(ctx, http.MethodPost, "/"+w.library.names.Items(w.property)+"/_refresh", nil, &cluster.OnShards{}); err != nil {
		w.library.options.Logger.Warn("searches may not find a stored item yet", slog.String("property", string(w.property)), slog.Any("error", err))
	}
}

// operations returns the operations that store the staged items, and the id of the item of each operation. An item that does not change
// needs no operation.
func (w *write) operations(b *base, st *mutations.Stage) (ops []cluster.Operation, ids []item.ID, err error) {
	for _, it := range st.Items {
		if it.Extent == mutations.Nothing && len(it.History) == 0 {
			continue
		}
		op := cluster.Operation{Index: b.target.Writes(), ID: strconv.FormatInt(it.ID, 10)}
		schemas := w.library.indices.Schemas
		if it.Item != nil {
			trace, err := w.trace(b.current(it.ID), it, st.KeepHistory)
			if err != nil {
				return nil, nil, err
			}
			op.Doc = schemas.Document(b.target.Schema, it.Item, func() []byte { return item.Marshal(it.Item, nil) }, trace)
		} else if schemas[b.target.Schema-1].Tombstones {
			op.Doc = schema.Tombstone(st.Now, w.token)
		}
		if is := b.stored[it.ID]; is != nil {
			op.At = &is.Version
		}
		ops, ids = append(ops, op), append(ids, it.ID)
	}
	return ops, ids, nil
}

// trace returns the trace of an item. before is its current document, or nil. The condition of the operation ensures that before is still
// the current document when the operation is executed.
func (w *write) trace(before *indices.Stored, it mutations.Item, keep int) (schema.Trace, error) {
	trace := schema.Trace{Token: w.token}
	var history []byte
	if before != nil && !it.NewHistory {
		history = []byte(before.History())
	}
	history, err := mutations.AddHistory(history, it.History, keep)
	trace.History = string(history)
	if it.Extent < mutations.AnyMember {
		trace.Public = before.Public()
	}
	if it.Extent < mutations.PrivateMembers {
		trace.Changed = before.Changed()
	}
	return trace, err
}

// again returns the mutations to decide again, because another write has changed their items (lost). It sets the errors of items that could
// not be stored (failed). If a mutation changes the tags of several items, it is decided again only for the lost items, because the other
// items are already stored.
func (w *write) again(pending []pendingMutation, lost map[item.ID]bool, failed map[item.ID]error) []pendingMutation {
	var out []pendingMutation
	for _, m := range pending {
		var ids []item.ID
		var err error
		for _, id := range m.ids(w.outcomes[m.at].ID) {
			if lost[id] {
				ids = append(ids, id)
			}
			err = cmp.Or(err, failed[id])
		}
		if err != nil {
			w.outcomes[m.at].Err = cmp.Or(w.outcomes[m.at].Err, err)
			continue
		}
		if len(ids) == 0 {
			continue
		}
		if m.Tag != nil || m.Untag != nil {
			m.IDs = ids
		}
		out = append(out, m)
	}
	return out
}
