package httpapi

import "sync"

// A batch is what was received while the one before it was written, and at most this much: large enough that many lines
// share an fsync, small enough that nobody waits for an answer. The bytes also bound what a backlog holds.
const (
	batchLines = 256
	batchBytes = 1 << 20
)

// bulkLine is one line of an import as received.
type bulkLine struct {
	// number counts from 1, blank lines included.
	number int64
	text   []byte
	// err says why there is no text: errLongLine, or why the body could not be read on.
	err error
}

// backlog holds the lines that were received and not yet written, between the goroutine that reads them and the one that
// answers. It takes in no further line once it holds batchBytes, so that an import costs little memory however fast its
// client is.
type backlog struct {
	mu      sync.Mutex
	changed *sync.Cond
	lines   []bulkLine
	bytes   int
	// finished: no line will come. abandoned: none will be taken.
	finished, abandoned bool
}

func newBacklog() *backlog {
	b := &backlog{}
	b.changed = sync.NewCond(&b.mu)
	return b
}

// put adds a line, after waiting for room. It reports false when the backlog was abandoned.
func (b *backlog) put(l bulkLine) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for (b.bytes >= batchBytes || len(b.lines) >= batchLines) && !b.abandoned {
		b.changed.Wait()
	}
	b.lines = append(b.lines, l)
	b.bytes += len(l.text)
	b.changed.Broadcast()
	return !b.abandoned
}

// take returns all lines there are, after waiting for one; nil when there are no more.
func (b *backlog) take() []bulkLine {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.lines) == 0 && !b.finished {
		b.changed.Wait()
	}
	lines := b.lines
	b.lines, b.bytes = nil, 0
	b.changed.Broadcast()
	return lines
}

// finish says that no further line will come.
func (b *backlog) finish() { b.end(&b.finished) }

// abandon says that no further line will be taken.
func (b *backlog) abandon() { b.end(&b.abandoned) }

func (b *backlog) end(flag *bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*flag = true
	b.changed.Broadcast()
}
