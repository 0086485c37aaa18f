package report

import (
	"fmt"
	"slices"
	"strings"
)

// Kinds of families.
const (
	RankedFamily  = "relevance, top 20"
	ByDateFamily  = "by date, first 50"
	CountedFamily = "total only"
)

// EveryFamily is the name of the family that contains all queries of its kind.
const EveryFamily = "all of them"

// Series of a Family.
const (
	// FirstTime runs each query for the first time. Results for parts of the query, such as a frequent value, may already be in a cache
	// because of earlier queries.
	FirstTime = "Vitrine, first time"
	// Again repeats each query.
	Again = "Vitrine, again"
	// NothingKept runs each query with empty caches.
	NothingKept = "Vitrine, nothing kept"
)

// OnePass returns the name of the series in which a library, such as Lucene, finds the page and the total together.
func OnePass(library string) string { return library + ", one pass" }

// TwoPasses returns the name of the series in which a library, such as Lucene, first finds the page, with pruning, and then the total.
func TwoPasses(library string) string { return library + ", two passes" }

// Family compares Vitrine's engine with other libraries for the queries of one family.
type Family struct {
	// Kind is one of the constants above. Name is unique among the families of the same kind.
	Kind, Name string
	// Kept contains FirstTime, Again, and the series of the other libraries in the same rounds. Forgotten contains NothingKept, and the
	// series of the other libraries in the same rounds. For counts, these libraries have only TwoPasses.
	Kept, Forgotten Workload
}

// Family returns a family, and creates it if necessary.
func (r *Run) Family(kind, name string) *Family {
	for _, f := range r.Families {
		if f.Kind == kind && f.Name == name {
			return f
		}
	}
	f := &Family{Kind: kind, Name: name}
	r.Families = append(r.Families, f)
	return f
}

// peersOf returns the libraries with which a run compares the engine.
func peersOf(r *Run) []string {
	var list []string
	for _, name := range []string{Lucene, Tantivy} {
		if slices.ContainsFunc(r.Families, func(f *Family) bool { return f.Kept.Find(TwoPasses(name)) != nil }) {
			list = append(list, name)
		}
	}
	return list
}

// faster returns the series of a library with the lower median: OnePass or TwoPasses.
func faster(w *Workload, library string) *Series {
	one, two := w.Find(OnePass(library)), w.Find(TwoPasses(library))
	if a, b := one.Median(P50), two.Median(P50); a.Known && a.Value < b.Value {
		return one
	}
	return two
}

// firstTime and nothingKept return functions that return the ratio of the median latency of the series FirstTime or NothingKept to that of a
// library.
func firstTime(library string) func(*Family) Measure {
	return func(f *Family) Measure { return Ratio(f.Kept.Find(FirstTime), faster(&f.Kept, library), P50) }
}

func nothingKept(library string) func(*Family) Measure {
	return func(f *Family) Measure {
		return Ratio(f.Forgotten.Find(NothingKept), faster(&f.Forgotten, library), P50)
	}
}

// together returns a function that compares all queries of a kind.
func together(kind string, of func(*Family) Measure) func(*Run) Measure {
	return func(r *Run) Measure {
		for _, f := range r.Families {
			if f.Kind == kind && f.Name == EveryFamily {
				return of(f)
			}
		}
		return Measure{}
	}
}

// slowest returns a function that returns, of the families of a kind, the greatest ratio.
func slowest(kind string, of func(*Family) Measure) func(*Run) Measure {
	return func(r *Run) (most Measure) {
		for _, f := range r.Families {
			if m := of(f); f.Kind == kind && m.Value > most.Value {
				most = m
			}
		}
		return most
	}
}

// familyTable returns the table of all families. It is empty if there are none.
func familyTable(r *Run) table {
	if len(r.Families) == 0 {
		return nil
	}
	libraries := peersOf(r)
	// each returns a cell for each library.
	each := func(cell func(library string) string) []string {
		var cells []string
		for _, name := range libraries {
			cells = append(cells, cell(name))
		}
		return cells
	}
	ratio := each(func(library string) string { return "÷ " + library })
	t := table{slices.Concat([]string{"result", "queries"}, libraries,
		[]string{"Vitrine, first time"}, ratio, []string{"Vitrine, empty caches"}, ratio, []string{"Vitrine, sent again"})}
	kind := ""
	for _, f := range r.Families {
		label := f.Kind
		if label == kind {
			label = ""
		}
		kind = f.Kind
		at := func(s *Series) string { return duration(s.Median(P50).Value) }
		against := func(of func(library string) func(*Family) Measure) []string {
			return each(func(library string) string {
				m := of(library)(f)
				return fmt.Sprintf("%.2f × (%.2f – %.2f)", m.Value, m.Low, m.High)
			})
		}
		t = append(t, slices.Concat(
			[]string{label, f.Name}, each(func(library string) string { return at(faster(&f.Kept, library)) }),
			[]string{at(f.Kept.Find(FirstTime))}, against(firstTime),
			[]string{at(f.Forgotten.Find(NothingKept))}, against(nothingKept),
			[]string{at(f.Kept.Find(Again))}))
	}
	return t
}

// comparedLibraries returns the names and versions of the libraries with which a run compares the engine.
func comparedLibraries(r *Run) string {
	list := peersOf(r)
	for i, name := range list {
		list[i] = name + " " + r.Versions[name]
	}
	return strings.Join(list, " and ")
}

// Families returns the rows of the table of families as lines.
func Families(r *Run) []string {
	var lines []string
	for _, row := range familyTable(r) {
		lines = append(lines, strings.Join(row, " | "))
	}
	return lines
}
