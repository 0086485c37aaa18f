package index

import (
	"sync/atomic"
	"time"
)

// burst detects write bursts. During a write burst, merges are postponed. A postponed merge takes more segments at once, so each document
// is merged fewer times, and the processors are free for the writes. The cost is a larger number of segments during the burst. The type
// policy limits this number.
type burst struct {
	began time.Time
	// until is the time at which the burst ends if no further write comes, as a duration since began.
	until atomic.Int64
	// over is a timer that calls the function passed to newBurst at the time `until`.
	over *time.Timer
}

const (
	// burstShare defines a write burst: at least sealDocs/burstShare documents are written per second.
	burstShare = 16
	// burstLasts is the maximum time between the last write and the end of the burst.
	burstLasts = 200 * time.Millisecond
)

func newBurst(over func()) *burst {
	return &burst{began: time.Now(), over: time.AfterFunc(burstLasts, over)}
}

// came records a write of docs documents. sealDocs is Options.SealDocs. Callers must not call came concurrently.
func (b *burst) came(docs, sealDocs int) {
	now := time.Since(b.began)
	until := max(now, time.Duration(b.until.Load())) + time.Duration(docs)*burstShare*time.Second/time.Duration(sealDocs)
	until = min(until, now+burstLasts)
	b.until.Store(int64(until))
	b.over.Reset(until - now)
}

// on reports whether a burst is in progress.
func (b *burst) on() bool { return time.Since(b.began) < time.Duration(b.until.Load()) }
