package output

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

// Progress shows the progress of a long command: as a bar on a terminal, and as a line every plainEvery elsewhere.
type Progress struct {
	// Out receives messages. On a terminal, they appear above the bar.
	Out   io.Writer
	bar   *mpb.Bar
	bars  *mpb.Progress
	verb  string
	unit  string // the unit that lines counts
	begun time.Time
	// lines is the number of completed lines (or other units). share is the completed part of total. share and total are both in lines or
	// both in bytes. from is the value of share at the start.
	lines, share atomic.Int64
	from, total  int64
	firstLine    int64
	lastSaid     time.Time
}

// plainEvery is the interval between two lines of output if the output is not a terminal.
const plainEvery = 10 * time.Second

// NewProgress starts to show the progress of a command. If the command continues an earlier run, firstLine is the number of lines that the
// earlier run has completed, and from is their share. The command is complete when its share reaches total. A total of 0 means that the
// total is unknown.
func NewProgress(out io.Writer, verb string, firstLine, from, total int64) *Progress {
	p := &Progress{Out: out, verb: verb, unit: "lines", begun: time.Now(), lastSaid: time.Now(), from: from, total: total, firstLine: firstLine}
	p.lines.Store(firstLine)
	p.share.Store(from)
	if !IsTerminal(out) {
		return p
	}
	p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(40), mpb.WithAutoRefresh())
	decorators := mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return p.describe(time.Since(p.begun)) }))
	if total > 0 {
		p.bar = p.bars.AddBar(total, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Percentage(decor.WC{W: 5})), decorators)
	} else {
		p.bar = p.bars.AddSpinner(0, decorators)
	}
	p.Out = p.bars // prints messages above the bar
	return p
}

// Set updates the progress.
func (p *Progress) Set(lines, share int64) {
	p.lines.Store(lines)
	p.share.Store(share)
	if p.bar != nil {
		p.bar.SetCurrent(min(share, max(p.total-1, 0))) // finish completes the bar
		return
	}
	if time.Since(p.lastSaid) >= plainEvery {
		p.lastSaid = time.Now()
		fmt.Fprintln(p.Out, p.describe(time.Since(p.begun)))
	}
}

// Finish removes the bar.
func (p *Progress) Finish() {
	if p.bar == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
}

// describe formats the progress: the completed lines, the rate and the remaining time. took is the time since the start of the command.
func (p *Progress) describe(took time.Duration) string {
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

// LaterProgress is a Progress that starts with its first call of Show, when the total is known.
type LaterProgress struct {
	Out io.Writer
	// Verb and Unit name what is done, and what is counted, such as copied and bytes.
	Verb, Unit string
	begun      *Progress // nil while there is nothing to show
}

// Show updates the progress.
func (l *LaterProgress) Show(done, total int64) {
	if l.begun == nil {
		l.begun = NewProgress(l.Out, l.Verb, 0, 0, total)
		l.begun.unit = l.Unit
	}
	l.begun.Set(done, done)
}

// Finish removes the bar. It can be called more than once.
func (l *LaterProgress) Finish() {
	if l.begun != nil {
		l.begun.Finish()
		l.begun = nil
	}
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
