package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// measured returns a run in which everything was measured.
func measured(t *testing.T) *Run {
	t.Helper()
	var text strings.Builder
	text.WriteString("date: 2026-11-26\nitems: 200000\nfilters: 1000\nmachine: 2 cores\nversion-go: Go 1.26\nversion-lucene: Lucene 10\n")
	// line writes a result. Its metrics are pairs of a number and a unit.
	line := func(name string, round int, metrics string) {
		fmt.Fprintf(&text, "Benchmark%s/round=%d-2 1 %s\n", strings.ReplaceAll(name, " ", "_"), round, metrics)
	}
	// rounds writes rounds with the given times of a request in nanoseconds. The processor time is cpu.
	rounds := func(name string, cpu int, times ...int) {
		for i, took := range times {
			line(name, i, fmt.Sprintf("%d ns/op %d cpu-ns/op %d p50-ns %d p99-ns", took, cpu, took, 2*took))
		}
	}
	for _, name := range []string{"Pages/hot", "Pages/zipf", "Pages/uniform", "Import/early-zipf", "Posts/single"} {
		rounds(name+"/"+Vitrine, 120, 1111, 1000, 909)
		rounds(name+"/"+Bare, 100, 1000, 1000, 1000)
	}
	rounds("Pages/cold/"+Identity, 100, 1111)
	rounds("Pages/cold/"+Gzip, 300, 3333)
	rounds("Pages/scoped/"+PlainTokens, 100, 1000)
	rounds("Pages/scoped/"+ScopedTokens, 105, 1000)
	rounds("Pages/depth/"+FirstPage, 100, 950, 950)
	rounds("Pages/depth/"+LastPage, 100, 1000, 1000)
	for _, name := range []string{"Search/boolean", "Search/ranked", "Import/bulk"} {
		rounds(name+"/"+Vitrine, 100, 900, 1000, 1000, 1000, 1000)
		rounds(name+"/"+OpenSearch, 100, 100000, 100000, 100000, 100000, 100000)
	}
	line("Search/ranked-each/"+Lowest, 0, "0.5 ratio")
	rounds("Standing/import/"+NoFilters, 100, 990)
	rounds("Standing/import/"+ManyFilters, 100, 1000)
	line("Standing/first/"+Vitrine, 0, "20000000 p99-ns")
	rounds("Standing/match/"+Vitrine, 100, 1000)
	rounds("Standing/match/"+Percolator, 100, 100000)
	line("Restart/ready/"+Stopped, 0, "1000000000 ns/op")
	line("Restart/ready/"+Killed, 0, "4000000000 ns/op")
	line("Import/size/"+Vitrine, 0, "40000 items 104857600 heap-B 41943040 disk-B")
	line("Pages/size/"+Vitrine, 0, "200000 items 209715200 heap-B 209715200 disk-B 400 index-B/item")
	line("Live/news/"+ByEvent, 0, "1000000000 p99-ns")
	line("Live/news/"+ByWait, 0, "200000000 p99-ns")
	line("Live/streams/"+Vitrine, 0, "1000000000 ns/op 150000000 cpu-ns/op 104857600 resident-B")
	rounds("Scaled/query/"+Scaled, 100, 7000000)
	rounds("Scaled/query/"+OpenSearch, 100, 5000000)
	rounds("Scaled/hot/"+Scaled, 100, 1000)
	rounds("Scaled/hot/"+Vitrine, 100, 900)
	line("Scaled/posts/"+Scaled, 0, "400000000 p99-ns")
	line("Scaled/posts/"+OpenSearch, 0, "50000000 p99-ns")
	rounds("Scaled/import/"+Scaled, 100, 2000)
	rounds("Scaled/import/"+OpenSearch, 100, 1000)
	for _, name := range []string{"few-commits", "durable"} {
		rounds("Libraries/"+name+"-import/"+Engine, 100, 1000)
		rounds("Libraries/"+name+"-import/"+Lucene, 100, 3000)
	}
	line("Libraries/size/"+Engine, 0, "1000 items 1200000 disk-B")
	for _, kind := range []string{Ranked, ByDate, Counted} {
		for i, family := range []string{"a", "b", EveryFamily} {
			rounds(kind+Kept+family+"/"+FirstTime, 0, 1000000*(1+i%2))
			rounds(kind+Kept+family+"/"+Again, 0, 100000)
			rounds(kind+Kept+family+"/"+OnePass, 0, 4000000)
			rounds(kind+Kept+family+"/"+TwoPasses, 0, 5000000)
			rounds(kind+Forgotten+family+"/"+NothingKept, 0, 1000000*(2+i%2))
			rounds(kind+Forgotten+family+"/"+TwoPasses, 0, 2000000)
		}
	}
	text.WriteString("PASS\nok  \thack/bench\t2 s\n")
	r, err := Read(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBars(t *testing.T) {
	want := map[string]struct {
		value float64
		met   bool
	}{
		"hot-cpu": {1.2, true}, "hot-rate": {1, true}, "scoped-cpu": {1.05, true}, "zipf-rate": {1, true}, "zipf-p99": {1, true}, "uniform-rate": {1, true},
		"last-page": {0.95, true}, "gzip": {3, false}, "boolean": {100, true}, "ranked": {100, true}, "ranked-each": {0.5, false},
		"import": {100, true}, "standing-import": {0.99, true}, "standing-first": {0.02, true}, "standing-match": {100, true}, "posts": {1, true},
		"restart": {4, false}, "heap": {200 << 20, true}, "index": {400, true}, "growth-random": {1, true}, "growth-heap": {2, true}, "growth-import": {0.9, true},
		"live-event": {1, true}, "live-wait": {0.2, false}, "live-streams-cpu": {0.15, false}, "live-streams-memory": {100 << 20, true},
		"opensearch-query": {1.2, true}, "opensearch-hot": {0.9, true}, "opensearch-posts": {0.35, false}, "opensearch-import": {0.5, false},
		"lucene-ranked": {0.5, true}, "lucene-date": {0.25, true}, "lucene-date-forgot": {1, false}, "lucene-count": {1.5, false}, "lucene-import": {3, true},
		"lucene-import-few-commits": {3, true}, "engine-disk": {1200, false},
	}
	r := measured(t)
	for _, b := range Bars {
		m := b.Measure(r)
		w, ok := want[b.ID]
		if !ok || !m.Known || math.Abs(m.Value-w.value) > 1e-9*w.value || b.Met(m) != w.met {
			t.Errorf("%s: %+v, met %t; want %+v", b.ID, m, b.Met(m), w)
		}
		if nothing := b.Measure(&Run{}); nothing.Known || b.Met(nothing) {
			t.Errorf("%s has a value for a run that measured nothing", b.ID)
		}
		if b.Show(m.Value) == "" || math.IsNaN(b.Least) && math.IsNaN(b.Most) || !(b.Low < b.High) {
			t.Errorf("%s has no text for its number, no requirement or no range", b.ID)
		}
		delete(want, b.ID)
	}
	for id := range want {
		t.Errorf("no bar %s", id)
	}
}

func TestOutOfRange(t *testing.T) {
	out := OutOfRange(measured(t))
	for _, want := range []string{"ranked-each: 0.50 × is outside 1.50 × to 20 ×", "standing-first: 20.0 ms is outside 0.1 ms to 10.0 ms"} {
		if !slices.ContainsFunc(out, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
	if slices.ContainsFunc(out, func(line string) bool { return strings.HasPrefix(line, "hot-cpu") }) {
		t.Errorf("hot-cpu is in its range: %q", out)
	}
	if out := OutOfRange(&Run{}); len(out) > 0 {
		t.Errorf("numbers that were not measured are out of range: %q", out)
	}
}

func TestRatio(t *testing.T) {
	series := func(times ...float64) *Series {
		s := &Series{}
		for _, took := range times {
			s.Rounds = append(s.Rounds, Round{string(Time): took})
		}
		return s
	}
	a, b := series(10, 20, 30), series(10, 10, 10)
	if m := Ratio(a, b, Time); m.Value != 2 || m.Low != 1.5 || m.High != 2.5 || m.Spread() != 0.25 {
		t.Errorf("%+v", m)
	}
	if one := Ratio(series(20), a, Time); one.Value != 1 || one.Low >= one.High {
		t.Errorf("the ratio of a single round to three rounds: %+v", one)
	}
	if Ratio(a, nil, Time).Known || Ratio(nil, b, Time).Known || Ratio(a, b, P50).Known {
		t.Error("a ratio to a missing series or metric is known")
	}
}

func TestRead(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "date: today\n", "no round": "BenchmarkPages/hot/Vitrine 1 2 ns/op\n", "no subject": "BenchmarkPages/round=1 1 2 ns/op\n", "no number": "BenchmarkPages/hot/Vitrine/round=1 1 x ns/op\n",
	} {
		if r, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestPage(t *testing.T) {
	text, err := Page(measured(t))
	for _, want := range []string{
		"\n## 200,000 items\n", "| at least 20 × faster than OpenSearch | 100 × |", "| not slower than OpenSearch | 0.50 × |  | **no** |",
		"| Hot page of 50 items; 8 clients | Vitrine | 1,000,000 requests (± 5 %) |", "Versions: Go 1.26, Lucene 10.",
		"| result | queries | Lucene | Vitrine, first time | ÷ Lucene | Vitrine, empty caches | ÷ Lucene | Vitrine, sent again |",
		"| relevance, top 20 | a | 4.00 ms | 1.00 ms | 0.25 × (0.25 – 0.25) | 2.00 ms | 1.00 × (1.00 – 1.00) | 100 µs |",
		"| relevance, top 20 | all of them | 4.00 ms |", "| Vitrine in process | 1,000 |",
	} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %v", want, err)
		}
	}
	nothing, err := Page(&Run{Config: map[string]string{}})
	if err != nil || !strings.Contains(nothing, "| – |  | not measured |") {
		t.Errorf("the page about nothing: %v\n%s", err, nothing)
	}
}
