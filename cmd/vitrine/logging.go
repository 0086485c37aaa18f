package main

import (
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
	lines := &gathered{w: w}
	o := &slog.HandlerOptions{Level: l}
	var h slog.Handler
	switch format {
	case "text":
		h = slog.NewTextHandler(lines, o)
	case "json":
		h = slog.NewJSONHandler(lines, o)
	default:
		return nil, nil, usagef("--log-format %q: want text or json", format)
	}
	return slog.New(prompt{h, lines}), lines.flush, nil
}

const (
	// gatherFor is how late a line may be written, and gatherBytes how much is not waited for.
	gatherFor   = 100 * time.Millisecond
	gatherBytes = 32 << 10
)

// gathered writes lines some at a time: with one for each request, a call to the system for each line is a good part of
// what the request costs.
type gathered struct {
	w       io.Writer
	mu      sync.Mutex
	lines   []byte
	waiting bool
}

// Write implements io.Writer; what it is given is a whole line.
func (g *gathered) Write(line []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lines = append(g.lines, line...)
	if len(g.lines) >= gatherBytes {
		g.write()
	} else if !g.waiting {
		g.waiting = true
		time.AfterFunc(gatherFor, g.flush)
	}
	return len(line), nil
}

func (g *gathered) flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = false
	g.write()
}

func (g *gathered) write() {
	if len(g.lines) > 0 {
		_, _ = g.w.Write(g.lines) // a log that cannot be written has nobody to tell
		g.lines = g.lines[:0]
	}
}

// prompt writes warnings and errors at once, with all that came before them.
type prompt struct {
	slog.Handler
	lines *gathered
}

// Handle implements slog.Handler.
func (p prompt) Handle(ctx context.Context, r slog.Record) error {
	err := p.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		p.lines.flush()
	}
	return err
}

// WithAttrs implements slog.Handler.
func (p prompt) WithAttrs(attrs []slog.Attr) slog.Handler {
	return prompt{p.Handler.WithAttrs(attrs), p.lines}
}

// WithGroup implements slog.Handler.
func (p prompt) WithGroup(name string) slog.Handler {
	return prompt{p.Handler.WithGroup(name), p.lines}
}

// bridge has the Kubernetes libraries write to the same log. They keep their loggers in package variables, so this is for
// the process as a whole.
func bridge(log *slog.Logger) logr.Logger {
	l := logr.FromSlogHandler(log.Handler())
	ctrl.SetLogger(l)
	klog.SetLogger(l.WithName("client-go"))
	return l
}
