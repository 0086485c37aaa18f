package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestUnready(t *testing.T) {
	tests := map[string]struct {
		object string
		want   string
	}{
		"ready": {
			object: `{"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "conditions": [{"type": "Ready", "status": "True"}]}}`,
		},
		"ready for an older generation": {
			object: `{"metadata": {"generation": 2}, "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}}`,
			want:   "not reconciled yet",
		},
		"never looked at": {
			object: `{"metadata": {"generation": 1}, "status": {"observedGeneration": -1}}`,
			want:   "not reconciled yet",
		},
		"ready and reconciling": {
			object: `{"metadata": {"generation": 1}, "status": {"observedGeneration": 1, "conditions": [
				{"type": "Ready", "status": "True"}, {"type": "Reconciling", "status": "True", "reason": "PropertyNotFound", "message": "apply it"}]}}`,
			want: "Reconciling: PropertyNotFound: apply it",
		},
		"stalled": {
			object: `{"metadata": {"generation": 1}, "status": {"observedGeneration": 1, "conditions": [
				{"type": "Ready", "status": "False"}, {"type": "Stalled", "status": "True", "reason": "QueryInvalid", "message": "close it"}]}}`,
			want: "Stalled: QueryInvalid: close it",
		},
		"not ready": {
			object: `{"metadata": {"generation": 1}, "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "False", "reason": "X", "message": "y"}]}}`,
			want:   "not ready: X: y",
		},
		"no conditions": {
			object: `{"metadata": {"generation": 1}, "status": {"observedGeneration": 1}}`,
			want:   "no Ready condition yet",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var o object
			if err := json.Unmarshal([]byte(test.object), &o); err != nil {
				t.Fatal(err)
			}
			if got := o.unready(); got != test.want {
				t.Errorf("unready() = %q, want %q", got, test.want)
			}
		})
	}
}

func TestReadTour(t *testing.T) {
	readme := "# X\n\n## Five minutes\n\nFirst:\n\n    . env\n\n**Do this.** It helps.\n\n    one <<'E'\n    two: {a: b}\n      three\n    E\n\n" +
		"**Do that.** Also.\n\n    four\n\n## More\n\n    five\n"
	tour, err := readTour(readme)
	if err != nil {
		t.Fatal(err)
	}
	want := []chapter{{"Do this", "one <<'E'\ntwo: {a: b}\n  three\nE\n"}, {"Do that", "four\n"}}
	if len(tour) != len(want) || tour[0] != want[0] || tour[1] != want[1] {
		t.Errorf("readTour = %q, want %q", tour, want)
	}
	if _, err := readTour("# X\n"); err == nil {
		t.Error("a README without a tour is no error")
	}
}

// TestTourOfReadme holds README and the checks of its tour together without running it.
func TestTourOfReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	tour, err := readTour(string(readme))
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]bool{}
	for _, c := range tour {
		titles[c.title] = true
		if tourChecks[c.title] == nil {
			t.Errorf("the step %q is not checked", c.title)
		}
		if strings.TrimSpace(c.script) == "" {
			t.Errorf("the step %q has no commands", c.title)
		}
	}
	for title := range tourChecks {
		if !titles[title] {
			t.Errorf("README lacks the step %q", title)
		}
	}
}

func TestCheckTables(t *testing.T) {
	rows := "NAME READY\nproperty.vitrine.dev/default True 1m\naccesstoken.vitrine.dev/storefront True\naccesstoken.vitrine.dev/backoffice True\n" +
		"contentfilter.vitrine.dev/summer-wall True\ncontentfilter.vitrine.dev/moderation-queue True\ntag.vitrine.dev/hero True\n" +
		"tag.vitrine.dev/seaside True\nactivateunit.vitrine.dev/sandals True\n"
	if err := checkTables(rows); err != nil {
		t.Errorf("good tables: %v", err)
	}
	if err := checkTables(strings.Replace(rows, "hero True", "hero False", 1)); err == nil || !strings.Contains(err.Error(), "hero False") {
		t.Errorf("a tag that is not ready: %v", err)
	}
	if err := checkTables("NAME READY\n"); err == nil {
		t.Error("empty tables are no error")
	}
}

func TestCheckPage(t *testing.T) {
	good := `{"total_results": 3, "_embedded": {"ugc:item": [{"content": {}}, {"content": {}}]}}`
	if err := checkPage(good); err != nil {
		t.Errorf("a good page: %v", err)
	}
	for name, page := range map[string]string{
		"a problem":    `{"title": "Forbidden", "status": 403}`,
		"private data": strings.Replace(good, `{"content": {}}`, `{"content": {}, "submission": {"email": "x"}}`, 1),
		"no JSON":      "<html>",
	} {
		if err := checkPage(page); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}

func TestTotalOf(t *testing.T) {
	total, err := totalOf("condition met\n{\"total_results\": 7}\nmore\n{\"total_results\": 8}\n\n")
	if err != nil || total != 8 {
		t.Errorf("totalOf = %d, %v, want that of the last page, 8", total, err)
	}
	for _, output := range []string{"", "condition met\n", "{\"status\": 403}\n"} {
		if _, err := totalOf(output); err == nil {
			t.Errorf("totalOf(%q) is no error", output)
		}
	}
}

func TestEventually(t *testing.T) {
	tries := 0
	err := eventually(t.Context(), time.Minute, func() error {
		if tries++; tries < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || tries != 3 {
		t.Errorf("eventually = %v after %d tries, want nil after 3", err, tries)
	}
	hopeless := errors.New("hopeless")
	if err := eventually(t.Context(), time.Minute, func() error { return fatal{hopeless} }); !errors.Is(err, hopeless) {
		t.Errorf("eventually = %v, want the fatal error at once", err)
	}
	never := errors.New("never")
	if err := eventually(t.Context(), time.Millisecond, func() error { return never }); !errors.Is(err, never) {
		t.Errorf("eventually = %v, want the last error", err)
	}
}
