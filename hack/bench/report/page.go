package report

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed *.md.tmpl
var templates embed.FS

// pages contains the templates of the pages. benchmarks.md.tmpl takes a list of *Run, growth.md.tmpl takes a *Run,
// and scale.md.tmpl takes a *Scale.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"bars":       func(r *Run) table { return barTable(Bars, r) },
	"growthBars": func(r *Run) table { return barTable(GrowthBars, r) },
	"growth":     growthTable, "imports": importTable, "millions": millions,
	"workloads": workloadTable, "families": familyTable, "sizes": sizeTable, "versions": versions, "grouped": grouped,
}).ParseFS(templates, "*"))

// page returns the text of the page with the given name. figures is the argument of its template.
func page(name string, figures any) (string, error) {
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, name+".tmpl", figures); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return b.String(), nil
}

// writePage writes the page with the given name into the directory docs. figures is the argument of its template.
func writePage(docs, name string, figures any) error {
	text, err := page(name, figures)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(docs, name), []byte(text), 0o644)
}

// save writes figures as JSON to the file at path.
func save(path string, figures any) error {
	text, err := json.MarshalIndent(figures, "", " ")
	if err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Results are the names of the files of results below docs, in the order of the page.
var Results = []string{filepath.Join("benchmarks", "full.txt"), filepath.Join("benchmarks", "quick.txt")}

// Write writes benchmarks.md about the saved results.
func Write(docs string) error {
	var runs []*Run
	for _, name := range Results {
		file, err := os.Open(filepath.Join(docs, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		defer file.Close()
		r, err := Read(file)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		runs = append(runs, r)
	}
	return writePage(docs, "benchmarks.md", runs)
}

// Page returns the page about one run.
func Page(r *Run) (string, error) { return page("benchmarks.md", []*Run{r}) }

// table is a Markdown table. The first row is the header.
type table [][]string

// String returns the lines of the table.
func (t table) String() string {
	var b strings.Builder
	for i, row := range t {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	return b.String()
}

// versions returns the versions of the subjects, as in "Go 1.26.0".
func versions(r *Run) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(r.Config)) {
		if strings.HasPrefix(key, "version-") {
			list = append(list, r.Config[key])
		}
	}
	return strings.Join(list, ", ")
}

// barTable returns a table of requirements.
func barTable(bars []Bar, r *Run) table {
	t := table{{"measurement", "requirement", "measured", "rounds", "met"}}
	for _, bar := range bars {
		m := bar.Measure(r)
		measured, rounds, met := bar.Show(m.Value), "", "yes"
		switch {
		case !m.Known:
			measured, met = "–", "not measured"
		case !bar.Met(m):
			met = "**no**"
		}
		if m.Low != m.High {
			rounds = bar.Show(m.Low) + " – " + bar.Show(m.High)
		}
		t = append(t, []string{bar.What, bar.Want, measured, rounds, met})
	}
	return t
}

// titles describes the workloads in the table of workloads, with the unit of their rates.
var titles = map[string][2]string{
	"Import/bulk":                  {"Bulk import, durable, all fields searchable at the end; 4 clients", "items"},
	"Import/early-zipf":            {"Random pages of 1,000 filters (Zipf-distributed), with a fifth of the items; 8 clients", "requests"},
	"Restart/ready":                {"Restart: from the start of the process until it is ready", "starts"},
	"Pages/hot":                    {"Hot page of 50 items; 8 clients", "requests"},
	"Pages/scoped":                 {"The same with 100 tokens; 8 clients", "requests"},
	"Pages/zipf":                   {"Random pages of 1,000 filters (Zipf-distributed); 8 clients", "requests"},
	"Pages/uniform":                {"Random pages of 1,000 filters (uniform); 8 clients", "requests"},
	"Pages/depth":                  {"Last pages compared with first pages, in the default order; 8 clients", "requests"},
	"Pages/cold":                   {"Random pages of 1,000 filters (uniform), each requested for the first time; 8 clients", "requests"},
	"Search/boolean":               {"Boolean queries sorted by date, first page, exact total, each sent for the first time; 1 client", "queries"},
	"Search/ranked":                {"Ranked full-text queries with exact totals, a log of 100 queries, after a write; 1 client", "queries"},
	"Posts/single":                 {"Single POSTs, each on disk before its response; 64 clients", "requests"},
	"Standing/import":              {"Import, with and without stored filters; 4 clients", "items"},
	"Standing/first":               {"First read of each of 10,000 filters; 1 client", "requests"},
	"Standing/match":               {"Matching of all items against 10,000 filters; 1 client", "items"},
	"Live/news":                    {"From the response to a write to its news; 100 writes a second", "writes"},
	"Live/streams":                 {"10,000 open streams of events of one filter, one change a second", "seconds"},
	"Scaled/import":                {"Bulk import, with the library on OpenSearch; 4 clients", "items"},
	"Scaled/query":                 {"Ad-hoc query sorted by date, with the library on OpenSearch, and the search that Vitrine sends for it, sent directly to OpenSearch; 1 client", "queries"},
	"Scaled/hot":                   {"Hot page of 50 items, with the library on OpenSearch; 8 clients", "requests"},
	"Scaled/posts":                 {"Single POSTs, with the library on OpenSearch; 8 clients", "requests"},
	"Libraries/few-commits-import": {"Bulk import in process, Lucene with one commit per thread and round; 2 clients", "items"},
	"Libraries/durable-import":     {"Bulk import in process, each batch durable; 2 clients", "items"},
}

// workloadTable returns the table of all workloads.
func workloadTable(r *Run) table {
	t := table{{"workload", "subject", "per second", "processor time per operation", "p50", "p95", "p99"}}
	for _, w := range r.Workloads {
		title, ok := titles[w.Name]
		if !ok {
			continue
		}
		for _, s := range w.Series {
			// spread formats the variation of a number between the rounds.
			spread := func(m Measure) string {
				if len(s.Rounds) < 2 || !m.Known {
					return ""
				}
				return fmt.Sprintf(" (± %.0f %%)", 100*m.Spread())
			}
			took, cpu := s.Median(Time), s.Median(CPU)
			spent := duration(cpu.Value) + spread(cpu)
			if after := s.Median(Afterwards); after.Known {
				spent += ", plus " + duration(after.Value) + " afterwards"
			}
			t = append(t, []string{
				title[0], s.Name, significant(1/took.Value) + " " + title[1] + spread(took), spent,
				duration(s.Median(P50).Value), duration(s.Median(P95).Value), duration(s.Median(P99).Value),
			})
			title[0] = ""
		}
	}
	return t
}

// familyTable returns the table that compares the engine with Lucene for each kind of query. It is empty if they were not compared.
func familyTable(r *Run) (t table) {
	for kind, label := range map[string]string{Ranked: "relevance, top 20", ByDate: "by date, first 50", Counted: "total only"} {
		for _, kept := range r.Workloads {
			family, ok := strings.CutPrefix(kept.Name, kind+Kept)
			if !ok {
				continue
			}
			forgotten := r.Workload(kind + Forgotten + family)
			at := func(s *Series) string { return duration(s.Median(P50).Value) }
			against := func(m Measure) string { return fmt.Sprintf("%.2f × (%.2f – %.2f)", m.Value, m.Low, m.High) }
			t = append(t, []string{
				label, strings.ReplaceAll(family, "_", " "), at(kept.faster()),
				at(kept.Find(FirstTime)), against(toLucene(kept.Name, FirstTime)(r)),
				at(forgotten.Find(NothingKept)), against(toLucene(kind+Forgotten+family, NothingKept)(r)), at(kept.Find(Again)),
			})
		}
	}
	if t == nil {
		return nil
	}
	slices.SortStableFunc(t, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return append(table{{"result", "queries", Lucene, "Vitrine, first time", "÷ Lucene", "Vitrine, empty caches", "÷ Lucene", "Vitrine, sent again"}}, t...)
}

// sizeTable returns the table of the sizes of each subject. It is empty if no size is known.
func sizeTable(r *Run) (t table) {
	for _, w := range r.Workloads {
		if !strings.HasSuffix(w.Name, "/size") {
			continue
		}
		for _, s := range w.Series {
			items := s.Median(Items).Value
			row := []string{s.Name, thousands(items)}
			for _, of := range []Metric{Heap, Resident, Anonymous, File, Mapped, Disk} {
				cell := ""
				if m := s.Median(of); m.Value > 0 {
					cell = mib(m.Value)
				}
				row = append(row, cell)
			}
			t = append(t, append(row, thousands(s.Median(Disk).Value/items)+" bytes"))
		}
	}
	if t == nil {
		return nil
	}
	return append(table{{"subject", "items", "heap in use", "resident", "resident: anonymous", "resident: mapped files", "mapped files in total", "on disk", "on disk per item"}}, t...)
}

// duration formats seconds. It returns "" for 0.
func duration(s float64) string {
	switch {
	case s == 0:
		return ""
	case s < 0.001:
		return significant(s*1e6) + " µs"
	case s < 10:
		return significant(s*1000) + " ms"
	}
	return significant(s) + " s"
}

// significant formats three significant digits.
func significant(v float64) string {
	switch {
	case v >= 1000:
		return thousands(v)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func thousands(v float64) string { return grouped(fmt.Sprintf("%.0f", v)) }

// grouped separates the thousands of a number.
func grouped(text string) string {
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// millions formats a number of items, such as "10 million".
func millions(text string) string {
	if short, ok := strings.CutSuffix(text, "000000"); ok {
		return short + " million"
	}
	return grouped(text)
}
