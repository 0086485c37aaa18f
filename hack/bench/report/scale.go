package report

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Scale contains the measurements of the operator at scale. Times are in seconds unless the JSON name contains another unit.
type Scale struct {
	Date       string `json:"date"`
	Go         string `json:"go"`
	Processors int    `json:"processors"`
	Objects    int    `json:"objects"`
	Small      int    `json:"small"`

	Create       []float64 `json:"create"`
	Bare         []float64 `json:"bare"`
	StatusWrites []int64   `json:"statusWrites"`
	Broken       float64   `json:"broken"`
	// Served contains, for each filter, the time from its creation until the server returns its first correct page, in milliseconds and
	// sorted.
	Served          []float64 `json:"servedMilliseconds"`
	Many            float64   `json:"many"`
	Tags            int       `json:"tags"`
	TagsReady       float64   `json:"tagsReady"`
	TagStatusWrites int64     `json:"tagStatusWrites"`
	// RestCPU is the fraction of one core that the idle operator uses.
	RestCPU      float64 `json:"restCPU"`
	RestWrites   int64   `json:"restWrites"`
	HeapEmpty    float64 `json:"heapEmptyBytes"`
	HeapFull     float64 `json:"heapFullBytes"`
	Restart      float64 `json:"restart"`
	List         float64 `json:"list"`
	ResyncWrites int64   `json:"resyncWrites"`
}

// RestTime is the time for which the idle operator is observed.
const RestTime = 30 * time.Second

// rows returns the table of the figures, and a line for each figure that is outside its range.
func (s *Scale) rows() (t table, out []string) {
	t = table{{"what", "range", "measured"}}
	add := func(inside bool, bar, measured, what string, args ...any) {
		what = fmt.Sprintf(what, args...)
		if !inside {
			out = append(out, fmt.Sprintf("%s: %s, want %s", what, measured, bar))
			measured += " **out of range**"
		}
		t = append(t, []string{what, bar, measured})
	}
	ratios := make([]float64, len(s.Create)) // ratios of the operator's times to the bare client's, by round
	for i := range ratios {
		ratios[i] = s.Create[i] / s.Bare[i]
	}
	ratio, create, late, heap := median(ratios), median(s.Create), Quantile(s.Served, 0.99), (s.HeapFull-s.HeapEmpty)/(1<<20)
	add(!slices.ContainsFunc(s.StatusWrites, func(n int64) bool { return n != int64(s.Small) }), "one per object", strings.Trim(fmt.Sprint(s.StatusWrites), "[]"),
		"%d ContentFilters: status writes, by round", s.Small)
	add(ratio <= 1.5, "≤ 1.5 ×", fmt.Sprintf("%.2f × (rounds %.2f to %.2f; %.1f s, the bare client %.1f s)", ratio, slices.Min(ratios), slices.Max(ratios), create, median(s.Bare)),
		"%d ContentFilters: time from the first create to the last Ready, compared with a bare client that creates the same objects and writes one status for each", s.Small)
	add(s.Broken <= 1.5*create, "≤ 1.5 ×", fmt.Sprintf("%.2f ×", s.Broken/create), "one broken object among %d: time until the others are Ready, compared with no broken object", s.Small)
	add(late <= 250, "≤ 250 ms", fmt.Sprintf("%.0f ms (median %.0f ms)", late, median(s.Served)), "time from the creation of a filter to its first correct page, p99 of %d filters, with %d filters in the cluster", len(s.Served), s.Small)
	add(true, "–", fmt.Sprintf("%.1f s", s.Many), "%d more ContentFilters: time from the first create to the last Ready", max(0, s.Objects-s.Small-s.Tags))
	add(true, "–", fmt.Sprintf("%.1f s, %d status writes", s.TagsReady, s.TagStatusWrites), "%d Tags with selectors: time from the first create to the last Ready", s.Tags)
	add(s.RestCPU <= 0.01, "≤ 1 % of a core", fmt.Sprintf("%.2f %%", 100*s.RestCPU), "at rest with %d objects: processor time", s.Objects)
	add(s.RestWrites == 0, "0", fmt.Sprint(s.RestWrites), "at rest: API writes in %s", RestTime)
	add(heap <= 150, "≤ 150 MiB", fmt.Sprintf("%.0f MiB", heap), "heap of %d objects, in addition to the heap of an empty process", s.Objects)
	// After a restart, the server serves its last known state before the operator has listed the objects, so a restart can be faster than
	// one list.
	add(s.Restart <= s.List+3, "≤ the list + 3 s", fmt.Sprintf("%.1f s (the list: %.1f s)", s.Restart, s.List), "restart with %d objects: time from the start of the process until it is ready, compared with one list of all objects", s.Objects)
	add(s.ResyncWrites == 0, "0", fmt.Sprint(s.ResyncWrites), "full resync after the restart: API writes")
	return t, out
}

func median(of []float64) float64 { return Quantile(of, 0.5) }

// Table returns the table of the figures, in Markdown.
func (s *Scale) Table() string {
	t, _ := s.rows()
	return t.String()
}

// OutOfRange returns a line for each figure that is outside its range.
func (s *Scale) OutOfRange() []string {
	_, out := s.rows()
	return out
}

// Write writes scale.json and scale.md into a directory.
func (s *Scale) Write(docs string) error {
	return errors.Join(save(filepath.Join(docs, "scale.json"), s), writePage(docs, "scale.md", s))
}
