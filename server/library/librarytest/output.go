package librarytest

import (
	"bytes"
	"sync"
)

// Output collects the text that a program writes, such as its log. A test can read it while the program writes.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to the text.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String returns the text so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
