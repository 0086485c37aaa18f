package httpapi

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts requests. Labels are the endpoint's path with its placeholders, the method and the status: a bounded
// number, and nothing of a caller in them.
type metrics struct {
	requests *prometheus.CounterVec
	elapsed  *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// newMetrics registers the metrics with r; with nil they are counted and shown nowhere.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vitrine_http_requests_total", Help: "Requests answered, by endpoint, method and status.",
		}, []string{"route", "method", "status"}),
		elapsed: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "vitrine_http_request_seconds", Help: "Time from a request's arrival to the end of its answer, in seconds.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"route", "method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "vitrine_http_requests_in_flight", Help: "Requests that are being answered.",
		}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.elapsed, m.inFlight} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register request metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) begin() { m.inFlight.Inc() }

func (m *metrics) end(route, method string, status int, elapsed time.Duration) {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
	default:
		method = "other" // anything can be sent as a method
	}
	m.inFlight.Dec()
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.elapsed.WithLabelValues(route, method).Observe(elapsed.Seconds())
}
