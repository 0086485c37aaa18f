package controllers

import (
	"reflect"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// Metrics count what the reconcilers do. Labels are kinds and words of ours: a bounded number.
type Metrics struct {
	rounds *prometheus.CounterVec
	writes *prometheus.CounterVec
}

// The outcomes of a pass.
const (
	outcomeServed    = "served"
	outcomeRemoved   = "removed"
	outcomeHeld      = "held" // the object was deleted with its CRD
	outcomeSuspended = "suspended"
	outcomeWaiting   = "waiting" // for something that is expected to come
	outcomeStalled   = "stalled" // until a user changes something
	outcomeFailed    = "failed"  // and is retried
)

// NewMetrics returns metrics that several managers, one after the other, may use.
func NewMetrics() *Metrics {
	return &Metrics{
		rounds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vitrine_reconcile_total",
			Help: "Reconciles, by kind and outcome: served, removed, held, suspended, waiting, stalled, or failed (retried).",
		}, []string{"kind", "outcome"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vitrine_status_writes_total", Help: "Status writes, including those of item counts, by kind.",
		}, []string{"kind"}),
	}
}

// Collectors returns what has to be registered.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.rounds, m.writes}
}

// counted counts the outcome of a pass.
func (m *Metrics) counted(k kind, outcome string) { m.rounds.WithLabelValues(k.Name, outcome).Inc() }

// written counts the write of a status.
func (m *Metrics) written(o v1alpha1.Object) {
	m.writes.WithLabelValues(reflect.TypeOf(o).Elem().Name()).Inc()
}
