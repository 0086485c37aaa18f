package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// root is the root of the repository, relative to this package.
const root = "../.."

// patience is the maximum time that a test waits for a page.
const patience = time.Minute

var shots = flag.String("shots", "", "directory for the pictures of the documentation")

// program is the path of the vitrine program that the tests start.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("VITRINE_BROWSER") == "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "vitrine-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "vitrine")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./cmd/vitrine")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build vitrine: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// absent skips a test that cannot run. If VITRINE_REQUIRE_TOOLS is set, absent fails the test instead.
func absent(t *testing.T, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf("DID NOT RUN: "+format, args...)
	if os.Getenv("VITRINE_REQUIRE_TOOLS") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// gate skips a test unless VITRINE_BROWSER is set.
func gate(t *testing.T) {
	t.Helper()
	if os.Getenv("VITRINE_BROWSER") == "" {
		t.Skip("DID NOT RUN: make browser runs it")
	}
}

// server is a running vitrine dev.
type server struct {
	url, token string
	// tokens contains the values of the AccessTokens in the namespace shop by name.
	tokens map[string]string
}

// Lines that vitrine dev prints.
var (
	urlLine   = regexp.MustCompile(`^serving (\S+) `)
	tokenLine = regexp.MustCompile(`READ-WRITE token (\S+)`)
	namedLine = regexp.MustCompile(`^AccessToken shop/(\S+): (\S+)`)
	lastLine  = "The server applies each change to the manifests."
)

// startServer starts vitrine dev with the sample manifests and further arguments. The server stops at the end of the test.
func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"dev", filepath.Join(root, "config/samples"), "--http-bind-address", "127.0.0.1:0"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var messages bytes.Buffer
	cmd.Stderr = &messages
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	s := &server{tokens: map[string]string{}}
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), lastLine) {
		if m := urlLine.FindStringSubmatch(lines.Text()); m != nil {
			s.url = m[1]
		} else if m := tokenLine.FindStringSubmatch(lines.Text()); m != nil {
			s.token = m[1]
		} else if m := namedLine.FindStringSubmatch(lines.Text()); m != nil {
			s.tokens[m[1]] = m[2]
		}
	}
	if s.url == "" || s.token == "" || len(s.tokens) == 0 {
		t.Fatalf("vitrine dev printed no URL or no tokens: %v\n%s", lines.Err(), messages.String())
	}
	go func() { _, _ = io.Copy(io.Discard, output) }()
	return s
}

// send sends a request with the token of the server.
func (s *server) send(t *testing.T, method, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// get sends a GET request to the API and decodes the response.
func (s *server) get(t *testing.T, path string, into any) {
	t.Helper()
	res := s.send(t, http.MethodGet, path, "")
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s", path, res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
}

// total returns the number of items that match a query.
func (s *server) total(t *testing.T, query string) int {
	t.Helper()
	var list struct {
		Total int `json:"total_results"`
	}
	s.get(t, "/v2/content/items?page_size=1&q="+query, &list)
	return list.Total
}

// browserPath returns the path of Chromium or Chrome.
func browserPath(t *testing.T) string {
	t.Helper()
	gate(t)
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	absent(t, "there is no chromium, chromium-browser or google-chrome")
	return ""
}

// chromium is the context of a running Chromium that has a session with one server.
type chromium struct {
	ctx    context.Context
	server *server
}

// startBrowser starts Chromium, and stops it at the end of the test.
func startBrowser(t *testing.T, s *server) *chromium {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browserPath(t)), chromedp.Flag("lang", "en"), chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return &chromium{ctx, s}
}

// logIn begins a session with the READ-WRITE token for all tabs of the browser.
func (b *chromium) logIn(t *testing.T) *chromium { return b.logInWith(t, b.server.token) }

// logInWith begins a session with a token for all tabs of the browser.
func (b *chromium) logInWith(t *testing.T, token string) *chromium {
	t.Helper()
	tab := b.tab(t, 800, 600, "light")
	tab.open("")
	tab.wait(`document.querySelector('.login input')`)
	tab.keys(token + kb.Enter)
	tab.wait(`document.querySelector('.wall :is(.tile, .state)')`)
	tab.do(chromedp.Navigate("about:blank")) // so that this tab does not request what the test changes later
	return b
}

// tab is a page of the browser.
type tab struct {
	t       *testing.T
	ctx     context.Context
	server  *server
	mutex   sync.Mutex
	bad     []string     // messages of the console and requests to third parties
	waits   atomic.Int64 // the number of requests that wait for changes
	allowed []string     // a message in bad that contains one of these texts does not fail the test
}

// tab opens an empty tab. At the end of the test, the test fails if the tab has logged a message or sent a request that allowed does not
// cover.
func (b *chromium) tab(t *testing.T, width, height int, theme string) *tab {
	t.Helper()
	ctx, stop := chromedp.NewContext(b.ctx)
	tab := &tab{t: t, ctx: ctx, server: b.server}
	t.Cleanup(func() {
		stop()
		tab.mutex.Lock()
		defer tab.mutex.Unlock()
		for _, message := range tab.bad {
			if !slices.ContainsFunc(tab.allowed, func(part string) bool { return strings.Contains(message, part) }) {
				t.Error(message)
			}
		}
	})
	if err := chromedp.Listen(ctx, tab.event); err != nil {
		t.Fatal(err)
	}
	tab.do(chromedp.EmulateViewport(int64(width), int64(height)))
	tab.theme(theme)
	if _, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "https://*"}, {URLPattern: "http://*.example/*"}}}); err != nil {
		t.Fatal(err)
	}
	return tab
}

// event records messages and unexpected requests of the tab. It also responds to requests for pictures from other sites, because the sites
// in the samples do not exist.
func (tab *tab) event(event any) {
	note := func(format string, args ...any) {
		tab.mutex.Lock()
		defer tab.mutex.Unlock()
		tab.bad = append(tab.bad, fmt.Sprintf(format, args...))
	}
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			note("message of the browser: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventConsoleAPICalled:
		note("call of console.%s: %v", e.Type, e.Args)
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		note("exception: %s", text)
	case *network.EventRequestWillBeSent:
		url := e.Request.URL
		if strings.Contains(url, "/changes?") && strings.Contains(url, "wait=") {
			tab.waits.Add(1)
		}
		own := strings.HasPrefix(url, tab.server.url+"/") || strings.HasPrefix(url, "blob:"+tab.server.url) || url == "about:blank"
		picture := e.Type == network.ResourceTypeImage || e.Type == network.ResourceTypeMedia
		if !own && !picture {
			note("request to a third party: %s %s", e.Type, url)
		}
		if referrer, _ := e.Request.Headers["Referer"].(string); referrer != "" && !own {
			note("request with the referrer %q: %s", referrer, url)
		}
	case *fetch.EventRequestPaused:
		go tab.answer(e)
	}
}

// answer responds to a request for a picture with a black triangle.
func (tab *tab) answer(e *fetch.EventRequestPaused) {
	params := fetch.FulfillRequestParams{
		RequestID: e.RequestID, ResponseCode: http.StatusOK, ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "image/svg+xml"}},
		Body: []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>`),
	}
	_, _ = chromedp.Call(tab.ctx, fetch.FulfillRequest, params) // ignore an error: the page may have canceled the request
}

func (tab *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	ctx, stop := context.WithTimeout(tab.ctx, patience)
	defer stop()
	if err := chromedp.Do(ctx, actions...); err != nil {
		tab.fail(err)
	}
}

// fail fails the test and logs the visible text of the page.
func (tab *tab) fail(err error) {
	tab.t.Helper()
	ctx, stop := context.WithTimeout(tab.ctx, 5*time.Second)
	defer stop()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + '\n' + document.body.innerText.slice(0, 600)`))
	tab.t.Fatalf("%v\nthe page:\n%s", err, text)
}

// theme sets the color scheme of the system.
func (tab *tab) theme(name string) {
	tab.t.Helper()
	_, err := chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	if err != nil {
		tab.fail(err)
	}
}

// open loads a page of the console.
func (tab *tab) open(path string) {
	tab.t.Helper()
	tab.do(chromedp.Navigate(tab.server.url + "/console/" + path))
}

// wait waits until an expression is true in the page.
func (tab *tab) wait(expression string) {
	tab.t.Helper()
	script := `new Promise((resolve) => { const check = () => { let done = false; try { done = ` + expression + `; } catch {} if (done) resolve(true); else setTimeout(check, 10); }; check(); })`
	ctx, stop := context.WithTimeout(tab.ctx, patience)
	defer stop()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise))
	for err != nil && strings.Contains(err.Error(), "navigated") { // retry if the tab has loaded another page in the meantime
		_, err = chromedp.Run(ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise))
	}
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("in the page, this did not become true: %s", expression)
		}
		tab.fail(err)
	}
}

// waitFor waits until a condition is true.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// waitText waits until the visible text of an element contains a text.
func (tab *tab) waitText(selector, text string) {
	tab.t.Helper()
	tab.wait(fmt.Sprintf(`document.querySelector(%q)?.innerText.includes(%q)`, selector, text))
}

// click clicks on an element with the mouse.
func (tab *tab) click(selector string, options ...chromedp.MouseOption) {
	tab.t.Helper()
	tab.wait(fmt.Sprintf(`document.querySelector(%q)`, selector))
	box := eval[struct{ X, Y float64 }](tab, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.scrollIntoView({ block: 'nearest' });
		const r = e.getBoundingClientRect();
		return { X: r.x + r.width / 2, Y: r.y + r.height / 2 };
	})()`, selector))
	tab.do(chromedp.MouseClickXY(box.X, box.Y, options...))
}

// button returns the selector of the button or link with a text.
func (tab *tab) button(text string) string {
	tab.t.Helper()
	tab.wait(fmt.Sprintf(`[...document.querySelectorAll('button, a, [role=tab]')].some((b) => b.innerText.trim() === %q || b.innerText.trim().startsWith(%q + '\n'))`, text, text))
	return eval[string](tab, fmt.Sprintf(`(() => {
		const b = [...document.querySelectorAll('button, a, [role=tab]')].find((b) => b.innerText.trim() === %q || b.innerText.trim().startsWith(%q + '\n'));
		b.dataset.test = %q;
		return '[data-test="' + %q + '"]';
	})()`, text, text, text, text))
}

// keys sends the same events as a keyboard. If the page prevents the default action of a key, the key therefore enters no character.
func (tab *tab) keys(keys string) {
	tab.t.Helper()
	ctx, stop := context.WithTimeout(tab.ctx, patience)
	defer stop()
	for _, r := range keys {
		events := kb.Encode(r)
		if len(events) == 3 {
			events[0].Text, events[0].UnmodifiedText = events[1].Text, events[1].UnmodifiedText
			events = []*input.DispatchKeyEventParams{events[0], events[2]}
		}
		for _, e := range events {
			if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, *e); err != nil {
				tab.fail(err)
			}
		}
	}
}

// tabTo presses Tab until an element with the given name is focused.
func (tab *tab) tabTo(name string) {
	tab.t.Helper()
	for range 120 {
		focused := eval[string](tab, `(() => { const e = document.activeElement; return e.getAttribute('aria-label') || e.innerText?.trim() || (e.labels?.[0]?.innerText ?? ''); })()`)
		if focused == name || strings.HasPrefix(focused, name+"\n") {
			return
		}
		tab.keys(kb.Tab)
	}
	tab.fail(fmt.Errorf("Tab does not reach %q", name))
}

// eval returns the value of an expression in the page.
func eval[T any](tab *tab, expression string) T {
	tab.t.Helper()
	ctx, stop := context.WithTimeout(tab.ctx, patience)
	defer stop()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		tab.fail(fmt.Errorf("%s: %w", expression, err))
	}
	return value
}

// shot writes a screenshot for the documentation.
func (tab *tab) shot(name string) {
	tab.t.Helper()
	tab.wait(`[...document.images].every((i) => i.complete)`)
	png, err := chromedp.Run(tab.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		tab.fail(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644); err != nil {
		tab.t.Fatal(err)
	}
}
