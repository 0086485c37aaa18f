package clients

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/reference"
	"github.com/vitrine-dev/vitrine/server/webhooks"
)

// purged is the maximum time from the acknowledged change of an item to the changed page from the cache (docs/connect-an-app.md). The test
// allows more, because machines that run it can be busy, and logs the time.
const purged = 30 * time.Second

// TestPurge runs Varnish and the receiver of docs/connect-an-app.md between a server and a reader, and changes an item. The cached page must
// contain the change long before its maximum age.
func TestPurge(t *testing.T) {
	tools(t, "varnishd", "python3")
	page, err := os.ReadFile(filepath.Join(root, "docs", "connect-an-app.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) string {
		found := regexp.MustCompile("(?s)\n```"+language+"\n(.*?)```\n").FindAllSubmatch(page, -1)
		if len(found) != 1 {
			t.Fatalf("docs/connect-an-app.md has %d blocks in %s, want 1", len(found), language)
		}
		return string(found[0][1])
	}

	lib, err := reference.Open(reference.Options{Dir: newStore(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lib.Close() })
	server, err := httpapi.New(lib, httpapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Run(t.Context()) }()
	origin := httptest.NewServer(server)
	t.Cleanup(origin.Close)

	dir, cache, receiver := t.TempDir(), freePort(t), freePort(t)
	host, port, _ := net.SplitHostPort(origin.Listener.Addr().String())
	vcl := fmt.Sprintf("vcl 4.1;\nbackend default { .host = %q; .port = %q; }\n%s", host, port, block("vcl"))
	for name, text := range map[string]string{"cache.vcl": vcl, "purge.py": block("python")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := []byte("a signing secret of 32 bytes....")
	start(t, nil, "varnishd", "-j", "none", "-F", "-n", filepath.Join(dir, "varnish"), "-a", cache, "-f", filepath.Join(dir, "cache.vcl"), "-s", "malloc,32m")
	_, receiverPort, _ := net.SplitHostPort(receiver)
	start(t, []string{"WEBHOOK_SECRET=whsec_" + base64.StdEncoding.EncodeToString(key), "CACHE=http://" + cache, "PORT=" + receiverPort}, "python3", filepath.Join(dir, "purge.py"))

	url := "http://" + cache + "/v2/content/filters/" + filterUUID + "?access_token=" + readOnly
	before := get(t, url)
	if again := get(t, url); again.Header.Get("Age") == "" || again.Header.Get("X-Varnish") == before.Header.Get("X-Varnish") || len(strings.Fields(again.Header.Get("X-Varnish"))) != 2 {
		t.Fatalf("the second response is not from the cache: %v", again.Header)
	}

	policy, err := webhooks.ParsePolicy([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	deliverer, err := webhooks.New(webhooks.Options{Source: lib, Policy: policy, Metrics: webhooks.NewMetrics(), Clock: time.Now}, func(library.Owner) {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- deliverer.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	owner := library.Owner{Install: "clients", Kind: library.KindWebhook, Namespace: "shop", Name: "purge"}
	hook := library.Definition{Property: property, Owner: owner, Webhook: &library.Webhook{
		URL: "http://" + receiver, FilterUUID: filterUUID, Entered: true, Left: true, Changed: true, MaxItems: 100,
	}}
	if results, err := lib.Apply(t.Context(), []library.Definition{hook}); err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	if err := deliverer.Serve(webhooks.Webhook{Definition: hook, Keys: [][]byte{key}}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(purged); deliverer.State(owner).Result != webhooks.Delivered; {
		if time.Now().After(deadline) {
			t.Fatalf("the first delivery: %+v", deliverer.State(owner))
		}
		_ = get(t, url)
	}

	patch, err := item.ParsePatch([]byte(`{"content":{"text":"Purged"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if outcomes, err := lib.Write(t.Context(), property, []library.Mutation{{ID: 100001, Patch: patch}}); err != nil || outcomes[0].Err != nil {
		t.Fatal(err, outcomes)
	}
	for began := time.Now(); ; {
		if strings.Contains(get(t, url).body, `"text":"Purged"`) {
			t.Logf("the cache has the changed page after %v", time.Since(began).Round(time.Millisecond))
			return
		}
		if time.Since(began) > purged {
			t.Fatalf("after %v, the cache still has the old page", purged)
		}
	}
}

// response is a response that was read to its end.
type response struct {
	*http.Response
	body string
}

// get requests a URL until the server at it accepts connections.
func get(t *testing.T, url string) response {
	t.Helper()
	for deadline := time.Now().Add(purged); ; {
		r, err := http.Get(url) //nolint:gosec,noctx // a URL of this test
		if err == nil {
			body, err := io.ReadAll(r.Body)
			_ = r.Body.Close()
			if err != nil || r.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s, %v", r.Status, body, err)
			}
			return response{r, string(body)}
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// start runs a program until the end of the test.
func start(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), env...)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s: %s", name, out.String())
		}
	})
}

// freePort returns a loopback address with a free port.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
