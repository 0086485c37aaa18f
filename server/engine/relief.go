package engine

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// watchEvery is the interval at which watchMemory checks the memory pressure.
const watchEvery = 10 * time.Second

// watchMemory shrinks the cache and drops derived data while the process is short of memory, even if there are no reads. It returns when the
// library is closed.
func (l *Library) watchMemory() {
	defer close(l.watchEnded)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-l.closing:
			return
		case <-ticker.C:
			l.relieve()
			l.dropDerived()
		}
	}
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
