package plane

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Writes counts write requests to an API server by resource. Writes of statuses are counted as resource and "/status".
type Writes map[string]int64

// CountWrites returns the counts of the resources of API groups from the text of the API server's /metrics.
func CountWrites(metrics string, groups ...string) (Writes, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(metrics))
	if err != nil {
		return nil, fmt.Errorf("read the API server's counters: %w", err)
	}
	out := Writes{}
	for _, m := range families["apiserver_request_total"].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		if !slices.Contains(groups, labels["group"]) || !slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE", "APPLY"}, labels["verb"]) {
			continue
		}
		name := labels["resource"]
		if labels["subresource"] == "status" {
			name += "/status"
		}
		out[name] += int64(m.GetCounter().GetValue())
	}
	return out, nil
}

// Since returns the counts minus those in before. It omits zeros.
func (w Writes) Since(before Writes) Writes {
	out := Writes{}
	for name, n := range w {
		if d := n - before[name]; d != 0 {
			out[name] = d
		}
	}
	return out
}

// Total returns the sum of all counts.
func (w Writes) Total() int64 {
	var n int64
	for _, v := range w {
		n += v
	}
	return n
}
