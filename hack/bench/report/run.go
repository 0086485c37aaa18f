// Package report reads the results of the benchmarks, which are in the Go benchmark format, checks them against requirements (Bar) and
// ranges, and renders docs/benchmarks.md and docs/growth.md. Scale contains the results of the measurement of the operator, for
// docs/scale.md.
//
// It may import the standard library and golang.org/x/perf. benchstat also reads the results, but it was refused for the requirements: it
// compares the rounds of two files, and the requirements compare the rounds of two subjects that ran directly one after the other.
package report

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Run contains the results of one run.
type Run struct {
	// Config contains the configuration lines, such as the number of items.
	Config map[string]string
	// Workloads are in the order in which they ran.
	Workloads []*Workload
}

// Workload is one measurement: the same kind of load on each subject.
type Workload struct {
	Name   string
	Series []*Series
}

// Series contains the rounds of one subject, or of one variant of it.
type Series struct {
	Name   string
	Rounds []Round
}

// Round contains the metrics of one round by unit. Times are in seconds.
type Round map[string]float64

// Metric is the unit of a metric of a round.
type Metric string

// The metrics of a round. Each is absent if it was not measured.
const (
	Time       Metric = "sec/op" // the duration of the round divided by the number of requests or items
	CPU        Metric = "cpu-sec/op"
	Afterwards Metric = "after-sec/op" // processor time for background work after the last response
	P50        Metric = "p50-sec"
	P95        Metric = "p95-sec"
	P99        Metric = "p99-sec"
	// The sizes of a subject.
	Items     Metric = "items"
	Heap      Metric = "heap-B"
	Resident  Metric = "resident-B"
	Anonymous Metric = "anonymous-B"
	File      Metric = "file-B"
	Mapped    Metric = "mapped-B"
	Disk      Metric = "disk-B"
	// Cached is the size of the files in memory that a control group counts. Faults is the number of page faults that had to read from a
	// disk.
	Cached Metric = "cached-B"
	Faults Metric = "faults"
	// Index is the size of the index segments per item, without the stored items that they contain.
	Index Metric = "index-B/item"
	// RatioOf is a ratio that the benchmark computed itself.
	RatioOf Metric = "ratio"
)

// Read reads results. The name of each result is the name of the workload, the subject, and the number of the round, separated by slashes.
func Read(from io.Reader) (*Run, error) {
	r := &Run{Config: map[string]string{}}
	reader := benchfmt.NewReader(from, "results")
	for reader.Scan() {
		if err, bad := reader.Result().(*benchfmt.SyntaxError); bad {
			return nil, fmt.Errorf("read the results: %w", err)
		}
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		for _, c := range result.Config {
			r.Config[c.Key] = string(c.Value)
		}
		name, _, ok := strings.Cut(string(result.Name), "/round=")
		at := strings.LastIndexByte(name, '/')
		if !ok || at < 0 {
			return nil, fmt.Errorf("read the results: the benchmark %s has no subject or no round", result.Name)
		}
		round := Round{}
		for _, v := range result.Values {
			round[v.Unit] = v.Value
		}
		r.add(name[:at], strings.ReplaceAll(name[at+1:], "_", " "), round)
	}
	if err := reader.Err(); err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	if len(r.Workloads) == 0 {
		return nil, errors.New("read the results: they contain no benchmark")
	}
	return r, nil
}

func (r *Run) add(workload, series string, round Round) {
	w := r.Workload(workload)
	if w == nil {
		w = &Workload{Name: workload}
		r.Workloads = append(r.Workloads, w)
	}
	s := w.Find(series)
	if s == nil {
		s = &Series{Name: series}
		w.Series = append(w.Series, s)
	}
	s.Rounds = append(s.Rounds, round)
}

// Workload returns a workload, or nil if it did not run.
func (r *Run) Workload(name string) *Workload {
	for _, w := range r.Workloads {
		if w.Name == name {
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

// Measure is a measured number and its variation between rounds.
type Measure struct {
	Value float64
	// Low and High are the quartiles of the rounds.
	Low, High float64
	// Known is false if the number was not measured.
	Known bool
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
	var values []float64
	if s != nil {
		for _, r := range s.Rounds {
			if v, ok := r[string(of)]; ok {
				values = append(values, v)
			}
		}
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
		if under := b.Rounds[i%len(b.Rounds)][string(of)]; under != 0 {
			ratios = append(ratios, a.Rounds[i%len(a.Rounds)][string(of)]/under)
		}
	}
	return summary(ma.Value/mb.Value, ratios)
}

// Ratio returns the ratio of two series of a workload.
func (w *Workload) Ratio(a, b string, of Metric) Measure { return Ratio(w.Find(a), w.Find(b), of) }

func summary(value float64, rounds []float64) Measure {
	return Measure{Value: value, Low: Quantile(rounds, 0.25), High: Quantile(rounds, 0.75), Known: len(rounds) > 0}
}

// Quantile returns the q-th quantile of values, and interpolates between neighboring values. It does not modify values. It returns 0 if
// values is empty.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (sorted[above]-sorted[below])*(at-float64(below))
}
