package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

func TestRateLimit(t *testing.T) {
	a := newApp(t)
	// The limit is 2 requests a second with a burst of 3.
	ask := func(name string, status int, rest string) answer {
		t.Helper()
		return a.do(call{url: q("id:8001"), bearer: name, status: status, want: map[string]string{
			"RateLimit": rest, "RateLimit-Policy": `"token";q=3;w=2`,
		}})
	}
	ask("limited-ro", 200, `"token";r=2;t=1`)
	ask("limited-ro", 200, `"token";r=1;t=1`)
	ask("limited-ro", 200, `"token";r=0;t=2`)
	refused := ask("limited-ro", 429, `"token";r=0;t=2`)
	if refused.header.Get("Retry-After") != "1" || !strings.Contains(string(refused.body), "problems/rate-limited") {
		t.Errorf("429: Retry-After %q, %s", refused.header.Get("Retry-After"), refused.body)
	}
	ask("limited-rw", 200, `"token";r=2;t=1`) // each token has its own limit
	a.clock.Advance(499 * time.Millisecond)
	ask("limited-ro", 429, `"token";r=0;t=2`)
	a.clock.Advance(time.Millisecond)
	ask("limited-ro", 200, `"token";r=0;t=2`)
	a.clock.Advance(time.Hour)
	ask("limited-ro", 200, `"token";r=2;t=1`)

	// Every response under a limit has the headers, including errors, 304, and the refusal of a token of the wrong class.
	a.do(call{url: q("(broken"), bearer: "limited-ro", status: 400, want: map[string]string{"RateLimit": `"token";r=1;t=1`}})
	a.do(call{url: "/v2/content/filters", bearer: "limited-ro", status: 403, want: map[string]string{"RateLimit": `"token";r=0;t=2`}})
	a.do(call{url: q("id:1001"), bearer: "ro", want: map[string]string{"RateLimit": "", "RateLimit-Policy": ""}})

	// A change of the property takes effect immediately. If the property no longer sets a limit, responses no longer have the headers.
	p := property(limited, "limited", library.Property{RatePerSecond: 0.1})
	a.apply(p)
	a.clock.Advance(time.Hour)
	a.do(call{url: q("id:8001"), bearer: "limited-ro", want: map[string]string{"RateLimit-Policy": `"token";q=1;w=10`, "RateLimit": `"token";r=0;t=10`}})
	a.do(call{url: q("id:8001"), bearer: "limited-ro", status: 429, want: map[string]string{"Retry-After": "10"}})
	a.apply(property(limited, "limited", library.Property{}))
	a.do(call{url: q("id:8001"), bearer: "limited-ro", want: map[string]string{"RateLimit": ""}})
}

// TestRateLimitOfRotatedToken checks that the two values of one token share the same rate limit.
func TestRateLimitOfRotatedToken(t *testing.T) {
	a := newApp(t)
	d := tokenDefinition(limited, "limited-ro", library.Token{Values: []library.TokenValue{{Digest: digest("limited-ro")}, {Digest: digest("limited-second")}}})
	for range 3 {
		a.do(call{url: q("id:8001"), bearer: "limited-ro"})
	}
	a.apply(d)
	a.eventually("the second value is known", func() bool { return a.send(call{url: q("id:8001"), bearer: "limited-second"}).status != 403 })
	a.do(call{url: q("id:8001"), bearer: "limited-second", status: 429})
}

func TestMaintenance(t *testing.T) {
	a := newApp(t)
	down := map[string]string{"Retry-After": "120", "Cache-Control": "private, no-store"}
	for name, c := range map[string]call{
		"read":       {url: q("a"), token: "closed-ro", status: 503, contains: []string{"problems/maintenance", "Back soon"}, want: down},
		"write":      {method: "POST", url: "/v2/content/", token: "closed-ro", status: 503, want: down},
		"short link": {url: "/i/closed1", status: 503, contains: []string{"Back soon"}, want: down},
		"no token":   {url: q("a"), status: 403},
		"others run": {url: q("id:1001"), token: "ro"},
	} {
		t.Run(name, func(t *testing.T) { on := *a; on.t = t; on.do(c) })
	}
	a.apply(property(closed, "closed", library.Property{Maintenance: &library.Maintenance{}}))
	a.do(call{url: q("a"), token: "closed-ro", status: 503, want: map[string]string{"Retry-After": "1"}})
	a.apply(property(closed, "closed", library.Property{}))
	a.do(call{url: q("id:9001"), token: "closed-ro"})
}

// hooked is a library with hooks, which tests can set.
type hooked struct {
	library.Library
	read    func(context.Context, library.Read) (*library.Page, error)
	explain func(context.Context) error
	facets  func(context.Context) error
	write   func(context.Context) error
	export  func() iter.Seq2[[]byte, error]
	changes func(context.Context, library.ChangesRead)
	state   func() library.State
}

func (h *hooked) State(ctx context.Context) library.State {
	if h.state != nil {
		return h.state()
	}
	return h.Library.State(ctx)
}

func (h *hooked) Explain(ctx context.Context, r library.Read, id item.ID) (*library.Explanation, error) {
	if h.explain != nil {
		if err := h.explain(ctx); err != nil {
			return nil, err
		}
	}
	return h.Library.Explain(ctx, r, id)
}

func (h *hooked) Facets(ctx context.Context, r library.Read, f library.Facet) (*library.Facets, error) {
	if h.facets != nil {
		if err := h.facets(ctx); err != nil {
			return nil, err
		}
	}
	return h.Library.Facets(ctx, r, f)
}

func (h *hooked) Read(ctx context.Context, r library.Read) (*library.Page, error) {
	if h.read != nil {
		if page, err := h.read(ctx, r); page != nil || err != nil {
			return page, err
		}
	}
	return h.Library.Read(ctx, r)
}

func (h *hooked) Write(ctx context.Context, p library.PropertyID, muts []library.Mutation) ([]library.Outcome, error) {
	if h.write != nil {
		if err := h.write(ctx); err != nil {
			return nil, err
		}
	}
	return h.Library.Write(ctx, p, muts)
}

func (h *hooked) Changes(ctx context.Context, r library.ChangesRead) (*library.ItemChanges, error) {
	if h.changes != nil {
		h.changes(ctx, r)
	}
	return h.Library.Changes(ctx, r)
}

func (h *hooked) Export(ctx context.Context, p library.PropertyID, n query.Node) iter.Seq2[[]byte, error] {
	if h.export != nil {
		return h.export()
	}
	return h.Library.Export(ctx, p, n)
}

// newHookedApp is like newApp, with a hooked library.
func newHookedApp(t testing.TB, adjust ...func(*httpapi.Options)) (*app, *hooked) {
	h := &hooked{}
	return newAppOver(t, func(l library.Library) library.Library { h.Library = l; return h }, adjust...), h
}

// notRunning returns the app with a server on which Run was never called.
func (a *app) notRunning() *app {
	on := *a
	var err error
	if on.server, err = httpapi.New(a.lib, httpapi.Options{}); err != nil {
		a.t.Fatal(err)
	}
	return &on
}

// TestWaitsRunTheirQueriesInTurn checks that waits do not fail because all of them end at the same change, and run no more than one query at a
// time.
func TestWaitsRunTheirQueriesInTurn(t *testing.T) {
	const waits = 5
	a, h := newHookedApp(t, func(o *httpapi.Options) { o.QueriesPerToken = waits })
	arrived, leave := make(chan struct{}), make(chan struct{})
	var running atomic.Int64
	h.read = func(_ context.Context, r library.Read) (*library.Page, error) {
		if strings.Contains(r.Query.String(), "slow") {
			arrived <- struct{}{}
			<-leave
			return nil, nil
		}
		if running.Add(1) > 1 {
			t.Error("two queries of waits run at the same time")
		}
		runtime.Gosched()
		running.Add(-1)
		return nil, nil
	}
	var mu sync.Mutex
	waiting, all := map[context.Context]bool{}, make(chan struct{})
	h.changes = func(ctx context.Context, r library.ChangesRead) {
		mu.Lock()
		defer mu.Unlock()
		if before := len(waiting); r.Wait > 0 {
			if waiting[ctx] = true; before < waits && len(waiting) == waits {
				close(all)
			}
		}
	}
	var urls []string
	for i := range waits {
		_, next := a.changes(changesOf(fmt.Sprintf("q=id:[1001+TO+%d]", 1002+i)), "ro")
		urls = append(urls, next+"&wait=60")
	}
	done, slow := make(chan answer), make(chan answer)
	for _, url := range urls {
		go func() { done <- a.send(call{url: url, token: "ro"}) }()
	}
	<-all
	for range waits { // take all slots for ad-hoc queries
		go func() { slow <- a.send(call{url: q("slow"), token: "ro"}) }()
		<-arrived
	}
	a.patch(1001, `{"featured":false}`)
	for range waits {
		if got := <-done; got.status != 200 || toldBy(t, got) != "+1001" {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	}
	close(leave)
	for range waits {
		<-slow
	}
}

func TestConcurrentQueryLimit(t *testing.T) {
	arrived, leave := make(chan struct{}), make(chan struct{})
	a, h := newHookedApp(t, func(o *httpapi.Options) { o.QueriesPerToken = 2 })
	slow := func(ctx context.Context, _ library.Read) (*library.Page, error) {
		if _, budgeted := ctx.Deadline(); budgeted {
			arrived <- struct{}{}
			<-leave
		}
		return nil, nil
	}
	h.read = slow
	done := make(chan answer)
	for range 2 {
		go func() { done <- a.send(call{url: q("id:1001"), token: "ro"}) }()
		<-arrived
	}
	for name, c := range map[string]call{
		"query":                  {url: q("id:1001"), token: "ro"},
		"query to be refused":    {url: q("(broken"), token: "ro"},
		"filter with more query": {url: "/v2/content/filters/" + filterUUID("summer-wall") + "?additional_query=id:1001", token: "ro"},
	} {
		c.status, c.contains, c.want = 429, []string{"problems/too-many-queries"}, map[string]string{"Retry-After": "1"}
		t.Run(name, func(t *testing.T) { on := *a; on.t = t; on.do(c) })
	}
	// Stored filters, other lists and other tokens are not affected.
	a.do(call{url: "/v2/content/filters/" + filterUUID("summer-wall"), token: "ro"})
	a.do(call{url: "/v1/ugc/collections/12/?seed=1", token: "ro"})
	go func() { done <- a.send(call{url: q("id:1001"), token: "rw"}) }()
	<-arrived
	close(leave)
	for range 3 {
		if got := <-done; got.status != 200 {
			t.Errorf("status %d", got.status)
		}
	}
	h.read = nil
	a.do(call{url: q("id:1001"), token: "ro"})
}

func TestQueryBudget(t *testing.T) {
	a, h := newHookedApp(t, func(o *httpapi.Options) { o.QueryBudget = time.Millisecond })
	explain := "/v2/content/items/explain?q=id:1001&ugc_id=1001"
	for name, end := range map[string]func(context.Context) error{"error": context.Context.Err, "cause": context.Cause} {
		t.Run(name, func(t *testing.T) {
			h.explain = func(ctx context.Context) error {
				if _, budgeted := ctx.Deadline(); !budgeted {
					return nil
				}
				<-ctx.Done()
				return fmt.Errorf("walk: %w", end(ctx))
			}
			h.facets = h.explain
			h.read = func(ctx context.Context, _ library.Read) (*library.Page, error) { return nil, h.explain(ctx) }
			on := *a
			on.t = t
			on.do(call{url: q("id:1001"), token: "ro", status: 400, contains: []string{"problems/query-too-expensive"}})
			on.do(call{url: explain, token: "rw", status: 400, contains: []string{"problems/query-too-expensive"}})
			on.do(call{url: facets("tags", "q=id:1001"), token: "ro", status: 400, contains: []string{"problems/query-too-expensive", `"parameter":"q"`}})
			on.do(call{
				url: facets("tags", "filter="+filterUUID("summer-wall")), token: "rw", status: 400,
				contains: []string{"problems/query-too-expensive", "the request took longer than "}, lacks: []string{"parameter"},
			})
			on.do(call{url: "/v2/content/definitions?kind=tag", token: "rw", status: 400, contains: []string{"problems/query-too-expensive"}, lacks: []string{"parameter"}})
			on.do(call{
				url: "/v2/content/filters/" + filterUUID("summer-wall") + "?additional_query=id:1001", token: "ro", status: 400,
				contains: []string{"problems/query-too-expensive", `"parameter":"additional_query"`},
			})
			on.do(call{url: "/v2/content/compare?q=id:1001", token: "rw", status: 400, contains: []string{"problems/query-too-expensive"}})
			on.do(call{url: "/v2/content/filters/" + filterUUID("summer-wall"), token: "ro"})
		})
	}
}

// TestSilentStore checks that the server does not call a query expensive if the store fails to respond within the budget.
func TestSilentStore(t *testing.T) {
	a, h := newHookedApp(t, func(o *httpapi.Options) { o.QueryBudget = time.Millisecond })
	h.read = func(ctx context.Context, _ library.Read) (*library.Page, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("%w: %w", library.ErrUnavailable, context.Cause(ctx))
	}
	a.do(call{url: q("id:1001"), token: "ro", status: 503, contains: []string{"problems/unavailable"}, want: map[string]string{"Retry-After": "5"}})
}

// TestStoredQueryStaysHidden checks that a READ-ONLY caller sees no part of a stored query if evaluating the query fails.
func TestStoredQueryStaysHidden(t *testing.T) {
	a, h := newHookedApp(t)
	h.read = func(context.Context, library.Read) (*library.Page, error) {
		return nil, fmt.Errorf("plan: %w", &query.SyntaxError{Reason: "too many clauses", Near: "campaign:secret", Expected: "fewer", Limit: true})
	}
	wall := "/v2/content/filters/" + filterUUID("summer-wall")
	a.do(call{url: wall, token: "ro", status: 400, contains: []string{"problems/query-too-expensive"}, lacks: []string{"secret", "near"}})
	a.do(call{url: wall + "?additional_query=id:1001", token: "ro", status: 400, lacks: []string{"secret"}})
	a.do(call{url: wall, token: "rw", status: 400, contains: []string{"campaign:secret"}})
	a.do(call{url: q("id:1001"), token: "ro", status: 400, contains: []string{"campaign:secret"}})
}

func TestStoreFailures(t *testing.T) {
	a, h := newHookedApp(t)
	h.write = func(context.Context) error { return fmt.Errorf("%w: disk full at /data", library.ErrUnavailable) }
	a.do(call{method: "POST", url: "/v2/content/", token: "rw", body: `{"content_type":"text","caption":"x"}`, status: 503,
		contains: []string{"problems/unavailable"}, lacks: []string{"/data"}, want: map[string]string{"Retry-After": "5"}})
	a.do(call{method: "POST", url: "/v2/content/bulk", token: "rw", body: `{"content_type":"text","caption":"x"}`,
		contains: []string{`{"line":1,"status":503,"problem":{`}, lacks: []string{"/data"}})
	h.write = func(context.Context) error { return fmt.Errorf("write: %w", library.ErrClosed) }
	a.do(call{method: "DELETE", url: "/v2/content/1001", token: "rw", status: 503, contains: []string{"problems/unavailable"}})
	h.write = func(context.Context) error { return fmt.Errorf("write: %w", library.ErrNoProperty) }
	a.do(call{method: "DELETE", url: "/v2/content/1001", token: "rw", status: 403, contains: []string{"problems/token-refused"}})

	h.write = func(context.Context) error { return &library.FrozenError{Since: time.Unix(1_700_000_000, 0)} }
	a.do(call{method: "DELETE", url: "/v2/content/1001", token: "rw", status: 503,
		contains: []string{"problems/unavailable", "Reads continue", "2023-11-14T22:13:20Z"}, lacks: []string{"vitrine migrate"}, want: map[string]string{"Retry-After": "30"}})

	for name, cause := range map[string]error{"full disk": syscall.ENOSPC, "full share of it": syscall.EDQUOT} {
		path := "/data/" + strings.ReplaceAll(name, " ", "-")
		h.write = func(context.Context) error {
			return fmt.Errorf("%w: %w", library.ErrUnavailable, &fs.PathError{Op: "write", Path: path, Err: cause})
		}
		a.do(call{method: "POST", url: "/v2/content/", token: "rw", body: `{"content_type":"text","caption":"x"}`, status: 503,
			contains: []string{"problems/unavailable", "the server's disk is full", "Reads continue"}, lacks: []string{"/data"}, want: map[string]string{"Retry-After": "5"}})
		if got := strings.Count(a.log.String(), path); got != 1 {
			t.Errorf("%s: the log names the file %d times after one request, want once", name, got)
		}
		a.do(call{method: "POST", url: "/v2/content/bulk", token: "rw", body: `{"content_type":"text","caption":"x"}`,
			contains: []string{`"status":503`, "the server's disk is full"}, lacks: []string{"/data"}})
		if got := strings.Count(a.log.String(), path); got != 2 {
			t.Errorf("%s: the log names the file %d times after a bulk import too, want twice", name, got)
		}
	}

	// All responses with status 500 have the same problem type, internal. Only the log shows the cause.
	internal := func(c call, cause string) {
		t.Helper()
		w := httptest.NewRecorder()
		a.server.ServeHTTP(w, c.request())
		if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "problems/internal") || strings.Contains(w.Body.String(), cause) {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if !strings.Contains(a.log.String(), cause) {
			t.Errorf("the log lacks %q", cause)
		}
	}
	h.read = func(context.Context, library.Read) (*library.Page, error) { return nil, errors.New("bad block 17") }
	internal(call{url: q("id:1001"), token: "ro"}, "bad block 17")
	h.read = func(context.Context, library.Read) (*library.Page, error) { panic("index out of range 18") }
	internal(call{url: q("id:1001"), token: "ro"}, "index out of range 18")
	h.read = nil
	a.do(call{url: q("id:1001"), token: "ro"})
}
