package index

import (
	"sync/atomic"
	"time"
)

// burst tells whether writes come so fast that merging is better put off: what is merged later is merged with more at once,
// and so less often, and until then the processors are there for the writes. Segments are more meanwhile, within limits.
type burst struct {
	began time.Time
	// until is when the burst is over if nothing comes, as a time since began.
	until atomic.Int64
	// over fires when it is.
	over *time.Timer
}

const (
	// burstShare makes a burst of at least sealDocs/burstShare documents a second.
	burstShare = 16
	// burstLasts is how long at most a burst goes on when nothing comes any more.
	burstLasts = 200 * time.Millisecond
)

func newBurst(over func()) *burst {
	return &burst{began: time.Now(), over: time.AfterFunc(burstLasts, over)}
}

// came notes that docs documents came, where sealDocs are sealed. It is called by one goroutine at a time.
func (b *burst) came(docs, sealDocs int) {
	now := time.Since(b.began)
	until := max(now, time.Duration(b.until.Load())) + time.Duration(docs)*burstShare*time.Second/time.Duration(sealDocs)
	until = min(until, now+burstLasts)
	b.until.Store(int64(until))
	b.over.Reset(until - now)
}

// on reports whether writes come fast.
func (b *burst) on() bool { return time.Since(b.began) < time.Duration(b.until.Load()) }
