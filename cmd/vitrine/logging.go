package main

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
)

// newLogger returns the log of the server: one structured line an event. flush writes what was gathered, and has to be
// called in the end.
func newLogger(w io.Writer, format, level string) (log *slog.Logger, flush func(), err error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, nil, usagef("--log-level %q: want debug, info, warn or error", level)
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
		return nil, nil, usagef("--log-format %q: want text or json", format)
	}
	return slog.New(gathering{h, g}), g.flush, nil
}

// gatherFor is how late a line may be written, and gatherLines how many are not waited for.
const (
	gatherFor   = 100 * time.Millisecond
	gatherLines = 512
)

// gathered writes lines some at a time. With one for each request a call to the system for each line is a good part of what
// the request costs, and so is its making: between the bytes of two pages the processor has to fetch again all that makes it.
type gathered struct {
	mu      sync.Mutex
	lines   []line
	waiting bool

	// writing is held by whoever writes lines, which keeps them in their order; it is taken before mu.
	writing sync.Mutex
	w       io.Writer
	text    bytes.Buffer // where handlers write
	spare   []line
}

// line is a record on its way to its handler.
type line struct {
	to     slog.Handler
	record slog.Record
}

// add takes a line in; it is written at once where it may not wait.
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
		_ = l.to.Handle(context.Background(), l.record) // it writes into memory
	}
	if g.text.Len() > 0 {
		_, _ = g.w.Write(g.text.Bytes()) // a log that cannot be written has nobody to tell
		g.text.Reset()
	}
	clear(lines)
	g.spare = lines[:0]
}

// gathering is a handler whose lines are gathered. Warnings and errors are written at once, with all that came before them,
// and so is what holds values that could be others by the time they are written.
type gathering struct {
	slog.Handler
	lines *gathered
}

// Handle implements slog.Handler.
func (g gathering) Handle(_ context.Context, r slog.Record) error {
	g.lines.add(line{g.Handler, r}, r.Level >= slog.LevelWarn || !settled(r))
	return nil
}

// settled reports whether a record has plain values alone.
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

// bridge has the Kubernetes libraries write to the same log. They keep their loggers in package variables, so this is for
// the process as a whole.
func bridge(log *slog.Logger) logr.Logger {
	l := logr.FromSlogHandler(log.Handler())
	ctrl.SetLogger(l)
	klog.SetLogger(l.WithName("client-go"))
	return l
}
