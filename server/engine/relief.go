package engine

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// tendEvery is how often the library looks after what it keeps.
const tendEvery = 10 * time.Second

// tend shrinks caches while memory is short, also when there are no reads.
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

// tightShare is the part of CacheBytes that stays when memory is short.
const tightShare = 4

// relieve lets caches go when memory is short.
func (l *Library) relieve() {
	if l.options.Pressure() >= library.Tight {
		l.follower.cache.Shrink(l.options.CacheBytes / tightShare)
	}
}
