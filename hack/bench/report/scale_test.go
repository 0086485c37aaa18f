package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sound returns results with every figure in its range.
func sound() *Scale {
	served := make([]float64, 200)
	for i := range served {
		served[i] = 20
	}
	return &Scale{
		Objects: 10_000, Small: 1000, Create: []float64{10, 11, 12}, Bare: []float64{10, 10, 10}, StatusWrites: []int64{1000, 1000, 1000},
		Broken: 11, Served: served, Many: 80, Tags: 1000, TagsReady: 9, TagStatusWrites: 1000, RestCPU: 0.004,
		HeapEmpty: 10 << 20, HeapFull: 100 << 20, Restart: 4, List: 2,
	}
}

// TestScaleOutOfRange checks that each figure is reported when it is outside of its range.
func TestScaleOutOfRange(t *testing.T) {
	if out := sound().OutOfRange(); len(out) > 0 {
		t.Errorf("no figure is out of range, but OutOfRange returns %q", out)
	}
	for name, tc := range map[string]struct {
		leave func(r *Scale)
		says  string
	}{
		"a write too many":    {func(r *Scale) { r.StatusWrites[1]++ }, "status writes, by round: 1000 1001 1000"},
		"slow":                {func(r *Scale) { r.Create = []float64{16, 16, 1} }, "compared with a bare client"},
		"held up by a broken": {func(r *Scale) { r.Broken = 17 }, "one broken object"},
		"late": {func(r *Scale) {
			for i := range 3 {
				r.Served[len(r.Served)-1-i] = 300
			}
		}, "first correct page"},
		"busy at rest":        {func(r *Scale) { r.RestCPU = 0.011 }, "processor"},
		"writing at rest":     {func(r *Scale) { r.RestWrites = 1 }, "at rest: API writes"},
		"large":               {func(r *Scale) { r.HeapFull = 161 << 20 }, "heap"},
		"a slow start":        {func(r *Scale) { r.Restart = 5.1 }, "restart"},
		"a resync that tells": {func(r *Scale) { r.ResyncWrites = 1 }, "full resync"},
	} {
		t.Run(name, func(t *testing.T) {
			r := sound()
			tc.leave(r)
			if out := r.OutOfRange(); len(out) != 1 || !strings.Contains(out[0], tc.says) {
				t.Errorf("%q; want one line with %q", out, tc.says)
			}
		})
	}
}

// TestScaleRestart checks that a restart that is faster than one list of all objects is not reported as a negative time.
func TestScaleRestart(t *testing.T) {
	r := sound()
	r.Restart, r.List = 0.4, 1
	if table := r.Table(); !strings.Contains(table, "| 0.4 s (the list: 1.0 s) |") || strings.Contains(table, "-0") {
		t.Errorf("want the times of the restart and of the list:\n%s", table)
	}
}

// TestScaleWrite checks that the page shows which figures are out of range, and that the figures are written next to it.
func TestScaleWrite(t *testing.T) {
	dir := t.TempDir()
	r := sound()
	r.RestWrites = 3
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "scale.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(page), "**out of range**"); n != 1 {
		t.Errorf("%d figures are out of range, want 1:\n%s", n, page)
	}
	if _, err := os.Stat(filepath.Join(dir, "scale.json")); err != nil {
		t.Error(err)
	}
}
