package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// grew returns a run of BenchmarkGrowth with two sizes.
func grew(t *testing.T) *Run {
	t.Helper()
	var text strings.Builder
	text.WriteString("date: 2026-11-27\nitems: 3000000\nmachine: 2 cores\nversion-go: Go 1.26\n")
	line := func(name, metrics string) { fmt.Fprintf(&text, "BenchmarkGrowth/%s/round=0-2 1 %s\n", name, metrics) }
	for tenth := range 10 {
		line(fmt.Sprintf("import/tenth_%d", tenth+1), fmt.Sprintf("%d ns/op 70000 cpu-ns/op 5000 after-ns/op", 40000+1000*tenth))
	}
	for i, n := range []string{"3000000", "300000"} { // the page sorts them
		size := 10 - 9*i
		for _, pages := range []string{"hot", "zipf"} {
			line(pages+"/"+n+"/"+Vitrine, fmt.Sprintf("1000 ns/op %d cpu-ns/op 1000 p50-ns 2000 p99-ns", 100+size))
			line(pages+"/"+n+"/bare_server", "1000 ns/op 100 cpu-ns/op")
		}
		for _, workload := range []string{"boolean", "ranked", "facets", "written", "first", "stopped", "killed", "backup", "restore", "rebuild"} {
			line(workload+"/"+n, fmt.Sprintf("%d ns/op 1000 p50-ns 2000 p99-ns", size*300_000_000))
		}
		line("size/"+n, fmt.Sprintf("%s items %s000 disk-B 1000000 heap-B 1000000 anonymous-B 1000000 file-B 320 index-B/item", n, n))
		for _, limit := range []string{"8192", "4096", "2048", "1024"} {
			line("limit-"+limit+"-start/"+n, "1000000000 ns/op")
			line("limit-"+limit+"/"+n, map[string]string{"8192": "1000", "4096": "2000", "2048": "3000", "1024": "4000"}[limit]+" ns/op")
			line("limit-"+limit+"-use/"+n, "1000 cached-B 12345 faults")
		}
	}
	line("erase/3000000", "60000000000 ns/op 1000000000 cpu-ns/op")
	r, err := Read(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGrowthBars(t *testing.T) {
	want := map[string]struct {
		value float64
		met   bool
	}{
		"hot": {1.10 / 1.01, true}, "zipf": {1.10 / 1.01, true}, "import": {40.0 / 49, true}, "restart": {3, false}, "disk": {1000, true},
		"small-memory": {0.25, false},
	}
	r := grew(t)
	for _, b := range GrowthBars {
		m := b.Measure(r)
		if w := want[b.ID]; !m.Known || math.Abs(m.Value-w.value) > 1e-9 || b.Met(m) != w.met {
			t.Errorf("%s: %+v, met %t; want %+v", b.ID, m, b.Met(m), w)
		}
		if b.Measure(&Run{}).Known {
			t.Errorf("%s has a value for a run that measured nothing", b.ID)
		}
	}
	if len(GrowthBars) != len(want) {
		t.Errorf("%d requirements, want %d", len(GrowthBars), len(want))
	}
}

func TestGrowthPage(t *testing.T) {
	page, err := GrowthPage(grew(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"# Growth to 3 million items",
		"| measurement | 300,000 items | 3,000,000 items |",
		"| random pages (Zipf-distributed): processor time (÷ bare server) | 0.10 µs (1.01 ×) | 0.11 µs (1.10 ×) |",
		"| ready after kill -9 | 300 ms | 3,000 ms |",
		"| memory limit of 1 GiB: page faults that read from the disk | 12,345 | 12,345 |",
		"| removing the bytes of 100 deleted items |  | 60.0 s |",
		"| tenth 10 | 20,408 | 70.0 µs | 5.00 µs |",
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the page lacks: %s", line)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}
