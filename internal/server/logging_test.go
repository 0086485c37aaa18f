package server

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// writes counts the calls to a writer.
type writes struct {
	mu    sync.Mutex
	calls int
	text  bytes.Buffer
}

func (w *writes) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	return w.text.Write(b)
}

func (w *writes) seen() (calls int, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls, w.text.String()
}

// TestLogIsBuffered checks that lines are written several at a time, in order and soon, and that warnings are written at once.
func TestLogIsBuffered(t *testing.T) {
	w := &writes{}
	log, flush, err := NewLogger(w, "json", "info")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("first")
	log.With("part", "x").WithGroup("g").Info("second")
	log.Debug("not at this level")
	// The lines are written by themselves. If not, the test ends with the time limit of the package.
	for text := ""; !strings.Contains(text, "second"); _, text = w.seen() {
		<-time.After(time.Millisecond)
	}
	if calls, text := w.seen(); calls != 1 || strings.Index(text, "first") > strings.Index(text, "second") {
		t.Errorf("%d calls: %s", calls, text)
	}
	log.Info("third")
	log.With("part", "x").Warn("fourth")
	if calls, text := w.seen(); calls != 2 || !strings.Contains(text, "fourth") {
		t.Errorf("a warning is delayed: %d calls, %s", calls, text)
	}
	seen := []string{"before"}
	log.Info("fifth", "seen", seen)
	seen[0] = "after"
	if calls, text := w.seen(); calls != 3 || !strings.Contains(text, "before") {
		t.Errorf("a value that can change is delayed: %d calls, %s", calls, text)
	}
	for range 2000 {
		log.Info("many")
	}
	if calls, _ := w.seen(); calls < 4 {
		t.Error("a full buffer is not written")
	}
	flush()
	if _, text := w.seen(); strings.Count(text, "many") != 2000 || strings.Count(text, "\n") != 2005 {
		t.Errorf("%d of 2000 lines", strings.Count(text, "many"))
	}
	for _, flags := range [][2]string{{"xml", "info"}, {"json", "loud"}} {
		if _, _, err := NewLogger(io.Discard, flags[0], flags[1]); err == nil {
			t.Errorf("a log of %v", flags)
		}
	}
}
