package plane

import (
	"fmt"
	"strconv"
	"strings"
)

// Writes counts write requests to an API server by resource. Writes of statuses are counted as resource and "/status".
type Writes map[string]int64

// CountWrites returns the counts of the resources of API groups from the text of the API server's /metrics.
func CountWrites(metrics string, groups ...string) (Writes, error) {
	out := Writes{}
	for line := range strings.Lines(metrics) {
		labels, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if !ok || !strings.HasPrefix(labels, "apiserver_request_total{") {
			continue
		}
		switch label(labels, "verb") {
		case "POST", "PUT", "PATCH", "DELETE", "APPLY":
		default:
			continue
		}
		for _, group := range groups {
			if label(labels, "group") != group {
				continue
			}
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, fmt.Errorf("read the API server's counters: %q: %w", line, err)
			}
			name := label(labels, "resource")
			if label(labels, "subresource") == "status" {
				name += "/status"
			}
			out[name] += int64(n)
		}
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

// label returns the value of a label in a line of metrics.
func label(line, name string) string {
	_, rest, _ := strings.Cut(line, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
