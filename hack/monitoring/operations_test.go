package monitoring

import (
	"regexp"
	"strings"
	"testing"
)

// TestOperationsKnowsTheAlerts checks that docs/operations.md has an action and the severity for each alert, and lists no other alerts.
func TestOperationsKnowsTheAlerts(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^\| \[(Vitrine\w+)\]\(monitoring\.md#(\w+)\) \| (\w+) \| .+ \| .+ \|$`).
		FindAllStringSubmatch(string(read(t, "../../docs/operations.md")), -1)
	all := rules(t)
	for _, row := range rows {
		r, ok := all[row[1]]
		switch {
		case !ok:
			t.Errorf("the page lists %s twice, or there is no such alert", row[1])
		case r.Labels["severity"] != row[3] || strings.ToLower(row[1]) != row[2]:
			t.Errorf("%s: severity %s in the page, %s in the rule; its link is to #%s", row[1], row[3], r.Labels["severity"], row[2])
		}
		delete(all, row[1])
	}
	for name := range all {
		t.Errorf("%s is left out", name)
	}
}
