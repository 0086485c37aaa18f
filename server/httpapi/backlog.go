package httpapi

import (
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// A batch contains the lines that arrive while the previous batch is being written, up to these limits. The limits are large enough for
// many lines to share an fsync, and small enough for each line to be answered soon. The byte limit also limits the size of the backlog.
const (
	batchLines = 256
	batchBytes = 1 << 20
)

// If writing a batch takes longer than slowWrite, the library spends most of the time waiting, for example until another service makes the
// items visible. From then on, the limits are slowFactor times as high, and each batch waits for the duration gather, so that more lines
// can arrive.
const (
	slowWrite  = 100 * time.Millisecond
	slowFactor = 8
	gather     = 50 * time.Millisecond
)

// bulkLine is one line of an import.
type bulkLine struct {
	// number is the number of the line from 1. Blank lines count too.
	number int64
	// size is the length of the line in bytes.
	size int
	// mutation is what the line requests, unless the line is refused, or broken is the error that ended the body.
	mutation        library.Mutation
	refused, broken error
}

// backlog holds the lines that were received but not written yet. It passes them from the goroutine that reads lines to the goroutine that
// answers them. put blocks while the backlog is full, so that a fast client cannot use much memory.
type backlog struct {
	mu      sync.Mutex
	changed *sync.Cond
	lines   []bulkLine
	bytes   int
	// factor is the number by which the limits are multiplied.
	factor int
	// finished means that no more lines will be added. abandoned means that no more lines will be taken.
	finished, abandoned bool
}

// newBacklog returns an empty backlog. slow is true if the last write of any import was slow.
func newBacklog(slow bool) *backlog {
	b := &backlog{factor: 1}
	if slow {
		b.factor = slowFactor
	}
	b.changed = sync.NewCond(&b.mu)
	return b
}

// put adds a line. It blocks while the backlog is full. It returns false if the backlog was abandoned.
func (b *backlog) put(l bulkLine) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.full() && !b.abandoned {
		b.changed.Wait()
	}
	b.lines = append(b.lines, l)
	b.bytes += l.size
	b.changed.Broadcast()
	return !b.abandoned
}

// full reports whether the backlog has reached a limit. The caller holds mu.
func (b *backlog) full() bool {
	return b.bytes >= b.factor*batchBytes || len(b.lines) >= b.factor*batchLines
}

// take returns all lines in the backlog. It blocks until there is at least one, and returns nil at the end.
func (b *backlog) take() []bulkLine {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.lines) == 0 && !b.finished {
		b.changed.Wait()
	}
	if b.factor > 1 {
		b.gather()
	}
	lines := b.lines
	b.lines, b.bytes = nil, 0
	b.changed.Broadcast()
	return lines
}

// gather waits for more lines to arrive. The caller holds mu.
func (b *backlog) gather() {
	late := false
	timer := time.AfterFunc(gather, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		late = true
		b.changed.Broadcast()
	})
	defer timer.Stop()
	for !b.full() && !b.finished && !late {
		b.changed.Wait()
	}
}

// wrote adapts the limits to the duration of a write.
func (b *backlog) wrote(took time.Duration) {
	if took <= slowWrite {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.factor = slowFactor
	b.changed.Broadcast()
}

// finish declares that no more lines will be put.
func (b *backlog) finish() { b.end(&b.finished) }

// abandon declares that no more lines will be taken.
func (b *backlog) abandon() { b.end(&b.abandoned) }

func (b *backlog) end(flag *bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*flag = true
	b.changed.Broadcast()
}
