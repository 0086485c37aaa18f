package report

import (
	"fmt"
	"math"
)

// The workloads.
const (
	HotPages     = "hot"
	QuietPages   = "hot-quiet"
	ZippedPages  = "hot-gzip"
	HeldPages    = "hot-304"
	ZipfPages    = "zipf"
	UniformPages = "uniform"
	Depths       = "depths"
	EarlyHot     = "early-hot"
	EarlyZipf    = "early-zipf"
	Booleans     = "boolean"
	BooleansKept = "boolean-again"
	Ranked       = "ranked"
	RankedKept   = "ranked-again"
	Imports      = "import"
	Standing     = "standing-import"
	FirstReads   = "standing-first"
	Matching     = "standing-match"
	Posts        = "posts"
	Restarts     = "restart"
)

// Series that are variants of Vitrine rather than subjects.
const (
	FirstPage   = "first pages"
	LastPage    = "last pages"
	NoFilters   = "no filters"
	ManyFilters = "10,000 filters"
	Percolator  = "OpenSearch's percolator"
	Stopped     = "after SIGTERM"
	Killed      = "after kill -9"
)

// Bar is one line of what has to hold.
type Bar struct {
	ID   string
	What string
	// Want is the bar in words.
	Want string
	// Measure finds the number.
	Measure func(*Run) Measure
	// Least and Most are the bar; NaN where there is none on that side.
	Least, Most float64
	// Show formats the number.
	Show func(float64) string
}

// Met reports whether a measured number is on the right side of the bar.
func (b Bar) Met(m Measure) bool {
	return m.Known && !(m.Value < b.Least) && !(m.Value > b.Most)
}

var none = math.NaN()

func times(v float64) string {
	if v >= 20 {
		return fmt.Sprintf("%.0f ×", v)
	}
	return fmt.Sprintf("%.2f ×", v)
}
func millis(v float64) string { return fmt.Sprintf("%.1f ms", v) }
func secs(v float64) string   { return fmt.Sprintf("%.2f s", v) }
func mib(v float64) string    { return fmt.Sprintf("%.0f MiB", v) }
func octets(v float64) string { return fmt.Sprintf("%.0f bytes", v) }

// ratio is the usual measure: two series of one workload.
func ratio(id, a, b string, of Metric) func(*Run) Measure {
	return func(r *Run) Measure { return r.Workload(id).Ratio(a, b, of) }
}

// Bars are those of the issue that brought the engine, one by one.
var Bars = []Bar{
	{"hot-cpu", "hot filter page of 50 items: processor time per request", "at most 1.35 × the bare server's",
		ratio(HotPages, Vitrine, Bare, CPUPerRequest), none, 1.35, times},
	{"hot-rate", "hot filter page of 50 items: requests/s", "at least 0.8 × the bare server's",
		ratio(HotPages, Vitrine, Bare, PerSecond), 0.8, none, times},
	{"zipf-rate", "random pages, Zipf over 1,000 filters and their pages: requests/s", "at least 0.6 × the bare server's",
		ratio(ZipfPages, Vitrine, Bare, PerSecond), 0.6, none, times},
	{"zipf-p99", "the same: p99", "at most 4 × the bare server's",
		ratio(ZipfPages, Vitrine, Bare, P99), none, 4, times},
	{"uniform-rate", "random pages, uniform: requests/s", "at least 0.4 × the bare server's",
		ratio(UniformPages, Vitrine, Bare, PerSecond), 0.4, none, times},
	{"uniform-p99", "the same: p99", "at most 4 × the bare server's",
		ratio(UniformPages, Vitrine, Bare, P99), none, 4, times},
	{"last-page", "last pages against first pages, default order: requests/s", "at least 0.9 ×",
		ratio(Depths, LastPage, FirstPage, PerSecond), 0.9, none, times},
	{"boolean", "boolean query sorted by date, first page, exact total: median", "at least 20 × faster than OpenSearch",
		ratio(Booleans, OpenSearch, Vitrine, P50), 20, none, times},
	{"ranked", "ranked full text with exact totals, log of 100 queries: median", "at least 5 × faster than OpenSearch",
		ratio(Ranked, OpenSearch, Vitrine, P50), 5, none, times},
	{"ranked-each", "the same: the query with the least advantage", "none slower than OpenSearch",
		func(r *Run) Measure {
			w := r.Workload(Ranked)
			if w == nil || w.SlowestRatio == 0 {
				return Measure{}
			}
			return Exactly(w.SlowestRatio)
		}, 1, none, times},
	{"import", "bulk import, durable, all fields searchable at the end: items/s", "at least 2 × OpenSearch",
		ratio(Imports, Vitrine, OpenSearch, PerSecond), 2, none, times},
	{"import-bleve", "the same", "at least 5 × Bleve",
		ratio(Imports, Vitrine, Bleve, PerSecond), 5, none, times},
	{"standing-import", "import with 10,000 standing filters against none: items/s", "at least 0.9 ×",
		ratio(Standing, ManyFilters, NoFilters, PerSecond), 0.9, none, times},
	{"standing-first", "then the first read of each filter: p99", "at most 50 ms",
		func(r *Run) Measure { return r.Workload(FirstReads).Find(Vitrine).Median(P99) }, none, 50, millis},
	{"standing-match", "items matched per second against 10,000 filters", "at least 50 × the percolator",
		ratio(Matching, Vitrine, Percolator, PerSecond), 50, none, times},
	{"posts", "single POSTs from 64 clients, each durable when answered: requests/s", "at least 0.4 × a bare server that decodes and appends",
		ratio(Posts, Vitrine, Bare, PerSecond), 0.4, none, times},
	{"restart", "ready after a restart", "at most 3 s",
		func(r *Run) Measure {
			clean, killed := r.Workload(Restarts).Find(Stopped).Median(Seconds), r.Workload(Restarts).Find(Killed).Median(Seconds)
			if killed.Known && killed.Value > clean.Value {
				return killed
			}
			return clean
		}, none, 3, secs},
	{"heap", "heap in use with 1,000 filters in use", "at most 400 MiB",
		func(r *Run) Measure {
			s, ok := r.Stage(0)
			if !ok || s.HeapInUse == 0 {
				return Measure{}
			}
			return Exactly(float64(s.HeapInUse) / (1 << 20))
		}, none, 400, mib},
	{"index", "mapped index without the items' bytes, per item", "at most 500 bytes",
		func(r *Run) Measure {
			s, ok := r.Stage(0)
			if !ok || s.SegmentItems == 0 {
				return Measure{}
			}
			return Exactly(float64(s.IndexBytes) / float64(s.SegmentItems))
		}, none, 500, octets},
	{"growth-page", "hot page relative to the bare server, at five times the items: processor time", "flat: at most 1.15 ×",
		growth(EarlyHot, HotPages, CPUPerRequest), none, 1.15, times},
	{"growth-random", "random pages (Zipf) relative to the bare server, at five times the items: processor time", "flat: at most 1.25 ×",
		growth(EarlyZipf, ZipfPages, CPUPerRequest), none, 1.25, times},
	{"growth-heap", "heap in use at five times the items", "sub-linear: below 5 ×",
		func(r *Run) Measure {
			if len(r.Stages) < 2 || r.Stages[0].HeapInUse == 0 {
				return Measure{}
			}
			return Exactly(float64(r.Stages[len(r.Stages)-1].HeapInUse) / float64(r.Stages[0].HeapInUse))
		}, none, 5, times},
	{"growth-import", "import rate of the last fifth of the items against the first", "at least 0.8 ×", importGrowth, 0.8, none, times},
}

// growth compares what a page costs against the bare server at two sizes.
func growth(early, late string, of Metric) func(*Run) Measure {
	return func(r *Run) Measure {
		before, after := r.Workload(early).Ratio(Vitrine, Bare, of), r.Workload(late).Ratio(Vitrine, Bare, of)
		if !before.Known || !after.Known || before.Value == 0 {
			return Measure{}
		}
		return Measure{Value: after.Value / before.Value, Low: after.Low / before.High, High: after.High / before.Low, Known: true}
	}
}

// importGrowth compares the rounds of the last fifth with those of the first.
func importGrowth(r *Run) Measure {
	s := r.Workload(Imports).Find(Vitrine)
	if s == nil || len(s.Rounds) < 5 {
		return Measure{}
	}
	fifth := len(s.Rounds) / 5
	early, late := &Series{Rounds: s.Rounds[:fifth]}, &Series{Rounds: s.Rounds[len(s.Rounds)-fifth:]}
	return Ratio(late, early, PerSecond)
}
