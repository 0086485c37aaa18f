package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/cli/manifest"
)

// The private data of TestListeners. No word is part of another word or of a program.
const (
	plantedReadWrite = "zq-rw-token-zq-rw-token-zq-rw-token-zq"
	plantedReadOnly  = "zq-ro-token-zq-ro-token-zq-ro-token-zq"
	plantedOriginal  = "https://zqoriginal.example/post"
	plantedRejected  = "https://zqrejected.example/post"
)

const plantedManifests = `
apiVersion: vitrine.dev/v1alpha1
kind: Property
metadata: {name: zqproperty, namespace: zqnamespace}
spec: {displayName: zqdisplay, allowedOrigins: ['https://zqwebpage.example']}
---
apiVersion: vitrine.dev/v1alpha1
kind: AccessToken
metadata: {name: zqreadwrite, namespace: zqnamespace}
spec: {class: ReadWrite, propertyRef: {name: zqproperty}, existingSecret: {name: tokens, key: rw}}
---
apiVersion: vitrine.dev/v1alpha1
kind: AccessToken
metadata: {name: zqreadonly, namespace: zqnamespace}
spec: {class: ReadOnly, propertyRef: {name: zqproperty}, existingSecret: {name: tokens, key: ro}}
---
apiVersion: vitrine.dev/v1alpha1
kind: ContentFilter
metadata: {name: zqfilter, namespace: zqnamespace}
spec: {propertyRef: {name: zqproperty}, query: 'text:zqquery OR submission.email:zqmail'}
---
apiVersion: vitrine.dev/v1alpha1
kind: Tag
metadata: {name: zqtag, namespace: zqnamespace}
spec: {propertyRef: {name: zqproperty}, namespace: vibe, key: zqkey, selector: {query: zqtext}}
---
apiVersion: vitrine.dev/v1alpha1
kind: ActivateUnit
metadata: {name: zqunit, namespace: zqnamespace}
spec: {propertyRef: {name: zqproperty}, name: zqunitname, items: [101], imageURL: 'https://zqimage.example/a', clickThroughURL: 'https://zqclick.example/a'}
`

const plantedItems = `{"id":101,"approval_status":"app","created_on":"2026-11-15T20:38:13Z","content":{"content_type":"text","text":"zqtext","social_platform":"direct",` +
	`"platform_data":{"social_platform_original_url":"` + plantedOriginal + `"},"created_on":"2026-11-15T20:38:13Z"},"submission":{"username":"zqperson","email":"zqmail@zqhost.example"}}
{"id":102,"approval_status":"rej","created_on":"2026-11-15T20:38:13Z","content":{"content_type":"text","text":"zqhidden","social_platform":"direct",` +
	`"platform_data":{"social_platform_original_url":"` + plantedRejected + `"},"created_on":"2026-11-15T20:38:13Z"}}
`

// secrets are the words that no answer without credentials may contain.
var secrets = []string{
	plantedReadWrite, plantedReadOnly, plantedOriginal, plantedRejected, "zqnamespace", "zqproperty", "zqdisplay", "zqwebpage", "zqreadwrite",
	"zqreadonly", "zqfilter", "zqquery", "zqtag", "zqkey", "zqunit", "zqimage", "zqclick", "zqtext", "zqhidden", "zqperson", "zqmail", "zqhost", "zqsecret",
}

// revealed are the secrets that answers may contain, by listener and route. The table in docs/security.md says so.
var revealed = map[string][]string{
	"https GET /i/{code}":  {plantedOriginal},
	"http GET /i/{code}":   {plantedOriginal},
	"metrics GET /metrics": {"zqnamespace", "zqproperty", "zqfilter"},
}

// TestListeners calls every listener of a server with everything enabled, on every path that the code or the OpenAPI document contains,
// with every method and without credentials. It checks that exactly the routes in the table of docs/security.md answer, and that no answer
// contains private data.
func TestListeners(t *testing.T) {
	k, config := newCluster(t)
	if err := k.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "zqnamespace"}}); err != nil {
		t.Fatal(err)
	}
	if err := k.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "zqnamespace", Name: "tokens"}, StringData: map[string]string{"rw": plantedReadWrite, "ro": plantedReadOnly},
	}); err != nil {
		t.Fatal(err)
	}
	apply(t, k, []string{manifest.Stdin}, plantedManifests+strings.Replace(filterManifest("zqfiltersuspended", "query: zqquery, suspend: true, propertyRef: {name: zqproperty}"), "namespace: shop", "namespace: zqnamespace", 1))
	webhook := freeAddress(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("zqsecret of the client"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startIn(t, config, "--console-oidc-issuer-url", "http://127.0.0.1:1", "--console-oidc-client-id", "vitrine", "--console-oidc-client-secret-file", secret,
		"--console-oidc-redirect-url", "https://content.shop.example/console/login", "--http-bind-address", "127.0.0.1:0", "--console", "--debug-bind-address", "127.0.0.1:0",
		"--webhook-bind-address", webhook, "--webhook-url", "https://"+webhook)
	c := &caller{t: t, routes: routesInCode(t), listener: "https", base: "https://" + s.addresses["https"]}
	c.plant()

	table := answersOnPage(t)
	t.Run("sockets", func(t *testing.T) {
		var want []string
		for _, address := range s.addresses {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, port)
		}
		slices.Sort(want)
		if got := listeningPorts(t, s.cmd.Process.Pid); !slices.Equal(got, want) {
			t.Errorf("the process listens on the ports %v; its log says %v", got, s.addresses)
		}
		for name := range table {
			if _, logged := s.addresses[name]; !logged && name != "admin" {
				t.Errorf("docs/security.md names the listener %s, which the server does not have", name)
			}
		}
		if info, err := os.Stat(admin.SocketPath(s.dir)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the admin socket: %v, %v", info, err)
		}
	})
	for name, address := range s.addresses {
		t.Run(name, func(t *testing.T) {
			scheme := "http"
			if name == "https" || name == "webhook" {
				scheme = "https"
			}
			c := c.at(t, name, scheme+"://"+address)
			c.compare(table[name], c.answers())
		})
	}
	t.Run("the proxy of vitrine console", func(t *testing.T) {
		server, err := url.Parse("https://" + s.addresses["https"])
		if err != nil {
			t.Fatal(err)
		}
		proxy := httptest.NewUnstartedServer(nil)
		target := &consoleTarget{server: server, token: plantedReadWrite, transport: insecure()}
		proxy.Config.Handler = target.proxy(proxy.Listener.Addr().String())
		proxy.Start()
		defer proxy.Close()
		c := c.at(t, "https", proxy.URL)
		want := slices.DeleteFunc(slices.Clone(table["https"]), func(route string) bool { return route == "GET /openapi.json" })
		c.compare(want, c.answers())
	})
	t.Run("a review does not depend on items", func(t *testing.T) {
		c := c.at(t, "webhook", "https://"+s.addresses["webhook"])
		same := ""
		for _, query := range []string{"text:zqtext", "text:zqnobody", "submission.email:/zqmail.*/", "submission.email:/zqnobody.*/", "tags.vibe.key:zqkey", "id:101", "id:7"} {
			_, _, header, body := c.call(http.MethodPost, "/validate", reviewOf(query))
			header.Del("Date")
			got := fmt.Sprint(header, body)
			if same == "" {
				same = got
			}
			if got != same || !strings.Contains(got, `"allowed":true`) {
				t.Errorf("%s: %s; another query: %s", query, got, same)
			}
		}
	})
}

// TestListenersOfDev does the same as TestListeners for vitrine dev.
func TestListenersOfDev(t *testing.T) {
	_, out, _ := startDev(t, t.TempDir(), "", "--samples")
	curl := out.await(`curl -H 'Authorization: Bearer (\S+)' '(http://[^/]+)(/\S+)'`)
	c := &caller{t: t, routes: routesInCode(t), listener: "http", base: curl[2]}
	_, _, _, items := c.callAs(curl[1], http.MethodGet, curl[3], "")
	_, _, _, filters := c.callAs(curl[1], http.MethodGet, "/v2/content/filters", "")
	c.place(filters + items)
	picture := regexp.MustCompile(samplePath + `[^"]+`).FindString(items)
	if picture == "" {
		t.Fatalf("no item has a picture: %.2000s", items)
	}
	c.routes = append(c.routes, picture)
	c.compare(append(answersOnPage(t)["http"], "GET "+picture), c.answers())
}

// reviewOf returns a review of a ContentFilter in the property.
func reviewOf(query string) string {
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",
"kind":{"group":"vitrine.dev","version":"v1alpha1","kind":"ContentFilter"},"namespace":"zqnamespace","name":"z","operation":"CREATE",
"object":{"apiVersion":"vitrine.dev/v1alpha1","kind":"ContentFilter","metadata":{"name":"z","namespace":"zqnamespace"},
"spec":{"propertyRef":{"name":"zqproperty"},"query":%q}}}}`, query)
}

// caller sends requests to one listener.
type caller struct {
	t              *testing.T
	listener, base string
	// routes are the paths to call: patterns of http.ServeMux without a method.
	routes []string
	// values are the values of the placeholders in routes.
	values *strings.Replacer
	client *http.Client
}

func insecure() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the test compares answers
}

func (c *caller) at(t *testing.T, listener, base string) *caller {
	return &caller{t: t, listener: listener, base: base, routes: c.routes, values: c.values}
}

// call sends a request without credentials.
func (c *caller) call(method, path, body string) (sent *http.Request, status int, header http.Header, text string) {
	c.t.Helper()
	return c.callAs("", method, path, body)
}

func (c *caller) callAs(token, method, path, body string) (sent *http.Request, status int, header http.Header, text string) {
	c.t.Helper()
	if c.client == nil {
		c.client = &http.Client{Transport: insecure(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		c.t.Cleanup(c.client.CloseIdleConnections)
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Vitrine-Console", "x") // without it, the console refuses the request before it looks at its session
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.client.Do(r)
	if err != nil {
		c.t.Fatalf("%s %s %s: %v", c.listener, method, path, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatalf("%s %s %s: %v", c.listener, method, path, err)
	}
	return r, response.StatusCode, response.Header, string(content)
}

// plant stores items, checks that callers with a token can see the private data, and sets the values of the placeholders.
func (c *caller) plant() {
	c.t.Helper()
	eventually(c.t, "the token", func() bool {
		_, status, _, _ := c.callAs(plantedReadWrite, http.MethodGet, "/v2/content/status", "")
		return status == http.StatusOK
	})
	if _, status, _, text := c.callAs(plantedReadWrite, http.MethodPost, "/v2/content/bulk", plantedItems); status != http.StatusOK {
		c.t.Fatalf("import: %d %s", status, text)
	}
	// A caller with a token sees what the answers without credentials must not contain. Otherwise, this test would prove nothing.
	var text, missing string
	c.t.Cleanup(func() {
		if missing != "" {
			c.t.Logf("a caller with a token does not see %s: %s", missing, text)
		}
	})
	unseen := func() string {
		text = ""
		for _, path := range []string{
			"/v2/content/definitions?kind=tag", "/v2/content/definitions?kind=unit", "/v2/content/101", "/v2/content/102", "/v2/content/filters", "/v2/content/status",
		} {
			_, _, _, part := c.callAs(plantedReadWrite, http.MethodGet, path, "")
			text += part
		}
		for _, secret := range []string{
			"zqproperty", "zqfilter", "zqquery", "zqkey", "zqunitname", "zqtext", "zqhidden", "zqperson", "zqmail@zqhost.example", plantedOriginal, plantedRejected,
		} {
			if !strings.Contains(text, secret) {
				return secret
			}
		}
		return ""
	}
	within(c.t, 30*time.Second, "the private data", func() bool { missing = unseen(); return missing == "" })
	c.place(text)
}

// place sets the values of the placeholders. text contains items and a filter.
func (c *caller) place(text string) {
	c.t.Helper()
	codes := regexp.MustCompile(`/i/([A-Za-z0-9_-]+)`).FindAllStringSubmatch(text, -1)
	uuid := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).FindString(text)
	_, _, _, page := c.call(http.MethodGet, "/console/", "")
	asset := regexp.MustCompile(`/console/assets/([^/"]+)/([^"]+)`).FindStringSubmatch(page)
	if len(codes) == 0 || uuid == "" || asset == nil {
		c.t.Fatalf("no value for a placeholder: %v, %q, %v in %.2000s", codes, uuid, asset, text)
	}
	code := ""
	for _, found := range codes {
		_, status, header, text := c.call(http.MethodGet, "/i/"+found[1], "")
		if status == http.StatusFound {
			code = found[1]
		}
		if strings.Contains(fmt.Sprint(header, text), "zqrejected") {
			c.t.Errorf("the short link of a rejected item: %d %v %s", status, header, text)
		}
	}
	c.values = strings.NewReplacer("{filter_uuid}", uuid, "{ugc_id}", "101", "{id}", "101", "{namespace}", "vibe", "{key}", "zqkey", "{name}", "zqproperty",
		"{collection_id}", "1", "{code}", code, "{hash}", asset[1], "{file...}", asset[2])
}

// answers calls all routes with all methods, and returns those that answer, as in the table of docs/security.md. It checks that no answer
// contains a secret.
func (c *caller) answers() []string {
	c.t.Helper()
	_, _, _, page := c.call(http.MethodGet, "/console/", "")
	found := map[string]bool{}
	for _, route := range c.routes {
		path := c.values.Replace(route)
		if strings.ContainsAny(path, "{}") {
			c.t.Fatalf("no value for a placeholder of %s", route)
		}
		for _, method := range []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
		} {
			sent := path
			if c.listener == "debug" {
				sent += "?seconds=1" // the shortest profile
			}
			_, status, header, text := c.call(method, sent, reviewOf("zqtext"))
			name := strings.Replace(method, http.MethodHead, http.MethodGet, 1) + " " + route
			if method == http.MethodOptions {
				name = method
			}
			if route != "/console/" && text == page && status == http.StatusOK {
				name = "GET /console/" // the page of the console at another path
			}
			// Redirects to the same path with or without a slash are not answers. The answer to HEAD is that to GET without a body.
			if method != http.MethodHead && (status < 300 || status == http.StatusFound) {
				found[name] = true
			}
			for _, secret := range secrets {
				if !strings.Contains(text, secret) && !strings.Contains(fmt.Sprint(header), secret) || slices.Contains(revealed[c.listener+" "+name], secret) {
					continue
				}
				c.t.Errorf("%s: %s %s reveals %s: %d %v %s", c.listener, method, route, secret, status, header, text)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// compare checks that exactly the routes in the table answer.
func (c *caller) compare(want, got []string) {
	c.t.Helper()
	for _, route := range got {
		if !slices.Contains(want, route) {
			c.t.Errorf("%s: %s answers without credentials: refuse such requests, or add it to the table in docs/security.md with what it reveals", c.listener, route)
		}
	}
	for _, route := range want {
		if !slices.Contains(got, route) {
			c.t.Errorf("%s: %s does not answer, but the table in docs/security.md names it", c.listener, route)
		}
	}
}

// routesInCode returns all paths in the string literals of the packages that serve HTTP, and those of the OpenAPI document, without
// methods. The list contains more than the routes, because any path of any package may be a route.
func routesInCode(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{"/": true}
	path := regexp.MustCompile(`^(?:[A-Z]+ )?(/[A-Za-z0-9_./{}-]*)$`)
	add := func(literal string) {
		if m := path.FindStringSubmatch(literal); m != nil {
			found[m[1]] = true
			if trimmed := strings.TrimSuffix(m[1], "/"); trimmed != "" {
				found[trimmed] = true
			}
		}
	}
	for _, dir := range []string{".", "../../controllers", "../../internal", "../../server"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if text, err := strconv.Unquote(literal.Value); err == nil {
						add(text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile("../../server/httpapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Paths map[string]any }
	if err := json.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	for p := range document.Paths {
		add(p)
	}
	for _, known := range []string{"/readyz", "/validate", "/metrics", "/debug/pprof/", "/i/{code}", "/v2/content/items", "/console/session", "/backup"} {
		if !found[known] {
			t.Errorf("the paths in the code lack %s", known)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// answersOnPage returns the routes in the table of docs/security.md, by listener.
func answersOnPage(t *testing.T) map[string][]string {
	t.Helper()
	content, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(content), "| listener | who can reach it | answers without credentials |")
	if !ok {
		t.Fatal("docs/security.md has no table of listeners")
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	table := map[string][]string{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			if strings.TrimSpace(line) == "" {
				break
			}
			continue
		}
		var routes []string
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			routes = append(routes, m[1])
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			if !strings.HasPrefix(m[1], ":") { // the default port of the listener
				table[m[1]] = routes
			}
		}
	}
	return table
}

// listeningPorts returns the TCP ports on which a process listens.
func listeningPorts(t *testing.T, pid int) []string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d", pid)
	files, err := filepath.Glob(dir + "/fd/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("the open files of the process: %v", err)
	}
	inodes := map[string]bool{}
	for _, file := range files {
		target, _ := os.Readlink(file) // the file may have been closed
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			inodes[strings.TrimSuffix(inode, "]")] = true
		}
	}
	var ports []string
	for _, name := range []string{"tcp", "tcp6"} {
		content, err := os.ReadFile(filepath.Join(dir, "net", name))
		if err != nil {
			continue // a kernel without IPv6
		}
		for line := range strings.Lines(string(content)) {
			const local, state, listening, inode = 1, 3, "0A", 9
			fields := strings.Fields(line)
			if len(fields) <= inode || fields[state] != listening || !inodes[fields[inode]] {
				continue
			}
			_, hex, _ := strings.Cut(fields[local], ":")
			port, err := strconv.ParseUint(hex, 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			ports = append(ports, strconv.FormatUint(port, 10))
		}
	}
	slices.Sort(ports)
	return ports
}
