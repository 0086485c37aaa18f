package index

import (
	"sync/atomic"
	"time"
)

// pace detects write bursts and quiet periods. During a write burst, merges are postponed. A postponed merge takes more segments at once,
// so each document is merged fewer times, and the processors are free for the writes. The cost is a larger number of segments during the
// burst. In a quiet period, the index merges more segments than usual, because each segment makes new queries slower, and merging delays no
// writes. The type policy determines which segments are merged.
type pace struct {
	began time.Time
	// until is the time at which the burst ends if no further write comes, and last is the time of the last write. Both are durations since
	// began.
	until, last atomic.Int64
	// rest is a timer that calls the function passed to newPace when a quiet period begins. A burst has then ended as well.
	rest *time.Timer
}

const (
	// burstShare defines a write burst: at least sealDocs/burstShare documents are written per second.
	burstShare = 16
	// quietAfter is the time from the last write to the beginning of a quiet period. A burst ends at this time at the latest.
	quietAfter = 200 * time.Millisecond
)

func newPace(quiet func()) *pace {
	return &pace{began: time.Now(), rest: time.AfterFunc(quietAfter, quiet)}
}

// wrote records a write of docs documents. sealDocs is Options.SealDocs. Callers must not call wrote concurrently.
func (p *pace) wrote(docs, sealDocs int) {
	now := time.Since(p.began)
	until := max(now, time.Duration(p.until.Load())) + time.Duration(docs)*burstShare*time.Second/time.Duration(sealDocs)
	p.until.Store(int64(min(until, now+quietAfter)))
	p.last.Store(int64(now))
	p.rest.Reset(quietAfter)
}

// burst reports whether a write burst is in progress.
func (p *pace) burst() bool { return time.Since(p.began) < time.Duration(p.until.Load()) }

// quiet reports whether a quiet period is in progress.
func (p *pace) quiet() bool { return time.Since(p.began)-time.Duration(p.last.Load()) >= quietAfter }
