package search

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// Cache holds the views of all corpora: the documents that match a query or have a number, orders of documents, plain bits and counts. A
// view is valid for the life of its segment. Writes invalidate no views except counts, so the cost of a write does not depend on the number
// of filters. When the views exceed the size limit, the cache examines the oldest view: if it was used since it became the newest, it
// becomes the newest again; otherwise, the cache evicts it (the CLOCK algorithm). When a segment is dropped, all of its views are dropped
// too. A view also includes documents that were deleted after it was made; see View.gone.
type Cache struct {
	// ShelfFrom is the minimum size in bytes of a view that is moved to a file. Smaller views are made again quickly. NewCache sets it to 8 KiB. Change it only before the first use.
	ShelfFrom int64

	mu    sync.Mutex
	limit int64
	count int
	bytes int64
	// ring links the views from the newest (ring.next) to the oldest (ring.prev). bitsRing does the same for views of plain bits, which only
	// speed up making other views. Plain bits may therefore take at most limit/bitsShare bytes.
	ring, bitsRing View
	bitsBytes      int64
	// hits and misses count lookups. evicted counts the views that were removed to limit the size.
	hits            atomic.Int64
	misses, evicted int64
	serial          uint64

	// Each element of recent is the upper half of the hash of the key that noteUse recorded there last. cleared counts the calls of Shrink(0).
	recent  [1 << 16]atomic.Uint32
	seed    maphash.Seed
	cleared atomic.Uint64

	shelved atomic.Int64 // the size of the views on all shelves in bytes

	sums sync.Pool // of *sums
	bits sync.Pool // of *[]uint64
}

// bitsShare limits the size of all views of plain bits to 1/bitsShare of the cache's limit.
const bitsShare = 4

// viewOverhead is the approximate memory of a view without its documents and its key.
const viewOverhead = 256

// NewCache returns a Cache that keeps views of at most `limit` bytes in total. With a limit of 0, it keeps none.
func NewCache(limit int64) *Cache {
	c := &Cache{ShelfFrom: shelfFrom, limit: limit, seed: maphash.MakeSeed()}
	c.ring.prev, c.ring.next = &c.ring, &c.ring
	c.bitsRing.prev, c.bitsRing.next = &c.bitsRing, &c.bitsRing
	return c
}

// derived is the data derived from one segment. It is kept with the segment and dropped with the segment.
type derived struct {
	cache *Cache // nil if no views are kept
	// serial is unique among the segments of the cache.
	serial uint64
	// cache.mu guards views and making. making holds the views that are being made.
	views  map[string]*View
	making map[string]*making
	shelf  shelf
	memo
}

// making is a view that is being made.
type making struct {
	// done is closed when the view is finished. It is nil while no other caller waits for the view.
	done chan struct{}
	// view is the result; nil after an error
	view *View
}

// of returns the data derived from a segment. All corpora that contain the segment must use the same Cache, or none.
func (c *Cache) of(s *segment.Segment) *derived {
	return s.Derived(func() segment.Derived {
		d := &derived{cache: c, memo: memo{norms: map[string]norms{}, lists: map[string]*unitLists{}}}
		if c != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.serial++
			d.serial = c.serial
			d.shelf = shelf{segment: s, total: &c.shelved}
			d.views, d.making = map[string]*View{}, map[string]*making{}
		}
		return d
	}).(*derived)
}

// Serial returns the number of a segment. The number is unique in the Cache.
func (c *Cache) Serial(s *segment.Segment) uint64 { return c.of(s).serial }

// MemoBytes returns the approximate size of a segment's statistics and lists of units. They do not count towards the limit.
func (c *Cache) MemoBytes(s *segment.Segment) int64 { return c.of(s).memo.bytes() }

// Drop implements segment.Derived: it drops all views of the segment.
func (d *derived) Drop() {
	if d.cache == nil {
		return
	}
	d.shelf.close()
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	for _, v := range d.views {
		d.cache.remove(v)
	}
}

// get returns the view of a key, from the cache or the shelf. If there is none, get calls build and keeps the view. Concurrent callers
// share one build. If the build fails, for example because the context of its caller ends, the next waiting caller builds the view.
func (d *derived) get(ctx context.Context, key string, build func() (*View, error)) (*View, error) {
	c := d.cache
	if c == nil {
		return build()
	}
	for {
		c.mu.Lock()
		if known := d.views[key]; known != nil {
			c.mu.Unlock()
			c.used(known)
			return known, nil
		}
		m := d.making[key]
		if m == nil {
			m = &making{}
			d.making[key] = m
			c.mu.Unlock()
			return d.build(key, m, build)
		}
		if m.done == nil {
			m.done = make(chan struct{})
		}
		c.mu.Unlock()
		select {
		case <-m.done:
			if m.view != nil {
				return m.view, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// build makes and keeps a view, and wakes the callers that wait for it.
func (d *derived) build(key string, m *making, build func() (*View, error)) (fresh *View, err error) {
	var made bool
	defer func() { // also after a panic
		if fresh != nil && err == nil {
			m.view = fresh
			fresh.measure(d, key)
		}
		d.cache.mu.Lock()
		defer d.cache.mu.Unlock()
		if made {
			d.cache.misses++
		} else {
			d.cache.hits.Add(1)
		}
		delete(d.making, key)
		if m.view != nil {
			d.add(fresh)
		}
		if m.done != nil {
			close(m.done)
		}
	}()
	if shelved := d.shelf.view(key); shelved != nil {
		return shelved, nil
	}
	made = true
	again := d.noteUse(key)
	if fresh, err = build(); err == nil && (again || fresh.lasting == Stored) {
		fresh = d.toShelf(key, fresh)
	}
	return fresh, err
}

// toShelf moves a view to the shelf, if it is worth it.
func (d *derived) toShelf(key string, v *View) *View {
	if v.lasting == Fleeting || v.size() < d.cache.ShelfFrom {
		return v
	}
	return d.shelf.put(key, v)
}

// has reports whether a key has a view.
func (d *derived) has(key string) bool {
	if d.cache == nil {
		return false
	}
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	return d.views[key] != nil
}

// noteUse records the use of a key. It reports whether the key has a view, or an earlier use is still recorded. A later key can overwrite a
// record, and the hashes of two keys can be equal, so the result can be wrong. Use it only to decide what to keep.
func (d *derived) noteUse(key string) (again bool) {
	if d.cache == nil {
		return false
	}
	hash := maphash.Comparable(d.cache.seed, usedKey{d.serial, d.cache.cleared.Load(), key})
	mark, slot := uint32(hash>>32), &d.cache.recent[hash%uint64(len(d.cache.recent))]
	if slot.Load() == mark {
		return true
	}
	slot.Store(mark)
	return d.has(key)
}

// usedKey identifies a key among all segments. After Shrink(0), cleared differs, so that earlier records no longer match.
type usedKey struct {
	serial, cleared uint64
	key             string
}

func (c *Cache) used(v *View) {
	c.hits.Add(1)
	if !v.used.Load() { // an unconditional store would invalidate this cache line in other processors
		v.used.Store(true)
	}
}

// keep adds a view to the cache, unless the key already has a view.
func (d *derived) keep(key string, fresh *View) {
	fresh.measure(d, key)
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	d.add(fresh)
}

// measure sets the fields that the cache needs: the derived data, the key and the size.
func (v *View) measure(of *derived, key string) {
	v.of, v.key = of, key
	v.bytes = int64(len(key)) + viewOverhead + v.size()
}

// size returns the memory of the documents in bytes.
func (v *View) size() int64 {
	n := int64(8 * len(v.bits))
	switch {
	case v.shelved && v.docs != nil:
		n += containerBytes * int64(v.docs.Stats().Containers)
	case v.shelved:
	case v.sorted == nil && v.docs != nil:
		n += int64(v.docs.GetSizeInBytes())
	default:
		n += int64(4 * len(v.sorted))
	}
	return n
}

// add is like keep, for a view that has been measured. The caller holds cache.mu.
func (d *derived) add(fresh *View) {
	if d.views[fresh.key] != nil {
		return
	}
	c := d.cache
	d.views[fresh.key] = fresh
	fresh.kept.Store(true)
	c.count++
	c.bytes += fresh.bytes
	if fresh.bits != nil {
		c.bitsBytes += fresh.bytes
	}
	c.linkFirst(fresh)
	c.shrinkTo(c.limit)
}

// Shrink evicts views until the cache takes at most the given number of bytes. Shrink(0) also discards the record of recently
// used keys.
func (c *Cache) Shrink(bytes int64) {
	if bytes == 0 {
		c.cleared.Add(1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shrinkTo(bytes)
}

func (c *Cache) shrinkTo(bytes int64) {
	for c.bitsBytes > bytes/bitsShare {
		c.evict(c.bitsRing.prev)
	}
	for c.bytes > bytes && c.ring.prev != &c.ring {
		c.evict(c.ring.prev)
	}
}

// evict removes a view. If the view was used since it became the newest, evict instead makes it the newest again.
func (c *Cache) evict(v *View) {
	if v.used.Swap(false) {
		v.unlink()
		c.linkFirst(v)
		return
	}
	c.remove(v)
	c.evicted++
}

// remove removes a view. The caller holds mu.
func (c *Cache) remove(v *View) {
	v.unlink()
	c.count--
	c.bytes -= v.bytes
	if v.bits != nil {
		c.bitsBytes -= v.bytes
	}
	delete(v.of.views, v.key)
	v.kept.Store(false)
}

func (c *Cache) linkFirst(v *View) {
	ring := &c.ring
	if v.bits != nil {
		ring = &c.bitsRing
	}
	v.prev, v.next = ring, ring.next
	v.prev.next, v.next.prev = v, v
}

func (v *View) unlink() {
	v.prev.next, v.next.prev = v.next, v.prev
	v.prev, v.next = nil, nil
}

// CacheStats describes a Cache.
type CacheStats struct {
	// Views is the number of views in the cache. Bytes is their total size.
	Views int
	Bytes int64
	// Shelved is the total size of the files with views in bytes.
	Shelved int64
	// Hits and Misses count lookups since the start. Evicted counts views that were removed to limit the size.
	Hits, Misses, Evicted int64
}

// Stats returns the statistics of the cache.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheStats{Views: c.count, Bytes: c.bytes, Shelved: c.shelved.Load(), Hits: c.hits.Load(), Misses: c.misses, Evicted: c.evicted}
}

// Carry creates views of a merged segment from the views of the merge's inputs. If all inputs have a view with the same key, the new view
// is the union of these views, with the document numbers of the merged segment. maps is the result of segment.Merge. Carry ignores orders,
// plain bits and counts.
func (c *Cache) Carry(inputs []segment.Part, merged *segment.Segment, maps [][]uint32) {
	if len(inputs) == 0 {
		return
	}
	olds := make([]*derived, len(inputs))
	for i, in := range inputs {
		olds[i] = c.of(in.Segment)
	}
	for key, views := range c.everywhere(olds) {
		docs := make([]*roaring.Bitmap, len(views))
		for i, v := range views {
			docs[i] = v.docs
		}
		v := &View{docs: mapped(docs, maps), lasting: views[0].lasting}
		if v.lasting == Stored || slices.ContainsFunc(views, func(v *View) bool { return v.shelved }) {
			v = c.of(merged).toShelf(key, v)
		}
		c.of(merged).keep(key, v)
	}
}

// everywhere returns the views that Carry carries over: those of matches with a key under which all segments have such a view.
func (c *Cache) everywhere(segments []*derived) map[string][]*View {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string][]*View{}
	keys := slices.Concat(slices.Collect(maps.Keys(segments[0].views)), segments[0].shelf.keys())
	for _, key := range keys {
		views := make([]*View, 0, len(segments))
		for _, d := range segments {
			v := d.views[key]
			if v == nil {
				v = d.shelf.view(key)
			}
			if v != nil && v.docs != nil && v.sorted == nil {
				views = append(views, v)
			}
		}
		if len(views) == len(segments) {
			found[key] = views
		}
	}
	return found
}

// mapped returns the union of the documents of several segments, with the numbers that maps assigns to them.
func mapped(docs []*roaring.Bitmap, maps [][]uint32) *roaring.Bitmap {
	out := roaring.New()
	var buffer [1024]uint32
	var numbers []uint32
	for i, of := range docs {
		one := roaring.New()
		// The old and the new numbers both follow the default order, so the new numbers of one segment are ascending.
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

// newSums returns an array of zeros. It reuses an array if possible.
func (c *Cache) newSums() *sums {
	if c == nil {
		return new(sums)
	}
	a, used := c.sums.Get().(*sums)
	if !used {
		return new(sums)
	}
	clear(a[:])
	return a
}

func (c *Cache) putSums(a *sums) {
	if c != nil {
		c.sums.Put(a)
	}
}

// newBits returns n words with arbitrary content.
func (c *Cache) newBits(n int) *[]uint64 {
	if c != nil {
		if b, used := c.bits.Get().(*[]uint64); used && cap(*b) >= n {
			*b = (*b)[:n]
			return b
		}
	}
	made := make([]uint64, n, denseWords(64*n)) // so that a later call for whole blocks can reuse the memory
	return &made
}

func (c *Cache) putBits(b *[]uint64) {
	if c != nil {
		c.bits.Put(b)
	}
}
