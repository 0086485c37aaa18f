package index

import (
	"sync/atomic"
	"time"
)

// burst detects write bursts, during which merges are postponed. A postponed merge takes more segments at once, so documents are merged
// less often, and the processors are free for the writes. In return, a burst has more segments, within limits.
type burst struct {
	began time.Time
	// until is the time at which the burst ends if no further write comes, as a duration since began.
	until atomic.Int64
	// over calls the function over of newBurst at the time until.
	over *time.Timer
}

const (
	// burstShare defines a burst: writes of at least sealDocs/burstShare documents per second.
	burstShare = 16
	// burstLasts is the maximum time from the last write to the end of a burst.
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
