package output

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestDescribeProgress(t *testing.T) {
	cases := map[string]struct {
		firstLine, lines   int64
		from, share, total int64
		took               time.Duration
		want               string
	}{
		"just begun":     {total: 100, want: "imported 0 lines"},
		"half way":       {lines: 50000, share: 500, total: 1000, took: 10 * time.Second, want: "imported 50,000 lines, 5,000/s, 10s left"},
		"resumed":        {firstLine: 40000, lines: 50000, from: 400, share: 500, total: 1000, took: 10 * time.Second, want: "imported 50,000 lines, 1,000/s, 50s left"},
		"unknown length": {lines: 20, share: 900, took: 2 * time.Second, want: "imported 20 lines, 10/s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := NewProgress(&bytes.Buffer{}, "imported", tc.firstLine, tc.from, tc.total)
			p.Set(tc.firstLine, tc.from)
			p.lines.Store(max(tc.lines, tc.firstLine))
			p.share.Store(tc.share)
			if got := p.describe(tc.took); got != tc.want {
				t.Errorf("%q; want %q", got, tc.want)
			}
		})
	}
}

func TestPlainProgressInterval(t *testing.T) {
	out := &bytes.Buffer{}
	p := NewProgress(out, "imported", 0, 0, 1000)
	p.Set(10, 100)
	if out.Len() != 0 {
		t.Errorf("printed at once: %s", out)
	}
	p.lastSaid = p.lastSaid.Add(-plainEvery)
	p.Set(20, 200)
	p.Set(30, 300)
	p.Finish()
	if !strings.HasPrefix(out.String(), "imported 20 lines") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("printed %q; want one line", out)
	}
}
