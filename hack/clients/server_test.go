package clients

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// root is the root of the repository, relative to this package.
const root = "../.."

// The property that the clients use, and its contents. The clients must use 64-bit integers, because these ids do not fit into narrower
// types.
const (
	property   = library.PropertyID("shop/default")
	unitID     = 2582118650523114
	largeID    = 4503599627370497 // other items have the ids that follow
	filterUUID = "6f1c0d5e-3b7a-4c1e-9a42-5d8f0b6c7e19"
	filterID   = 5823445520123
	readWrite  = "read-write-token-of-the-client-tests"
	readOnly   = "read-only-token-of-the-client-tests-"
)

// items returns 25 items of campaign 12 with the ids 100001 to 100025, and three items whose ids neither float32 nor int32 can
// represent. The newest item is 100001.
func items() []string {
	ids := []int64{16777217, 5000000001, largeID}
	for id := int64(100001); id <= 100025; id++ {
		ids = append(ids, id)
	}
	lines := make([]string, len(ids))
	for i, id := range ids {
		campaign, code := 12, fmt.Sprintf("code%d", i)
		if i < 3 {
			campaign = 13
		}
		if id == 100001 {
			code = "4fGh0kQx2Z" // the code in the examples of the OpenAPI document
		}
		lines[i] = fmt.Sprintf(`{"id":%d,"approval_status":"app","created_on":"2026-06-%02dT08:00:00Z","campaign":%d,"short_code":"%s",
			"content":{"content_type":"image","text":"At the beach","social_platform":"instagram","platform_ref:instagram":"CuB3qXyL0aa",
			"author":{"username":"jo","platform_id":"17841400008460056","id":17841400008460056},
			"media":{"original_url":"https://img.example/%d.jpg","id":3141592653589793238},
			"platform_data":{"social_platform_original_url":"https://social.example/p/%d","geo_data":{"type":"Point","coordinates":{"latitude":54.1779,"longitude":12.0857}}}},
			"tags":{"hashtags":["beach"],"marketer_tags":["hero"]},"submission":{"username":"jo","email":"jo@mail.example"}}`, id, 28-i, campaign, code, id, id)
	}
	return lines
}

func definitions() []library.Definition {
	owner := func(k library.Kind, name string) library.Owner {
		return library.Owner{Install: "clients", Kind: k, Namespace: "shop", Name: name}
	}
	token := func(name, value string, writes bool) library.Definition {
		return library.Definition{Property: property, Owner: owner(library.KindToken, name), Token: &library.Token{
			ReadWrite: writes, Values: []library.TokenValue{{Digest: sha256.Sum256([]byte(value))}},
		}}
	}
	return []library.Definition{
		{Property: property, Owner: owner(library.KindProperty, "default"), PropertySpec: &library.Property{
			PlatformPageID: library.PlatformPageID(property),
		}},
		token("read-only", readOnly, false),
		token("read-write", readWrite, true),
		{Property: property, Owner: owner(library.KindFilter, "summer-wall"), Filter: &library.Filter{
			UUID: filterUUID, ID: filterID, Name: "Summer wall", Query: "approval_status:app AND campaign:12", Order: "created_on:desc", Public: true,
		}},
		{Property: property, Owner: owner(library.KindUnit, "sandals"), Unit: &library.UnitRule{Unit: item.Unit{
			ID: unitID, Name: "Shop the sandals", ImageURL: "https://cdn.shop.example/sandals.png", ClickThroughURL: "https://shop.example/sandals",
			ExternalID: "SKU-1", Managed: true, CreatedOn: "2026-01-02T00:00:00Z",
		}}},
	}
}

// newStore creates a data directory with definitions and items, in the same form as an operator and an import store them.
func newStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	lib, err := reference.Open(reference.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	results, err := lib.Apply(t.Context(), definitions())
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	var muts []library.Mutation
	for _, text := range items() {
		line, parseErr := item.ParseLine([]byte(text), item.ParseOptions{AuthorKey: lib.AuthorKey()})
		if parseErr != nil {
			t.Fatalf("%s: %v", text, parseErr)
		}
		muts = append(muts, library.Mutation{Put: line.Item})
	}
	outcomes, writeErr := lib.Write(t.Context(), property, muts)
	for _, o := range outcomes {
		err = errors.Join(err, o.Err)
	}
	if err := errors.Join(err, writeErr, lib.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// binary is the path of the `vitrine` binary that the tests start.
var binary string

// TestMain builds the binary before the time limit of the tests begins.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "vitrine-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "vitrine")
	if out, err := exec.Command("go", "-C", root, "build", "-buildvcs=false", "-o", binary, "./cmd/vitrine").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build vitrine: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// serve starts `vitrine serve` with its own store, and returns its address when it is ready.
func serve(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(binary, "serve", "--data-dir", newStore(t), "--without-kubernetes", "--log-format", "json",
		"--https-bind-address", "", "--http-bind-address", "127.0.0.1:0",
		"--health-probe-bind-address", "127.0.0.1:0", "--metrics-bind-address", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &serving{addresses: map[string]string{}, exited: make(chan struct{})}
	bound := make(chan struct{})
	go s.follow(cmd, stderr, bound)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.exited
		for _, line := range s.failures {
			t.Errorf("the server logged an error: %s", line)
		}
	})
	select {
	case <-bound:
	case <-s.exited:
		t.Fatal("vitrine serve ended immediately")
	case <-time.After(time.Minute):
		t.Fatal("vitrine serve does not listen")
	}
	deadline, tick := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := http.Get("http://" + s.addresses["probes"] + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return "http://" + s.addresses["http"]
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("vitrine serve is not ready: %v", err)
		}
	}
}

// serving is the state of a server, as its log reports it.
type serving struct {
	addresses map[string]string // by name of the listener; complete when bound is closed
	failures  []string          // complete when exited is closed
	exited    chan struct{}
}

func (s *serving) follow(cmd *exec.Cmd, stderr io.Reader, bound chan<- struct{}) {
	defer close(s.exited)
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct{ Level, Msg, Name, Address string }
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Level == "ERROR" {
			s.failures = append(s.failures, lines.Text())
		}
		if event.Msg == "listening" {
			s.addresses[event.Name] = event.Address
			if len(s.addresses) == 3 {
				close(bound)
			}
		}
	}
	_ = cmd.Wait() // killed above
}

// later returns the address of a proxy that adds a member to every object in every JSON response, because a later version of the server may
// add members. The proxy does not extend submissions, whose values are strings in every version.
func later(t *testing.T, server string) string {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: func(resp *http.Response) error {
			if kind := resp.Header.Get("Content-Type"); kind != "application/json" && kind != "application/problem+json" {
				return nil
			}
			decoder := json.NewDecoder(resp.Body)
			decoder.UseNumber()
			var v any
			if err := decoder.Decode(&v); err != nil {
				return fmt.Errorf("decode the answer of the server: %w", err)
			}
			widen(v)
			body, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("encode the answer of the server: %w", err)
			}
			resp.Body.Close()
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
			return nil
		},
		FlushInterval: -1,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Read the whole request body first. Otherwise, the server would begin to respond to an import before the body ends, and the proxy
		// would close the connection while the caller is still sending.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func widen(v any) {
	switch v := v.(type) {
	case []any:
		for _, of := range v {
			widen(of)
		}
	case map[string]any:
		for name, of := range v {
			if name != "submission" {
				widen(of)
			}
		}
		v["new_member"] = map[string]any{"of": []any{"a later version", 1}}
	}
}

// calls runs a client against the server, and against a proxy that imitates a later version of the server.
func calls(t *testing.T, run func(t *testing.T, env []string)) {
	for name, address := range map[string]func(t *testing.T) string{
		"this version":  serve,
		"later version": func(t *testing.T) string { return later(t, serve(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"VITRINE_SERVER=" + address(t), "VITRINE_READ_WRITE=" + readWrite, "VITRINE_READ_ONLY=" + readOnly})
		})
	}
}

// command runs a command in a folder. If the command fails, the test fails and shows the output of the command.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// tools skips a test with a message if VITRINE_CLIENTS is not set or a tool is missing. With VITRINE_REQUIRE_TOOLS, a missing tool is an
// error.
func tools(t *testing.T, names ...string) {
	t.Helper()
	if os.Getenv("VITRINE_CLIENTS") == "" {
		t.Skip("DID NOT RUN: this downloads packages; make clients runs it")
	}
	why := ""
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			why = "no " + name + " in PATH"
		}
	}
	switch {
	case why == "":
	case os.Getenv("VITRINE_REQUIRE_TOOLS") != "":
		t.Fatalf("%s, and VITRINE_REQUIRE_TOOLS is set", why)
	default:
		t.Skip("DID NOT RUN: " + why)
	}
}

// document returns the absolute path of the OpenAPI document.
func document(t *testing.T) string {
	return absolute(t, filepath.Join(root, "server/httpapi/openapi.json"))
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// workspace copies a folder of testdata to a temporary folder.
func workspace(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}
