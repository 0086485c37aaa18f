// Package report holds what was measured and makes of it what people read: bars and ranges, pages of tables, plots. Run is
// what the benchmarks measure, Scale what is measured of the operator.
//
// It may import the standard library and what draws.
package report

import (
	"math"
	"slices"
	"time"
)

// Run is everything that one run measured. It is what the JSON files hold.
type Run struct {
	// Scale is one of the constants below.
	Scale string
	Began time.Time
	// Took is how long the run was, in seconds.
	Took     float64
	Items    int
	Filters  int
	Library  string // what --library was
	Machine  Machine
	Versions map[string]string
	// Absent says why a subject does not take part, by its name.
	Absent map[string]string `json:",omitempty"`
	// Workloads in the order in which they ran.
	Workloads []*Workload
	// Stages are states of Vitrine's store while it grew.
	Stages []Stage
	// Peers are the states of the others once they held everything, by subject.
	Peers map[string]Stage `json:",omitempty"`
}

// The scales.
const (
	Quick = "quick"
	Full  = "full"
	// Development is any other size.
	Development = "development"
)

// The subjects.
const (
	Vitrine    = "Vitrine"
	Bare       = "bare server"
	OpenSearch = "OpenSearch"
	Bleve      = "Bleve"
)

// Machine is where it ran.
type Machine struct {
	Processor string
	Cores     int
	MemoryGiB float64
	Kernel    string
}

// Workload is one thing that was measured.
type Workload struct {
	ID    string
	Title string
	// Unit is what Requests counts, in the plural: "requests", "items".
	Unit string
	// Clients is how many asked at once.
	Clients int
	// Items is how many items the library held.
	Items  int
	Series []*Series
	// SlowestRatio is, where every query of a log was compared with its like, the least advantage that any of them had.
	SlowestRatio float64 `json:",omitempty"`
}

// Series are the rounds of one subject, or of one variant of it.
type Series struct {
	Name   string
	Rounds []Round
}

// Round is one round of load.
type Round struct {
	// Requests were answered within Seconds, for which the server spent CPUSeconds of processor time.
	Requests   int
	Seconds    float64
	CPUSeconds float64
	Bytes      int64 `json:",omitempty"`
	// P50, P95 and P99 are latencies in milliseconds; 0 where single requests were not timed.
	P50, P95, P99 float64 `json:",omitempty"`
	// AfterSeconds is the processor time that the server went on spending once everything was answered.
	AfterSeconds float64 `json:",omitempty"`
}

// Stage is the state of a store and its process at a size. What is not known is 0.
type Stage struct {
	Items int
	// In bytes: the heap in use, resident memory by kind, maps of the store's files, the store on disk.
	HeapInUse, Resident, Anonymous, File, Mapped, Disk int64
	// IndexBytes is what the segments take besides their items' own bytes, SegmentItems how many items they hold.
	IndexBytes, SegmentItems int64 `json:",omitempty"`
}

// stage returns a state, counted from 0, or from -1 backwards. It is zero where there is none.
func (r *Run) stage(i int) Stage {
	if i < 0 {
		i += len(r.Stages)
	}
	if i < 0 {
		return Stage{}
	}
	return r.Stages[i]
}

// Workload finds a workload, nil where it did not run.
func (r *Run) Workload(id string) *Workload {
	for _, w := range r.Workloads {
		if w.ID == id {
			return w
		}
	}
	return nil
}

// Find finds a series, nil where it is not there.
func (w *Workload) Find(name string) *Series {
	if w != nil {
		for _, s := range w.Series {
			if s.Name == name {
				return s
			}
		}
	}
	return nil
}

// Add appends a round to a series, which is made if need be.
func (w *Workload) Add(name string, r Round) {
	s := w.Find(name)
	if s == nil {
		s = &Series{Name: name}
		w.Series = append(w.Series, s)
	}
	s.Rounds = append(s.Rounds, r)
}

// Metric is one number of a round.
type Metric func(Round) float64

// PerSecond is the rate at which requests were answered.
func PerSecond(r Round) float64 { return float64(r.Requests) / r.Seconds }

// CPUPerRequest is the server's processor time for each request, in milliseconds.
func CPUPerRequest(r Round) float64 { return r.CPUSeconds * 1000 / float64(r.Requests) }

// CPUAfterwards is what the server went on spending for each request once all were answered, in milliseconds.
func CPUAfterwards(r Round) float64 { return r.AfterSeconds * 1000 / float64(r.Requests) }

// P50 is the median latency in milliseconds.
func P50(r Round) float64 { return r.P50 }

// P95 is the latency in milliseconds that five requests in a hundred passed.
func P95(r Round) float64 { return r.P95 }

// P99 is the latency in milliseconds that one request in a hundred passed.
func P99(r Round) float64 { return r.P99 }

// Seconds is how long the round took.
func Seconds(r Round) float64 { return r.Seconds }

// Measure is a number and how far rounds disagree about it.
type Measure struct {
	Value float64
	// Low and High are the quartiles of the rounds.
	Low, High float64
	// Known is false where nothing was measured.
	Known bool
}

// Spread is half the distance between the quartiles, relative to the value.
func (m Measure) Spread() float64 {
	if m.Value == 0 {
		return 0
	}
	return (m.High - m.Low) / 2 / math.Abs(m.Value)
}

// Median is the median of a metric over the rounds.
func (s *Series) Median(of Metric) Measure {
	if s == nil || len(s.Rounds) == 0 {
		return Measure{}
	}
	values := make([]float64, len(s.Rounds))
	for i, r := range s.Rounds {
		values[i] = of(r)
	}
	return summary(Quantile(values, 0.5), values)
}

// Ratio is the ratio of two series' medians. Its quartiles are those of the ratios of single rounds, which were run one
// right after the other.
func Ratio(a, b *Series, of Metric) Measure {
	ma, mb := a.Median(of), b.Median(of)
	if !ma.Known || !mb.Known || mb.Value == 0 {
		return Measure{}
	}
	var ratios []float64
	// One that has a single round stands beside all of the other's; else what one has more is left out.
	rounds := min(len(a.Rounds), len(b.Rounds))
	if rounds == 1 {
		rounds = max(len(a.Rounds), len(b.Rounds))
	}
	for i := range rounds {
		if under := of(b.Rounds[i%len(b.Rounds)]); under != 0 {
			ratios = append(ratios, of(a.Rounds[i%len(a.Rounds)])/under)
		}
	}
	return summary(ma.Value/mb.Value, ratios)
}

// Ratio compares two series of a workload.
func (w *Workload) Ratio(a, b string, of Metric) Measure { return Ratio(w.Find(a), w.Find(b), of) }

// exactly is a number without rounds. It is not known where it is 0 or no number.
func exactly(v float64) Measure {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return Measure{}
	}
	return Measure{Value: v, Low: v, High: v, Known: true}
}

func summary(value float64, rounds []float64) Measure {
	return Measure{Value: value, Low: Quantile(rounds, 0.25), High: Quantile(rounds, 0.75), Known: true}
}

// Quantile interpolates between the values, which stay as they are. It is 0 of none.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (sorted[above]-sorted[below])*(at-float64(below))
}
