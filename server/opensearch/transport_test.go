package opensearch

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
	clock := librarytest.NewClock(noon)
	dir := t.TempDir()
	o := connection{
		URLs: []string{s.URL}, Clock: clock.Now, UsernameFile: writeFile(t, filepath.Join(dir, "username"), "vitrine"),
		PasswordFile: writeFile(t, filepath.Join(dir, "password"), "first\n"), CAFile: writeFile(t, filepath.Join(dir, "ca.crt"), certificateOf(s)),
	}
	c := requests(t, o)
	check := func(refused bool) {
		t.Helper()
		err := c.checkVersion(t.Context())
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
	clock := librarytest.NewClock(noon)
	o := connection{URLs: []string{s.URL}, Clock: clock.Now, Timeout: 30 * time.Second}
	check := func(c *cluster, want string) {
		t.Helper()
		err := c.checkVersion(t.Context())
		if want == "" && err != nil || want != "" && (!errors.Is(err, library.ErrUnavailable) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want ErrUnavailable with %q", err, want)
		}
	}
	check(requests(t, o), "certificate signed by unknown authority")
	o.CAFile = writeFile(t, filepath.Join(t.TempDir(), "ca.crt"), certificateOf(s))
	check(requests(t, o), "")
	writeFile(t, o.CAFile, "nothing")
	if _, err := newCluster(o); err == nil || !strings.Contains(err.Error(), o.CAFile) {
		t.Errorf("a file without a certificate: %v", err)
	}
}

// TestUnsupportedService checks that Open describes a service that is not a supported version of OpenSearch. For a service that may still
// be starting, Open must return ErrUnavailable.
func TestUnsupportedService(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status      int
		body        string
		want        string
		unavailable bool
	}{
		"a web page":      {200, "<html>", "not OpenSearch", false},
		"another product": {200, `{"version":{"number":"8.1.0"}}`, "not OpenSearch", false},
		"not found":       {404, "not found", "not OpenSearch", false},
		"too old":         {200, `{"version":{"distribution":"opensearch","number":"2.18.0"}}`, "2.19 or newer", false},
		"no rights":       {403, `{"error":{"type":"security_exception","reason":"no permissions"},"status":403}`, "cluster:monitor/main", false},
		"starting":        {503, `{"error":{"type":"cluster_manager_not_discovered_exception","reason":"x"},"status":503}`, "503", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}))
			defer s.Close()
			_, err := Open(t.Context(), Options{URLs: []string{s.URL}, Timeout: time.Second})
			if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, library.ErrUnavailable) != test.unavailable {
				t.Errorf("%v, want %q, unavailable: %v", err, test.want, test.unavailable)
			}
		})
	}
}

// TestOptions checks that invalid options are rejected before any request is sent. No error may repeat the password in a URL.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{},
		{URLs: []string{"http://search.example:9200"}},
		{URLs: []string{"ftp://127.0.0.1"}},
		{URLs: []string{"nothing"}},
		{URLs: []string{"https://search.example:9200/path"}},
		{URLs: []string{"https://me:hunter2@search.example:9200"}},
		{URLs: []string{"https://me:hunter2@search.example:port"}},
		{URLs: []string{"https://search.example"}, PasswordFile: "password"},
		{URLs: []string{"https://search.example"}, Prefix: "Capital"},
		{URLs: []string{"https://search.example"}, Prefix: "a-items-b"},
		{URLs: []string{"https://search.example"}, ReadTimeout: -time.Second},
		{URLs: []string{"https://search.example"}, ReadTimeout: time.Minute + 1},
	} {
		var refused *OptionsError
		if err := o.Check(); !errors.As(err, &refused) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []Options{
		{URLs: []string{"https://search.example:9200", "https://search.example:9201/"}},
		{URLs: []string{"http://127.0.0.1:9200"}},
		{URLs: []string{"http://search.example:9200"}, AllowHTTP: true},
	} {
		if err := o.Check(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
