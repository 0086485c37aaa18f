package index

import (
	"sync/atomic"
	"time"
)

// burst detects write bursts, during which merges are postponed. A later merge takes more segments at once, so that documents are
// merged less often, and the processors are free for the writes. Meanwhile there are more segments, within limits.
type burst struct {
	began time.Time
	// until is the time at which the burst ends if no more writes come, as a duration since began.
	until atomic.Int64
	// over fires at that time.
	over *time.Timer
}

const (
	// burstShare makes a rate of at least sealDocs/burstShare documents per second a burst.
	burstShare = 16
	// burstLasts is the maximum time that a burst lasts after the last write.
	burstLasts = 200 * time.Millisecond
)

func newBurst(over func()) *burst {
	return &burst{began: time.Now(), over: time.AfterFunc(burstLasts, over)}
}

// came records a write of docs documents. sealDocs is Options.SealDocs. Calls must not be concurrent.
func (b *burst) came(docs, sealDocs int) {
	now := time.Since(b.began)
	until := max(now, time.Duration(b.until.Load())) + time.Duration(docs)*burstShare*time.Second/time.Duration(sealDocs)
	until = min(until, now+burstLasts)
	b.until.Store(int64(until))
	b.over.Reset(until - now)
}

// on reports whether a burst is in progress.
func (b *burst) on() bool { return time.Since(b.began) < time.Duration(b.until.Load()) }
