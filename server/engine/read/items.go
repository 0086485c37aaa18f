package read

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// slotTable holds the item.Slots of the items of one part. It has one element for each list of units (see search.UnitLists).
type slotTable struct {
	lists search.UnitLists
	slots []item.Slots
	// bytes[i] is the maximum number of bytes that slots[i] adds to an item, without the base URL.
	bytes []int
}

// slotsOf returns the slotTable of a part.
func (s *Snapshot) slotsOf(ctx context.Context, part int) (*slotTable, error) {
	s.mu.Lock()
	known := s.slots[part]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	lists, err := s.corpus.UnitLists(ctx, s.corpus.Parts[part])
	if err != nil {
		return nil, err
	}
	t := lists.Keep(s.Catalogue, func() any { return newSlotTable(lists, s.Catalogue) }).(*slotTable)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots[part] = t
	return t, nil
}

func newSlotTable(lists search.UnitLists, c *definitions.Catalogue) *slotTable {
	t := &slotTable{lists: lists, slots: make([]item.Slots, lists.Len()), bytes: make([]int, lists.Len())}
	null := len(item.EncodeUnit(item.NullUnit()))
	for i := range t.slots {
		t.slots[i] = c.Slots(lists.Units(i), "")
		t.bytes[i] = slotRoom + max(len(t.slots[i].Default)-null, 0)
		for _, u := range t.slots[i].Units {
			t.bytes[i] += len(u) + 1
		}
	}
	return t
}

// slotRoom is the number of bytes for the JSON syntax around the slots.
const slotRoom = 8

// Item returns the item r.ID as r.Audience sees it. See library.Library.ReadItem. now is the time of the Snapshot.
func (s *Snapshot) Item(ctx context.Context, r library.ItemRead, now time.Time) ([]byte, error) {
	h, ok := s.find(r.ID)
	if ok && r.Scope != nil {
		var err error
		if ok, err = s.inScope(ctx, r.Scope, h, now.Truncate(time.Millisecond)); err != nil {
			return nil, err
		}
	}
	if !ok {
		return nil, library.UnknownItem(r.ID)
	}
	if r.Digest != nil {
		// If the item is damaged, both this step and the next read it from the store. This step comes first: if the item changes in between,
		// the digest is the older state, and a write with that digest is refused.
		it, err := s.own(h)
		if err != nil {
			return nil, err
		}
		*r.Digest = it.Digest()
	}
	return s.appendItems(ctx, library.Read{Audience: r.Audience, BaseURL: r.BaseURL}, []search.Hit{h})
}

// inScope reports whether a document matches the scope of a token. It looks the document up among all matches, which the snapshot caches.
func (s *Snapshot) inScope(ctx context.Context, scope *library.TokenScope, h search.Hit, now time.Time) (bool, error) {
	l, err := s.listing(ctx, library.Read{Property: s.property.ID, Query: query.All{}, Scope: scope, Now: now})
	if err != nil {
		return false, err
	}
	if err := l.bind(ctx); err != nil {
		return false, err
	}
	v, err := l.queries[0].Match(ctx, s.corpus.Parts[h.Part])
	if err != nil {
		return false, err
	}
	return v.Docs().Contains(h.Doc), nil
}

// own returns an item without what manifests add to it. If its bytes in the index are damaged, it reads the item from the store.
func (s *Snapshot) own(h search.Hit) (*item.Item, error) {
	var unpacker item.Unpacker
	segment := s.corpus.Parts[h.Part].Segment
	if it := unpacker.Item(segment.Item(h.Doc)); it != nil {
		return it, nil
	}
	return s.property.Store.Item(s.property.ID, segment.ID(h.Doc))
}

// cacheLine is the usual number of bytes in a line of the processor's caches.
const cacheLine = 64

// packed returns the packed forms of hits. It first finds all items, and then reads a byte of nearly each of their cache lines. For each
// item, both steps wait for memory that is not in the processor's caches. In a short loop, the processor overlaps several of these waits.
// Unpacking would wait for the lines of one item after the other.
func (s *Snapshot) packed(hits []search.Hit) []item.Packed {
	stored := make([]segment.Stored, len(hits))
	ahead := make([]segment.Ahead, len(s.corpus.Parts))
	for _, h := range hits {
		ahead[h.Part].Add(s.corpus.Parts[h.Part].Segment, h.Doc)
	}
	for part := range ahead {
		ahead[part].Read()
	}
	for i, h := range hits {
		stored[i] = s.corpus.Parts[h.Part].Segment.Stored(h.Doc)
	}
	var touched byte
	for _, it := range stored {
		for at := 0; at < len(it); at += cacheLine {
			touched += it[at]
		}
	}
	runtime.KeepAlive(touched) // otherwise the compiler could remove the loop
	items := make([]item.Packed, len(hits))
	for i := range items {
		items[i] = stored[i].Packed()
	}
	return items
}

// appendItems appends the items of hits to r.Into as r.Audience sees them, separated by commas. Unless items are damaged, it grows r.Into
// at most once.
func (s *Snapshot) appendItems(ctx context.Context, r library.Read, hits []search.Hit) ([]byte, error) {
	dst := r.Into
	if len(hits) == 0 {
		return dst, nil
	}
	items := s.packed(hits)
	room := 0
	for _, it := range items {
		room += it.ResponseLen() + 2*len(r.BaseURL) + 1
	}
	tables := make([]*slotTable, len(s.corpus.Parts))
	for _, h := range hits {
		t := tables[h.Part]
		if t == nil {
			var err error
			if t, err = s.slotsOf(ctx, h.Part); err != nil {
				return dst, err
			}
			tables[h.Part] = t
		}
		room += t.bytes[t.lists.List(h.Doc)]
	}
	if r.Room != nil {
		if err := r.Room(room); err != nil {
			return dst, err
		}
	}
	dst = slices.Grow(dst, room+item.Slack)
	var unpacker item.Unpacker
	for i, h := range hits {
		if i > 0 {
			dst = append(dst, ',')
		}
		t := tables[h.Part]
		slots := t.slots[t.lists.List(h.Doc)]
		slots.BaseURL = r.BaseURL
		var sound bool
		if dst, sound = unpacker.Append(dst, items[i], r.Audience, slots); sound {
			continue
		}
		// The index also finds the damage when it verifies its files, and then rebuilds the file.
		id := s.corpus.Parts[h.Part].Segment.ID(h.Doc)
		s.property.Logger.Error("the bytes of an item in the index are damaged; reading the item from the store", slog.Int64("item", id))
		it, err := s.property.Store.Item(s.property.ID, id)
		if err != nil {
			return dst, err
		}
		before := len(dst)
		dst = item.Encode(it).Append(dst, r.Audience, slots)
		if r.Room != nil && items[i].ResponseLen() == 0 {
			if err := r.Room(len(dst) - before); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}
