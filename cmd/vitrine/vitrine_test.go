package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// asCommand makes the test binary run as vitrine, so that tests can start and kill real processes.
const asCommand = "VITRINE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(nodetest.Run(m))
}

// secret is the READ-WRITE token of every property in these tests.
const secret = "test-token-that-must-never-be-logged"

// readOnly is the READ-ONLY token of the property.
const readOnly = "test-token-that-may-read-and-no-more"

const property = library.PropertyID("shop/default")

// newStore creates a data directory with a property and tokens, in the same form as the operator of a cluster stores them.
func newStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	lib, err := reference.Open(reference.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, lib)
	return dir
}

// fill stores a property and tokens, and closes the library.
func fill(t *testing.T, lib library.Library) {
	t.Helper()
	named := func(k library.Kind, name string) library.Owner {
		return library.Owner{Install: "test", Kind: k, Namespace: "shop", Name: name}
	}
	owner := func(k library.Kind) library.Owner { return named(k, "default") }
	results, err := lib.Apply(t.Context(), []library.Definition{
		{Property: property, Owner: owner(library.KindProperty), PropertySpec: &library.Property{PlatformPageID: 1}},
		{Property: property, Owner: owner(library.KindToken), Token: &library.Token{
			ReadWrite: true, Values: []library.TokenValue{{Digest: sha256.Sum256([]byte(secret))}},
		}},
		{Property: property, Owner: named(library.KindToken, "display"), Token: &library.Token{
			Values: []library.TokenValue{{Digest: sha256.Sum256([]byte(readOnly))}},
		}},
	})
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	if err := errors.Join(err, lib.Close()); err != nil {
		t.Fatal(err)
	}
}

// instance is a running `vitrine serve`.
type instance struct {
	t         *testing.T
	cmd       *exec.Cmd
	dir       string
	addresses map[string]string // by name of the listener
	// bound is closed when the server listens on all of its addresses.
	bound  chan struct{}
	exited chan struct{}
	mu     sync.Mutex
	log    bytes.Buffer
}

// start runs serve on a store, with ports that the system chooses, and waits until the server is ready.
func start(t *testing.T, dir string, flags ...string) *instance {
	t.Helper()
	return startBy(t, dir, func(cmd *exec.Cmd) *exec.Cmd { return cmd }, flags...)
}

// startBy is like start, but passes the server's command to by and runs the command that by returns.
func startBy(t *testing.T, dir string, by func(*exec.Cmd) *exec.Cmd, flags ...string) *instance {
	t.Helper()
	s := launch(t, dir, by, flags...)
	s.awaitReady()
	return s
}

// launch is like startBy, but does not wait.
func launch(t *testing.T, dir string, by func(*exec.Cmd) *exec.Cmd, flags ...string) *instance {
	t.Helper()
	s := &instance{t: t, dir: dir, addresses: map[string]string{}, bound: make(chan struct{}), exited: make(chan struct{})}
	args := append([]string{
		"serve", "--data-dir", dir, "--without-kubernetes", "--log-format", "json", "--https-bind-address", "127.0.0.1:0",
		"--health-probe-bind-address", "127.0.0.1:0", "--metrics-bind-address", "127.0.0.1:0",
	}, flags...)
	s.cmd = by(command(args...))
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.follow(stderr)
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.exited
		if t.Failed() {
			t.Logf("log of the server:\n%s", s.logged())
		}
		if strings.Contains(s.logged(), secret) {
			t.Error("the log holds the token")
		}
	})
	return s
}

// awaitReady waits until the server is ready.
func (s *instance) awaitReady() {
	s.t.Helper()
	select {
	case <-s.bound:
	case <-s.exited:
		s.t.Fatalf("the server did not start:\n%s", s.logged())
	case <-time.After(30 * time.Second):
		s.t.Fatalf("the server does not listen:\n%s", s.logged())
	}
	eventually(s.t, "ready", func() bool { code, _ := s.probe("/readyz"); return code == http.StatusOK })
}

// command returns a command that runs this binary as vitrine, without the user's environment.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = []string{asCommand + "=1", "HOME=" + os.TempDir(), "PATH=" + os.Getenv("PATH")}
	return cmd
}

// follow reads the log until the process ends. It closes s.bound when the server listens on all of its addresses.
func (s *instance) follow(stderr io.Reader) {
	defer close(s.exited)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		var event struct{ Msg, Name, Address string }
		_ = json.Unmarshal(lines.Bytes(), &event) // the last line may be an error in plain text
		s.mu.Lock()
		s.log.Write(append(lines.Bytes(), '\n'))
		if event.Msg == "listening" {
			s.addresses[event.Name] = event.Address
			if event.Name == "metrics" {
				close(s.bound)
			}
		}
		s.mu.Unlock()
	}
	_ = s.cmd.Wait()
}

func (s *instance) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func (s *instance) probe(path string) (int, string) {
	return get(s.t, "http://"+s.addresses["probes"]+path)
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// signal sends a signal, waits for the process to end, and returns the exit code: -1 if the signal killed the process.
func (s *instance) signal(sig syscall.Signal) int {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	return s.wait()
}

func (s *instance) wait() int {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(30 * time.Second):
		s.t.Fatal("the server does not stop")
	}
	return s.cmd.ProcessState.ExitCode()
}

// environment sets variables that make the client commands of this process use the server.
func (s *instance) environment(t *testing.T) {
	t.Helper()
	t.Setenv("VITRINE_SERVER", "https://"+s.addresses["https"])
	t.Setenv("VITRINE_TOKEN", secret)
	t.Setenv("VITRINE_CA_FILE", filepath.Join(s.dir, "tls", "ca.crt"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

// result is the output and the exit code of a command.
type result struct {
	code           int
	stdout, stderr string
}

// vitrine runs a command in this process.
func vitrine(ctx context.Context, stdin string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := execute(ctx, "vitrine", args, strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

func (r result) want(t *testing.T, code int, parts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d; want %d\nstdout: %s\nstderr: %s", r.code, code, r.stdout, r.stderr)
	}
	for _, p := range parts {
		if !strings.Contains(r.stdout+r.stderr, p) {
			t.Errorf("not printed: %q\nstdout: %s\nstderr: %s", p, r.stdout, r.stderr)
		}
	}
	if strings.Contains(r.stdout+r.stderr, secret) {
		t.Error("the token was printed")
	}
}

// eventually waits until ok returns true. Use it for conditions in another process, which cannot signal them over a channel.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	within(t, 30*time.Second, what, ok)
}

// within is like eventually, but with the given time limit.
func within(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("not within %s: %s", limit, what)
		case <-tick.C:
		}
	}
}

// itemLines returns n import lines with consecutive ids that start at first.
func itemLines(first, n int) string {
	var b strings.Builder
	for id := first; id < first+n; id++ {
		fmt.Fprintf(&b, `{"id":%d,"approval_status":"app","created_on":"2026-11-15T20:38:13Z","content":{"content_type":"text","text":"item number %d",`+
			`"social_platform":"direct","created_on":"2026-11-15T20:38:13Z"},"tags":{"marketer_tags":[{"key":"summer"}]}}`+"\n", id, id)
	}
	return b.String()
}
