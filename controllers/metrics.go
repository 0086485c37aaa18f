package controllers

import (
	"reflect"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// Metrics counts the passes and the status writes of the reconcilers. All label values are kinds and fixed words, so the number of series
// is bounded.
type Metrics struct {
	rounds *prometheus.CounterVec
	writes *prometheus.CounterVec
}

// Outcomes of a pass.
const (
	outcomeServed    = "served"
	outcomeRemoved   = "removed"
	outcomeHeld      = "held" // the removal waits for confirmation, for example because the object was deleted with its CRD
	outcomeSuspended = "suspended"
	outcomeWaiting   = "waiting" // the object waits for something that is expected soon
	outcomeStalled   = "stalled" // the object is not served until a user changes something
	outcomeFailed    = "failed"  // the operator retries
)

// NewMetrics returns metrics that a manager and its successors can share.
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

// Collectors returns the collectors to register.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.rounds, m.writes}
}

// counted counts the outcome of a pass.
func (m *Metrics) counted(k kind, outcome string) { m.rounds.WithLabelValues(k.Name, outcome).Inc() }

// written counts a status write.
func (m *Metrics) written(o v1alpha1.Object) {
	m.writes.WithLabelValues(reflect.TypeOf(o).Elem().Name()).Inc()
}
