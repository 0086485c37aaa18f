package reference

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Registry is a prometheus.Registerer that records the registered metrics, including metrics that have no value yet.
type Registry map[string]Metric

// Metric is a metric of the server.
type Metric struct {
	// Name is the complete name, Help is the description, and Labels contains the names of the labels.
	Name, Help string
	Labels     []string
	// Type is counter, gauge or histogram.
	Type string
}

// described extracts the fields of a prometheus.Desc from its text, because the fields are private.
var described = regexp.MustCompile(`fqName: "([^"]+)", help: "((?:[^"\\]|\\.)*)", .*variableLabels: {([^}]*)}`)

// Register implements prometheus.Registerer.
func (r Registry) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		c.Describe(descs)
	}()
	for desc := range descs {
		found := described.FindStringSubmatch(desc.String())
		help, err := strconv.Unquote(`"` + found[2] + `"`)
		if err != nil {
			return fmt.Errorf("read the help of %s: %w", found[1], err)
		}
		m := Metric{Name: found[1], Help: help, Type: "gauge"}
		if found[3] != "" {
			m.Labels = strings.Split(found[3], ",")
		}
		// By the conventions of Prometheus, only counters have the suffix _total.
		if strings.HasSuffix(m.Name, "_total") {
			m.Type = "counter"
		}
		if _, ok := c.(*prometheus.HistogramVec); ok {
			m.Type = "histogram"
		}
		r[m.Name] = m
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (r Registry) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			panic(err) // the interface requires a panic
		}
	}
}

// Unregister implements prometheus.Registerer.
func (Registry) Unregister(prometheus.Collector) bool { return false }

// Metrics returns the reference of registered metrics.
func Metrics(all Registry) string {
	p := newPage("Metrics reference", "the registered metrics", "The server serves these metrics on `--metrics-bind-address`, together with those of the Go runtime, the process and controller-runtime.\n"+
		"[Monitoring](../monitoring.md) explains the labels, the alerts and the dashboard.")
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		labels := ""
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		rows = append(rows, []string{code(m.Name), m.Type, labels, prose(m.Help)})
	}
	p.table([]string{"metric", "type", "labels", "meaning"}, rows)
	return p.String()
}
