package httpapi_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

func TestOptions(t *testing.T) {
	a := newApp(t)
	for name, o := range map[string]httpapi.Options{
		"relative URL":   {ExternalURL: "/content"},
		"no host":        {ExternalURL: "https:///content"},
		"other protocol": {ExternalURL: "ftp://content.example"},
		"no URL":         {ExternalURL: "https://%%%"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := httpapi.New(a.lib, o); err == nil {
				t.Error("accepted")
			}
		})
	}
	twice := httpapi.Options{Metrics: prometheus.NewRegistry()}
	if _, err := httpapi.New(a.lib, twice); err != nil {
		t.Fatal(err)
	}
	if _, err := httpapi.New(a.lib, twice); err == nil {
		t.Error("metrics were registered twice")
	}
}

// TestLinksAndAddresses checks that the externalURL of a property takes precedence over the ExternalURL of the server. If neither is set,
// links must be paths from the root.
func TestLinksAndAddresses(t *testing.T) {
	a := newApp(t, func(o *httpapi.Options) { o.ExternalURL = "https://content.example/" })
	a.do(call{url: q("*:*", "page_size=1"), token: "ro", contains: []string{`"self":{"href":"/v2/content/items?page_size=1`, `"shortened_permalink":"https://content.example/i/code`}})
	a.do(call{url: q("*:*"), token: "limited-ro", contains: []string{`"self":{"href":"/v2/content/items?`, `"shortened_permalink":"https://limited.example/i/limited1"`}})
	a.do(call{method: "POST", url: "/v2/content/", token: "limited-rw", body: `{"content_type":"text","caption":"x"}`, status: 201, want: map[string]string{"Location": "/v1/ugc/8002/"}})
	a.do(call{url: q("id:1001", `x=%22%3C%5C%0A"`, "<=1"), token: "ro", contains: []string{`"self":{"href":"/v2/content/items?%3C=1&q=id%3A1001&x=%22%3C%5C%0A%22"}`}})
	bare := newApp(t, func(o *httpapi.Options) { o.ExternalURL = "" })
	bare.do(call{url: q("id:1001"), token: "ro", contains: []string{`"self":{"href":"/v2/content/items?q=id%3A1001"}`, `"shortened_permalink":"/i/code1001"`}})
}

// measured returns the values of the counters and gauges in a registry, by name and label values.
func measured(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			switch {
			case m.Counter != nil:
				got[name] = m.Counter.GetValue()
			case m.Gauge != nil:
				got[name] = m.Gauge.GetValue()
			}
		}
	}
	return got
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	a := newApp(t, func(o *httpapi.Options) { o.Metrics = registry })
	a.do(call{url: "/v1/ugc/1001/", token: "ro"})
	a.do(call{url: "/v1/ugc/1002", token: "ro"})
	a.do(call{url: "/v1/ugc/17/", token: "ro", status: 404})
	a.do(call{method: "BREW", url: "/v1/ugc/17/", token: "ro", status: 405})
	a.do(call{url: "/nowhere/17", status: 404})
	a.do(call{url: "/v1/ugc/1001/", token: "rw"})
	a.do(call{url: "/v1/ugc/1001/", status: 403})
	a.do(call{url: "/v1/activate_units", token: "walled", status: 403})
	for range 3 {
		a.do(call{url: q("id:1001"), token: "ro"})
	}
	a.apply(tokenDefinition(shop, "published", library.Token{Query: approved}))
	a.known("published")
	a.do(call{url: q("id:1001"), token: "published"})
	a.apply(property(shop, "default", library.Property{PlatformPageID: 4711, ReadOnlyQuery: "approval_status:pen"}))
	a.do(call{url: "/v1/ugc/1001/", token: "ro", status: 404})
	got := measured(t, registry)
	got["vitrine_page_cache_bytes"] = min(got["vitrine_page_cache_bytes"], 1) // some positive number
	want := map[string]float64{
		"vitrine_http_requests_in_flight":                                           0,
		"vitrine_http_requests_total read-only GET /v1/ugc/{ugc_id} AllItems 200":   2,
		"vitrine_http_requests_total read-only GET /v1/ugc/{ugc_id} AllItems 404":   1,
		"vitrine_http_requests_total read-write GET /v1/ugc/{ugc_id} AllItems 200":  1,
		"vitrine_http_requests_total none GET /v1/ugc/{ugc_id} none 403":            1,
		"vitrine_http_requests_total restricted GET /v1/activate_units Filters 403": 1,
		"vitrine_http_requests_total none other /v1/ugc/{ugc_id} none 405":          1,
		"vitrine_http_requests_total none GET unknown none 404":                     1,
		"vitrine_http_requests_total read-only GET /v2/content/items AllItems 200":  3,
		"vitrine_http_requests_total read-only GET /v2/content/items Query 200":     1,
		"vitrine_http_requests_total read-only GET /v1/ugc/{ugc_id} Property 404":   1,
		"vitrine_page_cache_hits_total":                                             1,
		"vitrine_page_cache_misses_total":                                           3,
		"vitrine_page_cache_bytes":                                                  1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// failing is a library whose token feed fails a given number of times.
type failing struct {
	library.Library
	breaks atomic.Int32
}

func (f *failing) Tokens(ctx context.Context) iter.Seq2[library.TokenEvent, error] {
	if f.breaks.Add(-1) < 0 {
		return f.Library.Tokens(ctx)
	}
	return func(yield func(library.TokenEvent, error) bool) {
		yield(library.TokenEvent{}, errors.New("feed broke"))
	}
}

// TestTokenFeedIsRestarted checks that a failed feed is restarted.
func TestTokenFeedIsRestarted(t *testing.T) {
	f := &failing{}
	f.breaks.Store(1)
	a := newAppOver(t, func(l library.Library) library.Library { f.Library = l; return f })
	a.do(call{url: q("id:1001"), token: "ro", ids: []item.ID{1001}})
}

func TestRunEndsWithTheLibrary(t *testing.T) {
	lib, err := engine.Open(engine.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := httpapi.New(lib, httpapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	if err := lib.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, library.ErrClosed) {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Run goes on without its library")
	}
}
