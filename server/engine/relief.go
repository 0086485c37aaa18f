package engine

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// watchEvery is the interval at which watchMemory checks the memory pressure.
const watchEvery = 10 * time.Second

// watchMemory adapts the cache to the number of items. It shrinks the cache and drops derived data while the process is short of memory,
// even if there are no reads. It returns when the library is closed.
func (l *Library) watchMemory() {
	defer close(l.watchEnded)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	l.fitCache()
	for {
		select {
		case <-l.closing:
			return
		case <-ticker.C:
			l.fitCache()
			l.relieve()
			l.dropDerived()
		}
	}
}

// cacheBytesPerItem is the size of the cache for each item if nothing limits the memory. With a thousand filters in use, their views take
// about 70 bytes for each item. A cache that is too small for them makes most views again for each page.
const cacheBytesPerItem = 100

// fitCache makes the cache large enough for the items, if Options limit neither the cache nor the memory.
func (l *Library) fitCache() {
	if !l.options.growingCache {
		return
	}
	items := int64(0)
	for _, p := range l.follower.all() {
		if x := p.segments(); x != nil {
			items += x.Stats().Docs
		}
	}
	l.follower.cache.Resize(max(l.options.CacheBytes, cacheBytesPerItem*items))
}

// tightShare determines the limit of the cache while the process is short of memory: CacheBytes/tightShare.
const tightShare = 4

// relieve shrinks the cache if the process is short of memory.
func (l *Library) relieve() {
	if l.options.Pressure() >= library.Tight {
		l.follower.cache.Shrink(l.options.CacheBytes / tightShare)
	}
}

// dropDerived drops data that reads derived from segments, if the process is short of memory. This data takes 4 bytes per document for
// each keyword field that a request sorted by or counted, and more for number fields. dropDerived does not run on each read, because
// concurrent reads would derive the data again and again.
func (l *Library) dropDerived() {
	if l.options.Pressure() < library.Tight {
		return
	}
	for _, p := range l.follower.all() {
		if x := p.segments(); x != nil {
			x.DropDerived()
		}
	}
}
