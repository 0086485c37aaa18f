package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/memory"
	"github.com/vitrine-dev/vitrine/server/library"
)

// RegisterMetrics registers the metrics of the library, of the memory limit, and of the scheduled backups: reported contains the last report
// about them, and expectBackups is the expected time between two.
func RegisterMetrics(
	r prometheus.Registerer, lib library.Library, gauge *memory.Gauge, expectBackups time.Duration, reported *atomic.Pointer[admin.Backups],
) error {
	collectors := append(memoryMetrics(gauge), backupMetrics(expectBackups, reported)...)
	for _, c := range append(collectors, newLibraryCollector(lib)) {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// metricsPage serves metrics, and those of controller-runtime, the process and the Go runtime.
func metricsPage(own *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(prometheus.Gatherers{own, ctrlmetrics.Registry}, promhttp.HandlerOpts{}))
	return mux
}

// memoryMetrics returns the metrics of the memory limit and of the memory pressure.
func memoryMetrics(gauge *memory.Gauge) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "vitrine_memory_limit_bytes", Help: "Memory limit of the process in bytes (--memory-limit); 0 means no limit.",
		}, func() float64 { return float64(gauge.Limit()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "vitrine_memory_pressure", Help: "Memory pressure: 0 is relaxed; 1 is tight (caches shrink); 2 is full (the server rejects writes of items).",
		}, func() float64 { return float64(gauge.Pressure()) }),
	}
}

// backupMetrics returns the metrics of the scheduled backups, as vitrine backup --every reports them. every is the expected time between
// two backups; 0 means that no backups are expected.
func backupMetrics(every time.Duration, reported *atomic.Pointer[admin.Backups]) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "vitrine_backup_interval_seconds", Help: "Expected time between two scheduled backups in seconds (--expect-backups); 0 means that no backups are expected.",
		}, every.Seconds),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "vitrine_backup_last_success_timestamp_seconds", Help: "Time of the newest scheduled backup of this store, in seconds since 1970; 0 if vitrine backup --every has reported none.",
		}, func() float64 {
			if b := reported.Load(); b != nil && !b.Newest.IsZero() {
				return float64(b.Newest.Unix())
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "vitrine_backup_failures_total", Help: "Scheduled backups that have failed since vitrine backup --every started.",
		}, func() float64 {
			if b := reported.Load(); b != nil {
				return float64(b.Failures)
			}
			return 0
		}),
	}
}

// libraryCollector reads, at every scrape, the state of the library and the metrics that the library itself provides.
type libraryCollector struct {
	lib                                       library.Library
	ready, degraded, items, definitions, disk *prometheus.Desc
	sizes, troubles                           *prometheus.Desc
}

func newLibraryCollector(lib library.Library) *libraryCollector {
	return &libraryCollector{
		lib:         lib,
		ready:       prometheus.NewDesc("vitrine_store_ready", "1 if the store serves reads, even if it rejects writes.", nil, nil),
		degraded:    prometheus.NewDesc("vitrine_store_degraded", "1 if the store serves reads but has a problem that affects all properties. /readyz names the problem.", nil, nil),
		items:       prometheus.NewDesc("vitrine_items", "Stored items, by property.", []string{"property"}, nil),
		definitions: prometheus.NewDesc("vitrine_definitions", "Stored definitions of all properties.", nil, nil),
		disk:        prometheus.NewDesc("vitrine_store_bytes", "Size of the store on disk, in bytes.", nil, nil),
		troubles:    prometheus.NewDesc("vitrine_property_problem", "1 for each property that has a problem of its own, by state: failed (requests for the property get 503), rebuilding (the problem ends by itself), or degraded (the property is served, but not fully, for example without writes). /readyz names the problem.", []string{"property", "state"}, nil),
		sizes:       prometheus.NewDesc("vitrine_library_bytes", "Memory of the library in bytes, by kind: heap (the part of the index in the heap), caches, store (the database), mapped-index and mapped-items (mapped files, which use the page cache).", []string{"kind"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *libraryCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.troubles // a library without problems has no series of it
	prometheus.DescribeByCollect(c, ch)
}

// Collect implements prometheus.Collector.
func (c *libraryCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s := c.lib.State(ctx)
	ready, degraded := 0.0, 0.0
	if s.Ready {
		ready = 1
		if s.Problem != "" {
			degraded = 1
		}
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(c.ready, ready)
	gauge(c.degraded, degraded)
	for p, n := range s.PropertyItems {
		gauge(c.items, float64(n), string(p))
	}
	for p, t := range s.Troubles {
		gauge(c.troubles, 1, string(p), t.State())
	}
	gauge(c.definitions, float64(s.Definitions))
	for kind, bytes := range map[string]int64{
		"heap": s.Sizes.Heap, "caches": s.Sizes.Caches, "store": s.Sizes.Store, "mapped-index": s.Sizes.MappedIndex, "mapped-items": s.Sizes.MappedItems,
	} {
		gauge(c.sizes, float64(bytes), kind)
	}
	gauge(c.disk, float64(s.DiskBytes))
	measurer, ok := c.lib.(library.Measurer)
	if !ok {
		return
	}
	for _, m := range measurer.Measures() {
		kind := prometheus.GaugeValue
		if m.Counter {
			kind = prometheus.CounterValue
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("vitrine_"+m.Name, m.Help, nil, nil), kind, m.Value)
	}
}
