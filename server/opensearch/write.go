package opensearch

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
)

// maxAttempts is how often a write decides again because other writes changed the same items.
const maxAttempts = 50

// Write changes items, see library.Library. The cluster stores items one by one: when another replica changes an item at the
// same time, the mutations of that item are decided again, and the others are not.
func (l *Library) Write(ctx context.Context, p library.PropertyID, muts []library.Mutation) ([]library.Outcome, error) {
	if err := l.alive(ctx); err != nil {
		return nil, err
	}
	w := &write{library: l, property: p, outcomes: make([]library.Outcome, len(muts)), token: rand.Text()}
	pending := make([]pendingMutation, len(muts))
	for i, m := range muts {
		pending[i] = pendingMutation{i, m}
	}
	for range maxAttempts {
		var err error
		if pending, err = w.attempt(ctx, pending); err != nil {
			return nil, err
		}
		if len(pending) == 0 {
			return w.outcomes, nil
		}
	}
	for _, m := range pending {
		w.outcomes[m.at].Err = fmt.Errorf("%w: other writes keep changing the same items", library.ErrUnavailable)
	}
	return w.outcomes, nil
}

// write is one call of Write.
type write struct {
	library  *Library
	property library.PropertyID
	outcomes []library.Outcome
	// token is stored with every item that this write stores, so that the write recognises its own work when an answer got
	// lost.
	token string
}

// pendingMutation is a mutation that is still to be decided, and the place of its outcome.
type pendingMutation struct {
	at int
	library.Mutation
}

// ids returns the items that a mutation touches; drawn is the id of its outcome.
func (m pendingMutation) ids(drawn item.ID) []item.ID {
	if m.Tag != nil || m.Untag != nil {
		return m.IDs
	}
	return []item.ID{drawn}
}

// attempt decides mutations, and stores what they make of the items. It returns the mutations of items that another write
// has changed meanwhile.
func (w *write) attempt(ctx context.Context, pending []pendingMutation) ([]pendingMutation, error) {
	l := w.library
	served := l.records.state.Load().set.Catalogue(w.property)
	if served == nil {
		return nil, fmt.Errorf("write to property %s: %w", w.property, library.ErrNoProperty)
	}
	b := &base{view: l.view(served, l.now()), ctx: ctx}
	if err := b.fetch(ctx, pending); err != nil {
		return nil, err
	}
	st, err := w.stage(ctx, b, pending)
	if err != nil {
		return nil, err
	}
	if len(st.Units) > 0 {
		if err := l.records.change(ctx, func(c *definitions.Change) error { return stageUnits(c, st.Units) }); err != nil {
			return nil, err
		}
	}
	if err := l.made.add(ctx, w.property, slices.Collect(maps.Keys(st.Tags))...); err != nil {
		return nil, err
	}
	lost, err := w.store(ctx, b, st.Items)
	if err != nil || len(lost) == 0 {
		return nil, err
	}
	return w.again(pending, lost), nil
}

// stageUnits stages units that came with items, those that are not there by now.
func stageUnits(c *definitions.Change, units map[definitions.Source]*definitions.Entry) error {
	fresh := maps.Clone(units)
	maps.DeleteFunc(fresh, func(s definitions.Source, _ *definitions.Entry) bool { return c.Entry(s) != nil })
	return c.Stage(fresh)
}

// stage decides mutations. Ids and field names that they take are in the ledger when it returns.
func (w *write) stage(ctx context.Context, b *base, pending []pendingMutation) (*mutations.Stage, error) {
	l := w.library
	defer l.ledgers.lock(w.property)()
	for {
		var err error
		if b.ledger, err = l.ledgers.get(ctx, w.property); err != nil {
			return nil, err
		}
		st := mutations.NewStage(w.property, b, map[string]bool{})
		st.Namer, st.Random, st.Now, st.Sequence = mutations.NewNamer(l.records.state.Load().authorKey), l.options.Random, l.now(), b.ledger.sequence
		for _, m := range pending {
			w.outcomes[m.at] = st.Mutate(m.Mutation)
		}
		if st.Sequence == b.ledger.sequence && len(st.Names) == 0 {
			return st, nil
		}
		taken, err := l.ledgers.change(ctx, w.property, b.ledger, st.Sequence, st.Names)
		if err != nil {
			return nil, err
		}
		if taken {
			return st, nil
		}
	}
}

// store writes items and waits until searches find them. It returns the ids of those that another write has changed.
func (w *write) store(ctx context.Context, b *base, items []mutations.Item) (map[item.ID]bool, error) {
	var ops []operation
	var ids []item.ID
	for _, it := range items {
		if it.Item == nil && !it.Existed {
			continue // it came and went within the write
		}
		op := operation{index: b.index(), id: strconv.FormatInt(it.ID, 10)}
		if it.Item != nil {
			op.doc = document(it.Item, w.token)
		}
		if it.Existed {
			op.at = &b.items[it.ID].version
		}
		ops, ids = append(ops, op), append(ids, it.ID)
	}
	if len(ops) == 0 {
		return nil, nil
	}
	outcomes, err := w.library.cluster.bulk(ctx, ops, refreshWait)
	if err != nil {
		return nil, err
	}
	var conflicts []item.ID
	gone := map[item.ID]bool{}
	for i, o := range outcomes {
		if o.conflict {
			conflicts = append(conflicts, ids[i])
			gone[ids[i]] = ops[i].doc == nil
		}
	}
	if len(conflicts) == 0 {
		return nil, nil
	}
	// A conflict may be with this write itself, when its first answer got lost.
	found, err := b.load(ctx, conflicts, fieldWrite)
	if err != nil {
		return nil, err
	}
	lost := map[item.ID]bool{}
	for _, id := range conflicts {
		if is := found[id]; is == nil && gone[id] || is != nil && !gone[id] && is.token == w.token {
			continue
		}
		lost[id] = true
	}
	return lost, nil
}

// again returns the mutations of items that were lost to another write. A mapping is decided again for these items alone: it
// is stored on the others.
func (w *write) again(pending []pendingMutation, lost map[item.ID]bool) []pendingMutation {
	var out []pendingMutation
	for _, m := range pending {
		ids := slices.DeleteFunc(slices.Clone(m.ids(w.outcomes[m.at].ID)), func(id item.ID) bool { return !lost[id] })
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
