package browser

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// subjects are the AccessTokens of the tests: what follows the class in their specs.
var subjects = map[string]string{
	"brand-moderators": "query: 'approval_status:pen', allow: [Moderate], subjects: [{group: brand-moderators}]",
	"brand-editors":    "subjects: [{group: brand-editors}, {user: ed@shop.example}]",
}

// thePeople are the people at the provider.
const thePeople = `{"people": {
	"mo": {"email": "mo@shop.example", "email_verified": true, "groups": ["brand-moderators", "staff"]},
	"ed": {"email": "ed@shop.example", "email_verified": true, "groups": "brand-moderators"},
	"eve": {"email": "ed@shop.example", "email_verified": false},
	"newcomer": {"email": "newcomer@shop.example", "email_verified": true, "groups": ["staff"]},
	"anonymous": {}
}}`

// freeAddress returns a loopback address that no process listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// withProvider starts an identity provider, and a server with a login through this provider. The second result changes the spec of an
// AccessToken. settings are those of provider.mjs, and flags those of the server.
func withProvider(t *testing.T, settings map[string]any, flags ...string) (*server, *provider, func(name, spec string)) {
	t.Helper()
	address := freeAddress(t)
	all := map[string]any{"redirect": []string{"http://" + address + "/console/login"}}
	for name, value := range settings {
		all[name] = value
	}
	p := startProvider(t, all)
	p.set(t, thePeople)
	s, write := withTokens(t, subjects, append(oidcFlags(t, address, p.url), flags...)...)
	return s, p, write
}

// oidcFlags returns the flags of a server on an address with the login through the provider at a URL.
func oidcFlags(t *testing.T, address, issuer string) []string {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(clientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{
		"--http-bind-address", address, "--console-oidc-issuer-url", issuer, "--console-oidc-client-id", "vitrine",
		"--console-oidc-client-secret-file", secret, "--samples",
	}
}

// visitor is a browser without a display: it keeps cookies, follows redirects, and fills in the forms of the provider.
type visitor struct {
	*testing.T
	server *server
	client *http.Client
	id     string // the public ID of the session
}

func (s *server) visitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{T: t, server: s, client: &http.Client{Jar: secureJar{jar}, Transport: http.DefaultTransport}}
}

// secureJar keeps Secure cookies over plain HTTP, as browsers do for loopback addresses.
type secureJar struct{ *cookiejar.Jar }

func (j secureJar) SetCookies(u *url.URL, cookies []*http.Cookie) {
	for _, c := range cookies {
		c.Secure = false
	}
	j.Jar.SetCookies(u, cookies)
}

// send sends a request as the scripts of the console do, and returns the status and the decoded body.
func (v *visitor) send(method, path, body string) (int, map[string]any) {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), method, v.server.url+path, strings.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	req.Header.Set("X-Vitrine-Console", "1")
	if v.id != "" {
		req.Header.Set("X-Vitrine-Console", v.id)
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := v.client.Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.Fatal(err)
	}
	answer := map[string]any{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &answer); err != nil {
			v.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	return res.StatusCode, answer
}

var (
	formAction  = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)
	formPrompt  = regexp.MustCompile(`name="prompt" value="([^"]+)"`)
	htmlEscapes = strings.NewReplacer("&amp;", "&")
)

// authorize begins a login, logs in at the provider, and returns the parameters with which the provider returns to the console.
func (v *visitor) authorize(user string) url.Values {
	v.Helper()
	status, answer := v.send("POST", "/console/oidc", "")
	if status != http.StatusCreated {
		v.Fatalf("POST /console/oidc: %d %v", status, answer)
	}
	var returned url.Values
	client := *v.client
	client.CheckRedirect = func(req *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(req.URL.String(), v.server.url+"/console/login?") {
			returned = req.URL.Query()
			return http.ErrUseLastResponse
		}
		return nil
	}
	res, err := client.Get(answer["url"].(string))
	for range 3 {
		if err != nil {
			v.Fatal(err)
		}
		page, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			v.Fatal(err)
		}
		if returned != nil {
			return returned
		}
		action, prompt := formAction.FindSubmatch(page), formPrompt.FindSubmatch(page)
		if action == nil || prompt == nil {
			v.Fatalf("the provider shows no form: %s\n%s", res.Status, page)
		}
		to, err := res.Request.URL.Parse(htmlEscapes.Replace(string(action[1])))
		if err != nil {
			v.Fatal(err)
		}
		if res, err = client.PostForm(to.String(), url.Values{"prompt": {string(prompt[1])}, "login": {user}, "password": {"x"}}); err != nil {
			v.Fatal(err)
		}
	}
	v.Fatal("the provider does not return to the console")
	return nil
}

// finish sends to the console what the provider has returned.
func (v *visitor) finish(returned url.Values) (int, map[string]any) {
	v.Helper()
	body, err := json.Marshal(map[string]any{"authorization": map[string]string{
		"code": returned.Get("code"), "state": returned.Get("state"), "error": returned.Get("error"),
	}})
	if err != nil {
		v.Fatal(err)
	}
	status, answer := v.send("POST", "/console/session", string(body))
	if id, ok := answer["id"].(string); ok {
		v.id = id
	}
	return status, answer
}

// logIn logs a person in, who must have only one AccessToken.
func (v *visitor) logIn(user string) *visitor {
	v.Helper()
	if status, answer := v.finish(v.authorize(user)); status != http.StatusCreated {
		v.Fatalf("log %s in: %d %v", user, status, answer)
	}
	return v
}

// refused checks that a login fails with a message.
func (v *visitor) refused(returned url.Values, message string) {
	v.Helper()
	status, answer := v.finish(returned)
	if detail, _ := answer["detail"].(string); status != http.StatusUnauthorized || !strings.Contains(detail, message) {
		v.Errorf("the login: status %d, %q; want 401 and %q", status, detail, message)
	}
	if status, _ := v.send("GET", "/console/session", ""); status != http.StatusNoContent {
		v.Errorf("a session after a refused login: status %d", status)
	}
}

// TestPeople logs people in through the provider, without a page.
func TestPeople(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]any{"claims from UserInfo": nil, "claims in the ID token": {"claimsInIDToken": true}} {
		t.Run(name, func(t *testing.T) {
			s, p, write := withProvider(t, settings)
			mo := s.visitor(t).logIn("mo")
			if _, session := mo.send("GET", "/console/session", ""); session["user"] != "mo@shop.example" || fmt.Sprint(session["actions"]) != "[Moderate]" || session["property"] != "shop/default" {
				t.Errorf("the session: %v", session)
			}
			pending := s.total(t, "approval_status:pen")
			if status, list := mo.send("GET", "/console/api/v2/content/items?q=*:*", ""); status != http.StatusOK || list["total_results"] != float64(pending) {
				t.Errorf("the items of the scope: %d %v, want %d", status, list["total_results"], pending)
			}
			if status, _ := mo.send("DELETE", "/console/api/v2/content/500001", ""); status != http.StatusForbidden {
				t.Errorf("an action that the AccessToken does not allow: status %d", status)
			}
			if status, answer := mo.send("GET", "/console/api/v2/content/items?q=*:*&access_token="+s.token, ""); status != http.StatusBadRequest {
				t.Errorf("a token in the request of a person: %d %v", status, answer)
			}

			ed := s.visitor(t)
			status, answer := ed.finish(ed.authorize("ed"))
			if choices, _ := answer["choices"].([]any); status != http.StatusOK || len(choices) != 2 {
				t.Fatalf("the choices: %d %v", status, answer)
			}
			as := answer["choices"].([]any)[0].(map[string]any)["as"].(string)
			status, answer = ed.send("POST", "/console/session", fmt.Sprintf(`{"as": %q}`, as))
			if status != http.StatusCreated || len(answer["actions"].([]any)) < 2 {
				t.Errorf("choose: %d %v", status, answer)
			}
			ed.id = answer["id"].(string)
			again := s.visitor(t)
			again.client.Jar = ed.client.Jar
			if status, _ := again.send("POST", "/console/session", fmt.Sprintf(`{"as": %q}`, as)); status != http.StatusUnauthorized {
				t.Errorf("choose again: status %d", status)
			}

			s.visitor(t).refused(s.visitorReturns(t, "newcomer"), "did not begin this login") // the cookie is that of another browser
			for user, message := range map[string]string{
				"newcomer":  "you are newcomer@shop.example, in the groups staff. No valid AccessToken names you",
				"eve":       "has not verified the email address ed@shop.example",
				"anonymous": "does not return the claim email",
			} {
				v := s.visitor(t)
				v.refused(v.authorize(user), message)
			}

			// The sessions end with the subject, and with the AccessToken.
			write("brand-moderators", "allow: [Moderate], subjects: [{group: others}]")
			write("brand-editors", "expiresAfter: 1m, subjects: [{user: ed@shop.example}]")
			waitFor(t, "the session of mo ends", func() bool {
				status, _ := mo.send("GET", "/console/api/v2/content/items?q=*:*", "")
				return status == http.StatusUnauthorized
			})
			if status, _ := ed.send("GET", "/console/api/v2/content/items?q=*:*", ""); status != http.StatusOK {
				t.Errorf("the session of ed after a change of other fields: status %d", status)
			}
			mo = s.visitor(t)
			mo.refused(mo.authorize("mo"), "you are mo@shop.example, in the groups brand-moderators, staff")
			p.set(t, strings.ReplaceAll(thePeople, "brand-moderators", "others"))
			s.visitor(t).logIn("mo")
		})
	}
}

func (s *server) visitorReturns(t *testing.T, user string) url.Values {
	t.Helper()
	return s.visitor(t).authorize(user)
}

// TestForgedLogins checks that the server refuses a login whose response is forged, or is not valid.
func TestForgedLogins(t *testing.T) {
	t.Parallel()
	s, p, _ := withProvider(t, map[string]any{"claimsInIDToken": true})
	valid := func() { p.set(t, `{"skew": 0, "forged": {}, "stranger": false}`) }
	for name, c := range map[string]struct{ provider, message string }{
		"another audience": {`{"forged": {"aud": "another"}}`, `expected audience "vitrine" got ["another"]`},
		"another party":    {`{"forged": {"aud": ["vitrine", "another"], "azp": "another"}}`, "to another client"},
		"another issuer":   {`{"forged": {"iss": "https://another.example"}}`, "issued by a different provider"},
		"another login":    {`{"forged": {"nonce": "another"}}`, "belongs to another login"},
		"another key":      {`{"stranger": true}`, "failed to verify signature"},
		// The provider's ID tokens are valid for an hour.
		"expired":       {`{"skew": -3700}`, "the ID token expired at"},
		"a slow clock":  {`{"skew": -3630}`, ""},
		"not valid yet": {fmt.Sprintf(`{"forged": {"nbf": %d}}`, time.Now().Add(6*time.Minute).Unix()), "before the nbf"},
		"a fast clock":  {fmt.Sprintf(`{"forged": {"nbf": %d, "iat": %[1]d}}`, time.Now().Add(3*time.Minute).Unix()), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p.set(t, c.provider)
			defer valid()
			v := s.visitor(t)
			if c.message == "" {
				v.logIn("mo")
				return
			}
			v.refused(v.authorize("mo"), c.message)
		})
	}
	valid()
	t.Run("the same state again", func(t *testing.T) {
		v := s.visitor(t)
		returned := v.authorize("mo")
		before := v.client.Jar.Cookies(mustParse(s.url + "/console/session"))
		if status, answer := v.finish(returned); status != http.StatusCreated {
			t.Fatalf("%d %v", status, answer)
		}
		thief := s.visitor(t)
		thief.client.Jar.SetCookies(mustParse(s.url+"/console/session"), before)
		thief.refused(returned, "did not begin this login")
	})
	t.Run("the same code again", func(t *testing.T) {
		v := s.visitor(t)
		used := v.authorize("mo")
		if status, answer := v.finish(used); status != http.StatusCreated {
			t.Fatalf("%d %v", status, answer)
		}
		v.send("DELETE", "/console/session", "")
		v.id = ""
		v.refused(url.Values{"state": v.authorize("mo")["state"], "code": used["code"]}, "already used, or has expired")
	})
	t.Run("a code of another person", func(t *testing.T) {
		attacker := s.visitor(t).authorize("mo")
		v := s.visitor(t)
		v.authorize("ed")
		v.refused(attacker, "did not begin this login")
		mine := v.authorize("ed")
		v.refused(url.Values{"state": mine["state"], "code": attacker["code"]}, "already used, or has expired")
	})
	t.Run("an error of the provider", func(t *testing.T) {
		v := s.visitor(t)
		returned := v.authorize("mo")
		v.refused(url.Values{"state": returned["state"], "error": {"access_denied<b>"}}, "refused the login (access_denied)")
	})
}

func mustParse(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

// TestProviderDown checks that the server starts and accepts tokens while the provider does not respond, and that people can log in as soon
// as it does.
func TestProviderDown(t *testing.T) {
	t.Parallel()
	gate(t)
	address, at := freeAddress(t), freeAddress(t)
	s, _ := withTokens(t, subjects, oidcFlags(t, address, "http://"+at)...)
	v := s.visitor(t)
	down := func() (int, string) {
		status, answer := v.send("POST", "/console/oidc", "")
		detail, _ := answer["detail"].(string)
		return status, detail
	}
	if status, detail := down(); status != http.StatusServiceUnavailable || !strings.Contains(detail, "the identity provider "+at+" does not respond") {
		t.Errorf("a login without the provider: %d %q", status, detail)
	}
	if status, answer := v.send("POST", "/console/session", fmt.Sprintf(`{"token": %q}`, s.token)); status != http.StatusCreated {
		t.Errorf("a login with a token: %d %v", status, answer)
	}
	_, port, _ := net.SplitHostPort(at)
	p := startProvider(t, map[string]any{"port": json.Number(port), "redirect": []string{"http://" + address + "/console/login"}})
	p.set(t, thePeople)
	waitFor(t, "the server reaches the provider", func() bool { status, _ := down(); return status == http.StatusCreated })
	s.visitor(t).logIn("mo")
}

// TestProviderCertificate checks that the server trusts a provider only if it knows its certificate authority.
func TestProviderCertificate(t *testing.T) {
	t.Parallel()
	gate(t)
	authority := httptest.NewUnstartedServer(nil)
	authority.StartTLS()
	defer authority.Close()
	dir, leaf := t.TempDir(), authority.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: leaf.Certificate[0]}, "tls.key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusting, strict := freeAddress(t), freeAddress(t)
	p := startProvider(t, map[string]any{
		"certificate": filepath.Join(dir, "tls.crt"), "key": filepath.Join(dir, "tls.key"), "redirect": []string{"http://" + trusting + "/console/login"},
	})
	p.client = authority.Client()
	p.set(t, thePeople)
	s, _ := withTokens(t, subjects, append(oidcFlags(t, trusting, p.url), "--console-oidc-ca-file", filepath.Join(dir, "tls.crt"))...)
	v := s.visitor(t)
	v.client.Transport = authority.Client().Transport
	v.logIn("mo")
	s, _ = withTokens(t, subjects, oidcFlags(t, strict, p.url)...)
	if status, answer := s.visitor(t).send("POST", "/console/oidc", ""); status != http.StatusServiceUnavailable {
		t.Errorf("a provider whose certificate the server cannot verify: %d %v", status, answer)
	}
}

// atProvider fills in the forms of the provider.
func (tab *tab) atProvider(user string) {
	tab.t.Helper()
	tab.click("input[name=login]")
	tab.keys(user)
	tab.click("input[name=password]")
	tab.keys("x" + kb.Enter)
	tab.wait(`document.querySelector('input[value=consent]')`)
	tab.click("button[type=submit]")
}

// TestPeoplePages logs people in through the pages of the console and of the provider.
func TestPeoplePages(t *testing.T) {
	t.Parallel()
	browserPath(t)
	axe := axeScript(t)
	s, p, write := withProvider(t, nil)
	open := func(t *testing.T, b *chromium) *tab {
		tab := b.tab(t, 1280, 800, "light")
		tab.allowed = append(tab.allowed, p.url, "https://fonts.googleapis.com/", "/console/session", "/console/api/")
		return tab
	}
	t.Run("one AccessToken", func(t *testing.T) {
		tab := open(t, startBrowser(t, s))
		tab.open("moderation?q=beach")
		tab.waitText(".people", "Log in with "+strings.TrimPrefix(p.url, "http://"))
		tab.click(".people .button")
		tab.atProvider("mo")
		tab.waitText(".property", "mo@shop.example")
		tab.wait(`location.href === ` + fmt.Sprintf("%q", s.url+"/console/moderation?q=beach"))
		tab.wait(`document.querySelector('h1')`) // the page loads after the frame
		tab.check(axe)
		if cookies := eval[string](tab, `document.cookie`); cookies != "" {
			t.Errorf("scripts can read the cookie %s", cookies)
		}
		tab.click(tab.button("Log out"))
		tab.wait(`document.querySelector('#token')`)
		// The provider still knows the person.
		tab.click(".people .button")
		tab.waitText(".property", "mo@shop.example")
		tab.wait(`document.querySelector('.tile')`)
		write("brand-moderators", "subjects: [{group: others}]")
		defer write("brand-moderators", subjects["brand-moderators"])
		waitFor(t, "the session ends", func() bool {
			return eval[int](tab, `fetch('/console/session').then((r) => r.status)`) == http.StatusNoContent
		})
		tab.open("wall")
		tab.click(".people .button")
		tab.waitText("#login-message", "You are mo@shop.example, in the groups brand-moderators, staff. No valid AccessToken names you")
		tab.check(axe)
	})
	t.Run("several AccessTokens", func(t *testing.T) {
		tab := open(t, startBrowser(t, s))
		tab.open("wall")
		tab.waitText(".login .people", "Log in with")
		tab.check(axe)
		tab.click(".people .button")
		tab.atProvider("ed")
		tab.waitText(".login", "You are ed@shop.example. Several AccessTokens name you:")
		tab.check(axe)
		tab.wait(`document.activeElement?.innerText.includes('shop/brand-editors')`)
		tab.keys(kb.Tab + kb.Enter)
		tab.waitText(".property", "ed@shop.example")
		tab.wait(`document.querySelector('.tile')`)
		if actions := eval[string](tab, `fetch('/console/session').then((r) => r.json()).then((s) => s.actions.join())`); actions != "Moderate" {
			t.Errorf("the actions of the second AccessToken are %s, want Moderate", actions)
		}
	})
	t.Run("a link of another person", func(t *testing.T) {
		returned := s.visitorReturns(t, "mo")
		tab := open(t, startBrowser(t, s))
		tab.open("login?" + returned.Encode())
		tab.waitText("#login-message", "This browser did not begin this login")
		if at := eval[string](tab, `location.href`); at != s.url+"/console/" {
			t.Errorf("the URL is %s", at)
		}
	})
	t.Run("another address", func(t *testing.T) {
		tab := open(t, startBrowser(t, s))
		tab.allowed = append(tab.allowed, "localhost")
		tab.do(chromedp.Navigate(strings.Replace(s.url, "127.0.0.1", "localhost", 1) + "/console/"))
		tab.click(".people .button")
		tab.wait(`location.origin === ` + fmt.Sprintf("%q", s.url))
		tab.click(".people .button")
		tab.atProvider("mo")
		tab.waitText(".property", "mo@shop.example")
	})
}
