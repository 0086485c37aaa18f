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
	"time"
)

//go:embed *.md.tmpl
var templates embed.FS

// pages contains the templates of the pages. benchmarks.md.tmpl takes a list of *Run, and scale.md.tmpl takes a *Scale.
var pages = template.Must(template.New("").Option("missingkey=zero").Funcs(template.FuncMap{
	"bars": barTable, "workloads": workloadTable, "families": familyTable, "sizes": sizeTable, "thousands": thousands,
	"length": func(r *Run) time.Duration { return time.Duration(r.Took) * time.Second },
}).ParseFS(templates, "*"))

// page returns the text of the page with the given name. figures is the argument of its template.
func page(name string, figures any) (string, error) {
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, name+".tmpl", figures); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return b.String(), nil
}

// save writes figures as JSON to the file at path.
func save(path string, figures any) error {
	text, err := json.MarshalIndent(figures, "", " ")
	if err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, append(text, '\n'), 0o644))
}

// writePage writes the page with the given name into the directory docs. figures is the argument of its template.
func writePage(docs, name string, figures any) error {
	text, err := page(name, figures)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(docs, name), []byte(text), 0o644)
}

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

// folder is the directory of the results of the benchmarks, below the directory of documents.
const folder = "benchmarks"

// Save writes the results of a run.
func Save(docs string, r *Run) error { return save(filepath.Join(docs, folder, r.Scale+".json"), r) }

// load returns the saved results: the full run, the quick run, and a run of another size, in this order.
func load(docs string) ([]*Run, error) {
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

// Write writes benchmarks.md.
func Write(docs string) error {
	runs, err := load(docs)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return errors.New("write the page: no results are saved")
	}
	return writePage(docs, "benchmarks.md", runs)
}

// Page returns the page about one run.
func Page(r *Run) (string, error) { return page("benchmarks.md", []*Run{r}) }

// barTable returns the table of requirements.
func barTable(r *Run) table {
	t := table{{"measurement", "requirement", "measured", "rounds", "met"}}
	for _, bar := range Bars {
		m := bar.Measure(r)
		measured, rounds, met := bar.Show(m.Value), "", "yes"
		switch {
		case !m.Known:
			measured, met = "–", "not measured"
			for name := range r.Absent {
				if strings.Contains(bar.Want+bar.What, name) {
					met = name + " is absent"
				}
			}
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

// workloadTable returns the table of all workloads.
func workloadTable(r *Run) table {
	t := table{{"workload", "subject", "per second", "processor time per operation", "p50", "p95", "p99"}}
	for _, w := range r.Workloads {
		title := fmt.Sprintf("%s; %s", w.Title, plural(w.Clients, "client"))
		for _, s := range w.Series {
			// spread formats the variation of a number between the rounds.
			spread := func(m Measure) string {
				if len(s.Rounds) < 2 {
					return ""
				}
				return fmt.Sprintf(" (± %.0f %%)", 100*m.Spread())
			}
			rate, cpu := s.Median(PerSecond), s.Median(CPUPerRequest)
			spent := duration(cpu.Value) + spread(cpu)
			if after := s.Median(CPUAfterwards).Value; after > 0 {
				spent += ", plus " + duration(after) + " afterwards"
			}
			t = append(t, []string{
				title, s.Name, significant(rate.Value) + " " + w.Unit + spread(rate), spent,
				duration(s.Median(P50).Value), duration(s.Median(P95).Value), duration(s.Median(P99).Value),
			})
			title = ""
		}
	}
	return t
}

// sizeTable returns the table of the sizes of each subject. It is empty if no size is known.
func sizeTable(r *Run) table {
	if len(r.Stages) == 0 && len(r.Peers) == 0 {
		return nil
	}
	t := table{{"subject", "items", "heap in use", "resident", "resident: anonymous", "resident: mapped files", "mapped files in total", "on disk", "on disk per item"}}
	add := func(name string, s Stage) {
		row := []string{name, thousands(s.Items)}
		for _, n := range []int64{s.HeapInUse, s.Resident, s.Anonymous, s.File, s.Mapped, s.Disk} {
			cell := ""
			if n > 0 {
				cell = fmt.Sprintf("%d MiB", n>>20)
			}
			row = append(row, cell)
		}
		t = append(t, append(row, thousands(int(s.Disk/int64(s.Items)))+" bytes"))
	}
	for _, s := range r.Stages {
		add(Vitrine, s)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Peers)) {
		add(name, r.Peers[name])
	}
	return t
}

// duration formats milliseconds. It returns "" for 0.
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

// significant formats three significant digits.
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
