package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/servingcert"
)

func TestServeAnswersAndStops(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 10), "import", "-").want(t, 0, "10 lines", "10 added")

	code, body := s.probe("/readyz")
	if code != 200 || !strings.HasPrefix(body, "ready\n[+] store: 10 items, 3 definitions\n") {
		t.Errorf("/readyz: %d %s", code, body)
	}
	code, body = s.probe("/healthz")
	if code != 200 || !strings.HasPrefix(body, "alive\n") {
		t.Errorf("/healthz: %d %s", code, body)
	}
	code, body = get(t, "http://"+s.addresses["metrics"]+"/metrics")
	for _, metric := range []string{`vitrine_items{property="shop/default"} 10`, "vitrine_store_ready 1", "go_goroutines ", "process_open_fds "} {
		if code != 200 || !strings.Contains(body, metric) {
			t.Errorf("/metrics: %d without %s", code, metric)
		}
	}
	if s.addresses["http"] != "" {
		t.Errorf("plain HTTP is on by default, at %s", s.addresses["http"])
	}

	if code := s.signal(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "admin.sock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the admin socket is left: %v", err)
	}
}

func TestPlainHTTPWhenAskedFor(t *testing.T) {
	s := start(t, newStore(t), "--http-bind-address", "127.0.0.1:0", "--https-bind-address", "")
	if code, body := get(t, "http://"+s.addresses["http"]+"/v2/content/items?q=*:*&access_token="+secret); code != 200 || !strings.Contains(body, `"total_results":0`) {
		t.Errorf("%d %s", code, body)
	}
	if s.addresses["https"] != "" {
		t.Error("HTTPS is on though its address is empty")
	}
	// Import over HTTP/1.1 too: the response starts before the request is complete, which net/http must allow explicitly for HTTP/1.1.
	s.environment(t)
	t.Setenv("VITRINE_SERVER", "http://"+s.addresses["http"])
	vitrine(t.Context(), itemLines(1, 2500), "import", "-").want(t, 0, "2,500 added")
}

func TestKilledServerServesWhatItAcknowledged(t *testing.T) {
	dir := newStore(t)
	s := start(t, dir)
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 50), "import", "-").want(t, 0, "50 added")
	begin(t, s, 51) // the server responds while the request continues
	s.signal(syscall.SIGKILL)

	s = start(t, dir)
	s.environment(t)
	got := vitrine(t.Context(), "", "export")
	got.want(t, 0)
	if n := strings.Count(got.stdout, "\n"); n != 51 {
		t.Errorf("%d of 51 items after a kill", n)
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	s := start(t, newStore(t))
	out, err := command("serve", "--without-kubernetes", "--data-dir", s.dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), fmt.Sprintf("in use by process %d", s.cmd.Process.Pid)) {
		t.Errorf("%v: %s", err, out)
	}
	other := newStore(t)
	cmd := command("serve", "--without-kubernetes", "--data-dir", other, "--https-bind-address", s.addresses["https"])
	out, _ = cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exit.Address || !strings.Contains(string(out), "--https-bind-address "+s.addresses["https"]+" is in use") {
		t.Errorf("%d: %s", cmd.ProcessState.ExitCode(), out)
	}
}

// TestDamagedStoreIsRefused changes one bit in a file of a store that was killed, or of a store that was restored.
func TestDamagedStoreIsRefused(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	for i := range 5 {
		vitrine(t.Context(), itemLines(1+10*i, 10), "import", "-").want(t, 0, "10 added")
	}
	tar := filepath.Join(t.TempDir(), "backup.tar")
	vitrine(t.Context(), "", "backup", "--data-dir", s.dir, tar).want(t, 0)
	s.signal(syscall.SIGKILL)
	refused := func(dir, pattern, want string) string {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "pebble", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		name := slices.Max(files)
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/2] ^= 1
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := command("serve", "--without-kubernetes", "--data-dir", dir).CombinedOutput()
		if ended, ok := errors.AsType[*exec.ExitError](err); !ok || ended.ExitCode() != exit.Store || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", pattern, err, out)
		}
		return string(out)
	}
	out := refused(s.dir, "*.log", "start vitrine serve once with --accept-loss=")
	_, flag, _ := strings.Cut(out, "once with ")
	flag, _, _ = strings.Cut(flag, "\n")
	again := start(t, s.dir, strings.Trim(flag, "\" "))
	if _, body := again.probe("/readyz"); !strings.Contains(body, "opened although acknowledged data is missing: ") {
		t.Errorf("/readyz does not show the loss: %s", body)
	}

	restored := filepath.Join(t.TempDir(), "restored")
	vitrine(t.Context(), "", "restore", "--data-dir", restored, tar).want(t, 0)
	refused(restored, "MANIFEST-*", "MANIFEST-")
}

func TestNewerStoreIsRefused(t *testing.T) {
	dir := newStore(t)
	db, err := pebble.Open(filepath.Join(dir, "pebble"), &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(db.Set([]byte("mformat"), []byte(`{"version":99,"needs":"9.9.0"}`), pebble.Sync), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	cmd := command("serve", "--without-kubernetes", "--data-dir", dir)
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exit.Store || !strings.Contains(string(out), "use Vitrine 9.9.0 or newer") {
		t.Errorf("%d: %s", cmd.ProcessState.ExitCode(), out)
	}
}

// serial returns the serial number of the certificate that the server presents to a client that trusts bundle.
func serial(t *testing.T, address string, bundle []byte) string {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots})
	if err != nil {
		return err.Error()
	}
	defer func() { _ = c.Close() }()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func TestGivenCertificateIsReloaded(t *testing.T) {
	dir := t.TempDir()
	given := filepath.Join(dir, "given.pem")
	issue := func(name string) (bundle []byte) {
		source, err := servingcert.Open(filepath.Join(dir, name), []string{"127.0.0.1"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		// Use one file with both the certificate and its key.
		if err := os.Rename(filepath.Join(dir, name, "server.pem"), given); err != nil {
			t.Fatal(err)
		}
		return source.CABundle()
	}
	first := issue("first")
	s := start(t, newStore(t), "--tls-cert-file", given, "--tls-private-key-file", given)
	before := serial(t, s.addresses["https"], first)
	second := issue("second")
	eventually(t, "reloaded", func() bool {
		now := serial(t, s.addresses["https"], second)
		return now != before && !strings.Contains(now, "x509")
	})
	if _, err := os.Stat(filepath.Join(s.dir, "tls")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an authority was created although a certificate was given: %v", err)
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	s := start(t, newStore(t))
	bundle, err := os.ReadFile(filepath.Join(s.dir, "tls", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	for version, accepted := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		c, err := tls.Dial("tcp", s.addresses["https"], &tls.Config{RootCAs: roots, MinVersion: version, MaxVersion: version})
		if (err == nil) != accepted {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			_ = c.Close()
		}
	}
}

// begin sends the first line of an import, which is an item with the given id, and keeps the request open. The test can read the response
// lines from answers.
func begin(t *testing.T, s *instance, id int) (body *io.PipeWriter, answers *bufio.Reader) {
	t.Helper()
	bundle, err := os.ReadFile(filepath.Join(s.dir, "tls", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	r, w := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.addresses["https"]+"/v2/content/bulk", r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	sent := make(chan error, 1)
	go func() { _, err := io.WriteString(w, itemLines(id, 1)); sent <- err }()
	resp, err := transport.RoundTrip(req)
	if err := errors.Join(err, <-sent); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(); resp.Body.Close() })
	answers = bufio.NewReader(resp.Body)
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, `"status":201`) {
		t.Fatalf("first answer: %s, %v", line, err)
	}
	return w, answers
}

func TestStoppingLetsRequestsFinish(t *testing.T) {
	s := start(t, newStore(t))
	body, answers := begin(t, s, 1)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "unready", func() bool {
		code, body := s.probe("/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "[-] process: shutting down")
	})
	if _, err := io.WriteString(body, itemLines(2, 1)); err != nil {
		t.Fatal(err)
	}
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, `"status":201`) {
		t.Errorf("answer after SIGTERM: %s, %v", line, err)
	}
	_ = body.Close()
	if code := s.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestStoppingAnnouncesConnectionClose checks that a stopping server responds on an open connection and announces that it closes the
// connection. It must not close the connection during a request.
func TestStoppingAnnouncesConnectionClose(t *testing.T) {
	s := start(t, newStore(t), "--drain-timeout", "10m", "--http-bind-address", "127.0.0.1:0")
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := &http.Client{Transport: transport}
	ask := func() *http.Response {
		t.Helper()
		resp, err := c.Get("http://" + s.addresses["http"] + "/v2/content/items?q=*:*&access_token=" + secret)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp
	}
	if resp := ask(); resp.StatusCode != http.StatusOK || resp.Close {
		t.Errorf("before: %d, closes %v", resp.StatusCode, resp.Close)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "unready", func() bool { code, _ := s.probe("/readyz"); return code == http.StatusServiceUnavailable })
	if resp := ask(); resp.StatusCode != http.StatusOK || !resp.Close {
		t.Errorf("while stopping: %d, closes %v", resp.StatusCode, resp.Close)
	}
	if code := s.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestDrainFitsIntoTheGracePeriod checks that a pod is not killed while it drains and closes its store.
func TestDrainFitsIntoTheGracePeriod(t *testing.T) {
	text, err := os.ReadFile("../../config/manager/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template.Spec
	for _, arg := range pod.Containers[0].Args {
		if strings.HasPrefix(arg, "--drain-timeout") {
			t.Fatalf("%s: this test reads the default", arg)
		}
	}
	drain, err := newServe().Flags().GetDuration("drain-timeout")
	if err != nil {
		t.Fatal(err)
	}
	if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; grace < drain+10*time.Second {
		t.Errorf("the grace period is %s; want 10s more than the drain of %s, to close the store", grace, drain)
	}
}

func TestStoppingHasDeadline(t *testing.T) {
	s := start(t, newStore(t), "--drain-timeout", "50ms")
	begin(t, s, 1)
	if code := s.signal(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(s.logged(), "requests to the https listener were cut off") {
		t.Error("the log does not say that a request was cut off")
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	s := start(t, newStore(t))
	begin(t, s, 1)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "stopping", func() bool { return strings.Contains(s.logged(), "stopping") })
	began := time.Now()
	if code := s.signal(syscall.SIGTERM); code != exit.Interrupted {
		t.Errorf("exit code %d; want %d", code, exit.Interrupted)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestSignalDuringTheStart(t *testing.T) {
	dir := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := vitrine(ctx, "", "serve", "--without-kubernetes", "--data-dir", dir, "--https-bind-address", "127.0.0.1:0",
		"--health-probe-bind-address", "127.0.0.1:0", "--metrics-bind-address", "")
	got.want(t, 0, "msg=stopped")
}

func TestServeRefusesInvalidFlags(t *testing.T) {
	// All commands in this table fail before they open a store, so they can run in the test process.
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("no kubeconfig: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		code int
		says string
	}{
		"no cluster":                  {nil, exit.Usage, "pass --kubeconfig or set KUBECONFIG, or serve the stored state with --without-kubernetes"},
		"no such kubeconfig":          {[]string{"--kubeconfig", filepath.Join(dir, "absent")}, exit.Usage, "absent"},
		"broken kubeconfig":           {[]string{"--kubeconfig", broken}, exit.Usage, "read the kubeconfig"},
		"unknown library":             {[]string{"--library", "sql"}, exit.Usage, `--library "sql": must be engine or opensearch`},
		"a certificate without a key": {[]string{"--tls-cert-file", broken}, exit.Usage, "must be set together"},
		"external URL":                {[]string{"--external-url", "shop.example"}, exit.Usage, "must be an http or https URL with a host"},
		"log level":                   {[]string{"--log-level", "loud"}, exit.Usage, "must be debug, info, warn or error"},
		"log format":                  {[]string{"--log-format", "xml"}, exit.Usage, "must be text or json"},
		"memory limit":                {[]string{"--memory-limit", "lots"}, exit.Usage, "must be at least 64Mi"},
		"an empty namespace":          {[]string{"--kubeconfig", "none", "--watch-namespaces", "shop,"}, exit.Usage, "is not the name of a namespace"},
		"an invalid namespace":        {[]string{"--kubeconfig", "none", "--watch-namespaces", "UPPER/x"}, exit.Usage, "is not the name of a namespace"},
		"no journal age":              {[]string{"--without-kubernetes", "--journal-age", "0s"}, exit.Usage, "must be more than 0s"},
		"negative number of changes":  {[]string{"--without-kubernetes", "--journal-changes", "-1"}, exit.Usage, "must be more than 0"},
		"negative backup interval":    {[]string{"--without-kubernetes", "--expect-backups", "-5s"}, exit.Usage, "must be 0s or more"},
		"negative drain":              {[]string{"--without-kubernetes", "--drain-timeout", "-5s"}, exit.Usage, "must be 0s or more"},
		"no address":                  {[]string{"--without-kubernetes", "--https-bind-address", ""}, exit.Usage, "pass --https-bind-address or --http-bind-address"},
		"only a port":                 {[]string{"--without-kubernetes", "--https-bind-address", "8443"}, exit.Usage, "such as :8443"},
		"only a host":                 {[]string{"--without-kubernetes", "--metrics-bind-address", "localhost"}, exit.Usage, "--metrics-bind-address: must be [host]:port"},
		"contradiction":               {[]string{"--without-kubernetes", "--watch-namespaces", "a"}, exit.Usage, "cannot be used with"},
		"unknown flag":                {[]string{"--bogus"}, exit.Usage, "see vitrine serve --help"},
		"argument":                    {[]string{"bogus"}, exit.Usage, "see vitrine serve --help"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"serve", "--data-dir", filepath.Join(dir, "data")}, tc.args...)
			vitrine(t.Context(), "", args...).want(t, tc.code, tc.says)
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failed command left a data directory: %v", err)
	}
}

func TestBadCertificateIsRefused(t *testing.T) {
	dir := newStore(t)
	file := filepath.Join(t.TempDir(), "tls.crt")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command("serve", "--without-kubernetes", "--data-dir", dir, "--tls-cert-file", file, "--tls-private-key-file", file)
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exit.Certificate || !strings.Contains(string(out), file) {
		t.Errorf("%d: %s", cmd.ProcessState.ExitCode(), out)
	}
}

// silent discards the log of Pebble.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(string, ...any) {}
