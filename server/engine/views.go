package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/flight"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// views keeps what was worked out of segments: which documents match a query, and in which order documents stand. What is
// kept holds for the life of its segment, so that a write costs nothing by the number of filters; it goes when it was not
// used for long and there is more than the limit, or with its segment.
//
// Documents that died since are among those of a view, see view.gone.
type views struct {
	mu        sync.Mutex
	limit     int64
	bytes     int64
	bySegment map[*segment.Segment]map[string]*view
	// ring links all views, from the one used last (ring.next) to the one used longest ago (ring.prev); but those of plain
	// bits are in bitsRing. They only save work, and so have no more than one bitsShare-th of the limit.
	ring, bitsRing view
	bitsBytes      int64
	making         map[viewName]*making
	// hits and misses count look-ups, evicted what had to go for others.
	hits, misses, evicted int64
}

var _ search.Views = (*views)(nil)

type viewName struct {
	segment *segment.Segment
	key     string
}

// making is a view that is being made for one or more callers.
type making struct {
	flight.Value[*view]
	callers int
}

// view is some documents of a segment. It is immutable, but for what it remembers of the dead.
type view struct {
	name viewName
	// docs are the documents, read only. A view with an order of its own shares them with the view that it was made of.
	docs *roaring.Bitmap
	// sorted are the documents in an order of their own; nil for the order of their numbers.
	sorted []uint32
	// bits are documents, one bit for each of the segment; docs and sorted are nil then.
	bits []uint64

	died atomic.Pointer[died]

	bytes      int64
	prev, next *view
}

// died is what is known of the dead documents of a view.
type died struct {
	// dead is the tombstones of the segment for which this holds.
	dead *roaring.Bitmap
	// gone are those of the view's documents that are among them; nil for none.
	gone *roaring.Bitmap
	// holes are their places among view.sorted, rising.
	holes []uint32
}

// bitsShare see views.
const bitsShare = 4

// viewOverhead is about what the keeping of a view takes beside its documents and its key.
const viewOverhead = 256

func newViews(limit int64) *views {
	v := &views{limit: limit, bySegment: map[*segment.Segment]map[string]*view{}, making: map[viewName]*making{}}
	v.ring.prev, v.ring.next = &v.ring, &v.ring
	v.bitsRing.prev, v.bitsRing.next = &v.bitsRing, &v.bitsRing
	return v
}

// Get returns the documents that are kept of a segment under a key, or makes and keeps them.
func (v *views) Get(ctx context.Context, s *segment.Segment, key string, make func() (*roaring.Bitmap, error)) (*roaring.Bitmap, error) {
	found, err := v.get(ctx, s, key, func() (*view, error) {
		docs, err := make()
		return &view{docs: docs}, err
	})
	if err != nil {
		return nil, err
	}
	return found.docs, nil
}

// Bits is Get for documents as plain bits, and for what else is kept in words.
func (v *views) Bits(ctx context.Context, s *segment.Segment, key string, make func() ([]uint64, error)) ([]uint64, error) {
	found, err := v.get(ctx, s, key, func() (*view, error) {
		bits, err := make()
		return &view{bits: bits}, err
	})
	if err != nil {
		return nil, err
	}
	return found.bits, nil
}

// get returns the view that is kept of a segment under a key, or makes and keeps it. However many callers ask for it at once, it
// is made once; when the caller that makes it fails, because its time is over, the next one makes it.
func (v *views) get(ctx context.Context, s *segment.Segment, key string, build func() (*view, error)) (*view, error) {
	name := viewName{s, key}
	v.mu.Lock()
	if known := v.use(name); known != nil {
		v.mu.Unlock()
		return known, nil
	}
	m := v.making[name]
	if m == nil {
		m = &making{}
		v.making[name] = m
	}
	m.callers++
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if m.callers--; m.callers == 0 {
			delete(v.making, name)
		}
	}()
	return m.Get(ctx, func() (*view, error) {
		fresh, err := build()
		v.mu.Lock()
		v.misses++
		v.mu.Unlock()
		if err == nil {
			v.keep(name, fresh)
		}
		return fresh, err
	})
}

// use returns the view that is kept under a name, as the one used last; nil for none. The caller holds mu.
func (v *views) use(name viewName) *view {
	known := v.bySegment[name.segment][name.key]
	if known != nil {
		v.hits++
		known.unlink()
		v.linkFirst(known)
	}
	return known
}

// keep keeps a view, unless there is one already.
func (v *views) keep(name viewName, fresh *view) {
	fresh.name = name
	fresh.bytes = int64(len(name.key)+4*len(fresh.sorted)+8*len(fresh.bits)) + viewOverhead
	if fresh.sorted == nil && fresh.docs != nil {
		fresh.bytes += int64(fresh.docs.GetSizeInBytes())
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	of := v.bySegment[name.segment]
	if of[name.key] != nil {
		return
	}
	if of == nil {
		of = map[string]*view{}
		v.bySegment[name.segment] = of
	}
	of[name.key] = fresh
	v.bytes += fresh.bytes
	if fresh.bits != nil {
		v.bitsBytes += fresh.bytes
	}
	v.linkFirst(fresh)
	v.shrinkTo(v.limit)
}

// shrink lets go of what was not used for longest until no more than a number of bytes is kept.
func (v *views) shrink(bytes int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shrinkTo(bytes)
}

func (v *views) shrinkTo(bytes int64) {
	for v.bitsBytes > bytes/bitsShare {
		v.remove(v.bitsRing.prev)
		v.evicted++
	}
	for v.bytes > bytes && v.ring.prev != &v.ring {
		v.remove(v.ring.prev)
		v.evicted++
	}
}

// drop lets go of all that is kept of a segment.
func (v *views) drop(s *segment.Segment) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, kept := range v.bySegment[s] {
		v.remove(kept)
	}
	delete(v.bySegment, s)
}

// size is the number of bytes that are kept.
func (v *views) size() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bytes
}

func (v *views) remove(kept *view) {
	kept.unlink()
	v.bytes -= kept.bytes
	if kept.bits != nil {
		v.bitsBytes -= kept.bytes
	}
	of := v.bySegment[kept.name.segment]
	if delete(of, kept.name.key); len(of) == 0 {
		delete(v.bySegment, kept.name.segment)
	}
}

func (v *views) linkFirst(kept *view) {
	ring := &v.ring
	if kept.bits != nil {
		ring = &v.bitsRing
	}
	kept.prev, kept.next = ring, ring.next
	kept.prev.next, kept.next.prev = kept, kept
}

func (kept *view) unlink() {
	kept.prev.next, kept.next.prev = kept.next, kept.prev
	kept.prev, kept.next = nil, nil
}

// carry keeps of a segment that segments were merged into what is kept of all of them: a view of the whole is the union
// of theirs under their new numbers. maps[i][doc] is the new number of a document of olds[i], segment.Gone for none.
// Orders and plain bits are not carried over: they are made anew when somebody asks.
func (v *views) carry(olds []*segment.Segment, fresh *segment.Segment, maps [][]uint32) {
	if len(olds) == 0 {
		return
	}
	for _, key := range v.keysOf(olds) {
		docs := make([]*roaring.Bitmap, len(olds))
		v.mu.Lock()
		whole := true
		for i, old := range olds {
			kept := v.bySegment[old][key]
			if kept == nil || !kept.carried() {
				whole = false
				break
			}
			docs[i] = kept.docs
		}
		v.mu.Unlock()
		if whole {
			v.keep(viewName{fresh, key}, &view{docs: mapped(docs, maps)})
		}
	}
}

// carried reports whether a merge carries the view over.
func (kept *view) carried() bool { return kept.docs != nil && kept.sorted == nil }

// keysOf lists the keys under which documents are kept of all of some segments.
func (v *views) keysOf(segments []*segment.Segment) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	fewest := v.bySegment[segments[0]]
	for _, s := range segments {
		if of := v.bySegment[s]; len(of) < len(fewest) {
			fewest = of
		}
	}
	var keys []string
	for key, kept := range fewest {
		everywhere := kept.carried()
		for _, s := range segments {
			everywhere = everywhere && v.bySegment[s][key] != nil
		}
		if everywhere {
			keys = append(keys, key)
		}
	}
	return keys
}

// mapped puts documents of several segments under their new numbers.
func mapped(docs []*roaring.Bitmap, maps [][]uint32) *roaring.Bitmap {
	out := roaring.New()
	var buffer [1024]uint32
	var numbers []uint32
	for i, of := range docs {
		one := roaring.New()
		// Both numberings follow the default order, so that numbers rise within one segment.
		for it := of.ManyIterator(); ; {
			n := it.NextMany(buffer[:])
			if n == 0 {
				break
			}
			numbers = numbers[:0]
			for _, doc := range buffer[:n] {
				if next := maps[i][doc]; next != segment.Gone {
					numbers = append(numbers, next)
				}
			}
			one.AddMany(numbers)
		}
		if i == 0 {
			out = one
		} else {
			out.Or(one)
		}
	}
	out.RunOptimize()
	return out
}

// gone returns the documents of a view that are among the dead of its segment; nil for none.
func (kept *view) gone(dead *roaring.Bitmap) *roaring.Bitmap {
	if dead == nil {
		return nil
	}
	if known := kept.died.Load(); known != nil && known.dead == dead {
		return known.gone
	}
	now := &died{dead: dead, gone: goneOf(kept.docs, dead)}
	kept.died.Store(now)
	return now.gone
}

func goneOf(docs, dead *roaring.Bitmap) *roaring.Bitmap {
	if gone := roaring.And(docs, dead); !gone.IsEmpty() {
		return gone
	}
	return nil
}

// scanFrom is the share of the documents from which on the dead are found by a walk over all of them.
const scanFrom = 64

// holes returns the places of the dead among view.sorted, rising. place finds a document among them.
func (kept *view) holes(dead *roaring.Bitmap, place func(doc uint32) int) []uint32 {
	if dead == nil {
		return nil
	}
	known := kept.died.Load()
	if known != nil && known.dead == dead {
		return known.holes
	}
	now := &died{dead: dead, gone: goneOf(kept.docs, dead)}
	if now.gone != nil {
		now.holes = kept.findHoles(now.gone, known, place)
	}
	kept.died.Store(now)
	return now.holes
}

// findHoles looks only for documents that died since known, where those are few.
func (kept *view) findHoles(gone *roaring.Bitmap, known *died, place func(doc uint32) int) []uint32 {
	fresh, before := gone, []uint32(nil)
	if known != nil && known.gone != nil && gone.AndCardinality(known.gone) == known.gone.GetCardinality() {
		fresh, before = roaring.AndNot(gone, known.gone), known.holes
	}
	if fresh.GetCardinality() > uint64(len(kept.sorted)/scanFrom) {
		holes := make([]uint32, 0, gone.GetCardinality())
		for i, doc := range kept.sorted {
			if gone.Contains(doc) {
				holes = append(holes, uint32(i))
			}
		}
		return holes
	}
	holes := make([]uint32, 0, len(before)+int(fresh.GetCardinality()))
	holes = append(holes, before...)
	for it := fresh.Iterator(); it.HasNext(); {
		holes = append(holes, uint32(place(it.Next())))
	}
	slices.Sort(holes)
	return holes
}

// peek returns the view that is kept of a segment under a key, nil for none.
func (v *views) peek(s *segment.Segment, key string) *view {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.use(viewName{s, key})
}
