package clients

import (
	"context"
	"encoding/base64"
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
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/reference"
	"github.com/vitrine-dev/vitrine/server/webhooks"
)

// signingSecret signs the deliveries to the receivers of the documentation.
var signingSecret = []byte("a signing secret of 32 bytes....")

// codeBlock returns the only code block of a page of the documentation in a language.
func codeBlock(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)\n```"+language+"\n(.*?)```\n").FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("docs/%s has %d blocks in %s, want 1", page, len(found), language)
	}
	return string(found[0][1])
}

// newOrigin opens a library with the contents of the tests, and returns it with the address of a server of it.
func newOrigin(t *testing.T) (lib *reference.Library, address string) {
	t.Helper()
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
	return lib, origin.Listener.Addr().String()
}

// receive runs a receiver of the documentation at a loopback address until the end of the test.
func receive(t *testing.T, address, program string, env ...string) {
	t.Helper()
	_, port, _ := net.SplitHostPort(address)
	start(t, append(env, "WEBHOOK_SECRET=whsec_"+base64.StdEncoding.EncodeToString(signingSecret), "PORT="+port), "python3", program)
}

// deliver sends the changes of a listing to a webhook until the end of the test. The result reports whether the last delivery succeeded.
func deliver(t *testing.T, lib *reference.Library, to library.Webhook) (delivered func() bool) {
	t.Helper()
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
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	owner := library.Owner{Install: "clients", Kind: library.KindWebhook, Namespace: "shop", Name: "receiver"}
	hook := library.Definition{Property: property, Owner: owner, Webhook: &to}
	if results, err := lib.Apply(t.Context(), []library.Definition{hook}); err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	if err := deliverer.Serve(webhooks.Webhook{Definition: hook, Keys: [][]byte{signingSecret}}); err != nil {
		t.Fatal(err)
	}
	return func() bool { return deliverer.State(owner).Result == webhooks.Delivered }
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
		r, err := http.Get(url) //nolint:gosec // a URL of this test
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
