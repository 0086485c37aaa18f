package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/reference"
)

const (
	writer = "read-write-token-of-the-shop-property"
	reader = "read-only-token-of-the-shop-property"
)

// realServer serves the HTTP interface of a library in a temporary directory, behind TLS as in production.
type realServer struct {
	*httptest.Server
	lib *reference.Library
}

func newRealServer(t *testing.T) *realServer {
	t.Helper()
	lib, err := reference.Open(reference.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lib.Close(); err != nil {
			t.Error(err)
		}
	})
	def := func(k library.Kind, name string) library.Definition {
		return library.Definition{Property: "shop/default", Owner: library.Owner{Install: "test", Kind: k, Namespace: "shop", Name: name}}
	}
	p, rw, ro := def(library.KindProperty, "default"), def(library.KindToken, "rw"), def(library.KindToken, "ro")
	unit, filter := def(library.KindUnit, "sandals"), def(library.KindFilter, "managed")
	p.PropertySpec = &library.Property{PlatformPageID: 4711}
	rw.Token = &library.Token{ReadWrite: true, Values: []library.TokenValue{{Digest: sha256.Sum256([]byte(writer))}}}
	ro.Token = &library.Token{Values: []library.TokenValue{{Digest: sha256.Sum256([]byte(reader))}}}
	unit.Unit = &library.UnitRule{Selector: "approval_status:app", Unit: item.Unit{
		ID: library.UnitID("shop/default", "shop", "sandals"), Name: "Sandals", Managed: true, ImageURL: "https://cdn.shop.example/s.png",
		ClickThroughURL: "https://shop.example/s", CreatedOn: "2026-11-01T00:00:00Z", LastModified: "2026-11-01T00:00:00Z",
	}}
	uuid, id := library.FilterIDs("shop/default", library.KindFilter, "shop", "managed")
	filter.Filter = &library.Filter{UUID: uuid, ID: id, Name: "managed", Query: "approval_status:app", Order: "id:asc"}
	results, err := lib.Apply(t.Context(), []library.Definition{p, rw, ro, unit, filter})
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	if err != nil {
		t.Fatal(err)
	}
	api, err := httpapi.New(lib, httpapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	followed := make(chan error, 1)
	go func() { followed <- api.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-followed; err != nil {
			t.Error(err)
		}
	})
	for !api.Ready() {
		select {
		case err := <-followed:
			t.Fatal(err)
		case <-t.Context().Done():
			t.Fatal("not ready in time")
		case <-time.After(time.Millisecond):
		}
	}
	s := &realServer{httptest.NewUnstartedServer(api), lib}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *realServer) client(t *testing.T, token string) *Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c, err := New(Options{Server: s.URL, Token: token, RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

func all[T any](t *testing.T, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var list []T
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

func ids(items []Item) []item.ID {
	var list []item.ID
	for _, it := range items {
		list = append(list, it.ID)
	}
	return list
}

func status(err error) int {
	if p, ok := errors.AsType[*Problem](err); ok && p.Documented {
		return p.Status
	}
	return 0
}

// lines returns n import lines. The items in the first half are approved.
func lines(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		state := "app"
		if i > n/2 {
			state = "pen"
		}
		fmt.Fprintf(&b, `{"id":%d,"approval_status":%q,"created_on":"2026-11-15T20:38:13Z","content":{"content_type":"text","text":"number %d","social_platform":"direct","platform_ref:direct":"ref-%d"}}`+"\n", i, state, i, i)
	}
	return b.String()
}

// managedUUID returns the UUID of the filter on the server.
func managedUUID(t *testing.T, c *Client) string {
	t.Helper()
	return all(t, c.Filters(t.Context()))[0].UUID
}

func TestListingsFollowTheirPages(t *testing.T) {
	c := newRealServer(t).client(t, writer)
	ctx := t.Context()
	if at, err := c.Import(ctx, strings.NewReader(lines(30)), ImportOptions{}); err != nil || at.Created != 30 {
		t.Fatalf("%+v, %v", at, err)
	}
	filter := managedUUID(t, c)
	var want []item.ID
	for id := item.ID(15); id > 0; id-- {
		want = append(want, id)
	}
	got := ids(all(t, c.FilterItems(ctx, filter, Listing{SortBy: "id:desc", PageSize: 4})))
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	random := ids(all(t, c.FilterItems(ctx, filter, Listing{SortBy: "random", PageSize: 4})))
	slices.SortFunc(random, func(a, b item.ID) int { return int(b - a) })
	if diff := gocmp.Diff(want, random); diff != "" {
		t.Errorf("in random order, -want +got\n%s", diff)
	}
	for _, err := range c.FilterItems(ctx, filter, Listing{AdditionalQuery: "a AND"}) {
		p, ok := errors.AsType[*Problem](err)
		if !ok || p.Status != 400 || p.Position == nil || p.Expected == "" {
			t.Errorf("a query that does not parse: %v", err)
		}
	}
	n := 0
	for _, err := range c.FilterItems(ctx, filter, Listing{PageSize: 5}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 7 {
			break
		}
	}
	if n != 7 {
		t.Errorf("stopped after %d items", n)
	}
}

func TestFilters(t *testing.T) {
	c := newRealServer(t).client(t, writer)
	ctx := t.Context()
	if _, err := c.Import(ctx, strings.NewReader(lines(10)), ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	filters := all(t, c.Filters(ctx))
	if len(filters) != 1 {
		t.Fatalf("filters: %+v", filters)
	}
	is := filters[0]
	want := Filter{
		ID: is.ID, UUID: is.UUID, Name: "managed", PlatformPageID: 4711, Query: "approval_status:app", SortBy: "id:asc",
		ReadAccess: "None", ManagedBy: "ContentFilter shop/managed", LastModified: is.LastModified, TotalResults: is.TotalResults,
	}
	if diff := gocmp.Diff(want, is); diff != "" || is.LastModified.IsZero() || is.ID == 0 || is.UUID == "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := ids(all(t, c.FilterItems(ctx, is.UUID, Listing{PageSize: 2}))); !gocmp.Equal(got, []item.ID{1, 2, 3, 4, 5}) {
		t.Errorf("items: %v", got)
	}
	restricted := all(t, c.FilterItems(ctx, number(is.ID), Listing{AdditionalQuery: "id:[5 TO *]"}))
	if !gocmp.Equal(ids(restricted), []item.ID{5}) || restricted[0].DefaultActivateUnit.Name != "Sandals" {
		t.Errorf("items with an additional query: %+v", restricted)
	}
	for _, err := range c.FilterItems(ctx, "17", Listing{}) {
		if status(err) != 404 {
			t.Errorf("an unknown filter: %v", err)
		}
	}
	if n, err := c.CountItems(ctx, "text:number"); n != 10 || err != nil {
		t.Errorf("count: %d, %v", n, err)
	}
}

func TestCompare(t *testing.T) {
	s := newRealServer(t)
	c := s.client(t, writer)
	ctx := t.Context()
	if _, err := c.Import(ctx, strings.NewReader(lines(10)), ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	to := Version{Query: "id:[2 TO 6]", SortBy: "id:desc"}
	got, err := c.Compare(ctx, Change{FromFilter: managedUUID(t, c), To: to, Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(&Version{Query: "approval_status:app", SortBy: "id:asc", Total: 5}, got.Before); diff != "" || got.After.Total != 5 {
		t.Errorf("before (-want +got):\n%s\nafter: %+v", diff, got.After)
	}
	if got.Entering.Total != 1 || got.Entering.Items[0].ID != 6 || got.Leaving.Total != 1 || got.Leaving.Items[0].ID != 1 {
		t.Errorf("entering %+v, leaving %+v", got.Entering, got.Leaving)
	}
	if m := got.Moving; m.Compared != 100 || m.Total != 3 || len(m.Items) != 1 || m.Items[0].ID != 4 || *m.Items[0].From != 3 || *m.Items[0].To != 2 {
		t.Errorf("moving %+v", m)
	}
	if got, err = c.Compare(ctx, Change{From: Version{Query: "id:1"}, To: Version{Query: "id:(1 OR 2)"}}); err != nil || got.Entering.Total != 1 || len(got.Entering.Items) != 0 {
		t.Errorf("two queries: %+v, %v", got, err)
	}
	if got, err = c.Compare(ctx, Change{To: to}); err != nil || got.Before != nil || got.Entering.Total != 5 {
		t.Errorf("nothing before: %+v, %v", got, err)
	}
	_, err = c.Compare(ctx, Change{FromFilter: "17", To: to})
	if p := (*Problem)(nil); !errors.As(err, &p) || p.Status != http.StatusNotFound {
		t.Errorf("unknown filter: %v", err)
	}
}

func TestFacets(t *testing.T) {
	c := newRealServer(t).client(t, writer)
	ctx := t.Context()
	tagged := strings.ReplaceAll(lines(4), "}\n", `,"tags":{"marketer_tags":[{"key":"summer"}]}}`+"\n")
	if _, err := c.Import(ctx, strings.NewReader(tagged), ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	want := Facets{Field: "tags.marketer_tags.key", Total: 3, Values: []FacetValue{{Value: "summer", Count: 3}}}
	if got, err := c.Facets(ctx, FacetQuery{Field: "tags.marketer_tags", Query: "id:[1 TO 3]", Prefix: "s", Size: 1}); err != nil || !gocmp.Equal(got, want) {
		t.Errorf("facets: %+v, %v", got, err)
	}
	if _, err := c.Facets(ctx, FacetQuery{Field: "id", Filter: "17"}); status(err) != 404 {
		t.Errorf("facets of an unknown filter: %v", err)
	}
}

func TestExportImportRoundTrip(t *testing.T) {
	from, to := newRealServer(t), newRealServer(t)
	ctx := t.Context()
	c := from.client(t, writer)
	if _, err := c.Import(ctx, strings.NewReader(lines(2500)), ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	var first, second, part bytes.Buffer
	var seen int64
	n, err := c.Export(ctx, &first, "", func(lines, _ int64) { seen = lines })
	if err != nil || n != 2500 || seen != n {
		t.Fatalf("%d lines, %d told, %v", n, seen, err)
	}
	other := to.client(t, writer)
	if at, err := other.Import(ctx, bytes.NewReader(first.Bytes()), ImportOptions{}); err != nil || at.Created != 2500 {
		t.Fatalf("%+v, %v", at, err)
	}
	if _, err := other.Export(ctx, &second, "", nil); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Error("exported, imported and exported again: another text")
	}
	if n, err := c.Export(ctx, &part, "approval_status:pen", nil); err != nil || n != 1250 {
		t.Errorf("part: %d lines, %v", n, err)
	}
	if _, err := from.client(t, reader).Export(ctx, &part, "", nil); status(err) != 403 {
		t.Errorf("with a READ-ONLY token: %v", err)
	}
}

func TestStatus(t *testing.T) {
	s := newRealServer(t)
	results, err := s.lib.Apply(t.Context(), []library.Definition{{
		Property: "shop/default", Owner: library.Owner{Install: "test", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: 1, ReadOnlyQuery: "approval_status:app"},
	}})
	if err := errors.Join(err, results[0].Err); err != nil {
		t.Fatal(err)
	}
	got, err := s.client(t, writer).Status(t.Context())
	scope := Scope{Query: "approval_status:app"}
	want := Status{Property: "shop/default", ReadOnlyScope: scope, Tokens: []TokenStatus{
		{Namespace: "shop", Name: "ro", Scope: scope}, {Namespace: "shop", Name: "rw"},
	}}
	if diff := gocmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("status (-want +got):\n%s%v", diff, err)
	}
	if _, err := s.client(t, reader).Status(t.Context()); status(err) != http.StatusForbidden {
		t.Errorf("the READ-ONLY token: %v, want status 403", err)
	}
}

func TestBadLinesAndConflicts(t *testing.T) {
	c := newRealServer(t).client(t, writer)
	input := lines(3) + "\nnonsense\n" + `{"content_type":"image"}` + "\n" + lines(1)
	var failed []int64
	var statuses []int
	at, err := c.Import(t.Context(), strings.NewReader(input), ImportOptions{Failed: func(e LineError) {
		failed, statuses = append(failed, e.Line), append(statuses, e.Status)
	}})
	if err != nil || at.Created != 3 || at.Failed != 3 {
		t.Errorf("%+v, %v", at, err)
	}
	if !gocmp.Equal(failed, []int64{5, 6, 7}) || !gocmp.Equal(statuses, []int{400, 422, 409}) {
		t.Errorf("failed %v with %v", failed, statuses)
	}
	if at, err := c.Import(t.Context(), strings.NewReader(lines(4)), ImportOptions{OnConflict: Skip}); err != nil || at.Created != 1 || at.Present != 3 {
		t.Errorf("skip: %+v, %v", at, err)
	}
	if at, err := c.Import(t.Context(), strings.NewReader(lines(5)), ImportOptions{OnConflict: Replace}); err != nil || at.Created != 1 || at.Replaced != 4 {
		t.Errorf("replace: %+v, %v", at, err)
	}
}

func TestNewRefusesInvalidOptions(t *testing.T) {
	cases := map[string]struct {
		o    Options
		says string
	}{
		"no server":     {Options{Token: writer}, "no server given"},
		"no scheme":     {Options{Server: "shop.example", Token: writer}, "must be https://host"},
		"other scheme":  {Options{Server: "ftp://shop.example", Token: writer}, "must be https"},
		"plain HTTP":    {Options{Server: "http://shop.example", Token: writer}, "use https"},
		"a query":       {Options{Server: "https://shop.example/?access_token=" + writer, Token: writer}, "without user, query"},
		"a password":    {Options{Server: "https://" + writer + "@shop.example", Token: writer}, "without user"},
		"no token":      {Options{Server: "https://shop.example"}, "no access token"},
		"a broken line": {Options{Server: "https://shop.example", Token: writer + "\n"}, "white space"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := New(tc.o)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v; want %q", err, tc.says)
			}
			if err != nil && strings.Contains(err.Error(), writer) {
				t.Error("the error holds the token")
			}
		})
	}
	for _, server := range []string{"http://localhost:1", "http://127.0.0.1:1/", "http://[::1]:1", "https://shop.example/library/"} {
		if _, err := New(Options{Server: server, Token: writer}); err != nil {
			t.Errorf("%s: %v", server, err)
		}
	}
}

// scripted is a server that gives its answers one after the other, and repeats the last answer for all further requests.
type scripted struct {
	answers []http.HandlerFunc
	mu      sync.Mutex
	// seen records the URL and the Authorization header of each request.
	seen [][2]string
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, [2]string{r.URL.String(), r.Header.Get("Authorization")})
	answer := s.answers[min(len(s.seen), len(s.answers))-1]
	s.mu.Unlock()
	answer(w, r)
}

func (s *scripted) requests() [][2]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func reply(status int, kind, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func lost(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const problemKind = "application/problem+json"

func TestRetries(t *testing.T) {
	refusedAnswer := reply(503, problemKind, `{"title":"Maintenance","detail":"Back soon"}`, "Retry-After", "120")
	limited := reply(429, problemKind, `{"title":"Too many requests"}`)
	ok := reply(200, "application/json", `{"total_results":3,"id":3}`)
	cases := map[string]struct {
		answers []http.HandlerFunc
		sent    int
		status  int // status of the *Problem (0 for success, -1 for another error)
	}{
		"GET after refusals":          {[]http.HandlerFunc{refusedAnswer, limited, ok}, 3, 0},
		"GET after a lost answer":     {[]http.HandlerFunc{lost, ok}, 2, 0},
		"GET behind a proxy":          {[]http.HandlerFunc{reply(502, "text/html", "<html>"), ok}, 2, 0},
		"given up":                    {[]http.HandlerFunc{limited}, 4, 429},
		"a bad request stays one":     {[]http.HandlerFunc{reply(400, problemKind, `{}`), ok}, 1, 400},
		"a redirect is not followed":  {[]http.HandlerFunc{reply(307, "", "", "Location", "/elsewhere"), ok}, 1, 307},
		"an answer that is not JSON":  {[]http.HandlerFunc{reply(200, "text/html", "<html>")}, 1, -1},
		"a problem that is not JSON":  {[]http.HandlerFunc{reply(404, problemKind, "<html>")}, 1, 404},
		"an unknown server in a loop": {[]http.HandlerFunc{reply(504, "", "")}, 4, 504},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &scripted{answers: tc.answers}
			server := httptest.NewServer(s)
			defer server.Close()
			var waits []time.Duration
			c, err := New(Options{Server: server.URL, Token: writer, Wait: func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.CountItems(t.Context(), "a")
			got := 0
			if p, ok := errors.AsType[*Problem](err); ok {
				got = p.Status
			} else if err != nil {
				got = -1
			}
			seen := s.requests()
			if got != tc.status || len(seen) != tc.sent {
				t.Errorf("sent %d times, %v; want %d times and status %d", len(seen), err, tc.sent, tc.status)
			}
			if err != nil && strings.Contains(err.Error(), writer) {
				t.Error("the error holds the token")
			}
			for _, r := range seen {
				if r[1] != "Bearer "+writer || strings.Contains(r[0], writer) {
					t.Errorf("sent %s with Authorization %q", r[0], r[1])
				}
			}
			if strings.HasPrefix(name, "GET after refusals") && (len(waits) != 2 || waits[0] != 2*time.Minute) {
				t.Errorf("waited %v; want two minutes as asked, then a little", waits)
			}
		})
	}
}

func TestNextLinksStayOnTheServer(t *testing.T) {
	s := &scripted{answers: []http.HandlerFunc{
		reply(200, "application/json", `{"_embedded":{"ugc:item":[{"id":1}]},"_links":{"next":{"href":"https://evil.example/library/v2/content/items?q=a&cursor=x"}}}`),
		reply(200, "application/json", `{"_embedded":{"ugc:item":[{"id":2}]},"_links":{}}`),
	}}
	server := httptest.NewServer(s)
	defer server.Close()
	c, err := New(Options{Server: server.URL + "/library", Token: writer})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(all(t, c.FilterItems(t.Context(), "1", Listing{}))); !gocmp.Equal(got, []item.ID{1, 2}) {
		t.Errorf("items %v", got)
	}
	if u := s.requests()[1][0]; u != "/library/v2/content/items?cursor=x&q=a" {
		t.Errorf("the second page was asked for at %s", u)
	}
}

func TestTruncatedExport(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, `{"id":1}`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"half a line": reply(200, "application/x-ndjson", `{"id":1}`+"\n"+`{"id"`),
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close()
			c, err := New(Options{Server: server.URL, Token: writer})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if n, err := c.Export(t.Context(), &out, "", nil); !errors.Is(err, ErrTruncated) || n != 1 {
				t.Errorf("%d lines, %v", n, err)
			}
		})
	}
}

func TestExportWithUnreadableItems(t *testing.T) {
	tests := map[string]struct {
		trailer map[string]string
		want    error
	}{
		"none":            {map[string]string{unreadableHeader: "0"}, nil},
		"some":            {map[string]string{unreadableHeader: "3", unreadableIDsHeader: "7, 9-10"}, &UnreadableError{Items: 3, IDs: "7, 9-10"}},
		"trailer is lost": {nil, ErrTruncated},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("TE") != "trailers" {
					t.Errorf("TE: %q", r.Header.Get("TE"))
				}
				w.Header().Set("Trailer", unreadableHeader+", "+unreadableIDsHeader)
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				fmt.Fprintln(z, `{"id":1}`)
				z.Close()
				for name, value := range c.trailer {
					w.Header().Set(name, value)
				}
			}))
			defer server.Close()
			exporter, err := New(Options{Server: server.URL, Token: writer})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			n, err := exporter.Export(t.Context(), &out, "", nil)
			if n != 1 || out.String() != "{\"id\":1}\n" {
				t.Errorf("%d lines: %s", n, &out)
			}
			if want, ok := errors.AsType[*UnreadableError](c.want); ok {
				if got, ok := errors.AsType[*UnreadableError](err); !ok || *got != *want {
					t.Errorf("error %v; want %v", err, want)
				}
			} else if !errors.Is(err, c.want) {
				t.Errorf("error %v; want %v", err, c.want)
			}
		})
	}
}

func TestUntrustedServerIsNotRetried(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	defer server.Close()
	waited := false
	c, err := New(Options{Server: server.URL, Token: writer, Wait: func(context.Context, time.Duration) error { waited = true; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.CountItems(t.Context(), "a")
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok || waited {
		t.Errorf("%v, tried again: %v", err, waited)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "Sat, 21 Nov 2026 12:01:00 GMT": time.Minute, "Sat, 21 Nov 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q: %s; want %s", header, got, want)
		}
	}
}

// TestItemMembers checks that decoding and encoding a full item preserves all of its members.
func TestItemMembers(t *testing.T) {
	s := newRealServer(t)
	if _, err := s.client(t, writer).Import(t.Context(), strings.NewReader(lines(2)), ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/ugc/1/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+writer)
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var raw map[string]any
	var it Item
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(json.Unmarshal(body.Bytes(), &raw), json.Unmarshal(body.Bytes(), &it)); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(it)
	if err != nil {
		t.Fatal(err)
	}
	var again map[string]any
	if err := json.Unmarshal(written, &again); err != nil {
		t.Fatal(err)
	}
	if it.Content.PlatformRef != "ref-1" {
		t.Errorf("platform_ref %q", it.Content.PlatformRef)
	}
	delete(raw["content"].(map[string]any), "platform_ref:direct")
	for _, unit := range append(raw["activate_units"].([]any), raw["default_activate_unit"]) {
		delete(unit.(map[string]any), "associated_contents")
	}
	if diff := gocmp.Diff(raw, again); diff != "" {
		t.Errorf("-interface +client\n%s", diff)
	}
}
