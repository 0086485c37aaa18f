package main

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
)

// openedConsole is the running command.
type openedConsole struct {
	t              *testing.T
	login          string // the URL that the command prints
	cancel         context.CancelFunc
	ended          chan int // receives the exit code
	stdout, stderr *librarytest.Output
}

// startConsole runs the command in this process, and waits until it prints the URL.
func startConsole(t *testing.T, args ...string) *openedConsole {
	t.Helper()
	c := &openedConsole{t: t, ended: make(chan int, 1), stdout: &librarytest.Output{}, stderr: &librarytest.Output{}}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(t.Context())
	go func() {
		c.ended <- execute(ctx, "/usr/local/bin/"+pluginName, append([]string{"console"}, args...), strings.NewReader(""), c.stdout, c.stderr)
	}()
	eventually(t, "the command prints the URL", func() bool {
		select {
		case code := <-c.ended:
			t.Fatalf("exit code %d: %s%s", code, c.stdout, c.stderr)
		default:
		}
		return strings.Contains(c.stdout.String(), "Ctrl-C")
	})
	c.login = regexp.MustCompile(`http://127\.0\.0\.1:\d+/console/login#code=\w+`).FindString(c.stdout.String())
	if c.login == "" {
		t.Fatalf("no URL: %s", c.stdout)
	}
	return c
}

// stop interrupts the command.
func (c *openedConsole) stop() {
	c.t.Helper()
	c.cancel()
	c.wait(0, "")
}

// wait waits until the command ends, and checks the exit code and the error.
func (c *openedConsole) wait(code int, problem string) {
	c.t.Helper()
	if got := <-c.ended; got != code || !strings.Contains(c.stderr.String(), problem) {
		c.t.Errorf("exit code %d, want %d and %q: %s", got, code, problem, c.stderr)
	}
	if strings.Contains(c.stdout.String()+c.stderr.String(), secret) {
		c.t.Error("the token was printed")
	}
}

// browse logs in with the URL of a console, in the same way as the login page. It returns a function that calls the API in that session.
func browse(t *testing.T, login string) func(path string) (int, string) {
	t.Helper()
	page, code, _ := strings.Cut(login, "#code=")
	origin := strings.TrimSuffix(page, "/console/login")
	id := "1"
	send := func(method, path, cookie, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, origin+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Vitrine-Console", id)
		req.Header.Set("Origin", origin)
		req.Header.Set("Content-Type", "application/json")
		if cookie != "" {
			req.Header.Set("Cookie", cookie)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	if res := send(http.MethodGet, "/console/login", "", ""); res.StatusCode != http.StatusOK {
		t.Errorf("the page: %s", res.Status)
	}
	content, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	begun := send(http.MethodPost, "/console/session", "", string(content))
	if begun.StatusCode != http.StatusCreated || len(begun.Cookies()) != 1 {
		t.Fatalf("the login: %s", begun.Status)
	}
	var session struct{ ID string }
	if err := json.NewDecoder(begun.Body).Decode(&session); err != nil {
		t.Fatal(err)
	}
	id = session.ID
	cookie := begun.Cookies()[0].Name + "=" + begun.Cookies()[0].Value
	return func(path string) (int, string) {
		t.Helper()
		res := send(http.MethodGet, "/console/"+path, cookie, "")
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
}

// TestConsole opens the console of a server that this machine can reach.
func TestConsole(t *testing.T) {
	s := start(t, newStore(t), "--console")
	s.environment(t)
	c := startConsole(t, "--no-browser")
	if shown := c.stdout.String(); !strings.HasPrefix(shown, "console of property shop/default on https://") {
		t.Errorf("the output: %s", shown)
	}
	call := browse(t, c.login)
	if code, body := call("session"); code != http.StatusOK || !strings.Contains(body, `"class":"READ-WRITE","property":"shop/default"`) {
		t.Errorf("the session: %d %s", code, body)
	}
	if code, body := call("api/v2/content/items?q=*:*"); code != http.StatusOK || !strings.Contains(body, `"total_results":0`) {
		t.Errorf("the items: %d %s", code, body)
	}
	origin, _, _ := strings.Cut(c.login, "/console/")
	for host, want := range map[string]int{strings.TrimPrefix(origin, "http://"): http.StatusOK, "evil.example": http.StatusMisdirectedRequest} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+"/console/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("with the host %s: %s, want %d", host, res.Status, want)
		}
	}
	for path, want := range map[string]int{
		"/v2/content/items?q=*:*&access_token=" + secret: http.StatusOK, "/v1/tags/a/b?access_token=" + secret: http.StatusNotFound, "/i/none": http.StatusNotFound,
		"/v2/content/items?q=*:*": http.StatusForbidden, "/": http.StatusOK, "/metrics": http.StatusOK, // / and /metrics redirect
	} {
		if code, _ := get(t, origin+path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	c.stop()
	if _, err := http.Get(origin + "/console/"); err == nil {
		t.Error("the port is open after the command has ended")
	}
}

// TestConsoleRefuses checks the errors of the command.
func TestConsoleRefuses(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	vitrine(t.Context(), "", "console", "--no-browser").want(t, exit.Failed, "the server has no console: run it with --console")
	vitrine(t.Context(), "", "console", "--service", "vitrine-system/vitrine").want(t, exit.Usage, "--service cannot be used with --server")
	with := start(t, newStore(t), "--console")
	vitrine(t.Context(), "", "console", "--property", "other", "--server", "https://"+with.addresses["https"], "--ca-file", filepath.Join(with.dir, "tls", "ca.crt")).
		want(t, exit.Usage, "--property other: the token belongs to property shop/default")
	t.Setenv("VITRINE_TOKEN", strings.Repeat("x", 40))
	vitrine(t.Context(), "", "console", "--server", "https://"+with.addresses["https"], "--ca-file", filepath.Join(with.dir, "tls", "ca.crt")).
		want(t, exit.Failed, "(HTTP 401): pass the current value of an AccessToken")
	vitrine(t.Context(), "", "console", "--server", "https://"+with.addresses["https"]).want(t, exit.Certificate, "--ca-file")
	t.Setenv("VITRINE_SERVER", "")
	empty := write(t, "kubeconfig", "")
	vitrine(t.Context(), "", "console", "--kubeconfig", empty).want(t, exit.Usage, "no cluster")
	if code, _ := get(t, "https://"+s.addresses["https"]+"/console/"); code == http.StatusOK {
		t.Error("the server serves the console without --console")
	}
}

// TestOpenBrowser checks that the command runs the program that opens a browser.
func TestOpenBrowser(t *testing.T) {
	s := start(t, newStore(t), "--console")
	s.environment(t)
	opened := fakeBrowser(t)
	c := startConsole(t)
	eventually(t, "the browser is opened", func() bool { return opened.login() == c.login })
	c.stop()
	opened.check(t)
	t.Setenv("PATH", t.TempDir())
	var out bytes.Buffer
	openBrowser(t.Context(), &out, c.login)()
	if !strings.Contains(out.String(), "open the URL yourself") {
		t.Errorf("without a program: %s", &out)
	}
}

// openedPage is the directory in which the fake browser records the page that it opened.
type openedPage struct{ dir string }

// read returns a file that the program wrote, or "".
func (o openedPage) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(o.dir, name))
	return string(text)
}

// login returns the URL to which the page leads, or "".
func (o openedPage) login() string {
	_, rest, _ := strings.Cut(o.read("opened"), "0;url=")
	login, _, _ := strings.Cut(rest, `"`)
	return html.UnescapeString(login)
}

// check checks that the arguments of the program contain no code, that only the user could read the page, and that the page was removed.
func (o openedPage) check(t *testing.T) {
	t.Helper()
	if path := o.read("argument"); strings.Contains(path, "code") || !strings.HasSuffix(path, "open.html") {
		t.Errorf("the argument is %q", path)
	} else if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("the page is not removed: %v", err)
	}
	if modes := strings.Fields(o.read("modes")); len(modes) != 2 || !strings.HasPrefix(modes[0], "drwx------") || !strings.HasPrefix(modes[1], "-rw-------") {
		t.Errorf("the modes are %q", modes)
	}
}

// fakeBrowser puts a fake of the program that opens a browser into PATH.
func fakeBrowser(t *testing.T) openedPage {
	t.Helper()
	dir := t.TempDir()
	program := "#!/bin/sh\ncd " + dir + " && printf %s \"$1\" >argument && ls -ld \"${1%/*}\" \"$1\" | cut -c 1-10 >modes && cp \"$1\" opened.new && mv opened.new opened\n"
	for _, name := range []string{"xdg-open", "open"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return openedPage{dir}
}

// TestServiceIn checks which Service a URL names.
func TestServiceIn(t *testing.T) {
	for server, want := range map[string]string{
		"https://vitrine.vitrine-system.svc": "vitrine-system/vitrine", "https://a.b.svc.cluster.local:8443/base": "b/a",
		"https://content.shop.example": "", "https://127.0.0.1:8443": "", "": "", "::": "",
	} {
		if got := serviceIn(server); got != want {
			t.Errorf("%s: %q, want %q", server, got, want)
		}
	}
	for _, text := range []string{"vitrine", "/vitrine", "a/", "a/b/c"} {
		if _, err := serviceOf(text); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
