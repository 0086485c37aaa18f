package main

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/vitrine-dev/vitrine/controllers/admission"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/internal/memory"
	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/httpapi"
)

// described is a Registerer that records the names of the registered metrics, including those that have no value yet.
type described map[string]bool

var descName = regexp.MustCompile(`fqName: "([^"]+)"`)

// Register implements prometheus.Registerer.
func (d described) Register(c prometheus.Collector) error {
	ch := make(chan *prometheus.Desc)
	go func() {
		defer close(ch)
		c.Describe(ch)
	}()
	for desc := range ch {
		d[descName.FindStringSubmatch(desc.String())[1]] = true
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (d described) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		_ = d.Register(c) // never fails
	}
}

// Unregister implements prometheus.Registerer.
func (d described) Unregister(prometheus.Collector) bool { return false }

// ownMetrics returns the names of all metrics of the server, with the engine as its library.
func ownMetrics(t *testing.T) described {
	t.Helper()
	lib, err := engine.Open(engine.Options{Dir: newStore(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lib.Close(); err != nil {
			t.Error(err)
		}
	})
	names := described{}
	names.MustRegister(newLibraryCollector(lib))
	names.MustRegister(memoryMetrics(memory.NewGauge(0, slog.New(slog.DiscardHandler)))...)
	if _, err := httpapi.New(lib, httpapi.Options{Metrics: names}); err != nil {
		t.Fatal(err)
	}
	noCluster := func() (*rest.Config, error) { return nil, os.ErrNotExist }
	if _, err := cluster.NewSupervisor(cluster.Options{Library: lib, RESTConfig: noCluster, Metrics: names}); err != nil {
		t.Fatal(err)
	}
	if _, err := admission.New(admission.Options{Library: lib, Metrics: names}); err != nil {
		t.Fatal(err)
	}
	return names
}

var metricName = regexp.MustCompile(`\b(?:vitrine|go|process|controller_runtime|workqueue)_[a-z_]*[a-z]\b`)

// series removes the suffix of a histogram's series.
func series(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && strings.HasSuffix(base, "_seconds") {
			return base
		}
	}
	return name
}

// TestMetricsAreDocumented checks that docs/monitoring.md lists exactly the metrics of the server.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			for _, name := range metricName.FindAllString(cells[1], -1) {
				listed[name] = true
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(map[string]bool(ownMetrics(t)))), slices.Sorted(maps.Keys(listed))); diff != "" {
		t.Errorf("docs/monitoring.md (-registered +listed):\n%s", diff)
	}
}

// TestMonitoringUsesExistingMetrics checks that every metric in the alerts and in the dashboard exists.
func TestMonitoringUsesExistingMetrics(t *testing.T) {
	known := ownMetrics(t)
	// A process exposes the metrics of the Go runtime and of the process from the start.
	s := start(t, newStore(t))
	_, page := get(t, "http://"+s.addresses["metrics"]+"/metrics")
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(page, -1) {
		known[m[1]] = true
	}
	// The metrics of controller-runtime appear after a controller has run.
	for _, name := range []string{"controller_runtime_reconcile_time_seconds", "workqueue_depth", "workqueue_queue_duration_seconds"} {
		known[name] = true
	}
	for _, file := range []string{"rules.yaml", "dashboard.json"} {
		text, err := os.ReadFile(filepath.Join("../../config/monitoring", file))
		if err != nil {
			t.Fatal(err)
		}
		names := metricName.FindAllString(string(text), -1)
		if len(names) < 10 {
			t.Errorf("%s names %d metrics: check the pattern", file, len(names))
		}
		for _, name := range names {
			if !known[series(name)] {
				t.Errorf("%s names %s, which nothing registers", file, name)
			}
		}
	}
}
