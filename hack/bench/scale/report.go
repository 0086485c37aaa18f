package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/hack/bench/report"
	"github.com/vitrine-dev/vitrine/server/library"
)

// figures are what a run measured. Times are in seconds unless the name says otherwise.
type figures struct {
	Date       string `json:"date"`
	Go         string `json:"go"`
	Processors int    `json:"processors"`
	Objects    int    `json:"objects"`
	Small      int    `json:"small"`

	Create       []float64 `json:"create"`
	Bare         []float64 `json:"bare"`
	StatusWrites []int64   `json:"statusWrites"`
	Broken       float64   `json:"broken"`
	// Served is sorted, in milliseconds.
	Served          []float64 `json:"servedMilliseconds"`
	Many            float64   `json:"many"`
	Tags            int       `json:"tags"`
	TagsReady       float64   `json:"tagsReady"`
	TagStatusWrites int64     `json:"tagStatusWrites"`
	// RestCPU is a share of one core.
	RestCPU      float64 `json:"restCPU"`
	RestWrites   int64   `json:"restWrites"`
	HeapEmpty    float64 `json:"heapEmptyBytes"`
	HeapFull     float64 `json:"heapFullBytes"`
	Restart      float64 `json:"restart"`
	List         float64 `json:"list"`
	ResyncWrites int64   `json:"resyncWrites"`
}

// filterUUID is the UUID by which a filter is served, known before the operator has seen it.
func filterUUID(f *v1alpha1.ContentFilter) string {
	uuid, _ := library.FilterIDs(library.PropertyID(f.Namespace+"/default"), library.KindFilter, f.Namespace, f.Name)
	return uuid
}

func median(of []float64) float64 { return report.Quantile(of, 0.5) }

// ratios divides the operator's times by the bare client's of the same round.
func (r *figures) ratios() []float64 {
	out := make([]float64, len(r.Create))
	for i := range out {
		out[i] = r.Create[i] / r.Bare[i]
	}
	return out
}

// row is one line of the table: what was measured, its range, the figure, and whether it is within.
type row struct {
	what, bar, measured string
	ok                  bool
}

const mebi = 1 << 20

func (r *figures) rows() []row {
	ratios := r.ratios()
	exact := !slices.ContainsFunc(r.StatusWrites, func(n int64) bool { return n != int64(r.Small) })
	return []row{
		{fmt.Sprintf("%d ContentFilters: status writes, by round", r.Small), "one an object", strings.Trim(fmt.Sprint(r.StatusWrites), "[]"), exact},
		{fmt.Sprintf("%d ContentFilters: first create to last Ready, against a bare client that creates them and writes one status each", r.Small), "≤ 1.5 ×",
			fmt.Sprintf("%.2f × (rounds %.2f to %.2f; %.1f s against %.1f s)", median(ratios), slices.Min(ratios), slices.Max(ratios), median(r.Create), median(r.Bare)), median(ratios) <= 1.5},
		{fmt.Sprintf("one broken object among %d: the others Ready, against none broken", r.Small), "≤ 1.5 ×",
			fmt.Sprintf("%.2f ×", r.Broken/median(r.Create)), r.Broken <= 1.5*median(r.Create)},
		{fmt.Sprintf("created filter to first correct page, p99 of %d at %d filters", len(r.Served), r.Small), "≤ 250 ms",
			fmt.Sprintf("%.0f ms (median %.0f ms)", report.Quantile(r.Served, 0.99), median(r.Served)), report.Quantile(r.Served, 0.99) <= 250},
		{fmt.Sprintf("%d ContentFilters more, created to Ready", max(0, r.Objects-r.Small-r.Tags)), "–", fmt.Sprintf("%.1f s", r.Many), true},
		{fmt.Sprintf("%d Tags by rule, created to Ready", r.Tags), "–", fmt.Sprintf("%.1f s, %d status writes", r.TagsReady, r.TagStatusWrites), true},
		{fmt.Sprintf("at rest with %d objects: processor", r.Objects), "≤ 1 % of a core", fmt.Sprintf("%.2f %%", 100*r.RestCPU), r.RestCPU <= 0.01},
		{"at rest: API writes in " + restTime.String(), "0", fmt.Sprint(r.RestWrites), r.RestWrites == 0},
		{fmt.Sprintf("heap of %d objects, beyond the empty process", r.Objects), "≤ 150 MiB",
			fmt.Sprintf("%.0f MiB", (r.HeapFull-r.HeapEmpty)/mebi), r.HeapFull-r.HeapEmpty <= 150*mebi},
		// A second start serves its last known state before it has listed the objects, so it can be faster than one list.
		{fmt.Sprintf("restart over %d objects: start to /readyz, against one list of all", r.Objects), "≤ the list + 3 s",
			fmt.Sprintf("%.1f s (the list: %.1f s)", r.Restart, r.List), r.Restart <= r.List+3},
		{"full resync after the restart: API writes", "0", fmt.Sprint(r.ResyncWrites), r.ResyncWrites == 0},
	}
}

func (r *figures) table() string {
	var b strings.Builder
	b.WriteString("| what | range | measured |\n| --- | --- | --- |\n")
	for _, row := range r.rows() {
		mark := ""
		if !row.ok {
			mark = " **out of range**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s%s |\n", row.what, row.bar, row.measured, mark)
	}
	return b.String()
}

// write writes the documentation.
func (r *figures) write(dir string) error {
	text := fmt.Sprintf(`# The operator at scale

Measured by `+"`make scale`"+` on %s: %d processors, %s, a kube-apiserver with etcd and the operator on one machine that does
other work as well. Speed is a ratio to a bare client in the same run, the median of %d rounds; numbers of writes come from the
API server's own counters and are exact. The figures are in [scale.json](scale.json).

%s
The bare client creates the same objects and writes one status each, as many at a time as create objects for the operator. The
heap is what a collection leaves; both heaps hold an empty library.
`, r.Date, r.Processors, r.Go, len(r.Create), r.table())
	kept, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "scale.md"), []byte(text), 0o644),
		os.WriteFile(filepath.Join(dir, "scale.json"), append(kept, '\n'), 0o644),
	)
}

// check fails where a figure is out of its range.
func (r *figures) check() error {
	var out []string
	for _, row := range r.rows() {
		if !row.ok {
			out = append(out, fmt.Sprintf("%s: %s, want %s", row.what, row.measured, row.bar))
		}
	}
	if len(out) > 0 {
		return errors.New("out of range:\n  " + strings.Join(out, "\n  "))
	}
	return nil
}
