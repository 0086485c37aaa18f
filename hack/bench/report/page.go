package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// folder is where results and plots lie, below the directory of documents.
const folder = "benchmarks"

// Save keeps the results of a run.
func Save(docs string, r *Run) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	dir := filepath.Join(docs, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of results: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, r.Scale+".json"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("keep the results: %w", err)
	}
	return nil
}

// Load returns the results that are kept: the full run before the quick one, and one of another size last.
func Load(docs string) ([]*Run, error) {
	var runs []*Run
	for _, scale := range []string{Full, Quick, Development} {
		text, err := os.ReadFile(filepath.Join(docs, folder, scale+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		r := &Run{}
		if err == nil {
			err = json.Unmarshal(text, r)
		}
		if err != nil {
			return nil, fmt.Errorf("read the results of the %s run: %w", scale, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// Write makes benchmarks.md and the plots of the results that are kept.
func Write(docs string) error {
	runs, err := Load(docs)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return errors.New("write the page: no results are kept")
	}
	for _, r := range runs {
		if err := drawAll(filepath.Join(docs, folder), r); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(docs, "benchmarks.md"), []byte(Page(runs)), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// preface stands before the results of every run.
const preface = `# Benchmarks

What Vitrine costs, beside what it is compared with. This page is written by the run itself:

    make bench          # 200,000 items, about ten minutes
    make bench FULL=1   # 1,000,000 items
    make bench CHECK=1  # the quick run, and fail where a number has left its range

It needs Linux and Go; OpenSearch is the node at ` + "`OPENSEARCH_URL`" + `, or one that ` + "`hack/bench`" + ` can start, and is left out where there is
none. The results are also there as JSON, in [benchmarks](benchmarks).

**How it is measured.** All subjects run side by side, each in a process of its own, and take turns: several rounds, in
alternating order. What counts is the ratio of their medians, since a machine that is slow or busy is so for both; *rounds*
gives the quartiles of the ratios of single rounds, which is the noise. Requests come from one Go client over kept-alive
connections on the same cores as the server, one after the other on each connection. Processor time is the server's own,
from the kernel.

| subject | is |
| --- | --- |
| Vitrine | the binary, ` + "`vitrine serve`" + ` over plain HTTP with all its middleware: tokens, metrics, a log line for every request |
| bare server | Go's net/http and nothing else: it sends the same bytes with the same headers, straight from mapped memory; for writes it decodes the same body and appends it to a file, an fdatasync for all that wait |
| OpenSearch | one node with 2 GiB of heap, one shard, the same fields; imports without refreshes but the last, synced before each answer; searches return the same 50 whole items and exact totals |
| Bleve | in process, without HTTP; every batch on disk before the next |

The items are made, the same bytes everywhere: 2.3 KiB each, texts in seven languages with Zipf's law, dates over three years.
All subjects have to find the same totals, and the bare server has to send the same bytes, or the run fails.
`

// Page is the page of runs.
func Page(runs []*Run) string {
	var b strings.Builder
	b.WriteString(preface)
	for _, r := range runs {
		r.section(&b)
	}
	return b.String()
}

func (r *Run) section(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s items\n\n", thousands(r.Items))
	fmt.Fprintf(b, "%s, in %s, on %d cores of %s with %.0f GiB of memory, Linux %s.", r.Began.Format(time.DateOnly), (time.Duration(r.Took) * time.Second).String(),
		r.Machine.Cores, r.Machine.Processor, r.Machine.MemoryGiB, r.Machine.Kernel)
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		fmt.Fprintf(b, " %s %s.", name, r.Versions[name])
	}
	fmt.Fprintf(b, " `--library %s`, %s filters.\n", r.Library, thousands(r.Filters))
	for _, name := range slices.Sorted(maps.Keys(r.Absent)) {
		fmt.Fprintf(b, "\n**%s is absent**: %s.\n", name, r.Absent[name])
	}
	if p, ok := r.Peers[Bleve]; ok && p.Items < r.Items {
		fmt.Fprintf(b, "\nBleve holds %s items alone: it would take too long to fill.\n", thousands(p.Items))
	}
	if r.Items < 1_000_000 {
		b.WriteString("\nBars that name a size mean a million items; here they are held against fewer.\n")
	}
	r.bars(b)
	for _, p := range plots {
		if p.has(r) {
			fmt.Fprintf(b, "\n![%s](%s/%s)\n", p.title, folder, p.file(r))
		}
	}
	r.details(b)
	r.stages(b)
}

// bars is the table of what has to hold.
func (r *Run) bars(b *strings.Builder) {
	b.WriteString("\n| what | bar | measured | rounds | met |\n| --- | --- | --- | --- | --- |\n")
	for _, bar := range Bars {
		m := bar.Measure(r)
		if !m.Known {
			why := "not measured"
			if _, absent := r.Absent[OpenSearch]; absent && strings.Contains(bar.Want+bar.What, "OpenSearch") {
				why = "OpenSearch is absent"
			}
			fmt.Fprintf(b, "| %s | %s | – | | %s |\n", bar.What, bar.Want, why)
			continue
		}
		rounds, met := "", "yes"
		if m.Low != m.High {
			rounds = bar.Show(m.Low) + " – " + bar.Show(m.High)
		}
		if !bar.Met(m) {
			met = "**no**"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", bar.What, bar.Want, bar.Show(m.Value), rounds, met)
	}
}

// details is a table of all workloads.
func (r *Run) details(b *strings.Builder) {
	b.WriteString("\nMedians of the rounds, and in brackets how far the rounds differ (half the distance between the quartiles):\n\n")
	b.WriteString("| workload | subject | per second | processor time each | p50 | p95 | p99 |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, w := range r.Workloads {
		title := fmt.Sprintf("%s; %s", w.Title, plural(w.Clients, "client"))
		for _, s := range w.Series {
			rate := s.Median(PerSecond)
			cpu := s.Median(CPUPerRequest)
			p95 := s.Median(func(r Round) float64 { return r.P95 })
			behind := ""
			if after := s.Median(CPUAfterwards).Value; after > 0 {
				behind = " and " + duration(after) + " afterwards"
			}
			spread := func(m Measure) string {
				if len(s.Rounds) < 2 {
					return ""
				}
				return fmt.Sprintf(" (± %.0f %%)", 100*m.Spread())
			}
			fmt.Fprintf(b, "| %s | %s | %s %s%s | %s%s%s | %s | %s | %s |\n", title, s.Name,
				significant(rate.Value), w.Unit, spread(rate), duration(cpu.Value), spread(cpu), behind,
				duration(s.Median(P50).Value), duration(p95.Value), duration(s.Median(P99).Value))
			title = ""
		}
	}
}

// stages is a table of sizes.
func (r *Run) stages(b *strings.Builder) {
	if len(r.Stages) == 0 && len(r.Peers) == 0 {
		return
	}
	b.WriteString("\nWhat each holds; Vitrine with all filters in use, the others after the import:\n\n")
	b.WriteString("| subject | items | heap in use | resident | of it anonymous | of it mapped files | mapped files in all | on disk | on disk per item |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	line := func(name string, s Stage) {
		fmt.Fprintf(b, "| %s | %s |", name, thousands(s.Items))
		for _, n := range []int64{s.HeapInUse, s.Resident, s.Anonymous, s.File, s.Mapped, s.Disk} {
			if n == 0 {
				b.WriteString(" |")
				continue
			}
			fmt.Fprintf(b, " %d MiB |", n>>20)
		}
		fmt.Fprintf(b, " %s bytes |\n", thousands(int(s.Disk/int64(s.Items))))
	}
	for _, s := range r.Stages {
		line(Vitrine, s)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Peers)) {
		line(name, r.Peers[name])
	}
}

// duration shows milliseconds, and nothing for 0.
func duration(ms float64) string {
	switch {
	case ms == 0:
		return ""
	case ms < 1:
		return significant(ms*1000) + " µs"
	case ms < 10000:
		return significant(ms) + " ms"
	}
	return significant(ms/1000) + " s"
}

// significant shows three digits that mean something.
func significant(v float64) string {
	switch {
	case v >= 1000:
		return thousands(int(v + 0.5))
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
