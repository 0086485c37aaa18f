package httpapi

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/server/library"
)

// metrics counts requests. The labels are the endpoint's path with placeholders, the method, the class of the token, what limits its reads,
// and the status. The number of their values is bounded, and they contain no data of callers.
type metrics struct {
	requests *prometheus.CounterVec
	elapsed  *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// These are the values of the label class. The label scope has classNone too, or a value of library.Token.LimitedBy.
const (
	classNone       = "none" // no token, or one that was refused
	classRestricted = "restricted"
	classReadOnly   = "read-only"
	classReadWrite  = "read-write"
)

func tokenClass(g grant) string {
	switch {
	case g.property == "":
		return classNone
	case g.rights.ReadWrite:
		return classReadWrite
	case g.restricted():
		return classRestricted
	}
	return classReadOnly
}

func tokenScope(g grant, settings library.Property) string {
	if g.property == "" {
		return classNone
	}
	return g.rights.LimitedBy(g.propertyQuery(settings))
}

// newMetrics creates the metrics and registers them with r, together with the metrics of pages. If r is nil, the server counts them but
// does not export them.
func newMetrics(r prometheus.Registerer, pages *pageCache) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vitrine_http_requests_total", Help: "Answered HTTP requests, by class of the token and by scope: what limits the items that it reads (AllItems, Property, Query or Filters). " +
				"The status is 499 if the caller closed the connection before the response began.",
		}, []string{"route", "method", "class", "scope", "status"}),
		elapsed: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "vitrine_http_request_seconds", Help: "Duration of HTTP requests, from arrival to the end of the response, in seconds.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"route", "method", "class"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "vitrine_http_requests_in_flight", Help: "HTTP requests in progress.",
		}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range append([]prometheus.Collector{m.requests, m.elapsed, m.inFlight}, pages.collectors()...) {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register request metrics: %w", err)
		}
	}
	return m, nil
}

// collectors returns the metrics of the page cache.
func (c *pageCache) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "vitrine_page_cache_bytes", Help: "Size of the page cache, in bytes.",
		}, func() float64 {
			c.pages.CleanUp() // include the changes that the cache processes in the background
			return float64(c.pages.WeightedSize())
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "vitrine_page_cache_hits_total", Help: "Page cache hits.",
		}, func() float64 { return float64(c.hits.Load()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "vitrine_page_cache_misses_total", Help: "Page cache misses.",
		}, func() float64 { return float64(c.misses.Load()) }),
	}
}

func (m *metrics) begin() { m.inFlight.Inc() }

func (m *metrics) end(route, method, class, scope string, status int, elapsed time.Duration) {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
	default:
		method = "other" // clients can send any method
	}
	m.inFlight.Dec()
	m.requests.WithLabelValues(route, method, class, scope, strconv.Itoa(status)).Inc()
	m.elapsed.WithLabelValues(route, method, class).Observe(elapsed.Seconds())
}
