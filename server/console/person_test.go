package console

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// settings returns valid settings for a provider that does not respond.
func settings(secret string) *OIDC {
	return &OIDC{
		Issuer: "http://127.0.0.1:1", ClientID: "vitrine", ClientSecret: secret, RedirectURL: "https://content.shop.example/console/login",
		UsernameClaim: "email", GroupsClaim: "groups", SessionFor: time.Hour,
		People: func(_ context.Context, user string, _ []string) ([]Person, error) {
			return []Person{{User: user, Token: AccessToken{Namespace: "shop", Name: "a"}}, {User: user, Token: AccessToken{Namespace: "shop", Name: "b"}}}, nil
		},
		Access: func(context.Context, Person) (Access, bool, error) {
			return Access{Property: "shop/default"}, true, nil
		},
		As: func(ctx context.Context, _ Person) context.Context { return ctx },
	}
}

// personSession returns the content of a cookie of a person at the beginning of a test.
func personSession(now time.Time) session {
	return session{
		ID: "a", serial: serial{Server: "b"}, Begun: now.Unix(), Seen: now.Unix(), Lasts: 3600,
		Person: &Person{User: "jo@shop.example", Token: AccessToken{Namespace: "shop", Name: "a"}},
	}
}

// replica returns a console, like that of one replica.
func replica(t *testing.T, key, secret string, now *time.Time) *console {
	t.Helper()
	o := Options{Key: []byte(key), Clock: func() time.Time { return *now }}
	if secret != "" {
		o.OIDC = settings(secret)
	}
	handler, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return handler.(*console)
}

const (
	libraryKey = "the key of the library"
	secret     = "the secret of the client"
)

// TestForgedPerson checks that a cookie of a person is valid only on servers with the same key and the same client secret. In particular,
// the key of the library, which a backup contains, is not enough to seal such a cookie.
func TestForgedPerson(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := replica(t, libraryKey, secret, &now)
	value, err := c.sealSession(personSession(now))
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]struct {
		c    *console
		want bool
	}{
		"the same":           {replica(t, libraryKey, secret, &now), true},
		"another secret":     {replica(t, libraryKey, "another secret of the client", &now), false},
		"another key":        {replica(t, "the key of another library", secret, &now), false},
		"without a provider": {replica(t, libraryKey, "", &now), false},
	} {
		if s, ok := other.c.openSession(value); ok != other.want || ok && *s.Person != *personSession(now).Person {
			t.Errorf("%s: %t, want %t", name, ok, other.want)
		}
	}
	text, err := json.Marshal(personSession(now))
	if err != nil {
		t.Fatal(err)
	}
	for name, by := range map[string]*sealer{"the key of the library": c.sealer, "the key of logins": c.people.logins} {
		if _, ok := c.openSession(base64.RawURLEncoding.EncodeToString(by.seal(text))); ok {
			t.Errorf("a session of a person, sealed with %s, is valid", name)
		}
	}
	withToken := []byte(`{"id":"a","token":"t","begun":1,"seen":1,"server":"b"}`)
	if _, ok := c.openSession(base64.RawURLEncoding.EncodeToString(c.people.sessions.seal(withToken))); ok {
		t.Error("a session with a token, sealed with the key of the sessions of people, is valid")
	}
}

// TestPersonSessionEnds checks how long the session of a person lasts.
func TestPersonSessionEnds(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := replica(t, libraryKey, secret, &now)
	s := personSession(now)
	s.Lasts = 3 * 3600
	for _, step := range []struct {
		after, seen time.Duration
		over        bool
	}{
		{time.Hour, 0, false}, {2 * time.Hour, 0, true}, {2 * time.Hour, time.Hour, false}, {3*time.Hour - time.Second, 2 * time.Hour, false}, {3 * time.Hour, 2 * time.Hour, true},
	} {
		s.Seen = now.Add(step.seen).Unix()
		if over := s.over(now.Add(step.after)); over != step.over {
			t.Errorf("after %s, last seen after %s: over is %t", step.after, step.seen, over)
		}
	}
	if got := s.describe(Access{}); !got.Expires.Equal(now.Add(3*time.Hour)) || got.User != "jo@shop.example" {
		t.Errorf("the description: %+v", got)
	}
	c.people.SessionFor = 10 * time.Minute
	w := httptest.NewRecorder()
	if err := c.beginPerson(w, httptest.NewRequest(http.MethodPost, sessionPath, nil), choice{person: *s.Person}); err != nil {
		t.Fatal(err)
	}
	begun, ok := c.openSession(w.Result().Cookies()[0].Value)
	if !ok || !begun.ends().Equal(now.Add(10*time.Minute)) {
		t.Errorf("the session ends at %s", begun.ends())
	}
}

// TestLoginCookie checks which cookies of a login that is in progress the console accepts.
func TestLoginCookie(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	begin := func(c *console, l login) string {
		t.Helper()
		w := httptest.NewRecorder()
		if err := c.setLogin(w, l); err != nil {
			t.Fatal(err)
		}
		cookie := w.Result().Cookies()[0]
		if cookie.Name != loginCookie || !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != sessionPath {
			t.Errorf("the cookie %s", cookie)
		}
		return cookie.Value
	}
	send := func(c *console, body string, cookies ...string) (int, string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, sessionPath, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(header, "1")
		for _, value := range cookies {
			r.AddCookie(&http.Cookie{Name: loginCookie, Value: value})
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	const (
		chosen   = `{"as": "/shop/b"}`
		returned = `{"authorization": {"code": "c", "state": "s"}}`
		foreign  = "did not begin this login"
	)
	c := replica(t, libraryKey, secret, &now)
	known, started := login{User: "jo@shop.example"}, login{State: "s"}
	text, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	used := begin(c, known)
	if status, body := send(c, chosen, used); status != http.StatusCreated || !strings.Contains(body, "jo@shop.example") {
		t.Errorf("choose: %d %s", status, body)
	}
	old := begin(c, known)
	now = now.Add(loginFor)
	for name, try := range map[string]struct {
		body    string
		cookies []string
		status  int
		want    string
	}{
		"on another replica":           {chosen, []string{begin(replica(t, libraryKey, secret, &now), known)}, 201, "jo@shop.example"},
		"no cookie":                    {chosen, nil, 401, foreign},
		"two cookies":                  {chosen, []string{begin(c, known), begin(c, known)}, 401, foreign},
		"used":                         {chosen, []string{used}, 401, foreign},
		"too old":                      {chosen, []string{old}, 401, foreign},
		"another secret":               {chosen, []string{begin(replica(t, libraryKey, "another secret of the client", &now), known)}, 401, foreign},
		"the key of the library":       {chosen, []string{base64.RawURLEncoding.EncodeToString(c.sealer.seal(text))}, 401, foreign},
		"not sealed":                   {chosen, []string{"AAAA"}, 401, foreign},
		"the provider names no person": {chosen, []string{begin(c, started)}, 401, foreign},
		"another AccessToken":          {`{"as": "/shop/c"}`, []string{begin(c, known)}, 401, "no longer names you"},
		"identified already":           {`{"authorization": {"code": "c"}}`, []string{begin(c, known)}, 401, foreign},
		"another state":                {`{"authorization": {"code": "c", "state": "S"}}`, []string{begin(c, started)}, 401, foreign},
		"no code":                      {`{"authorization": {"state": "s", "error": "access_denied"}}`, []string{begin(c, started)}, 401, "refused the login (access_denied)"},
		"the provider is down":         {returned, []string{begin(c, started)}, 503, "the identity provider 127.0.0.1:1 does not respond"},
		"two kinds of credentials":     {`{"as": "a", "token": "t"}`, nil, 400, "must contain either"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, body := send(c, try.body, try.cookies...); status != try.status || !strings.Contains(body, try.want) {
				t.Errorf("%d %s; want %d and %q", status, body, try.status, try.want)
			}
		})
	}
	big := login{User: "jo@shop.example"}
	for len(big.Groups) < 20 {
		big.Groups = append(big.Groups, strings.Repeat("g", maxName))
	}
	if err := c.setLogin(httptest.NewRecorder(), big); err == nil || !strings.Contains(err.Error(), "too many of your groups") {
		t.Errorf("a cookie that browsers do not accept: %v", err)
	}
}

// TestWithoutProvider checks the endpoints of a console that has no identity provider.
func TestWithoutProvider(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := replica(t, libraryKey, "", &now)
	for _, try := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/console/oidc", "", 204}, {"POST", "/console/oidc", "", 404},
		{"POST", sessionPath, `{"as": "a"}`, 404}, {"POST", sessionPath, `{"authorization": {}}`, 404},
	} {
		r := httptest.NewRequest(try.method, try.path, strings.NewReader(try.body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(header, "1")
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if w.Code != try.status {
			t.Errorf("%s %s %s: %d, want %d", try.method, try.path, try.body, w.Code, try.status)
		}
	}
}

// TestProviderSettings checks which settings the console accepts.
func TestProviderSettings(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*OIDC)
		want   string
	}{
		"valid":                      {func(*OIDC) {}, ""},
		"a provider on https":        {func(o *OIDC) { o.Issuer = "https://login.shop.example/realms/shop" }, ""},
		"a provider on http":         {func(o *OIDC) { o.Issuer = "http://login.shop.example" }, "must be an https URL"},
		"no provider":                {func(o *OIDC) { o.Issuer = "" }, "must be an https URL"},
		"no client":                  {func(o *OIDC) { o.ClientID = "" }, "client ID"},
		"a short secret":             {func(o *OIDC) { o.ClientSecret = "short" }, "at least 16"},
		"a redirect to another page": {func(o *OIDC) { o.RedirectURL = "https://content.shop.example/" }, "with the path /console/login"},
		"a relative redirect":        {func(o *OIDC) { o.RedirectURL = "/console/login" }, "absolute URL"},
		"a redirect without a host":  {func(o *OIDC) { o.RedirectURL = "http://:8080/console/login" }, "absolute URL"},
		"no claim":                   {func(o *OIDC) { o.GroupsClaim = "" }, "claims"},
		"too long":                   {func(o *OIDC) { o.SessionFor = 13 * time.Hour }, "between 1m and 12h"},
		"too short":                  {func(o *OIDC) { o.SessionFor = time.Second }, "between 1m and 12h"},
	} {
		o := settings(secret)
		c.change(o)
		switch err := o.Check(); {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestLoginHost checks that a server behind a proxy on the same machine accepts the host of the login page.
func TestLoginHost(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, other := range map[string]struct {
		secret, host string
		want         bool
	}{
		"the login page":     {secret, "Content.shop.example", true},
		"another host":       {secret, "blog.shop.example", false},
		"this machine":       {secret, "localhost:8080", true},
		"without a provider": {"", "content.shop.example", false},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://"+other.host+LoginPath, nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
		w := httptest.NewRecorder()
		replica(t, libraryKey, other.secret, &now).ServeHTTP(w, r)
		if got := w.Code == http.StatusOK; got != other.want {
			t.Errorf("%s: status %d", name, w.Code)
		}
	}
}

// TestSlowProvider checks that the logins that wait for a provider without a response do not contact it one after the other.
func TestSlowProvider(t *testing.T) {
	now, attempts := time.Unix(1_800_000_000, 0), 0
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		attempts++
		now = now.Add(providerTimeout)
		w.WriteHeader(http.StatusGatewayTimeout)
	}))
	defer slow.Close()
	o := settings(secret)
	o.Issuer = slow.URL
	p := newProvider(o, func() time.Time { return now })
	for range 3 {
		if _, err := p.begin("state", "nonce", "verifier"); err == nil {
			t.Fatal("a login begins without the configuration of the provider")
		}
	}
	if attempts != 1 {
		t.Errorf("%d requests, want 1", attempts)
	}
	now = now.Add(retryProvider)
	_, _ = p.begin("state", "nonce", "verifier") // the same error
	if attempts != 2 {
		t.Errorf("%d requests after the pause, want 2", attempts)
	}
}

// TestClaims checks which name and groups the console reads from claims.
func TestClaims(t *testing.T) {
	for text, want := range map[string]string{
		`{"email":"jo@shop.example"}`:                                                            "jo@shop.example []",
		`{"email":"jo@shop.example","email_verified":true,"groups":["a"]}`:                       "jo@shop.example [a]",
		`{"email":"jo@shop.example","email_verified":"true","groups":"a b"}`:                     "jo@shop.example [a b]",
		`{"email":"jo@shop.example","email_verified":false}`:                                     "has not verified",
		`{"email":"jo@shop.example","email_verified":"false"}`:                                   "has not verified",
		`{"email":"jo@shop.example","groups":{"a":1}}`:                                           "jo@shop.example []",
		`{"email":"jo@shop.example","groups":["a",1]}`:                                           "jo@shop.example []",
		`{"email":"jo@shop.example","groups":["` + strings.Repeat("g", maxName+1) + `","a",""]}`: "jo@shop.example [a]",
		`{"email":["jo@shop.example"]}`:                                                          "does not return the claim email",
		`{"email":""}`:                                                                           "does not return the claim email",
		`{"email":"jo\u0000"}`:                                                                   "control characters",
		`{"email":"` + strings.Repeat("j", maxName+1) + `"}`:                                     "longer than 253",
	} {
		c := claims{}
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		got := ""
		if user, groups, err := newProvider(settings(secret), time.Now).identify(c); err != nil {
			got = err.Error()
		} else {
			got = user + " [" + strings.Join(groups, " ") + "]"
		}
		if !strings.Contains(got, want) {
			t.Errorf("%.80s: %s, want %s", text, got, want)
		}
	}
}
