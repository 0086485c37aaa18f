package webhooks

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Metrics counts the deliveries of all webhooks. Several Deliverers can share it, one after the other.
type Metrics struct {
	attempts *prometheus.CounterVec
	waiting  *prometheus.GaugeVec
	changes  *prometheus.GaugeVec
}

// NewMetrics returns metrics that nothing has registered yet.
func NewMetrics() *Metrics {
	labels := []string{"namespace", "name"}
	return &Metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vitrine_webhook_deliveries_total",
			Help: "Attempts of a Webhook, by result: delivered, failed, refused (by --webhook-allow-host), stopped (by a response 410), or filter_absent.",
		}, append(labels, "result")),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "vitrine_webhook_undelivered_since_seconds",
			Help: "Unix time since which changes of a Webhook wait because its deliveries fail. Absent if none wait.",
		}, labels),
		changes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "vitrine_webhook_undelivered_changes",
			Help: "Number of changes of a Webhook that waited after the last failed attempt, among the first 1000. Absent if none wait or the number is not known.",
		}, labels),
	}
}

// Collectors returns the collectors to register.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.attempts, m.waiting, m.changes}
}

// attempted counts an attempt.
func (m *Metrics) attempted(o library.Owner, r Result) {
	m.attempts.WithLabelValues(o.Namespace, o.Name, string(r)).Inc()
}

// waits records the time since which changes wait, or zero if none do, and their number, or 0 if it is not known.
func (m *Metrics) waits(o library.Owner, since time.Time, n int) {
	// A series that stays must not be absent in between, because that would end an alert.
	if since.IsZero() {
		m.waiting.DeleteLabelValues(o.Namespace, o.Name)
	} else {
		m.waiting.WithLabelValues(o.Namespace, o.Name).Set(float64(since.Unix()))
	}
	if n == 0 {
		m.changes.DeleteLabelValues(o.Namespace, o.Name)
	} else {
		m.changes.WithLabelValues(o.Namespace, o.Name).Set(float64(n))
	}
}

// forget removes what no longer applies when a worker has ended. The counters remain until the process ends.
func (m *Metrics) forget(o library.Owner) { m.waits(o, time.Time{}, 0) }
