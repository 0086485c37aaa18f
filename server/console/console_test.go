package console_test

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/console"
	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
)

const (
	property = library.PropertyID("shop/default")
	// cookieName is the expected name of the cookie.
	cookieName = "__Secure-vitrine-console"
)

// began is the time at which every test begins.
var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// token returns the value of the token with the given name.
func token(name string) string {
	return fmt.Sprintf("tok-%s-%x", name, sha256.Sum256([]byte(name)))[:40]
}

// long is a token that does not fit into a cookie.
var long = "tok-" + strings.Repeat("l", 4000)

// world is a library and its API. Tests add consoles to it.
type world struct {
	*testing.T
	clock *librarytest.Clock
	lib   library.Library
	api   *httpapi.Server
	log   *librarytest.Output
	ids   *sync.Map // the public ID of each session, by cookie
	// called is called before each request to the API.
	called func(*http.Request)
}

func owner(kind library.Kind, name string) library.Owner {
	return library.Owner{Install: "test", Kind: kind, Namespace: "shop", Name: name}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, clock: librarytest.NewClock(began), log: &librarytest.Output{}, ids: &sync.Map{}, called: func(*http.Request) {}}
	var err error
	if w.lib, err = engine.Open(engine.Options{Dir: t.TempDir(), Clock: w.clock.Now}); err != nil {
		t.Fatal(err)
	}
	defs := []library.Definition{
		{Property: property, Owner: owner(library.KindProperty, "default"), PropertySpec: &library.Property{PlatformPageID: 1}},
	}
	for name, it := range map[string]library.Token{
		"writer": {ReadWrite: true}, "limited": {ReadWrite: true, Allow: []library.Action{}}, "reader": {}, "filters": {Filters: []string{}},
		"hour": {ReadWrite: true, Values: []library.TokenValue{{Digest: sha256.Sum256([]byte(token("hour"))), Expires: began.Add(time.Hour)}}},
		"long": {ReadWrite: true, Values: []library.TokenValue{{Digest: sha256.Sum256([]byte(long))}}},
	} {
		if it.Values == nil {
			it.Values = []library.TokenValue{{Digest: sha256.Sum256([]byte(token(name)))}}
		}
		defs = append(defs, library.Definition{Property: property, Owner: owner(library.KindToken, name), Token: &it})
	}
	results, err := w.lib.Apply(t.Context(), defs)
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := item.ParseLine([]byte(`{"id":1,"approval_status":"app","created_on":"2026-01-01T00:00:00Z","content":{"content_type":"text","text":"hello"}}`),
		item.ParseOptions{Now: began, AuthorKey: w.lib.AuthorKey()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.lib.Write(t.Context(), property, []library.Mutation{{Put: line.Item}}); err != nil {
		t.Fatal(err)
	}
	if w.api, err = httpapi.New(w.lib, httpapi.Options{Clock: w.clock.Now, Logger: slog.New(slog.NewTextHandler(w.log, nil))}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- w.api.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if err := w.lib.Close(); err != nil {
			t.Error(err)
		}
		if strings.Contains(w.log.String(), "tok-") {
			t.Error("the log contains a token")
		}
	})
	w.eventually("the tokens are known", w.api.Ready)
	return w
}

func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			w.Fatalf("timeout while waiting until %s", what)
		}
	}
}

// handler returns a new console for the API, like that of one replica.
func (w *world) handler() http.Handler {
	w.Helper()
	api := func(rw http.ResponseWriter, r *http.Request) {
		w.called(r)
		w.api.ServeHTTP(rw, r)
	}
	made, err := console.New(console.Options{
		API: http.HandlerFunc(api), Key: w.lib.AuthorKey(), Clock: w.clock.Now, Hosts: []string{"content.shop.example"},
		Logger: slog.New(slog.NewTextHandler(w.log, nil)),
		Access: func(ctx context.Context, token string) (console.Access, bool, error) {
			a, ok, err := w.api.Access(ctx, token)
			return console.Access{
				Property: string(a.Property), Token: a.Owner.String(), ReadWrite: a.ReadWrite, Actions: a.Actions, FiltersOnly: a.FiltersOnly,
				Expires: a.Expires,
			}, ok, err
		},
	})
	if err != nil {
		w.Fatal(err)
	}
	return made
}

// site is a running server with a console.
type site struct {
	*world
	server *httptest.Server
}

// serve starts a server with a console over TLS.
func (w *world) serve() *site {
	w.Helper()
	s := &site{w, httptest.NewTLSServer(w.handler())}
	w.Cleanup(s.server.Close)
	return s
}

// call is a request of a browser, and the expected response.
type call struct {
	method, path string // GET by default
	cookie       string
	body         string
	// header replaces headers that the scripts of the console send. An empty value removes the header.
	header map[string]string
	host   string

	status int
	// contains is an expected part of the body.
	contains string
}

// answer is a response.
type answer struct {
	*http.Response
	body string
}

// cookie returns the value of the cookie that the response sets, or an empty string.
func (a answer) cookie() string {
	for _, c := range a.Cookies() {
		if c.Name == cookieName {
			return c.Value
		}
	}
	return ""
}

// do sends a request in the same way as the console's scripts, and checks the response.
func (s *site) do(c call) answer {
	s.Helper()
	if c.method == "" {
		c.method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(s.Context(), c.method, s.server.URL+c.path, strings.NewReader(c.body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("X-Vitrine-Console", "1")
	if strings.HasPrefix(c.path, "/console/api/") {
		req.Header.Set("X-Vitrine-Console", s.id(c.cookie))
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if c.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.cookie != "" {
		req.Header.Set("Cookie", cookieName+"="+c.cookie)
	}
	for name, value := range c.header {
		req.Header.Set(name, value)
		if value == "" {
			req.Header.Del(name)
		}
	}
	if c.host != "" {
		req.Host = c.host
	}
	res, err := s.server.Client().Transport.RoundTrip(req) // unlike Client.Do, this follows no redirects
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatal(err)
	}
	if res.StatusCode != c.status || !strings.Contains(string(body), c.contains) {
		s.Errorf("%s %s: %d %s; want %d and %q", c.method, c.path, res.StatusCode, body, c.status, c.contains)
	}
	if strings.Contains(string(body), "tok-") {
		s.Errorf("%s %s: the body contains a token: %s", c.method, c.path, body)
	}
	got := answer{res, string(body)}
	if set := got.cookie(); set != "" {
		var begun struct{ ID string }
		if res.StatusCode != http.StatusCreated || json.Unmarshal(body, &begun) != nil || begun.ID == "" {
			begun.ID = s.id(c.cookie) // the session continues
		}
		s.ids.Store(set, begun.ID)
	}
	return got
}

// id returns the public ID of the session in a cookie.
func (s *site) id(cookie string) string {
	if id, ok := s.ids.Load(cookie); ok {
		return id.(string)
	}
	return "none"
}

// logIn returns the cookie of a new session.
func (s *site) logIn(token string) string {
	s.Helper()
	return s.do(call{method: "POST", path: "/console/session", body: fmt.Sprintf(`{"token":%q}`, token), status: 201}).cookie()
}

// codeFor returns a one-time code for a token.
func (s *site) codeFor(token string) string {
	s.Helper()
	made := s.do(call{
		method: "POST", path: "/console/codes", status: 201,
		header: map[string]string{"Authorization": "Bearer " + token, "X-Vitrine-Console": "", "Sec-Fetch-Site": ""},
	})
	var code struct {
		Code, Property string
		Expires        time.Time
	}
	if err := json.Unmarshal([]byte(made.body), &code); err != nil || !code.Expires.After(s.clock.Now()) || code.Property != string(property) {
		s.Fatalf("%s: %v", made.body, err)
	}
	return code.Code
}

const items = "/console/api/v2/content/items?q=*:*"

// TestSession follows one session from the login to the logout.
func TestSession(t *testing.T) {
	s := newWorld(t).serve()
	s.do(call{path: "/console/session", status: 204})
	s.do(call{path: items, status: 401, contains: "login-required"})
	begun := s.do(call{
		method: "POST", path: "/console/session", body: `{"token":"` + token("writer") + `"}`, status: 201,
		contains: `"class":"READ-WRITE","property":"shop/default","actions":["AddItems","Moderate","Tag","ManageFilters","ReadPrivate","Export","Import","Erase"],"expires":"2026-11-22T00:00:00Z"}`,
	})
	set := begun.Header.Get("Set-Cookie")
	for _, attribute := range []string{cookieName + "=", "; Path=/console/", "; HttpOnly", "; Secure", "; SameSite=Strict"} {
		if !strings.Contains(set, attribute) {
			t.Errorf("the cookie has no %q: %s", attribute, set)
		}
	}
	for _, attribute := range []string{"Expires", "Max-Age", "Domain", token("writer")} {
		if strings.Contains(set, attribute) {
			t.Errorf("the cookie has %q: %s", attribute, set)
		}
	}
	cookie := begun.cookie()
	s.do(call{path: "/console/session", cookie: cookie, status: 200, contains: `"class":"READ-WRITE"`})
	listed := s.do(call{path: items, cookie: cookie, status: 200, contains: `"total_results":1`})
	for name, want := range map[string]string{"Cache-Control": "no-store", "Set-Cookie": ""} {
		if got := listed.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	s.do(call{method: "PATCH", path: "/console/api/v2/content/1", cookie: cookie, body: `{"featured":true}`, status: 200})
	s.do(call{path: items + "+AND+featured:true", cookie: cookie, status: 200, contains: `"total_results":1`})
	s.do(call{path: "/console/api/v2/content/bulk", cookie: cookie, status: 200, contains: `"text":"hello"`})
	s.do(call{method: "POST", path: "/console/api/v1/tags", cookie: cookie, body: `{"namespace":"a","key":"bc","ugc_ids":[1]}`, status: 201})
	s.do(call{path: "/console/api/v1/tags/a/%62c", cookie: cookie, status: 200, contains: "hello"})
	gone := s.do(call{method: "DELETE", path: "/console/session", cookie: cookie, status: 204})
	if set := gone.Header.Get("Set-Cookie"); !strings.Contains(set, cookieName+"=; Path=/console/; Max-Age=0") {
		t.Errorf("the browser keeps the cookie: %s", set)
	}
	s.do(call{path: "/console/session", cookie: cookie, status: 204})
	s.do(call{path: items, cookie: cookie, status: 401})
	s.do(call{method: "DELETE", path: "/console/session", cookie: cookie, status: 204})
	if log := s.log.String(); !strings.Contains(log, `msg="login to the console"`) || !strings.Contains(log, `msg="logout from the console"`) || !strings.Contains(log, "shop/writer") {
		t.Errorf("the log: %s", log)
	}
}

// TestReadOnly checks that a session has the rights of its token.
func TestReadOnly(t *testing.T) {
	s := newWorld(t).serve()
	cookie := s.logIn(token("reader"))
	s.do(call{path: "/console/session", cookie: cookie, status: 200, contains: `"class":"READ-ONLY","property":"shop/default","actions":[],`})
	s.do(call{path: items, cookie: cookie, status: 200})
	s.do(call{path: "/console/api/v2/content/filters", cookie: cookie, status: 403, contains: "class-refused"})
	s.do(call{method: "PATCH", path: "/console/api/v2/content/1", cookie: cookie, body: `{"featured":true}`, status: 403, contains: "class-refused"})
}

// TestActions checks that a session knows the actions that its token allows, even after they have changed, and that it can do nothing else.
func TestActions(t *testing.T) {
	s := newWorld(t).serve()
	cookie := s.logIn(token("limited"))
	patch := call{method: "PATCH", path: "/console/api/v2/content/1", cookie: cookie, body: `{"featured":true}`, status: 200}
	tag := call{method: "POST", path: "/console/api/v1/tags", cookie: cookie, body: `{"namespace":"a","key":"b","ugc_ids":[1]}`, status: 201}
	refused := func(c call, action string) {
		t.Helper()
		c.status, c.contains = 403, "the action "+action
		s.do(c)
	}
	// allows changes the token, and waits until the session knows its actions.
	allows := func(it library.Token, actions string) {
		t.Helper()
		it.ReadWrite, it.Values = true, []library.TokenValue{{Digest: sha256.Sum256([]byte(token("limited")))}}
		if _, err := s.lib.Apply(t.Context(), []library.Definition{{Property: property, Owner: owner(library.KindToken, "limited"), Token: &it}}); err != nil {
			t.Fatal(err)
		}
		s.eventually("the session allows "+actions, func() bool {
			got := s.do(call{path: "/console/session", cookie: cookie, status: 200, contains: s.id(cookie)})
			return strings.Contains(got.body, `"actions":`+actions+`,`)
		})
	}
	allows(library.Token{Allow: []library.Action{library.Moderate}}, `["Moderate"]`)
	s.do(patch)
	refused(tag, "Tag")
	refused(call{method: "POST", path: "/console/api/v2/content/filters", cookie: cookie, body: `{"name":"f","q":"x","sort_by":"created_on:desc"}`}, "ManageFilters")
	refused(call{path: "/console/api/v2/content/bulk", cookie: cookie}, "Export")
	refused(call{method: "DELETE", path: "/console/api/v2/content/1", cookie: cookie}, "Erase")
	allows(library.Token{Allow: []library.Action{library.TagItems}}, `["Tag"]`)
	refused(patch, "Moderate")
	s.do(tag)
	allows(library.Token{Allow: []library.Action{}}, `[]`)
	refused(patch, "Moderate")
	refused(tag, "Tag")
	allows(library.Token{Allow: []library.Action{library.Moderate, library.TagItems}, Query: "approval_status:app"}, `["Moderate","Tag"]`)
	patch.body, patch.status = `{"approval_status":"rej"}`, 204 // the item leaves the scope
	s.do(patch)
	patch.status = 404
	s.do(patch)
	s.do(call{path: items, cookie: cookie, status: 200, contains: `"total_results":0`})
}

// TestAttacks checks that each kind of attack on a session fails.
func TestAttacks(t *testing.T) {
	s := newWorld(t).serve()
	cookie, stranger := s.logIn(token("writer")), s.logIn(token("reader"))
	patch := func(header map[string]string) call {
		return call{method: "PATCH", path: "/console/api/v2/content/1", cookie: cookie, body: `{"featured":true}`, header: header, status: 403, contains: "origin-refused"}
	}
	login := func(header map[string]string, status int) call {
		return call{method: "POST", path: "/console/session", body: `{"token":"` + token("writer") + `"}`, header: header, status: status}
	}
	tampered := []byte(cookie)
	tampered[len(tampered)/2] ^= 1
	for name, c := range map[string]call{
		"a request without a session":                     {path: items, status: 401, contains: "login-required"},
		"a change without the header of the console":      patch(map[string]string{"X-Vitrine-Console": ""}),
		"a change from another site":                      patch(map[string]string{"Sec-Fetch-Site": "cross-site"}),
		"a change from a sibling subdomain":               patch(map[string]string{"Sec-Fetch-Site": "same-site"}),
		"a change from another origin, by an old browser": patch(map[string]string{"Sec-Fetch-Site": "", "Origin": "https://evil.example"}),
		"a change from a sandboxed frame":                 patch(map[string]string{"Sec-Fetch-Site": "", "Origin": "null"}),
		"a read by the URL of a picture":                  {path: items, cookie: cookie, header: map[string]string{"X-Vitrine-Console": "", "Sec-Fetch-Dest": "image"}, status: 403, contains: "origin-refused"},
		"a read of the API description without header":    {path: "/console/api/openapi.json", cookie: cookie, header: map[string]string{"X-Vitrine-Console": ""}, status: 403, contains: "origin-refused"},
		"a request for any session":                       {path: items, cookie: cookie, header: map[string]string{"X-Vitrine-Console": "1"}, status: 401, contains: "login-required"},
		"a read from a sibling subdomain":                 {path: items, cookie: cookie, header: map[string]string{"Sec-Fetch-Site": "same-site"}, status: 403},
		"a logout from another site":                      {method: "DELETE", path: "/console/session", cookie: cookie, header: map[string]string{"X-Vitrine-Console": ""}, status: 403},
		"a login from another site":                       login(map[string]string{"Sec-Fetch-Site": "cross-site"}, 403),
		"a login without the header of the console":       login(map[string]string{"X-Vitrine-Console": ""}, 403),
		"a login with other credentials, not the header":  login(map[string]string{"X-Vitrine-Console": "", "Authorization": "Bearer " + token("writer")}, 403),
		"a change with a token in a header":               patch(map[string]string{"X-Vitrine-Console": "", "Authorization": "Bearer " + token("writer")}),
		"a code with the password of a proxy":             {method: "POST", path: "/console/codes", header: map[string]string{"X-Vitrine-Console": "", "Authorization": "Basic eDp5"}, status: 403, contains: "origin-refused"},
		"a lookup with a token in a header":               {method: "POST", path: "/console/codes/lookup", body: `{"code":"x"}`, header: map[string]string{"X-Vitrine-Console": "", "Authorization": "Bearer " + token("writer")}, status: 403, contains: "origin-refused"},
		"a login by a form":                               login(map[string]string{"Content-Type": "text/plain"}, 400),
		"a login with a token in the URL":                 {method: "POST", path: "/console/session?token=" + token("writer"), status: 400},
		"a preflight":                                     {method: "OPTIONS", path: items, header: map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "GET", "Sec-Fetch-Site": "cross-site"}, status: 403},
		"a cookie that no server made":                    {path: items, cookie: "AAAA", status: 401},
		"a cookie that was changed":                       {path: items, cookie: string(tampered), status: 401},
		"a second cookie of another session":              {path: items, cookie: stranger + "; " + cookieName + "=" + cookie, header: map[string]string{"X-Vitrine-Console": s.id(cookie)}, status: 401},
		"the cookie outside the console":                  {path: "/v2/content/items?q=*:*", cookie: cookie, status: 403, contains: "token-refused"},
		"the cookie as a token":                           {path: "/v2/content/items?q=*:*&access_token=" + cookie, status: 403, contains: "token-refused"},
		"the cookie as a bearer":                          {path: "/v2/content/items?q=*:*", header: map[string]string{"Authorization": "Bearer " + cookie}, status: 403},
		"a code for a cookie":                             {method: "POST", path: "/console/codes", cookie: cookie, status: 401, contains: "login-refused"},
		"a token without a session":                       {path: items, header: map[string]string{"Authorization": "Bearer " + token("writer")}, status: 401},
		"a token in the URL":                              {path: items + "&access_token=" + token("reader"), cookie: cookie, status: 400, contains: "tokens-differ"},
		"a stream that would outlast the session":         {path: "/console/api/v2/content/filters/1/%65vents/", cookie: cookie, status: 404, contains: "outlast the session"},
		"a path outside the API":                          {path: "/console/api/s/abc", cookie: cookie, status: 404},
		"a path out of the API":                           {path: "/console/api/v2/%2e%2e/s/abc", cookie: cookie, status: 404},
		"the console by the console":                      {path: "/console/api/console/session", cookie: cookie, status: 404},
		"a token that may only list filters":              {method: "POST", path: "/console/session", body: `{"token":"` + token("filters") + `"}`, status: 403, contains: "class-refused"},
		"a token that does not fit into a cookie":         {method: "POST", path: "/console/session", body: `{"token":"` + long + `"}`, status: 403, contains: "2800 characters"},
		"an unknown token":                                {method: "POST", path: "/console/session", body: `{"token":"` + strings.Repeat("x", 40) + `"}`, status: 401, contains: "login-refused"},
		"an unknown code":                                 {method: "POST", path: "/console/session", body: `{"code":"x"}`, status: 401, contains: "login-refused"},
		"a token and a code":                              {method: "POST", path: "/console/session", body: `{"token":"a","code":"b"}`, status: 400},
		"no token":                                        {method: "POST", path: "/console/session", body: `{}`, status: 400},
		"an unknown member":                               {method: "POST", path: "/console/session", body: `{"token":"a","remember":true}`, status: 400},
		"a huge body":                                     {method: "POST", path: "/console/session", body: `{"token":"` + strings.Repeat("x", 1<<20) + `"}`, status: 400},
		"another method of a page":                        {method: "POST", path: "/console/wall", status: 405},
	} {
		t.Run(name, func(t *testing.T) {
			s := &site{&world{T: t, clock: s.clock, lib: s.lib, api: s.api, log: s.log, ids: s.ids}, s.server}
			got := s.do(c)
			if strings.HasPrefix(c.path, console.Path) {
				checkHeaders(t, got)
			}
			if allowed := got.Header.Get("Access-Control-Allow-Origin"); allowed != "" {
				t.Errorf("pages of %s may read the answer", allowed)
			}
		})
	}
	s.do(call{path: items + "+AND+featured:true", cookie: cookie, status: 200, contains: `"total_results":0`})
}

// checkHeaders checks the headers that protect the response in a browser.
func checkHeaders(t *testing.T, a answer) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := a.Header.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	policy := a.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'; trusted-types 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "data:") || !strings.Contains(a.Header.Get("Permissions-Policy"), "camera=()") {
		t.Errorf("the policies: %s, %s", policy, a.Header.Get("Permissions-Policy"))
	}
}

// TestHosts checks that a console on a loopback address rejects requests with another host name, as protection from DNS rebinding.
func TestHosts(t *testing.T) {
	w := newWorld(t)
	plain := httptest.NewServer(w.handler())
	t.Cleanup(plain.Close)
	for host, status := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "LOCALHOST": 200, "vitrine.localhost": 200, "127.0.0.1": 200, "127.0.0.2:1": 200, "[::1]:8080": 200, "[::1]": 200,
		"content.shop.example": 200, "content.shop.example:443": 200,
		"evil.example": 421, "evil.example:8080": 421, "localhost.evil.example": 421, "192.0.2.1": 421, "127.0.0.1.evil.example": 421, "0.0.0.0": 421,
	} {
		(&site{w, plain}).do(call{path: "/console/", host: host, status: status})
		(&site{w, plain}).do(call{path: "/console/session", host: host, status: max(status, 204)})
	}
	// Requests to the API may have any host name, because a foreign page has no token. Requests over TLS may have any host name, because
	// the certificate does not contain the name of a foreign site.
	(&site{w, plain}).do(call{path: "/openapi.json", host: "evil.example", status: 200})
	w.serve().do(call{path: "/console/", host: "vitrine.vitrine-system.svc", status: 200})
	absent := httptest.NewRequestWithContext(
		context.WithValue(t.Context(), http.LocalAddrContextKey, plain.Listener.Addr()), http.MethodGet, "/console/", nil)
	absent.Host = ""
	recorded := httptest.NewRecorder()
	w.handler().ServeHTTP(recorded, absent)
	if recorded.Code != http.StatusMisdirectedRequest {
		t.Errorf("without a Host header: %d", recorded.Code)
	}
}

// TestFixation checks that a login always begins a new session (session fixation).
func TestFixation(t *testing.T) {
	s := newWorld(t).serve()
	first := s.logIn(token("writer"))
	second := s.do(call{method: "POST", path: "/console/session", cookie: first, body: `{"token":"` + token("writer") + `"}`, status: 201}).cookie()
	if second == first || second == "" {
		t.Errorf("the cookie after the second login: %q", second)
	}
	s.do(call{path: items, cookie: first, status: 401})
	s.do(call{path: items, cookie: second, status: 200})
	s.do(call{method: "POST", path: "/console/session", cookie: second, body: `{"token":"wrong"}`, status: 401})
	s.do(call{path: items, cookie: second, status: 200})
}

// TestOtherTab checks the requests of a page after a login in another tab. The requests must fail and must not use the new session.
func TestOtherTab(t *testing.T) {
	s := newWorld(t).serve()
	first, second := s.logIn(token("writer")), s.logIn(token("hour"))
	id := func(cookie string) string {
		t.Helper()
		var shown struct{ ID string }
		if err := json.Unmarshal([]byte(s.do(call{path: "/console/session", cookie: cookie, status: 200}).body), &shown); err != nil {
			t.Fatal(err)
		}
		return shown.ID
	}
	if id(first) != s.id(first) || id(first) == id(second) || len(id(first)) != 32 || strings.Contains(first, id(first)) {
		t.Errorf("the IDs: %q, %q", id(first), id(second))
	}
	stale := map[string]string{"X-Vitrine-Console": id(first)}
	refused := s.do(call{path: items, cookie: second, header: stale, status: 401, contains: "a different session"})
	if refused.Header.Get("Set-Cookie") != "" {
		t.Errorf("the other session ends: %v", refused.Header)
	}
	s.do(call{method: "PATCH", path: "/console/api/v2/content/1", cookie: second, body: `{"featured":true}`, header: stale, status: 401})
	s.do(call{path: items + "+AND+featured:true", cookie: second, status: 200, contains: `"total_results":0`})
	s.clock.Advance(10 * time.Minute)
	renewed := s.do(call{path: items, cookie: first, status: 200}).cookie()
	if renewed == "" || renewed == first || id(renewed) != stale["X-Vitrine-Console"] {
		t.Errorf("the ID after a renewal is %q, want %q", id(renewed), stale)
	}
}

// TestExpiry checks that a session ends after two hours without a request, and in any case after twelve hours.
func TestExpiry(t *testing.T) {
	s := newWorld(t).serve()
	idle := s.logIn(token("writer"))
	s.clock.Advance(2*time.Hour - time.Second)
	used := s.do(call{path: items, cookie: idle, status: 200}).cookie()
	if used == "" || used == idle {
		t.Fatalf("the cookie after almost two hours: %q", used)
	}
	s.clock.Advance(time.Second)
	s.do(call{path: items, cookie: idle, status: 401})
	s.clock.Advance(10 * time.Minute)
	unattended := s.do(call{path: items, cookie: used, header: map[string]string{"X-Vitrine-Background": "1"}, status: 200})
	if sent := unattended.Header.Get("Set-Cookie"); sent != "" {
		t.Errorf("a background request renews the session: %q", sent)
	}
	s.clock.Advance(-10 * time.Minute)
	for range 9 {
		s.clock.Advance(time.Hour)
		used = s.do(call{path: items, cookie: used, status: 200}).cookie()
	}
	s.do(call{path: "/console/session", cookie: used, status: 200, contains: `"expires":"2026-11-22T00:00:00Z"`})
	s.clock.Advance(time.Hour)
	s.do(call{path: items, cookie: used, status: 401})
}

// TestSeveralCookies checks that a login and a logout end all sessions of the browser.
func TestSeveralCookies(t *testing.T) {
	s := newWorld(t).serve()
	for name, end := range map[string]call{
		"login":  {method: "POST", path: "/console/session", body: `{"token":"` + token("writer") + `"}`, status: 201},
		"logout": {method: "DELETE", path: "/console/session", status: 204},
	} {
		first, second := s.logIn(token("writer")), s.logIn(token("reader"))
		end.cookie = first + "; " + cookieName + "=" + second
		ended := s.do(end)
		for _, cookie := range []string{first, second} {
			s.do(call{path: items, cookie: cookie, status: 401, contains: "there is no session: log in"})
		}
		if begun := ended.cookie(); begun != "" {
			s.do(call{path: items, cookie: begun, status: 200})
		} else if name == "login" {
			t.Error("the login begins no session")
		}
	}
}

// TestLogoutEndsRenewedCookies checks that a logout with an older cookie also invalidates the cookie that replaced it.
func TestLogoutEndsRenewedCookies(t *testing.T) {
	s := newWorld(t).serve()
	before := s.logIn(token("writer"))
	s.clock.Advance(time.Hour)
	after := s.do(call{path: items, cookie: before, status: 200}).cookie()
	s.do(call{method: "DELETE", path: "/console/session", cookie: before, status: 204})
	s.do(call{path: items, cookie: after, status: 401})
}

// TestLogoutEndsRequests checks that a request to the API that waits for changes ends with its session, without a response that shows changes.
func TestLogoutEndsRequests(t *testing.T) {
	w := newWorld(t)
	called := make(chan struct{}, 1)
	w.called = func(r *http.Request) {
		if r.URL.Query().Has("wait") {
			called <- struct{}{}
		}
	}
	s := w.serve()
	cookie := s.logIn(token("writer"))
	var first struct {
		Links struct{ Next struct{ Href string } } `json:"_links"`
	}
	listed := s.do(call{path: "/console/api/v2/content/changes?q=*:*", cookie: cookie, status: 200})
	if err := json.Unmarshal([]byte(listed.body), &first); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/console/api"+first.Links.Next.Href+"&wait=60", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", cookieName+"="+cookie)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("X-Vitrine-Console", s.id(cookie))
	ended := make(chan error, 1)
	go func() {
		res, err := s.server.Client().Transport.RoundTrip(r)
		if err != nil {
			ended <- nil // the server has closed the connection
			return
		}
		err = res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized { // the response to the same request, which the client has sent again
			err = fmt.Errorf("the response is %s", res.Status)
		}
		ended <- err
	}()
	<-called
	s.do(call{method: "DELETE", path: "/console/session", cookie: cookie, status: 204})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestStrangers checks that a caller with a token that others also have, such as a published READ-ONLY token, cannot end the sessions of
// the others with any number of logins, logouts and codes, and cannot use up their codes. Each ended session must stay ended.
func TestStrangers(t *testing.T) {
	s := newWorld(t).serve()
	mine, ended, code := s.logIn(token("reader")), s.logIn(token("reader")), s.codeFor(token("reader"))
	s.do(call{method: "DELETE", path: "/console/session", cookie: ended, status: 204})
	stranger := ""
	for range 1100 {
		stranger = s.do(call{method: "POST", path: "/console/session", cookie: stranger, body: fmt.Sprintf(`{"token":%q}`, token("reader")), status: 201}).cookie()
	}
	for range 100 {
		s.do(call{method: "POST", path: "/console/session", body: fmt.Sprintf(`{"code":%q}`, s.codeFor(token("reader"))), status: 201})
	}
	s.do(call{method: "DELETE", path: "/console/session", cookie: stranger, status: 204})
	s.do(call{path: items, cookie: mine, status: 200})
	s.do(call{path: items, cookie: ended, status: 401})
	s.do(call{path: items, cookie: stranger, status: 401})
	s.do(call{method: "POST", path: "/console/session", body: fmt.Sprintf(`{"code":%q}`, code), status: 201})
}

// TestTokenExpires checks that a session ends when its token expires.
func TestTokenExpires(t *testing.T) {
	s := newWorld(t).serve()
	cookie := s.do(call{
		method: "POST", path: "/console/session", body: `{"token":"` + token("hour") + `"}`, status: 201, contains: `"expires":"2026-11-21T13:00:00Z"`,
	}).cookie()
	s.clock.Advance(time.Hour - time.Second)
	s.do(call{path: items, cookie: cookie, status: 200})
	s.clock.Advance(time.Second)
	for path, status := range map[string]int{items: 401, "/console/session": 204} {
		refused := s.do(call{path: path, cookie: cookie, status: status})
		if !strings.Contains(refused.Header.Get("Set-Cookie"), "Max-Age=0") {
			t.Errorf("%s: the browser keeps the cookie of a token that has expired", path)
		}
	}
}

// TestRevokedToken checks that the revocation of a token ends its sessions on every server, and invalidates its codes.
func TestRevokedToken(t *testing.T) {
	w := newWorld(t)
	a, b := w.serve(), w.serve()
	cookie, code := a.logIn(token("writer")), a.codeFor(token("writer"))
	b.do(call{path: items, cookie: cookie, status: 200})
	if _, err := w.lib.Remove(t.Context(), []library.Owner{owner(library.KindToken, "writer")}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the token is revoked", func() bool {
		_, ok, err := w.api.Access(t.Context(), token("writer"))
		return !ok && err == nil
	})
	a.do(call{path: items, cookie: cookie, status: 401, contains: "login-required"})
	b.do(call{path: items, cookie: cookie, status: 401, contains: "login-required"})
	a.do(call{method: "POST", path: "/console/session", body: `{"code":"` + code + `"}`, status: 401})
}

// TestReplicas checks that every server of the same library accepts a session, and that a server of another library rejects it.
func TestReplicas(t *testing.T) {
	w := newWorld(t)
	cookie := w.serve().logIn(token("writer"))
	w.serve().do(call{path: items, cookie: cookie, status: 200})
	newWorld(t).serve().do(call{path: items, cookie: cookie, status: 401})
}

// TestCodes checks that a code works only once, only for a minute, and only on the server that issued it.
func TestCodes(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	redeem := func(s *site, code string, status int) answer {
		t.Helper()
		return s.do(call{method: "POST", path: "/console/session", body: fmt.Sprintf(`{"code":%q}`, code), status: status})
	}
	code := s.codeFor(token("reader"))
	redeem(w.serve(), code, 401)
	cookie := redeem(s, code, 201).cookie()
	s.do(call{path: "/console/session", cookie: cookie, status: 200, contains: "READ-ONLY"})
	redeem(s, code, 401)

	late := s.codeFor(token("reader"))
	s.clock.Advance(time.Minute)
	redeem(s, late, 401)

	redeem(s, strings.Repeat("A", 100), 401)

	for name, header := range map[string]string{"no token": "", "an unknown token": "Bearer x", "no bearer": "Basic " + token("writer"), "filters": "Bearer " + token("filters")} {
		status := 401
		if name == "filters" {
			status = 403
		}
		s.do(call{method: "POST", path: "/console/codes", header: map[string]string{"Authorization": header}, status: status})
	}
}

// TestLookup checks that the page can look up the property of a code before the login. The lookup must not use up the code.
func TestLookup(t *testing.T) {
	s := newWorld(t).serve()
	lookup := func(body string, status int, contains string) answer {
		t.Helper()
		return s.do(call{method: "POST", path: "/console/codes/lookup", body: body, status: status, contains: contains})
	}
	body := fmt.Sprintf(`{"code":%q}`, s.codeFor(token("reader")))
	for range 2 {
		found := lookup(body, 200, `{"class":"READ-ONLY","property":"shop/default","actions":[],"expires":"2026-11-21T12:01:00Z"}`)
		if found.Header.Get("Set-Cookie") != "" {
			t.Errorf("a lookup begins a session: %v", found.Header)
		}
	}
	s.do(call{method: "POST", path: "/console/session", body: body, status: 201})
	lookup(body, 401, "login-refused")
	lookup(`{}`, 400, "invalid-body")
	lookup(`{"token":"`+token("reader")+`"}`, 400, "invalid-body")
	s.do(call{method: "POST", path: "/console/codes/lookup", body: body, header: map[string]string{"X-Vitrine-Console": ""}, status: 403})
	late := fmt.Sprintf(`{"code":%q}`, s.codeFor(token("reader")))
	s.clock.Advance(time.Minute)
	for range 20 {
		lookup(late, 401, "login-refused")
	}
	lookup(late, 429, "rate-limited")
}

// TestAttempts checks that the number of failed logins is limited. The limit must not end a session or prevent a login with a valid
// token.
func TestAttempts(t *testing.T) {
	s := newWorld(t).serve()
	cookie := s.logIn(token("writer"))
	wrong := func(status int) call {
		return call{method: "POST", path: "/console/session", body: `{"token":"wrong"}`, status: status}
	}
	for i := range 20 {
		c := wrong(401)
		if i%2 == 1 {
			c = call{method: "POST", path: "/console/codes", header: map[string]string{"Authorization": "Bearer wrong"}, status: 401}
		}
		s.do(c)
	}
	if refused := s.do(wrong(429)); refused.Header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After: %q", refused.Header.Get("Retry-After"))
	}
	s.do(call{method: "POST", path: "/console/codes", header: map[string]string{"Authorization": "Bearer wrong"}, status: 429})
	s.do(call{path: items, cookie: cookie, status: 200})
	s.logIn(token("writer"))
	s.do(call{method: "POST", path: "/console/session", body: fmt.Sprintf(`{"code":%q}`, s.codeFor(token("writer"))), status: 201})
	s.do(wrong(429))
	s.clock.Advance(time.Minute)
	s.do(wrong(401))
	s.logIn(token("writer"))
}

// TestConcurrentUsers checks that many users can log in and out at the same time, each with their own session.
func TestConcurrentUsers(t *testing.T) {
	s := newWorld(t).serve()
	var users sync.WaitGroup
	for i := range 16 {
		users.Go(func() {
			name, class := "reader", "READ-ONLY"
			if i%2 == 0 {
				name, class = "writer", "READ-WRITE"
			}
			for range 5 {
				first := s.logIn(token(name))
				cookie := s.do(call{method: "POST", path: "/console/session", cookie: first, body: fmt.Sprintf(`{"token":%q}`, token(name)), status: 201}).cookie()
				s.do(call{path: "/console/session", cookie: cookie, status: 200, contains: class})
				s.do(call{path: items, cookie: cookie, status: 200})
				s.do(call{method: "DELETE", path: "/console/session", cookie: cookie, status: 204})
				s.do(call{path: items, cookie: cookie, status: 401})
				s.do(call{path: items, cookie: first, status: 401})
			}
		})
	}
	users.Wait()
}

// TestUnavailable checks that a server that has not read the tokens yet responds with 503 and does not end any session.
func TestUnavailable(t *testing.T) {
	w := newWorld(t)
	cookie := w.serve().logIn(token("writer"))
	starting, err := httpapi.New(w.lib, httpapi.Options{Clock: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	running := w.api
	w.api = starting
	s := w.serve()
	for _, path := range []string{items, "/console/session"} {
		refused := s.do(call{path: path, cookie: cookie, status: 503})
		if refused.Header.Get("Set-Cookie") != "" || refused.Header.Get("Retry-After") == "" {
			t.Errorf("%s: the headers: %v", path, refused.Header)
		}
	}
	for range 30 {
		s.do(call{method: "POST", path: "/console/session", body: `{"token":"` + token("writer") + `"}`, status: 503})
	}
	w.api = running
	s.do(call{path: "/console/session", cookie: cookie, status: 200})
}

// TestRoot checks that the root leads browsers to the console, and that clients of the API still get the answer of the API.
func TestRoot(t *testing.T) {
	s := newWorld(t).serve()
	browser := "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, method := range []string{"GET", "HEAD"} {
		led := s.do(call{method: method, path: "/", header: map[string]string{"Accept": browser}, status: 302})
		if to, vary := led.Header.Get("Location"), led.Header.Get("Vary"); to != "/console/" || vary != "Accept" {
			t.Errorf("%s: the Location is %q and Vary is %q", method, to, vary)
		}
	}
	for _, accept := range []string{"", "*/*", "application/json", "application/json, text/html;q=0.5"} {
		s.do(call{path: "/", header: map[string]string{"Accept": accept}, status: 404, contains: "not-found"})
	}
	s.do(call{method: "POST", path: "/", header: map[string]string{"Accept": browser}, status: 404})
	s.do(call{path: "/v2/content/items", header: map[string]string{"Accept": browser}, status: 403})
}

// TestPages checks the responses for the HTML page and for the files of the application.
func TestPages(t *testing.T) {
	s := newWorld(t).serve()
	page := s.do(call{path: "/console/", status: 200, contains: "<!doctype html>"})
	checkHeaders(t, page)
	if strings.Contains(page.body, `"assets/`) || page.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("the page: %v\n%s", page.Header, page.body)
	}
	for _, path := range []string{"/console/wall", "/console/filters/a-b", "/console/login"} {
		if got := s.do(call{path: path, status: 200}); got.body != page.body {
			t.Errorf("%s: another page: %s", path, got.body)
		}
	}
	// The page contains files. Its policy allows them, and no other response does.
	elements := regexp.MustCompile(`(?s)<(script|style)>(.*?)</`).FindAllStringSubmatch(page.body, -1)
	if len(elements) != 2 {
		t.Errorf("the page contains %d files, want a script and a style", len(elements))
	}
	for _, e := range elements {
		digest := sha256.Sum256([]byte(e[2]))
		want := fmt.Sprintf("%s-src 'self' 'sha256-%s';", e[1], base64.StdEncoding.EncodeToString(digest[:]))
		if policy := page.Header.Get("Content-Security-Policy"); !strings.Contains(policy, want) || len(e[2]) < 100 {
			t.Errorf("the policy lacks %s: %s\n%s", want, policy, e[2])
		}
	}
	s.do(call{path: "/console/", header: map[string]string{"If-None-Match": page.Header.Get("ETag")}, status: 304})
	if to := s.do(call{path: "/console", status: 308}).Header.Get("Location"); to != "/console/" {
		t.Errorf("/console redirects to %s", to)
	}
	_, rest, _ := strings.Cut(page.body, `src="`)
	script, _, _ := strings.Cut(rest, `"`)
	if !strings.HasPrefix(script, "/console/assets/") {
		t.Fatalf("the script is %q", script)
	}
	file := s.do(call{path: script, header: map[string]string{"Accept-Encoding": "gzip"}, status: 200})
	checkHeaders(t, file)
	if policy := file.Header.Get("Content-Security-Policy"); strings.Contains(policy, "sha256") {
		t.Errorf("the policy of a file: %s", policy)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/javascript; charset=utf-8", "Content-Encoding": "gzip", "Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding",
	} {
		if got := file.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	unzipped, err := gzip.NewReader(strings.NewReader(file.body))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	for _, accepted := range []string{"identity", "gzip;q=0", "br, gzip; q=0.0"} {
		if plain := s.do(call{path: script, header: map[string]string{"Accept-Encoding": accepted}, status: 200}); plain.body != string(content) {
			t.Errorf("with %s: %v", accepted, plain.Header)
		}
	}
	for _, path := range []string{"/console/assets/0000000000000000/main.js", script[:strings.LastIndex(script, "/")+1] + "none.js", "/console/assets/"} {
		if strings.HasSuffix(path, "s/") {
			s.do(call{path: path, status: 200}) // the page
		} else if gone := s.do(call{path: path, status: 404}); gone.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, gone.Header)
		}
	}
}
