package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/vitrine-dev/vitrine/controllers/admission"
	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/hack/reference"
	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/memory"
	"github.com/vitrine-dev/vitrine/internal/server"
	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/httpapi"
)

// ownMetrics returns all metrics of a server that uses the engine as its library.
func ownMetrics(t *testing.T) reference.Registry {
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
	all := reference.Registry{}
	if err := server.RegisterMetrics(all, lib, memory.NewGauge(0, slog.New(slog.DiscardHandler)), 0, new(atomic.Pointer[admin.Backups])); err != nil {
		t.Fatal(err)
	}
	if _, err := httpapi.New(lib, httpapi.Options{Metrics: all}); err != nil {
		t.Fatal(err)
	}
	noCluster := func() (*rest.Config, error) { return nil, os.ErrNotExist }
	if _, err := cluster.NewSupervisor(cluster.Options{Library: lib, RESTConfig: noCluster, Metrics: all}); err != nil {
		t.Fatal(err)
	}
	if _, err := admission.New(admission.Options{Metrics: all}); err != nil {
		t.Fatal(err)
	}
	return all
}

var metricName = regexp.MustCompile(`\b(?:vitrine|go|process|controller_runtime|workqueue)_[a-z_]*[a-z]\b`)

// series returns the name of the metric of a series. For a series of a histogram, this is the name without the suffix.
func series(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && strings.HasSuffix(base, "_seconds") {
			return base
		}
	}
	return name
}

// TestMonitoringUsesExistingMetrics checks that every metric in the alerts and in the dashboard exists.
func TestMonitoringUsesExistingMetrics(t *testing.T) {
	known := ownMetrics(t)
	// A server exposes the metrics of the Go runtime and of the process as soon as it starts.
	s := start(t, newStore(t))
	_, page := get(t, "http://"+s.addresses["metrics"]+"/metrics")
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)`).FindAllStringSubmatch(page, -1) {
		if own, ok := known[m[1]]; ok && own.Type != m[2] {
			t.Errorf("%s is a %s, and the reference says %s", m[1], m[2], own.Type)
		}
		known[m[1]] = reference.Metric{Name: m[1]}
	}
	// The metrics of controller-runtime appear after a controller has run.
	for _, name := range []string{"controller_runtime_reconcile_time_seconds", "workqueue_depth", "workqueue_queue_duration_seconds"} {
		known[name] = reference.Metric{Name: name}
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
			if _, ok := known[series(name)]; !ok {
				t.Errorf("%s names %s, which nothing registers", file, name)
			}
		}
	}
}
