package engine

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// tendEvery is how often tend checks the memory pressure.
const tendEvery = 10 * time.Second

// tend shrinks the cache while memory is short, even without reads.
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
