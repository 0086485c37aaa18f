package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
)

// began is the time at which every test begins.
var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// These are the properties of the app.
const (
	shop    library.PropertyID = "shop/default" // has data of every kind
	other   library.PropertyID = "shop/other"   // one item, no allowed origin
	limited library.PropertyID = "shop/limited" // 2 requests a second, burst 3; its own cache times and external URL
	closed  library.PropertyID = "shop/closed"  // under maintenance
)

// token returns the token with a short name. The token is long enough to be valid, and easy to search for.
func token(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("tok-%s-%x", name, sha256.Sum256([]byte(name)))[:40]
}

// tokenText matches a token of these tests. A cursor can contain the beginning of one by chance.
var tokenText = regexp.MustCompile(`tok-[\w-]+-[0-9a-f]{8}`)

func digest(name string) library.Digest { return sha256.Sum256([]byte(token(name))) }

// app is a server for a real library with items of every kind.
type app struct {
	t      testing.TB
	clock  *librarytest.Clock
	lib    library.Library
	server *httpapi.Server
	log    *librarytest.Output
	cancel context.CancelFunc
	run    chan error
}

// newApp makes an app with all its data. The functions in adjust change the options of the server, which already contain the app's clock
// and log.
func newApp(t testing.TB, adjust ...func(*httpapi.Options)) *app {
	t.Helper()
	return newAppOver(t, func(l library.Library) library.Library { return l }, adjust...)
}

// newAppOver is like newApp, with a wrapper between the server and the library.
func newAppOver(t testing.TB, between func(library.Library) library.Library, adjust ...func(*httpapi.Options)) *app {
	t.Helper()
	a := &app{t: t, clock: librarytest.NewClock(began), log: &librarytest.Output{}, run: make(chan error, 1)}
	a.lib = openLibrary(t, a.clock.Now)
	a.apply(definitions()...)
	a.apply(madeFilter())
	a.write(shop, sampleLines()...)
	a.write(other, `{"id":7001,"approval_status":"app","created_on":"2026-01-01T00:00:00Z","content":{"content_type":"text","text":"elsewhere"}}`)
	a.write(limited, `{"id":8001,"approval_status":"app","short_code":"limited1","created_on":"2026-01-01T00:00:00Z","content":{"content_type":"image","text":"limited","media":{"original_url":"https://img.example/l.jpg"},"platform_data":{"social_platform_original_url":"https://social.example/l"}}}`)
	a.write(closed, `{"id":9001,"approval_status":"app","short_code":"closed1","created_on":"2026-01-01T00:00:00Z","content":{"content_type":"image","text":"closed","media":{"original_url":"https://img.example/c.jpg"},"platform_data":{"social_platform_original_url":"https://social.example/c"}}}`)

	options := httpapi.Options{
		Clock: a.clock.Now, Logger: slog.New(slog.NewTextHandler(a.log, nil)),
		ExternalURL: "https://content.example/base", Metrics: prometheus.NewRegistry(), Version: "0.1.0-test",
	}
	for _, f := range adjust {
		f(&options)
	}
	var err error
	if a.server, err = httpapi.New(between(a.lib), options); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, a.cancel = context.WithCancel(context.Background())
	go func() { a.run <- a.server.Run(ctx) }()
	a.eventually("all tokens are known", a.server.Ready)
	t.Cleanup(a.close)
	return a
}

func (a *app) close() {
	a.cancel()
	if err := <-a.run; err != nil {
		a.t.Errorf("Run: %v", err)
	}
	if err := a.lib.Close(); err != nil {
		a.t.Errorf("close the library: %v", err)
	}
	if i := strings.Index(a.log.String(), "tok-"); i >= 0 {
		a.t.Errorf("the log holds a token: %.200q", a.log.String()[max(0, i-100):])
	}
	if strings.Contains(a.log.String(), "@mail.example") {
		a.t.Error("the log holds an email of a submission")
	}
}

// eventually waits until another goroutine has made a condition true.
func (a *app) eventually(what string, holds func() bool) {
	a.t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			a.t.Fatalf("waited in vain until %s", what)
		}
	}
}

func (a *app) apply(defs ...library.Definition) {
	a.t.Helper()
	results, err := a.lib.Apply(context.Background(), defs)
	if err != nil {
		a.t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil {
			a.t.Fatalf("apply %s: %v", defs[i].Owner, r.Err)
		}
	}
}

func (a *app) write(p library.PropertyID, lines ...string) {
	a.t.Helper()
	var muts []library.Mutation
	for _, text := range lines {
		line, err := item.ParseLine([]byte(text), item.ParseOptions{Now: began, AuthorKey: a.lib.AuthorKey()})
		if err != nil {
			a.t.Fatalf("%s: %v", text, err)
		}
		muts = append(muts, library.Mutation{Put: line.Item, Units: line.Units})
	}
	outcomes, err := a.lib.Write(context.Background(), p, muts)
	if err != nil {
		a.t.Fatal(err)
	}
	for i, o := range outcomes {
		if o.Err != nil {
			a.t.Fatalf("%s: %v", lines[i], o.Err)
		}
	}
}

// call is one request with its expected response.
type call struct {
	method string // default GET
	url    string
	// token is sent in the parameter access_token, and bearer is sent in the Authorization header. Both are short names (see the function
	// token).
	token, bearer string
	header        map[string]string
	body          string

	status int // default 200
	// want contains the expected headers. The value of a header is an exact value, "~text" for a substring, or "" for an absent header.
	want map[string]string
	// contains and lacks are substrings that the body must and must not contain.
	contains, lacks []string
	// ids are the expected ids of the items in the body, in order. nil disables the check.
	ids []item.ID
}

// answer is the response to a call.
type answer struct {
	status int
	header http.Header
	// body is the body after its content coding was decoded.
	body []byte
}

// json decodes the body.
func (r answer) json(t testing.TB) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(r.body, &v); err != nil {
		t.Fatalf("body is not JSON: %v: %.500s", err, r.body)
	}
	return v
}

// member returns a member of the body by its path.
func (r answer) member(t testing.TB, path ...string) any {
	t.Helper()
	v := r.json(t)
	for _, name := range path {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return v
}

// link returns the URL of a HAL link without the path of the external URL. It returns "" if the body does not contain the link.
func (r answer) link(t testing.TB, rel string) string {
	t.Helper()
	href, _ := r.member(t, "_links", rel, "href").(string)
	return strings.TrimPrefix(href, "/base")
}

// ids returns the ids of the items in the body of any endpoint.
func (r answer) ids(t testing.TB) []item.ID {
	t.Helper()
	for _, name := range []string{"ugc:item", "ugc:tags", "ugc"} {
		if list, ok := r.member(t, "_embedded", name).([]any); ok {
			ids := []item.ID{}
			for _, it := range list {
				ids = append(ids, int64(it.(map[string]any)["id"].(float64)))
			}
			return ids
		}
	}
	t.Fatalf("no list of items in %.300s", r.body)
	return nil
}

// request builds the HTTP request of a call.
func (c call) request() *http.Request {
	url := c.url
	if c.token != "" {
		sep := "?"
		if strings.Contains(url, "?") {
			sep = "&"
		}
		url += sep + "access_token=" + token(c.token)
	}
	method := c.method
	if method == "" {
		method = http.MethodGet
	}
	r := httptest.NewRequest(method, url, strings.NewReader(c.body))
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	if c.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+token(c.bearer))
	}
	return r
}

// send sends one request, and runs the checks that apply to every response.
func (a *app) send(c call) answer {
	a.t.Helper()
	return a.serve(c.request())
}

// serve is like send, for a request that a call cannot describe.
func (a *app) serve(r *http.Request) answer {
	a.t.Helper()
	w := httptest.NewRecorder()
	a.server.ServeHTTP(w, r)
	return a.check(r, w.Result())
}

// check reads a response, and runs the checks that apply to every response. Above all, it validates the response against the OpenAPI
// document.
func (a *app) check(r *http.Request, resp *http.Response) answer {
	a.t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatalf("%s %s: read the answer: %v", r.Method, r.URL.Path, err)
	}
	if resp.Header.Get("Content-Encoding") == "gzip" && len(body) > 0 {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err == nil {
			body, err = io.ReadAll(z)
		}
		if err != nil {
			a.t.Fatalf("%s %s: the answer is no gzip: %v", r.Method, r.URL.Path, err)
		}
	}
	got := answer{resp.StatusCode, resp.Header, body}
	if tokenText.Match(body) {
		a.t.Errorf("%s %s: the answer holds a token: %s", r.Method, r.URL.Path, body)
	}
	for name, values := range resp.Header {
		if tokenText.MatchString(strings.Join(values, " ")) {
			a.t.Errorf("%s %s: header %s holds a token", r.Method, r.URL.Path, name)
		}
	}
	if resp.Header.Get("X-Request-Id") == "" {
		a.t.Errorf("%s %s: no X-Request-Id", r.Method, r.URL.Path)
	}
	if resp.StatusCode >= 500 && resp.StatusCode != http.StatusServiceUnavailable {
		a.t.Errorf("%s %s: status %d: %s\n%s", r.Method, r.URL, resp.StatusCode, body, a.log)
	}
	if err := document(a.t).validate(r, got); err != nil {
		a.t.Errorf("%s %s: the answer (%d) is not as openapi.json says: %v\n%.1500s", r.Method, r.URL.Path, got.status, err, body)
	}
	return got
}

// do sends a call and checks the response against its expectations.
func (a *app) do(c call) answer {
	a.t.Helper()
	got := a.send(c)
	want := c.status
	if want == 0 {
		want = http.StatusOK
	}
	if got.status != want {
		a.t.Fatalf("status %d, want %d\n%s %s\n%.1500s", got.status, want, c.method, c.url, got.body)
	}
	for name, value := range c.want {
		has := strings.Join(got.header.Values(name), ", ")
		part, isPart := strings.CutPrefix(value, "~")
		if isPart && !strings.Contains(has, part) || !isPart && has != value {
			a.t.Errorf("header %s is %q, want %q", name, has, value)
		}
	}
	for _, part := range c.contains {
		if !strings.Contains(string(got.body), part) {
			a.t.Errorf("the answer lacks %s:\n%.2000s", part, got.body)
		}
	}
	for _, part := range c.lacks {
		if strings.Contains(string(got.body), part) {
			a.t.Errorf("the answer has %s:\n%.2000s", part, got.body)
		}
	}
	if c.ids != nil {
		if ids := got.ids(a.t); !slices.Equal(ids, c.ids) {
			a.t.Errorf("items %v, want %v", ids, c.ids)
		}
	}
	return got
}

// table runs calls on one app. The calls must not change anything.
func (a *app) table(t *testing.T, calls map[string]call) {
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		t.Run(name, func(t *testing.T) {
			on := *a
			on.t = t
			on.do(calls[name])
		})
	}
}

// steps runs calls on one app, one after the other. A failure names the step.
func (a *app) steps(calls ...call) {
	a.t.Helper()
	for i, c := range calls {
		before := a.t.Failed()
		a.do(c)
		if !before && a.t.Failed() {
			a.t.Fatalf("step %d failed: %s %s", i+1, c.method, c.url)
		}
	}
}
