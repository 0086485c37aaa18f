package cluster

import (
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
)

// writeFile writes or replaces a file and returns its name.
func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// certificateOf returns the PEM certificate of a server.
func certificateOf(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// TestCredentials checks that the username and the password come from files and that changes of these files take effect.
func TestCredentials(t *testing.T) {
	t.Parallel()
	var wanted atomic.Value
	wanted.Store("first")
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "vitrine" || password != wanted.Load() {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"version":{"distribution":"opensearch","number":"3.8.0"}}`)
	}))
	defer s.Close()
	clock := librarytest.NewClock(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))
	dir := t.TempDir()
	o := Options{
		URLs: []string{s.URL}, Clock: clock.Now, UsernameFile: writeFile(t, filepath.Join(dir, "username"), "vitrine"),
		PasswordFile: writeFile(t, filepath.Join(dir, "password"), "first\n"), CAFile: writeFile(t, filepath.Join(dir, "ca.crt"), certificateOf(s)),
	}
	c := requests(t, o)
	check := func(refused bool) {
		t.Helper()
		err := c.CheckVersion(t.Context())
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "credentials") {
			t.Errorf("%v, want a refusal: %v", err, refused)
		}
	}
	check(false)
	wanted.Store("second")
	writeFile(t, o.PasswordFile, "second")
	check(true)
	clock.Advance(rereadAfter + time.Second)
	check(false)
	// While a Secret is being replaced, the transport keeps using the credentials that it read before.
	if err := os.Remove(o.PasswordFile); err != nil {
		t.Fatal(err)
	}
	clock.Advance(rereadAfter + time.Second)
	check(false)
}

// TestAuthority checks that the certificate of an untrusted authority is rejected, and that it is accepted if the CA file contains the
// authority.
func TestAuthority(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"version":{"distribution":"opensearch","number":"3.8.0"}}`)
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // discards the errors of handshakes that the client aborts
	s.StartTLS()
	defer s.Close()
	clock := librarytest.NewClock(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))
	o := Options{URLs: []string{s.URL}, Clock: clock.Now, Timeout: 30 * time.Second}
	check := func(c *Client, want string) {
		t.Helper()
		err := c.CheckVersion(t.Context())
		if want == "" && err != nil || want != "" && (!errors.Is(err, library.ErrUnavailable) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want ErrUnavailable with %q", err, want)
		}
	}
	check(requests(t, o), "certificate signed by unknown authority")
	o.CAFile = writeFile(t, filepath.Join(t.TempDir(), "ca.crt"), certificateOf(s))
	check(requests(t, o), "")
	writeFile(t, o.CAFile, "nothing")
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), o.CAFile) {
		t.Errorf("a file without a certificate: %v", err)
	}
}
