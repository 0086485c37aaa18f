package report

import "fmt"

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
	// OnePass finds the page and the total together.
	OnePass = "Lucene, one pass"
	// TwoPasses first finds the page, with pruning, and then the total.
	TwoPasses = "Lucene, two passes"
)

// Family compares Vitrine's engine with Lucene for the queries of one family.
type Family struct {
	// Kind is one of the constants above. Name is unique among the families of the same kind.
	Kind, Name string
	// Kept contains FirstTime, Again, and the series of Lucene in the same rounds. Forgotten contains NothingKept, and the series of Lucene in
	// the same rounds. For counts, Lucene has only TwoPasses.
	Kept, Forgotten Workload
}

// Of returns Forgotten or Kept.
func (f *Family) Of(forgotten bool) *Workload {
	if forgotten {
		return &f.Forgotten
	}
	return &f.Kept
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

// lucene returns the series of Lucene with the lower median.
func lucene(w *Workload) *Series {
	one, two := w.Find(OnePass), w.Find(TwoPasses)
	if a, b := one.Median(P50), two.Median(P50); a.Known && a.Value < b.Value {
		return one
	}
	return two
}

// firstTime returns the ratio of the median latency of FirstTime to that of Lucene.
func firstTime(f *Family) Measure { return Ratio(f.Kept.Find(FirstTime), lucene(&f.Kept), P50) }

// nothingKept is like firstTime for NothingKept.
func nothingKept(f *Family) Measure {
	return Ratio(f.Forgotten.Find(NothingKept), lucene(&f.Forgotten), P50)
}

// together returns a function that compares all queries of a kind.
func together(kind string, of func(*Family) Measure) func(*Run) Measure {
	return func(r *Run) (m Measure) {
		for _, f := range r.Families {
			if f.Kind == kind && f.Name == EveryFamily {
				m = of(f)
			}
		}
		return m
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
func familyTable(r *Run) (t table) {
	for _, f := range r.Families {
		if t == nil {
			t = table{{"result", "queries", Lucene, "Vitrine, first time", "÷ Lucene", "Vitrine, empty caches", "÷ Lucene", "Vitrine, sent again"}}
		}
		at := func(s *Series) string { return duration(s.Median(P50).Value) }
		against := func(m Measure) string { return fmt.Sprintf("%.2f × (%.2f – %.2f)", m.Value, m.Low, m.High) }
		t = append(t, []string{
			f.Kind, f.Name, at(lucene(&f.Kept)), at(f.Kept.Find(FirstTime)), against(firstTime(f)),
			at(f.Forgotten.Find(NothingKept)), against(nothingKept(f)), at(f.Kept.Find(Again)),
		})
	}
	return t
}
