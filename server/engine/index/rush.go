package index

import (
	"sync/atomic"
	"time"
)

// rush says whether writes come so fast that merging is better put off: what is merged later is merged with more at once,
// and so less often, and until then the processors are there for the writes. Segments are more meanwhile, within limits.
type rush struct {
	began time.Time
	// until is when it is over if nothing comes, as a time since it began.
	until atomic.Int64
	// over calls when it is.
	over *time.Timer
}

const (
	// rushShare is the part of what is sealed, one in so many, that comes in every second of a rush.
	rushShare = 16
	// rushLasts is how long at most a rush goes on when nothing comes any more.
	rushLasts = 200 * time.Millisecond
)

func newRush(over func()) *rush {
	return &rush{began: time.Now(), over: time.AfterFunc(rushLasts, over)}
}

// came notes that so many documents came, of so many that are sealed. It is called by one at a time.
func (r *rush) came(docs, sealed int) {
	now := time.Since(r.began)
	until := max(now, time.Duration(r.until.Load())) + time.Duration(docs)*rushShare*time.Second/time.Duration(sealed)
	until = min(until, now+rushLasts)
	r.until.Store(int64(until))
	r.over.Reset(until - now)
}

// on reports whether it is on.
func (r *rush) on() bool { return time.Since(r.began) < time.Duration(r.until.Load()) }
