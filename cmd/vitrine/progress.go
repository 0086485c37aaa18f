package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/vitrine-dev/vitrine/internal/text"
)

// progress shows how far a long command is: a bar on a terminal, else a line now and then.
type progress struct {
	out   io.Writer // where messages go, above the bar
	bar   *mpb.Bar
	bars  *mpb.Progress
	verb  string
	unit  string // of what is counted
	begun time.Time
	// lines and share (of lines or bytes, as total is) done so far; from is the share at the beginning.
	lines, share atomic.Int64
	from, total  int64
	firstLine    int64
	lastSaid     time.Time
}

// plainEvery is how often a line is printed where there is no terminal.
const plainEvery = 10 * time.Second

// newProgress begins to show how far a command is that is done when share reaches total (0: unknown), having begun at
// share from and after firstLine lines.
func newProgress(out io.Writer, verb string, firstLine, from, total int64) *progress {
	p := &progress{out: out, verb: verb, unit: "lines", begun: time.Now(), lastSaid: time.Now(), from: from, total: total, firstLine: firstLine}
	p.lines.Store(firstLine)
	p.share.Store(from)
	if !isTerminal(out) {
		return p
	}
	p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(40), mpb.WithAutoRefresh())
	decorators := mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return p.describe(time.Since(p.begun)) }))
	if total > 0 {
		p.bar = p.bars.AddBar(total, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Percentage(decor.WC{W: 5})), decorators)
	} else {
		p.bar = p.bars.AddSpinner(0, decorators)
	}
	p.out = p.bars // messages are printed above the bar
	return p
}

// set says how far the command is.
func (p *progress) set(lines, share int64) {
	p.lines.Store(lines)
	p.share.Store(share)
	if p.bar != nil {
		p.bar.SetCurrent(min(share, max(p.total-1, 0))) // complete only in finish
		return
	}
	if time.Since(p.lastSaid) >= plainEvery {
		p.lastSaid = time.Now()
		fmt.Fprintln(p.out, p.describe(time.Since(p.begun)))
	}
}

// finish takes the bar away.
func (p *progress) finish() {
	if p.bar == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
}

// describe says in words how far it came in some time: lines, rate, time left.
func (p *progress) describe(took time.Duration) string {
	lines := p.lines.Load()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", p.verb, text.Thousands(lines), p.unit)
	if seconds := took.Seconds(); seconds > 0.5 {
		fmt.Fprintf(&b, ", %s/s", text.Thousands(int64(float64(lines-p.firstLine)/seconds)))
	}
	if done := p.share.Load() - p.from; p.total > 0 && done > 0 && took > time.Second {
		left := time.Duration(float64(took) * float64(p.total-p.share.Load()) / float64(done))
		fmt.Fprintf(&b, ", %s left", left.Round(time.Second))
	}
	return b.String()
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
