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

func TestItems(t *testing.T) {
	s := newRealServer(t)
	rw, ro := s.client(t, writer), s.client(t, reader)
	ctx := t.Context()
	added, err := rw.AddItem(ctx, NewItem{
		ContentType: "text", Caption: "hello beach", Submission: map[string]string{"username": "ann", "email": "ann@shop.example"},
		Tags: map[string][]string{"marketer_tags": {"summer"}}, ApprovalStatus: "app",
	})
	if err != nil {
		t.Fatal(err)
	}
	if added.ID == 0 || added.Content.Text != "hello beach" || added.ApprovalStatus != "app" || !strings.Contains(string(added.Submission), "ann@shop.example") {
		t.Errorf("added: %+v", added)
	}
	public, err := ro.Item(ctx, added.ID)
	if err != nil || public.Submission != nil || public.Content.Author.Username == "" || public.Content.PlatformRef == "" {
		t.Errorf("read with a READ-ONLY token: %+v, %v", public, err)
	}
	if len(public.ActivateUnits) != 1 || public.DefaultActivateUnit.Name != "Sandals" {
		t.Errorf("units: %+v, default %+v", public.ActivateUnits, public.DefaultActivateUnit)
	}
	if err := rw.PatchItem(ctx, added.ID, map[string]any{"featured": true, "submission": nil}); err != nil {
		t.Fatal(err)
	}
	patched, err := rw.Item(ctx, added.ID)
	if err != nil || !patched.Featured || string(patched.Submission) != "null" {
		t.Errorf("patched: featured %v, submission %s, %v", patched.Featured, patched.Submission, err)
	}
	if n, err := ro.CountItems(ctx, "text:beach"); n != 1 || err != nil {
		t.Errorf("count: %d, %v", n, err)
	}
	if _, err := ro.AddItem(ctx, NewItem{ContentType: "text", Caption: "x"}); status(err) != 403 {
		t.Errorf("a READ-ONLY token added: %v", err)
	}
	if _, err := rw.AddItem(ctx, NewItem{ContentType: "poem"}); status(err) != 422 {
		t.Errorf("an unknown content type: %v", err)
	}
	if err := rw.DeleteItem(ctx, added.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := rw.Item(ctx, added.ID); status(err) != 404 {
		t.Errorf("after its deletion: %v", err)
	}
}

func TestListingsFollowTheirPages(t *testing.T) {
	s := newRealServer(t)
	c := s.client(t, writer)
	if at, err := c.Import(t.Context(), strings.NewReader(lines(30)), ImportOptions{}); err != nil || at.Created != 30 {
		t.Fatalf("%+v, %v", at, err)
	}
	var want []item.ID
	for id := item.ID(30); id > 0; id-- {
		want = append(want, id)
	}
	got := ids(all(t, c.ListItems(t.Context(), "*:*", Listing{SortBy: "id:desc", PageSize: 7})))
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	random := ids(all(t, c.ListItems(t.Context(), "*:*", Listing{SortBy: "random", Seed: "7", PageSize: 11})))
	again := ids(all(t, c.ListItems(t.Context(), "*:*", Listing{SortBy: "random", Seed: "7", PageSize: 30})))
	if diff := gocmp.Diff(random, again); diff != "" || len(random) != 30 {
		t.Errorf("%d items in random order; with other pages\n%s", len(random), diff)
	}
	for _, err := range c.ListItems(t.Context(), "a AND", Listing{}) {
		p, ok := errors.AsType[*Problem](err)
		if !ok || p.Status != 400 || p.Position == nil || p.Expected == "" {
			t.Errorf("a query that does not parse: %v", err)
		}
	}
	n := 0
	for _, err := range c.ListItems(t.Context(), "*:*", Listing{PageSize: 5}) {
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
	s := newRealServer(t)
	c := s.client(t, writer)
	ctx := t.Context()
	if _, err := c.Import(ctx, strings.NewReader(lines(10)), ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateFilter(ctx, "Pending", "approval_status:pen", "id:asc")
	if err != nil || made.ID == 0 || made.UUID == "" || !made.IsEditable {
		t.Fatalf("%+v, %v", made, err)
	}
	if got := ids(all(t, c.FilterItems(ctx, made.UUID, Listing{PageSize: 2}))); !gocmp.Equal(got, []item.ID{6, 7, 8, 9, 10}) {
		t.Errorf("items: %v", got)
	}
	if got := ids(all(t, c.FilterItems(ctx, number(made.ID), Listing{AdditionalQuery: "id:[9 TO *]"}))); !gocmp.Equal(got, []item.ID{9, 10}) {
		t.Errorf("items with an additional query: %v", got)
	}
	if err := c.UpdateFilter(ctx, number(made.ID), "approval_status:app", "id:desc"); err != nil {
		t.Fatal(err)
	}
	info, err := c.Filter(ctx, made.UUID)
	want := Filter{
		ID: made.ID, UUID: made.UUID, Name: "Pending", PlatformPageID: 4711, Query: "approval_status:app", SortBy: "id:desc",
		IsEditable: true, ReadAccess: "None", LastModified: info.LastModified, TotalResults: 5,
	}
	if info.LastModified.Before(made.LastModified) || made.LastModified.IsZero() {
		t.Errorf("last modified at %s, made at %s", info.LastModified, made.LastModified)
	}
	if diff := gocmp.Diff(want, info); diff != "" || err != nil {
		t.Errorf("info: %v\n%s", err, diff)
	}
	names := []string{}
	var managed Filter
	for _, f := range all(t, c.Filters(ctx)) {
		names = append(names, f.Name)
		if !f.IsEditable {
			managed = f
		}
	}
	if !gocmp.Equal(names, []string{"Pending", "managed"}) {
		t.Errorf("filters: %v", names)
	}
	if err := c.UpdateFilter(ctx, number(managed.ID), "a", "id:asc"); status(err) != 403 {
		t.Errorf("update of a manifest's filter: %v", err)
	}
	if err := c.DeleteFilter(ctx, made.UUID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Filter(ctx, made.UUID); status(err) != 404 {
		t.Errorf("after its deletion: %v", err)
	}
}

func TestCompare(t *testing.T) {
	s := newRealServer(t)
	c := s.client(t, writer)
	ctx := t.Context()
	if _, err := c.Import(ctx, strings.NewReader(lines(10)), ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateFilter(ctx, "Last", "id:[6 TO 10]", "id:asc")
	if err != nil {
		t.Fatal(err)
	}
	to := Version{Query: "id:[5 TO 9]", SortBy: "id:desc"}
	got, err := c.Compare(ctx, Change{FromFilter: made.UUID, To: to, Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(&Version{Query: "id:[6 TO 10]", SortBy: "id:asc", Total: 5}, got.Before); diff != "" || got.After.Total != 5 {
		t.Errorf("before (-want +got):\n%s\nafter: %+v", diff, got.After)
	}
	if got.Entering.Total != 1 || got.Entering.Items[0].ID != 5 || got.Leaving.Total != 1 || got.Leaving.Items[0].ID != 10 {
		t.Errorf("entering %+v, leaving %+v", got.Entering, got.Leaving)
	}
	if m := got.Moving; m.Compared != 100 || m.Total != 3 || len(m.Items) != 1 || m.Items[0].ID != 8 || *m.Items[0].From != 3 || *m.Items[0].To != 2 {
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

func TestDefinitionsAndSources(t *testing.T) {
	s := newRealServer(t)
	c := s.client(t, writer)
	ctx := t.Context()
	if _, err := c.Import(ctx, strings.NewReader(lines(3)), ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	fresh := Tag{Namespace: "n", Key: "fresh"}
	if err := c.AddTag(ctx, fresh, 1); err != nil {
		t.Fatal(err)
	}
	found := false
	for d, err := range c.Definitions(ctx, "tag") {
		if err != nil {
			t.Fatal(err)
		}
		found = found || d.Kind == "Tag" && d.Tag == fresh && d.ManagedBy == "" && d.Items == 1
	}
	if !found {
		t.Error("the tag is not listed")
	}
	if units := all(t, c.Definitions(ctx, "unit")); len(units) > 0 && units[0].Kind != "ActivateUnit" {
		t.Errorf("units: %+v", units)
	}
	got, err := c.Sources(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	own := slices.ContainsFunc(got.Tags, func(of struct {
		Tag
		Sources []Source `json:"sources"`
	}) bool {
		return of.Tag == fresh && slices.Equal(of.Sources, []Source{{Kind: "caller"}})
	})
	if !own {
		t.Errorf("sources: %+v", got)
	}
}

func TestStatus(t *testing.T) {
	got, err := newRealServer(t).client(t, writer).Status(t.Context())
	if err != nil || got.Property == "" || got.Definitions.Tokens == 0 || int(got.Definitions.Tokens) != len(got.Tokens) || got.Rejected != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if !slices.ContainsFunc(got.Tokens, func(s TokenState) bool { return s.Class == "READ-WRITE" && s.Expires == nil }) {
		t.Errorf("tokens %+v", got.Tokens)
	}
}

func TestSuggest(t *testing.T) {
	got, err := newRealServer(t).client(t, writer).Suggest(t.Context(), "appr AND", "id", 4)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Problems) != 2 || got.Problems[0].In != "q" || got.Problems[0].Severity != "error" || got.Problems[1].In != "sort_by" {
		t.Errorf("problems %+v", got.Problems)
	}
	if c := got.Completions; len(c) == 0 || c[0].Text != "approval_status:" || c[0].Start != 0 || c[0].End != 4 || c[0].Kind != "field" {
		t.Errorf("completions %+v", c)
	}
}

func TestTagsAndUnits(t *testing.T) {
	s := newRealServer(t)
	c := s.client(t, writer)
	ctx := t.Context()
	if _, err := c.Import(ctx, strings.NewReader(lines(4)), ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	summer := Tag{"marketer_tags", "summer"}
	if err := c.AddTag(ctx, summer, 1, 3); err != nil {
		t.Fatal(err)
	}
	if err := c.AddTag(ctx, summer, 2, 99); status(err) != 422 {
		t.Errorf("with an unknown item: %v", err)
	}
	if got := ids(all(t, c.TaggedItems(ctx, summer))); !gocmp.Equal(got, []item.ID{3, 1}) {
		t.Errorf("tagged: %v", got)
	}
	if tags, err := c.ItemTags(ctx, 1); err != nil || !gocmp.Equal(tags, []Tag{summer}) {
		t.Errorf("tags: %v, %v", tags, err)
	}
	want := Facets{Field: "tags.marketer_tags.key", Total: 3, Values: []FacetValue{{Value: "summer", Count: 2}}}
	if got, err := c.Facets(ctx, FacetQuery{Field: "tags.marketer_tags", Query: "id:[1 TO 3]", Prefix: "s", Size: 1}); err != nil || !gocmp.Equal(got, want) {
		t.Errorf("facets: %+v, %v", got, err)
	}
	if _, err := c.Facets(ctx, FacetQuery{Field: "id", Filter: "17"}); status(err) != 404 {
		t.Errorf("facets of an unknown filter: %v", err)
	}
	if err := c.RemoveTag(ctx, summer, 1); err != nil {
		t.Fatal(err)
	}
	if err := c.RemoveTag(ctx, summer, 1); status(err) != 404 {
		t.Errorf("removed twice: %v", err)
	}
	units, err := c.Units(ctx)
	if err != nil || len(units) != 1 || units[0].Name != "Sandals" || !units[0].Managed {
		t.Fatalf("units: %+v, %v", units, err)
	}
	unit, err := c.Unit(ctx, units[0].ID)
	if diff := gocmp.Diff(units[0], unit); diff != "" || err != nil {
		t.Errorf("unit: %v\n%s", err, diff)
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

func TestPropertyOfTheToken(t *testing.T) {
	s := newRealServer(t)
	if name, err := s.client(t, writer).Property(t.Context()); name != "shop/default" || err != nil {
		t.Errorf("the property of the READ-WRITE token is %q (%v), want shop/default", name, err)
	}
	if _, err := s.client(t, reader).Property(t.Context()); status(err) != http.StatusForbidden {
		t.Errorf("the READ-ONLY token: %v, want status 403", err)
	}
	older := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer older.Close()
	c, err := New(Options{Server: older.URL, Token: writer})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Property(t.Context()); !errors.Is(err, ErrNoPropertyNamed) {
		t.Errorf("a server without the header: %v", err)
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
	get := func(ctx context.Context, c *Client) error { _, err := c.CountItems(ctx, "a"); return err }
	post := func(ctx context.Context, c *Client) error { _, err := c.AddItem(ctx, NewItem{}); return err }
	put := func(ctx context.Context, c *Client) error { return c.UpdateFilter(ctx, "1", "a", "id:asc") }
	cases := map[string]struct {
		answers []http.HandlerFunc
		do      func(context.Context, *Client) error
		sent    int
		status  int // status of the *Problem (0 for success, -1 for another error)
	}{
		"GET after refusals":          {[]http.HandlerFunc{refusedAnswer, limited, ok}, get, 3, 0},
		"GET after a lost answer":     {[]http.HandlerFunc{lost, ok}, get, 2, 0},
		"PUT after a lost answer":     {[]http.HandlerFunc{lost, ok}, put, 2, 0},
		"POST after a refusal":        {[]http.HandlerFunc{refusedAnswer, ok}, post, 2, 0},
		"POST is not repeated":        {[]http.HandlerFunc{lost, ok}, post, 1, -1},
		"POST behind a proxy":         {[]http.HandlerFunc{reply(503, "text/html", "<html>"), ok}, post, 1, 503},
		"GET behind a proxy":          {[]http.HandlerFunc{reply(502, "text/html", "<html>"), ok}, get, 2, 0},
		"given up":                    {[]http.HandlerFunc{limited}, get, 4, 429},
		"a bad request stays one":     {[]http.HandlerFunc{reply(400, problemKind, `{}`), ok}, get, 1, 400},
		"a redirect is not followed":  {[]http.HandlerFunc{reply(307, "", "", "Location", "/elsewhere"), ok}, get, 1, 307},
		"an answer that is not JSON":  {[]http.HandlerFunc{reply(200, "text/html", "<html>")}, get, 1, -1},
		"a problem that is not JSON":  {[]http.HandlerFunc{reply(404, problemKind, "<html>")}, get, 1, 404},
		"an unknown server in a loop": {[]http.HandlerFunc{reply(504, "", "")}, get, 4, 504},
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
			err = tc.do(t.Context(), c)
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
	if got := ids(all(t, c.ListItems(t.Context(), "a", Listing{}))); !gocmp.Equal(got, []item.ID{1, 2}) {
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
