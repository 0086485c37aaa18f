package engine

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// tendEvery is how often tend checks the memory pressure.
const tendEvery = 10 * time.Second

// tend runs until the library is closed. While the process is short of memory, it drops caches and derived data, even if nothing is read.
func (l *Library) tend() {
	defer close(l.tended)
	ticker := time.NewTicker(tendEvery)
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

// tightShare divides CacheBytes while memory is short.
const tightShare = 4

// relieve shrinks the cache if memory is short.
func (l *Library) relieve() {
	if l.options.Pressure() >= library.Tight {
		l.follower.cache.Shrink(l.options.CacheBytes / tightShare)
	}
}

// dropDerived drops what reads derived from segments if memory is short: 4 bytes for each document and each keyword that a request sorted
// by or counted, and some more for numbers. It does not run on each read, because reads in progress would build it again and again.
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
