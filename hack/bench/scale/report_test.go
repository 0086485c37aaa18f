package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sound is a report with every figure in its range.
func sound() *figures {
	served := make([]float64, samples)
	for i := range served {
		served[i] = 20
	}
	return &figures{
		Objects: 10_000, Small: 1000, Create: []float64{10, 11, 12}, Bare: []float64{10, 10, 10}, StatusWrites: []int64{1000, 1000, 1000},
		Broken: 11, Served: served, Many: 80, Tags: 1000, TagsReady: 9, TagStatusWrites: 1000, RestCPU: 0.004,
		HeapEmpty: 10 * mebi, HeapFull: 100 * mebi, Restart: 4, List: 2,
	}
}

// TestCheck has one figure after the other leave its range.
func TestCheck(t *testing.T) {
	if err := sound().check(); err != nil {
		t.Errorf("all is within: %v", err)
	}
	for name, tc := range map[string]struct {
		leave func(r *figures)
		says  string
	}{
		"a write too many":    {func(r *figures) { r.StatusWrites[1]++ }, "status writes, by round: 1000 1001 1000"},
		"slow":                {func(r *figures) { r.Create = []float64{16, 16, 1} }, "against a bare client"},
		"held up by a broken": {func(r *figures) { r.Broken = 17 }, "one broken object"},
		"late": {func(r *figures) {
			for i := range 3 {
				r.Served[len(r.Served)-1-i] = 300
			}
		}, "first correct page"},
		"busy at rest":        {func(r *figures) { r.RestCPU = 0.011 }, "processor"},
		"writing at rest":     {func(r *figures) { r.RestWrites = 1 }, "at rest: API writes"},
		"large":               {func(r *figures) { r.HeapFull = 161 * mebi }, "heap"},
		"a slow start":        {func(r *figures) { r.Restart = 5.1 }, "restart"},
		"a resync that tells": {func(r *figures) { r.ResyncWrites = 1 }, "full resync"},
	} {
		t.Run(name, func(t *testing.T) {
			r := sound()
			tc.leave(r)
			err := r.check()
			if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Count(err.Error(), "\n") != 1 {
				t.Errorf("%v; want one line with %q", err, tc.says)
			}
		})
	}
}

// TestRestart holds that a restart faster than one list of all objects is no negative time.
func TestRestart(t *testing.T) {
	r := sound()
	r.Restart, r.List = 0.4, 1
	if table := r.table(); !strings.Contains(table, "| 0.4 s (the list: 1.0 s) |") || strings.Contains(table, "-0") {
		t.Errorf("want the times of the restart and of the list:\n%s", table)
	}
}

// TestWrite holds that the page tells what is out of its range, and that the figures lie beside it.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	r := sound()
	r.RestWrites = 3
	if err := r.write(dir); err != nil {
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
