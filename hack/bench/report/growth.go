package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// GrowthResults is the name of the file of results of BenchmarkGrowth below docs.
var GrowthResults = filepath.Join("benchmarks", "growth.txt")

// WriteGrowth writes growth.md about the saved results.
func WriteGrowth(docs string) error {
	file, err := os.Open(filepath.Join(docs, GrowthResults))
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := Read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", GrowthResults, err)
	}
	return writePage(docs, "growth.md", r)
}

// GrowthPage returns the page about one run of BenchmarkGrowth.
func GrowthPage(r *Run) (string, error) { return page("growth.md", r) }

// GrowthBars are the requirements for a library that grows. They compare the last stage with the first one.
var GrowthBars = []Bar{
	{ID: "hot", What: "hot page of 50 items: processor time relative to the bare server's, last size compared with the first", Want: "at most 1.1 ×",
		Measure: grown(relativeCPU("hot")), Least: none, Most: 1.1, Show: times},
	{ID: "zipf", What: "random pages (Zipf-distributed): processor time relative to the bare server's, last size compared with the first", Want: "at most 1.5 ×",
		Measure: grown(relativeCPU("zipf")), Least: none, Most: 1.5, Show: times},
	{ID: "import", What: "import rate of the last tenth of the items compared with the first tenth", Want: "at least 0.7 ×",
		Measure: func(r *Run) Measure {
			w := r.Workload("Growth/import")
			return Ratio(w.Find("tenth 1"), w.Find("tenth 10"), Time)
		}, Least: 0.7, Most: none, Show: times},
	{ID: "restart", What: "ready after a restart, at the last size", Want: "at most 2 s",
		Measure: atLast(func(n string) func(*Run) Measure {
			return combined(one("Growth/stopped", n, Time), one("Growth/killed", n, Time), greater)
		}), Least: none, Most: 2, Show: secs},
	{ID: "disk", What: "disk space per item, at the last size", Want: "at most 1,100 bytes",
		Measure: atLast(func(n string) func(*Run) Measure {
			return combined(one("Growth/size", n, Disk), one("Growth/size", n, Items), quotient)
		}), Least: none, Most: 1100, Show: octets},
	{ID: "small-memory", What: "random pages (Zipf-distributed) at the last size with a memory limit of 1 GiB compared with 8 GiB: requests/s", Want: "at least 0.5 ×",
		Measure: atLast(func(n string) func(*Run) Measure {
			return combined(one("Growth/limit-8192", n, Time), one("Growth/limit-1024", n, Time), quotient)
		}), Least: 0.5, Most: none, Show: times},
}

// sizes returns the numbers of items of the stages, in ascending order, as the names of their series.
func (r *Run) sizes() (names []string) {
	if w := r.Workload("Growth/size"); w != nil {
		for _, s := range w.Series {
			names = append(names, s.Name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return numberOf(a) - numberOf(b) })
	return names
}

func numberOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// relativeCPU returns a function that measures pages of the stage with n items, relative to the bare server.
func relativeCPU(pages string) func(n string) func(*Run) Measure {
	return func(n string) func(*Run) Measure { return ratio("Growth/"+pages+"/"+n, Vitrine, Bare, CPU) }
}

// grown returns a function that compares a measure of the last stage with that of the first.
func grown(of func(n string) func(*Run) Measure) func(*Run) Measure {
	return func(r *Run) Measure {
		names := r.sizes()
		if len(names) < 2 {
			return Measure{}
		}
		return combined(of(names[len(names)-1]), of(names[0]), quotient)(r)
	}
}

// atLast returns a function that measures the last stage.
func atLast(of func(n string) func(*Run) Measure) func(*Run) Measure {
	return func(r *Run) Measure {
		names := r.sizes()
		if len(names) == 0 {
			return Measure{}
		}
		return of(names[len(names)-1])(r)
	}
}

// growthRow is a row of the table of growth: what was measured, and a function that formats the figure of the stage with n items.
type growthRow struct {
	what string
	cell func(r *Run, n string) string
}

// cell formats a measure, or returns "" if it is not known.
func cell(m Measure, show func(float64) string) string {
	if !m.Known {
		return ""
	}
	return show(m.Value)
}

func rate(seconds float64) string { return significant(1 / seconds) }
func gib(v float64) string        { return fmt.Sprintf("%.2f GiB", v/(1<<30)) }

// growthRows are the rows of the table.
func growthRows() []growthRow {
	of := func(what, workload string, metric Metric, show func(float64) string) growthRow {
		return growthRow{what, func(r *Run, n string) string { return cell(one("Growth/"+workload, n, metric)(r), show) }}
	}
	pages := func(what, workload string) growthRow {
		return growthRow{what, func(r *Run, n string) string {
			w := "Growth/" + workload + "/" + n
			return fmt.Sprintf("%s (%s)", cell(one(w, Vitrine, CPU)(r), duration), cell(ratio(w, Vitrine, Bare, CPU)(r), times))
		}}
	}
	rows := []growthRow{
		pages("hot page: processor time (÷ bare server)", "hot"),
		pages("random pages (Zipf-distributed): processor time (÷ bare server)", "zipf"),
		{"the same: requests/s ÷ bare server's", func(r *Run, n string) string {
			return cell(ratio("Growth/zipf/"+n, Bare, Vitrine, Time)(r), times)
		}},
		of("boolean query by date: median", "boolean", P50, duration),
		of("the same: p99", "boolean", P99, duration),
		of("ranked query after a write: median", "ranked", P50, duration),
		of("the same: p99", "ranked", P99, duration),
		of("facets of tags: median", "facets", P50, duration),
		of("first read of a filter after a write: median", "written", P50, duration),
		of("the same: p99", "written", P99, duration),
		of("ready after SIGTERM", "stopped", Time, duration),
		of("ready after kill -9", "killed", Time, duration),
		of("first query after a restart", "first", Time, duration),
		of("disk", "size", Disk, gib),
		{"disk per item", func(r *Run, n string) string {
			return cell(combined(one("Growth/size", n, Disk), one("Growth/size", n, Items), quotient)(r), octets)
		}},
		of("heap in use", "size", Heap, mib),
		of("anonymous memory", "size", Anonymous, mib),
		of("mapped files in memory, without a limit", "size", File, gib),
		of("index without the items' bytes, per item", "size", Index, octets),
	}
	for _, limit := range []int{8192, 4096, 2048, 1024} {
		at, name := fmt.Sprintf("memory limit of %d GiB: ", limit/1024), fmt.Sprintf("limit-%d", limit)
		rows = append(rows,
			of(at+"ready, nothing in the page cache", name+"-start", Time, duration),
			of(at+"random pages/s", name, Time, rate),
			of(at+"files in memory", name+"-use", Cached, gib),
			of(at+"page faults that read from the disk", name+"-use", Faults, thousands))
	}
	return append(rows,
		of("backup", "backup", Time, duration),
		of("restore", "restore", Time, duration),
		of("first start after a restore, with all indexes", "rebuild", Time, duration),
		of("removing the bytes of 100 deleted items", "erase", Time, duration),
		of("the same: processor time", "erase", CPU, duration))
}

// growthTable returns the table of all stages.
func growthTable(r *Run) table {
	head := []string{"measurement"}
	for _, n := range r.sizes() {
		head = append(head, grouped(n)+" items")
	}
	t := table{head}
	for _, row := range growthRows() {
		line := []string{row.what}
		for _, n := range r.sizes() {
			line = append(line, row.cell(r, n))
		}
		t = append(t, line)
	}
	return t
}

// importTable returns the table of the import, by tenth of the items.
func importTable(r *Run) table {
	t := table{{"tenth", "items/s", "processor time of the server per item", "background work afterwards, per item"}}
	w := r.Workload("Growth/import")
	if w == nil {
		return t
	}
	for _, s := range w.Series {
		t = append(t, []string{
			s.Name, cell(s.Median(Time), rate), cell(s.Median(CPU), duration), cell(s.Median(Afterwards), duration),
		})
	}
	return t
}
