// Package report contains the results of measurements, checks them against requirements (Bar) and ranges, and renders docs/benchmarks.md
// and docs/scale.md. Run contains the results of the benchmarks, and Scale contains the results of the measurement of the operator.
//
// It may import only the standard library. benchstat was refused, because it compares medians, and the requirements compare the single
// rounds, in which the subjects ran directly one after the other.
package report

import (
	"math"
	"slices"
	"time"
)

// Run contains all results of one run. Each JSON file contains a Run.
type Run struct {
	// Scale is one of the constants below.
	Scale string
	Began time.Time
	// Took is the duration of the run in seconds.
	Took     float64
	Items    int
	Filters  int
	Library  string // the value of --library
	Machine  Machine
	Versions map[string]string
	// Absent maps the name of each subject that was not measured to the reason why it was not measured.
	Absent map[string]string `json:",omitempty"`
	// Workloads are in the order in which they ran.
	Workloads []*Workload
	// Stages contains the sizes of Vitrine's store as it grows.
	Stages []Stage
	// Peers contains the sizes of the other subjects after the import, by name.
	Peers map[string]Stage `json:",omitempty"`
	// Families compare the engine with Lucene.
	Families []*Family `json:",omitempty"`
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
	Lucene     = "Lucene"
	// Engine is Vitrine's engine in process.
	Engine = "Vitrine in process"
	// Scaled is Vitrine with the library on OpenSearch.
	Scaled = "Vitrine on OpenSearch"
)

// Wrk is the name of the client of some workloads. Run.Absent contains it if wrk is not installed.
const Wrk = "wrk"

// Machine is the machine of a run.
type Machine struct {
	Processor string
	Cores     int
	MemoryGiB float64
	Kernel    string
}

// Workload is one measurement: the same kind of load on each subject.
type Workload struct {
	ID    string
	Title string
	// Unit is the unit of Requests in the plural, such as "requests" or "items".
	Unit string
	// Clients is the number of concurrent clients.
	Clients int
	// Items is the number of items in the library.
	Items  int
	Series []*Series
	// SlowestRatio is the lowest ratio, over all queries, of OpenSearch's latency to Vitrine's latency. It is 0 if the queries were not
	// compared one by one.
	SlowestRatio float64 `json:",omitempty"`
}

// Series contains the rounds of one subject, or of one variant of it.
type Series struct {
	Name   string
	Rounds []Round
}

// Round is one round of load.
type Round struct {
	// Requests is the number of requests. Seconds is the total time that the requests took, and CPUSeconds is the processor time that the
	// server used for them.
	Requests   int
	Seconds    float64
	CPUSeconds float64
	Bytes      int64 `json:",omitempty"`
	// P50, P95 and P99 are latencies in milliseconds, or 0 if single requests were not timed.
	P50, P95, P99 float64 `json:",omitempty"`
	// AfterSeconds is the processor time that the server used for background work after the last response.
	AfterSeconds float64 `json:",omitempty"`
}

// Stage is the state of a store and its process at one size. Unknown values are 0.
type Stage struct {
	Items int
	// Sizes in bytes: the heap in use, resident memory by kind, mappings of the store's files, the store on disk.
	HeapInUse, Resident, Anonymous, File, Mapped, Disk int64
	// IndexBytes is the size of the index segments without the stored items that they contain. SegmentItems is the number of items in these
	// segments.
	IndexBytes, SegmentItems int64 `json:",omitempty"`
}

// stage returns stage i, or the zero Stage if there is none. A negative i counts from the end.
func (r *Run) stage(i int) Stage {
	if i < 0 {
		i += len(r.Stages)
	}
	if i < 0 {
		return Stage{}
	}
	return r.Stages[i]
}

// Workload returns a workload, or nil if it did not run.
func (r *Run) Workload(id string) *Workload {
	for _, w := range r.Workloads {
		if w.ID == id {
			return w
		}
	}
	return nil
}

// Find returns a series, or nil.
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

// Add appends a round to a series, and creates the series if necessary.
func (w *Workload) Add(name string, r Round) {
	s := w.Find(name)
	if s == nil {
		s = &Series{Name: name}
		w.Series = append(w.Series, s)
	}
	s.Rounds = append(s.Rounds, r)
}

// Metric returns one number of a round.
type Metric func(Round) float64

// PerSecond returns the rate of answered requests.
func PerSecond(r Round) float64 { return float64(r.Requests) / r.Seconds }

// CPUPerRequest returns the server's processor time divided by the number of requests, in milliseconds.
func CPUPerRequest(r Round) float64 { return r.CPUSeconds * 1000 / float64(r.Requests) }

// CPUAfterwards returns the server's processor time after the last response, divided by the number of requests, in milliseconds.
func CPUAfterwards(r Round) float64 { return r.AfterSeconds * 1000 / float64(r.Requests) }

// P50 returns the median latency in milliseconds.
func P50(r Round) float64 { return r.P50 }

// P95 returns the latency in milliseconds that 5% of the requests exceeded.
func P95(r Round) float64 { return r.P95 }

// P99 returns the latency in milliseconds that 1% of the requests exceeded.
func P99(r Round) float64 { return r.P99 }

// Seconds returns the duration of the round.
func Seconds(r Round) float64 { return r.Seconds }

// Measure is a measured number and its variation between rounds.
type Measure struct {
	Value float64
	// Low and High are the quartiles of the rounds.
	Low, High float64
	// Known is false if the number was not measured.
	Known bool
}

// less returns the measure minus a number.
func (m Measure) less(v float64) Measure {
	if !m.Known {
		return m
	}
	return Measure{Value: m.Value - v, Low: m.Low - v, High: m.High - v, Known: true}
}

// Spread returns half the distance between the quartiles, relative to the value.
func (m Measure) Spread() float64 {
	if m.Value == 0 {
		return 0
	}
	return (m.High - m.Low) / 2 / math.Abs(m.Value)
}

// Median returns the median of a metric over the rounds.
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

// Ratio returns the ratio of the medians of two series. The quartiles of the result are the quartiles of the ratios of the single rounds,
// because in each round the two series ran directly one after the other.
func Ratio(a, b *Series, of Metric) Measure {
	ma, mb := a.Median(of), b.Median(of)
	if !ma.Known || !mb.Known || mb.Value == 0 {
		return Measure{}
	}
	var ratios []float64
	// If one series has a single round, compare that round with all rounds of the other series. Otherwise, ignore the last rounds of the
	// longer series.
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

// Ratio returns the ratio of two series of a workload.
func (w *Workload) Ratio(a, b string, of Metric) Measure { return Ratio(w.Find(a), w.Find(b), of) }

// exactly returns a measure of a number that was measured once, and not in rounds. The measure is unknown if the number is 0, infinite or
// NaN.
func exactly(v float64) Measure {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return Measure{}
	}
	return Measure{Value: v, Low: v, High: v, Known: true}
}

func summary(value float64, rounds []float64) Measure {
	return Measure{Value: value, Low: Quantile(rounds, 0.25), High: Quantile(rounds, 0.75), Known: true}
}

// Quantile returns the q-th quantile of values, and interpolates between neighboring values. It does not modify values. It returns 0 if
// values is empty.
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
