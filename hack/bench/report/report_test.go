package report

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rounds returns one round for each of the rates, which are in requests per second. cpu is the processor time of each request in
// milliseconds.
func rounds(cpu float64, rates ...float64) []Round {
	var list []Round
	for _, rate := range rates {
		list = append(list, Round{Requests: 100, Seconds: 100 / rate, CPUSeconds: cpu / 10, P50: 1000 / rate, P99: 2000 / rate})
	}
	return list
}

// measured returns a run in which everything was measured.
func measured() *Run {
	r := &Run{
		Scale: Quick, Items: 200000, Filters: 1000, Library: "engine", Versions: map[string]string{Vitrine: "1", Lucene: "10"},
		Stages: []Stage{{Items: 40000, HeapInUse: 100 << 20, Disk: 40 << 20}, {Items: 200000, HeapInUse: 200 << 20, Disk: 200 << 20, IndexBytes: 400 * 150000, SegmentItems: 150000}},
		Peers:  map[string]Stage{OpenSearch: {Items: 200000, Disk: 100 << 20}},
	}
	add := func(id string, series ...*Series) {
		r.Workloads = append(r.Workloads, &Workload{ID: id, Title: "title of " + id, Unit: "requests", Clients: 8, Series: series})
	}
	for _, id := range []string{HotPages, ZippedPages, HeldPages, ZipfPages, UniformPages, EarlyHot, EarlyZipf, Posts} {
		add(id, &Series{Vitrine, rounds(1.2, 900, 1000, 1100)}, &Series{Bare, rounds(1, 1000, 1000, 1000)})
	}
	for _, id := range []string{WireHot, WireUniform} {
		add(id, &Series{Vitrine, rounds(1.2, 900, 1000, 1100)}, &Series{Bare, rounds(1, 1000, 1000, 1000)})
	}
	add(ColdEncodings, &Series{Identity, rounds(1, 900)}, &Series{Gzip, rounds(3, 300)})
	add(Depths, &Series{FirstPage, rounds(1, 100, 100)}, &Series{LastPage, rounds(1, 95, 95)})
	for _, id := range []string{Booleans, BooleansKept, Ranked, RankedKept, Imports} {
		add(id, &Series{Vitrine, rounds(1, 1000, 1000, 1000, 1000, 900)}, &Series{OpenSearch, rounds(1, 10, 10, 10, 10, 10)})
	}
	r.Workload(Ranked).SlowestRatio = 0.5
	add(Standing, &Series{NoFilters, rounds(1, 100)}, &Series{ManyFilters, rounds(1, 99)})
	add(FirstReads, &Series{Vitrine, rounds(1, 100)})
	add(Matching, &Series{Vitrine, rounds(1, 1000)}, &Series{Percolator, rounds(1, 10)})
	add(Restarts, &Series{Stopped, []Round{{Requests: 1, Seconds: 1}}}, &Series{Killed, []Round{{Requests: 1, Seconds: 4}}})
	add(ScaledQueries, &Series{Scaled, []Round{{P50: 7}}}, &Series{OpenSearch, []Round{{P50: 5}}})
	add(ScaledHot, &Series{Scaled, rounds(1, 900)}, &Series{Vitrine, rounds(1, 1000)})
	add(ScaledPosts, &Series{Scaled, []Round{{P99: 400}}}, &Series{OpenSearch, []Round{{P99: 50}}})
	add(ScaledImport, &Series{Scaled, rounds(1, 50)}, &Series{OpenSearch, rounds(1, 100)}, &Series{Vitrine, rounds(1, 1000)})
	add(OneCommitImport, &Series{Engine, rounds(1, 300)}, &Series{Lucene, rounds(1, 100)})
	add(AnchorImport, &Series{Engine, rounds(1, 300)}, &Series{Lucene, rounds(1, 100)})
	r.Peers[Engine] = Stage{Items: 1000, Disk: 1200 * 1000}
	for _, kind := range []string{RankedFamily, ByDateFamily, CountedFamily} {
		for i, name := range []string{"a", "b", EveryFamily} {
			f := r.Family(kind, name)
			series := func(w *Workload, name string, p50 float64) { w.Add(name, Round{Requests: 1, Seconds: 1, P50: p50}) }
			series(&f.Kept, FirstTime, float64(1+i%2))
			series(&f.Kept, Again, 0.1)
			series(&f.Kept, OnePass, 4)
			series(&f.Kept, TwoPasses, 5)
			series(&f.Forgotten, NothingKept, float64(2+i%2))
			series(&f.Forgotten, TwoPasses, 2)
		}
	}
	return r
}

func TestBars(t *testing.T) {
	want := map[string]struct {
		value float64
		met   bool
	}{
		"hot-cpu": {1.2, true}, "hot-rate": {1, true}, "zipf-rate": {1, true}, "zipf-p99": {1, true}, "uniform-rate": {1, true}, "uniform-p99": {1, true},
		"last-page": {0.95, true}, "wrk-hot": {1, true}, "wrk-uniform": {1, true}, "wrk-gzip": {3, false}, "boolean": {100, true}, "ranked": {100, true}, "ranked-each": {0.5, false}, "import": {100, true},
		"standing-import": {0.99, true}, "standing-first": {20, true}, "standing-match": {100, true}, "posts": {1, true},
		"restart": {4, false}, "heap": {200, true}, "index": {400, true}, "growth-page": {1, true}, "growth-random": {1, true}, "growth-heap": {2, true}, "growth-import": {0.9, true},
		"opensearch-query": {1.2, true}, "opensearch-hot": {0.9, true}, "opensearch-posts": {350, false}, "opensearch-import": {0.5, false},
		"lucene-ranked": {0.5, true}, "lucene-date": {0.25, true}, "lucene-date-forgot": {1, false}, "lucene-count": {1.5, false}, "lucene-import": {3, true},
		"lucene-import-few-commits": {3, true}, "engine-disk": {1200, false},
	}
	r := measured()
	for _, b := range Bars {
		m := b.Measure(r)
		w, ok := want[b.ID]
		if !ok || !m.Known || math.Abs(m.Value-w.value) > 1e-9 || b.Met(m) != w.met {
			t.Errorf("%s: %+v, met %t; want %+v", b.ID, m, b.Met(m), w)
		}
		if nothing := b.Measure(&Run{}); nothing.Known || b.Met(nothing) {
			t.Errorf("%s has a value for a run that measured nothing", b.ID)
		}
		if b.Show(m.Value) == "" || math.IsNaN(b.Least) && math.IsNaN(b.Most) {
			t.Errorf("%s has no text for its number or its requirement", b.ID)
		}
		delete(want, b.ID)
	}
	for id := range want {
		t.Errorf("no bar %s", id)
	}
}

func TestRatio(t *testing.T) {
	a := &Series{Rounds: rounds(1, 10, 20, 30)}
	b := &Series{Rounds: rounds(1, 10, 10, 10)}
	m := Ratio(a, b, PerSecond)
	if m.Value != 2 || math.Abs(m.Low-1.5) > 1e-9 || math.Abs(m.High-2.5) > 1e-9 || math.Abs(m.Spread()-0.25) > 1e-9 {
		t.Errorf("%+v", m)
	}
	if one := Ratio(&Series{Rounds: rounds(1, 20)}, a, PerSecond); one.Value != 1 || one.Low >= one.High {
		t.Errorf("the ratio of a single round to three rounds: %+v", one)
	}
	if Ratio(a, nil, PerSecond).Known || Ratio(nil, b, PerSecond).Known {
		t.Error("a ratio to a missing series is known")
	}
}

func TestRanges(t *testing.T) {
	r := measured()
	// bar returns a bar with another range.
	bar := func(id string, low, high float64) []Bar {
		b := Bars[slices.IndexFunc(Bars, func(b Bar) bool { return b.ID == id })]
		b.Low, b.High = low, high
		return []Bar{b}
	}
	cases := map[string]struct {
		bars []Bar
		want string
	}{
		"inside":      {bar("hot-cpu", 1, 1.4), ""},
		"above":       {bar("hot-cpu", 1, 1.1), "hot-cpu: 1.20 × is outside 1.00 × to 1.10 ×"},
		"below":       {bar("hot-cpu", 1.3, 1.5), "hot-cpu: 1.20 × is outside 1.30 × to 1.50 ×"},
		"another bar": {bar("heap", 0, 1), "heap: 200 MiB is outside 0 MiB to 1 MiB"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := outOfRange(tc.bars, r)
			if tc.want == "" && len(got) != 0 || tc.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tc.want)) {
				t.Errorf("%q; want %q", got, tc.want)
			}
		})
	}
	if got := outOfRange(bar("heap", 0, 1), &Run{}); len(got) != 0 {
		t.Errorf("a number that was not measured is out of range: %q", got)
	}
	if got := OutOfRange(&Run{Scale: Full, Items: 1000000}); len(got) != 1 {
		t.Errorf("a run of a scale without ranges: %q", got)
	}
	for _, b := range Bars {
		if !(b.Low < b.High) {
			t.Errorf("the range of %s is empty", b.ID)
		}
	}
}

func TestPage(t *testing.T) {
	docs := t.TempDir()
	if err := Write(docs); err == nil {
		t.Error("Write writes a page without results")
	}
	r := measured()
	if err := Save(docs, r); err != nil {
		t.Fatal(err)
	}
	if err := Write(docs); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(docs, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n## 200,000 items\n", "| at least 20 × faster than OpenSearch | 100 × |", "| not slower than OpenSearch | 0.50 × |  | **no** |",
		"| title of hot; 8 clients | Vitrine | 1,000 requests (± 5 %) |", "| OpenSearch | 200,000 |",
		"| result | queries | Lucene | Vitrine, first time | ÷ Lucene | Vitrine, empty caches | ÷ Lucene | Vitrine, sent again |",
		"| relevance, top 20 | a | 4.00 ms | 1.00 ms | 0.25 × (0.25 – 0.25) | 2.00 ms | 1.00 × (1.00 – 1.00) | 100 µs |",
		"| relevance, top 20 | b | 4.00 ms | 2.00 ms |", "| Vitrine in process | 1,000 |", "compares Vitrine's engine with Lucene 10, in process.",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	r.Absent, r.Workloads, r.Families = map[string]string{OpenSearch: "nothing is there", Lucene: "no JDK is there"}, nil, nil
	page, err := Page(r)
	for name, reason := range r.Absent {
		if err != nil || !strings.Contains(page, "**"+name+" is absent**: "+reason+".") || !strings.Contains(page, "| – |  | "+name+" is absent |") {
			t.Errorf("the page does not say that %s is absent: %v", name, err)
		}
	}
}
