package engine

import (
	"context"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/index"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/store"
)

// moment is a property as a reader sees it: one snapshot, one catalogue, and rules as they are within a stretch of time.
// It is shared by all readers who see the same; each of them holds the snapshot by a reference of its own. Nothing of what
// it says ever changes, it only remembers what it was asked.
type moment struct {
	property  *property
	snapshot  *index.Snapshot
	catalogue *store.Catalogue
	// version is the batch that last changed anything of the property.
	version uint64
	parts   []segment.Part
	corpus  *search.Corpus
	// rules is while the rules are as they are here.
	rules interval

	mu       sync.Mutex
	fields   []string
	hasField bool
	listings map[listingName]*listing
	slots    map[int]*slotTable
}

// newMoment makes the moment of a snapshot at a time.
func (p *property) newMoment(ctx context.Context, seen seen, now time.Time) (*moment, error) {
	// While nothing passes a boundary, rules are bound to the time to which they were bound last: what is kept of them is
	// found again.
	if before := p.lastRuled(); !before.IsZero() && before.Before(now) {
		if m, err := p.momentAt(ctx, seen, before); err == nil && m.rules.contains(now) {
			return m, nil
		}
	}
	m, err := p.momentAt(ctx, seen, now)
	if err == nil && !m.rules.from.IsZero() {
		p.setRuled(now)
	}
	return m, err
}

// momentAt makes the moment of a snapshot with rules bound to a time.
func (p *property) momentAt(ctx context.Context, seen seen, now time.Time) (*moment, error) {
	m := &moment{
		property: p, snapshot: seen.snapshot, catalogue: seen.catalogue, version: seen.version, parts: seen.snapshot.Parts(),
		listings: map[listingName]*listing{}, slots: map[int]*slotTable{},
	}
	if err := m.overlay(ctx, now); err != nil {
		return nil, err
	}
	return m, nil
}

// dynamicFields lists the fields that a field pattern can stand for.
func (m *moment) dynamicFields(ctx context.Context) ([]string, error) {
	m.mu.Lock()
	fields, known := m.fields, m.hasField
	m.mu.Unlock()
	if known {
		return fields, nil
	}
	fields, err := m.corpus.DynamicFields(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fields, m.hasField = fields, true
	return fields, nil
}

// plan gives one tree its meaning at a time.
func (m *moment) plan(ctx context.Context, n query.Node, a query.Audience, now time.Time) (plan.Node, error) {
	o := plan.Options{Audience: a, Now: now}
	if dependsOnFields(n) {
		var err error
		if o.Fields, err = m.dynamicFields(ctx); err != nil {
			return nil, err
		}
	}
	pl, err := plan.Build(n, o)
	if err != nil {
		return nil, err
	}
	return pl.Root, nil
}

// find returns where an item is, false when it is not there.
func (m *moment) find(id item.ID) (search.Hit, bool) {
	for i, p := range m.parts {
		if doc, ok := p.Find(id); ok {
			return search.Hit{Part: i, Doc: doc}, true
		}
	}
	return search.Hit{}, false
}

// slotTable is the slots of the items of one part, by the list of units that they show.
type slotTable struct {
	lists search.UnitLists
	slots []item.Slots
	// bytes is how much longer each makes an item.
	bytes []int
}

// slotsOf returns the slots of a part's items.
func (m *moment) slotsOf(ctx context.Context, part int) (*slotTable, error) {
	m.mu.Lock()
	known := m.slots[part]
	m.mu.Unlock()
	if known != nil {
		return known, nil
	}
	lists, err := m.corpus.UnitLists(ctx, m.parts[part])
	if err != nil {
		return nil, err
	}
	t := &slotTable{lists: lists, slots: make([]item.Slots, lists.Len()), bytes: make([]int, lists.Len())}
	null := len(item.EncodeUnit(item.NullUnit()))
	for i := range t.slots {
		t.slots[i] = m.catalogue.Slots(lists.Units(i), "")
		t.bytes[i] = slotRoom + max(len(t.slots[i].Default), null)
		for _, u := range t.slots[i].Units {
			t.bytes[i] += len(u) + 1
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slots[part] = t
	return t, nil
}

// slotRoom is what stands around the slots.
const slotRoom = 8

// appendItems appends hits as a reader may see them, with commas between them. It makes room once. Where the bytes of an
// item are damaged, those that again makes of what the store has stand in for them.
func (m *moment) appendItems(
	ctx context.Context, dst []byte, hits []search.Hit, a query.Audience, baseURL string, again func(item.ID) (item.Encoded, error),
) ([]byte, error) {
	if len(hits) == 0 {
		return dst, nil
	}
	tables := make([]*slotTable, len(m.parts))
	room := 0
	// First it is found where all items lie, then all are looked at, then the first is copied: each step waits for memory
	// that nobody has read for long, and with nothing else between them the processor has several wait at once.
	items := make([]item.Encoded, len(hits))
	for i, h := range hits {
		items[i] = m.parts[h.Part].Segment.Item(h.Doc)
	}
	for i, h := range hits {
		if !items[i].Sound() {
			var err error
			if items[i], err = again(m.parts[h.Part].Segment.ID(h.Doc)); err != nil {
				return dst, err
			}
		}
	}
	for i, h := range hits {
		t := tables[h.Part]
		if t == nil {
			var err error
			if t, err = m.slotsOf(ctx, h.Part); err != nil {
				return dst, err
			}
			tables[h.Part] = t
		}
		room += len(items[i]) + t.bytes[t.lists.List(h.Doc)] + 2*len(baseURL) + 1
	}
	if cap(dst)-len(dst) < room {
		grown := make([]byte, len(dst), len(dst)+room)
		copy(grown, dst)
		dst = grown
	}
	for i, h := range hits {
		if i > 0 {
			dst = append(dst, ',')
		}
		t := tables[h.Part]
		slots := t.slots[t.lists.List(h.Doc)]
		slots.BaseURL = baseURL
		dst = items[i].Append(dst, a, slots)
	}
	return dst, nil
}
