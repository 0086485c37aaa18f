package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/vitrine-dev/vitrine/internal/exit"
)

// NewLogger returns the logger of the server, which writes one structured line for each event. flush writes the buffered lines. The caller
// must call it before the process exits.
func NewLogger(w io.Writer, format, level string) (log *slog.Logger, flush func(), err error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, nil, exit.Usagef("--log-level %q: must be debug, info, warn or error", level)
	}
	g := &gathered{w: w}
	o := &slog.HandlerOptions{Level: l}
	var h slog.Handler
	switch format {
	case "text":
		h = slog.NewTextHandler(&g.text, o)
	case "json":
		h = slog.NewJSONHandler(&g.text, o)
	default:
		return nil, nil, exit.Usagef("--log-format %q: must be text or json", format)
	}
	return slog.New(gathering{h, g}), g.flush, nil
}

// gatherFor is the maximum time for which a line stays in the buffer. gatherLines is the number of lines that fill the buffer, which is
// then written immediately.
const (
	gatherFor   = 100 * time.Millisecond
	gatherLines = 512
)

// gathered buffers lines and writes several of them at a time. A system call for each line would be a large part of the cost of a request.
// Formatting the lines one at a time would also be expensive, because the work between two lines evicts the code and data of the logger
// from the processor caches.
type gathered struct {
	mu      sync.Mutex
	lines   []line
	waiting bool

	// writing serializes the writers, so that the lines stay in order. A goroutine that locks both writing and mu locks writing first.
	writing sync.Mutex
	w       io.Writer
	text    bytes.Buffer // receives the output of the handlers
	spare   []line
}

// line is a record and the handler that formats it.
type line struct {
	to     slog.Handler
	record slog.Record
}

// add buffers a line, and then writes all buffered lines if atOnce is set or the buffer is full.
func (g *gathered) add(l line, atOnce bool) {
	g.mu.Lock()
	g.lines = append(g.lines, l)
	if atOnce = atOnce || len(g.lines) >= gatherLines; !atOnce && !g.waiting {
		g.waiting = true
		time.AfterFunc(gatherFor, g.flush)
	}
	g.mu.Unlock()
	if atOnce {
		g.flush()
	}
}

func (g *gathered) flush() {
	g.writing.Lock()
	defer g.writing.Unlock()
	g.mu.Lock()
	lines := g.lines
	g.lines, g.waiting = g.spare, false
	g.mu.Unlock()
	for _, l := range lines {
		_ = l.to.Handle(context.Background(), l.record) // writes to memory, so it does not fail
	}
	if g.text.Len() > 0 {
		_, _ = g.w.Write(g.text.Bytes()) // ignore an error: there is nowhere to report that the log cannot be written
		g.text.Reset()
	}
	clear(lines)
	g.spare = lines[:0]
}

// gathering is a handler that buffers its lines. It writes a warning or an error immediately, together with all buffered lines. It does the
// same for a record whose values could change before a later write.
type gathering struct {
	slog.Handler
	lines *gathered
}

// Handle implements slog.Handler.
func (g gathering) Handle(_ context.Context, r slog.Record) error {
	g.lines.add(line{g.Handler, r}, r.Level >= slog.LevelWarn || !settled(r))
	return nil
}

// settled reports whether a record has only plain values, which cannot change.
func settled(r slog.Record) bool {
	plain := true
	r.Attrs(func(a slog.Attr) bool {
		switch a.Value.Kind() {
		case slog.KindAny, slog.KindGroup, slog.KindLogValuer:
			plain = false
		}
		return plain
	})
	return plain
}

// WithAttrs implements slog.Handler.
func (g gathering) WithAttrs(attrs []slog.Attr) slog.Handler {
	return gathering{g.Handler.WithAttrs(attrs), g.lines}
}

// WithGroup implements slog.Handler.
func (g gathering) WithGroup(name string) slog.Handler {
	return gathering{g.Handler.WithGroup(name), g.lines}
}

// bridge makes the Kubernetes libraries write to log. Their loggers are package variables, so this affects the whole process.
func bridge(log *slog.Logger) logr.Logger {
	l := logr.FromSlogHandler(log.Handler())
	ctrl.SetLogger(l)
	klog.SetLogger(l.WithName("client-go"))
	return l
}
