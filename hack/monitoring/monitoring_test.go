package monitoring

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"go.yaml.in/yaml/v3"
)

const folder = "../../config/monitoring"

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// rules returns the alerts of the PrometheusRule by name, as Prometheus parses them.
func rules(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	var object struct {
		Spec map[string]any `yaml:"spec"`
	}
	if err := yaml.Unmarshal(read(t, folder+"/rules.yaml"), &object); err != nil {
		t.Fatal(err)
	}
	spec, err := yaml.Marshal(object.Spec)
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(spec, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	all := map[string]rulefmt.Rule{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if _, twice := all[r.Alert]; twice || r.Alert == "" {
				t.Errorf("group %s: alert %q", g.Name, r.Alert)
			}
			all[r.Alert] = r
		}
	}
	return all
}

// TestAlertsSayWhatToDo checks that each alert has a severity, a summary, a description, and a section in docs/monitoring.md.
func TestAlertsSayWhatToDo(t *testing.T) {
	page := string(read(t, "../../docs/monitoring.md"))
	all := rules(t)
	for name, r := range all {
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", name, r.Labels["severity"])
		}
		for _, a := range []string{"summary", "description"} {
			if !strings.HasSuffix(r.Annotations[a], ".") {
				t.Errorf("%s: its %s is not a sentence: %q", name, a, r.Annotations[a])
			}
		}
		if !strings.HasSuffix(r.Annotations["runbook_url"], "/docs/monitoring.md#"+strings.ToLower(name)) || !strings.Contains(page, "\n### "+name+"\n") {
			t.Errorf("%s: docs/monitoring.md has no section for the link %s", name, r.Annotations["runbook_url"])
		}
	}
	for line := range strings.Lines(page) {
		if name, ok := strings.CutPrefix(line, "### "); ok && all[strings.TrimSpace(name)].Alert == "" {
			t.Errorf("docs/monitoring.md has a section %q, but there is no such alert", strings.TrimSpace(name))
		}
	}
}

// fires contains two groups of series for each alert: with loud, the alert must fire, and with quiet, it must not. Each line is one series
// with one value per minute for an hour. The expression of the alert is evaluated in the last minute.
var fires = map[string]struct{ loud, quiet string }{
	"VitrineAbsent":            {`other 1x60`, `vitrine_store_ready 1x60`},
	"VitrineStoreNotReady":     {`vitrine_store_ready{pod="a"} 0x60`, `vitrine_store_ready{pod="a"} 1x60`},
	"VitrineStoreDegraded":     {`vitrine_store_degraded{pod="a"} 1x60`, `vitrine_store_degraded{pod="a"} 0x60`},
	"VitrinePropertyNotServed": {`vitrine_property_problem{property="a/b",state="failed"} 1x60`, `vitrine_property_problem{property="a/b",state="rebuilding"} 1x60`},
	"VitrinePropertyDegraded":  {`vitrine_property_problem{property="a/b",state="degraded"} 1x60`, `vitrine_property_problem{property="a/b",state="failed"} 1x60`},
	"VitrineErrors": {
		"vitrine_http_requests_total{route=\"/a\",status=\"200\"} 0+600x60\nvitrine_http_requests_total{route=\"/a\",status=\"500\"} 0+60x60",
		"vitrine_http_requests_total{route=\"/a\",status=\"200\"} 0+600x60\nvitrine_http_requests_total{route=\"/a\",status=\"500\"} 0+3x60",
	},
	"VitrineSlow": {
		buckets("GET", "/v2/content/items", "60", "0"), buckets("GET", "/v2/content/items", "60", "60") + "\n" + buckets("GET", "/v2/content/bulk", "60", "0") + "\n" + buckets("GET", "/v2/content/changes", "60", "0") + "\n" + buckets("GET", "/v2/content/filters/{filter_uuid}/events", "60", "0"),
	},
	"VitrineMemoryFull": {`vitrine_memory_pressure 2x60`, `vitrine_memory_pressure 1x60`},
	"VitrineMemorySmall": {
		mapped("9", "2", "1"), mapped("8", "2", "1") + "\n" + `vitrine_library_bytes{pod="b",kind="mapped-items"} 99x60` + "\n" + `vitrine_memory_limit_bytes{pod="b"} 0x60`,
	},
	"VitrineVolumeFillsUp": {
		volume("vitrine", "10"), volume("vitrine", "20") + "\n" + volume("other", "1"),
	},
	"VitrineBackupOverdue": {
		// The expression is evaluated one hour after the epoch. The metric for the last success is 0 if there is no backup.
		"vitrine_backup_last_success_timestamp_seconds 0x60\nvitrine_backup_interval_seconds 1800x60",
		"vitrine_backup_last_success_timestamp_seconds{pod=\"a\"} 1200x60\nvitrine_backup_interval_seconds{pod=\"a\"} 1800x60\n" +
			"vitrine_backup_last_success_timestamp_seconds{pod=\"b\"} 0x60\nvitrine_backup_interval_seconds{pod=\"b\"} 0x60",
	},
	// The alert must not fire after a single failure, because the next attempt can succeed.
	"VitrineBackupFails":        {`vitrine_backup_failures_total 0x30 1x10 2x20`, `vitrine_backup_failures_total 0x30 1x30`},
	"VitrineClusterUnreachable": {`vitrine_cluster_reachable 0x60`, `vitrine_cluster_reachable 1x60`},
	"VitrineNoLeader": {
		"vitrine_leader{pod=\"a\"} 0x60\nvitrine_leader{pod=\"b\"} 0x60\nvitrine_cluster_reachable{pod=\"b\"} 1x60",
		"vitrine_leader{pod=\"a\"} 0x60\nvitrine_leader{pod=\"b\"} 1x60\nvitrine_cluster_reachable{pod=\"b\"} 1x60",
	},
	"VitrineSweepHeld":       {`vitrine_sweep_held_definitions 25x60`, `vitrine_sweep_held_definitions 0x60`},
	"VitrineObjectsRejected": {`vitrine_rejected_objects{kind="Tag",reason="InvalidQuery"} 1x60`, `vitrine_objects{kind="Tag",state="stalled"} 0x60`},
	"VitrineObjectsWait":     {`vitrine_objects{kind="Tag",state="waiting"} 1x60`, `vitrine_objects{kind="Tag",state="ready"} 1x60`},
	"VitrineSuspendedLong":   {`vitrine_suspended_seconds{name="a"} 700000x60`, `vitrine_suspended_seconds{name="a"} 600000x60`},
	// The expression is evaluated one hour after the epoch. The metric is absent if no changes wait.
	"VitrineWebhookFails": {`vitrine_webhook_undelivered_since_seconds{name="a"} 2000x60`, `vitrine_webhook_undelivered_since_seconds{name="a"} 3000x60`},
	"VitrineReconcilesFail": {
		`vitrine_reconcile_total{kind="Tag",outcome="failed"} 0+10x60`, "vitrine_reconcile_total{kind=\"Tag\",outcome=\"failed\"} 0+1x60\nvitrine_reconcile_total{kind=\"Tag\",outcome=\"served\"} 0+100x60",
	},
}

// buckets returns the series of the duration of requests. all is the number of requests per minute, and fast is the number of these
// requests that took at most half a second.
func buckets(method, route, all, fast string) string {
	series := func(le, n string) string {
		return `vitrine_http_request_seconds_bucket{method="` + method + `",route="` + route + `",le="` + le + `"} 0+` + n + "x60\n"
	}
	return series("0.5", fast) + series("10", all) + series("+Inf", all) +
		`vitrine_http_request_seconds_count{method="` + method + `",route="` + route + `"} 0+` + all + "x60"
}

// mapped returns the series of a server with these numbers of bytes of items, of the index, and of its memory limit.
func mapped(items, index, limit string) string {
	return `vitrine_library_bytes{pod="a",kind="mapped-items"} ` + items + "x60\n" + `vitrine_library_bytes{pod="a",kind="mapped-index"} ` + index +
		"x60\n" + `vitrine_memory_limit_bytes{pod="a"} ` + limit + "x60\nvitrine_memory_pressure{pod=\"a\"} 0x60"
}

func volume(claim, free string) string {
	labels := `{namespace="vitrine-system",persistentvolumeclaim="` + claim + `"}`
	return "kubelet_volume_stats_available_bytes" + labels + " " + free + "x60\nkubelet_volume_stats_capacity_bytes" + labels + " 100x60"
}

// TestAlertsFire checks that each alert fires for its loud series, and does not fire for its quiet series.
func TestAlertsFire(t *testing.T) {
	all := rules(t)
	if got, want := slices.Sorted(maps.Keys(fires)), slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
		t.Fatalf("there are series for %v, want %v", got, want)
	}
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	for name, tc := range fires {
		t.Run(name, func(t *testing.T) {
			for series, want := range map[string]bool{tc.loud: true, tc.quiet: false} {
				load := "load 1m"
				for line := range strings.SplitSeq(series, "\n") {
					load += "\n  " + line
				}
				storage := promqltest.LoadedStorage(t, load+"\n")
				q, err := engine.NewInstantQuery(t.Context(), storage, nil, all[name].Expr, time.Unix(59*60, 0))
				if err != nil {
					t.Fatal(err)
				}
				result, err := q.Exec(t.Context()).Vector()
				if err != nil {
					t.Fatal(err)
				}
				if fired := len(result) > 0; fired != want {
					t.Errorf("fires %v; want %v: %s\nover\n%s", fired, want, describe(result), series)
				}
				q.Close()
			}
		})
	}
}

func describe(v promql.Vector) string { return v.String() }

// TestDashboard checks that every query of the dashboard parses, and that panels do not overlap.
func TestDashboard(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ H, W, X, Y int }
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct {
				Name  string
				Query any
			}
		}
	}
	text := read(t, folder+"/dashboard.json")
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	// Replace the variables of Grafana.
	fill := strings.NewReplacer("$__rate_interval", "5m", "$namespace", ".*", "$pod", ".*")
	taken := map[[2]int]string{}
	ids := map[int]bool{}
	queries := 0
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d %q: its id is taken, or it has no title", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x > 23 {
					t.Fatalf("%q overlaps %q, or is outside of the grid", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			queries++
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(fill.Replace(target.Expr)); err != nil {
				t.Errorf("%q: %s: %v", p.Title, target.Expr, err)
			}
		}
	}
	if queries < 20 {
		t.Errorf("found only %d queries: check how this test reads the dashboard", queries)
	}
}
