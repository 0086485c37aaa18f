package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// TestEndedSessions checks that the memory for ended sessions is limited. Ended sessions must be rejected even beyond the limit.
func TestEndedSessions(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var e endedSessions
	first, other := newSession("a", now), newSession("b", now)
	e.add(first, now)
	for range maxEnded {
		e.add(newSession("a", now), now)
	}
	if !e.has(first) || e.has(other) {
		t.Errorf("the first session of the token has ended: %t; that of another token: %t", e.has(first), e.has(other))
	}
	if later := newSession("a", now.Add(time.Second)); e.has(later) {
		t.Error("the token cannot be used for a new session")
	}
	now = now.Add(sessionFor)
	e.add(newSession("c", now), now)
	if len(e.tokens) != 1 {
		t.Errorf("ended sessions of %d tokens are remembered after they are over", len(e.tokens))
	}
}

// TestClients checks which clients share a counter of failed logins and that the number of counters is limited.
func TestClients(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7:1": "192.0.2.7/32", "[::ffff:192.0.2.7]:1": "192.0.2.7/32", "[2001:db8::1:2:3:4]:1": "2001:db8::/64", "[fe80::1%eth0]:1": "fe80::/64", "unix": "invalid Prefix",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = address
		if got := clientOf(r).String(); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	var a attempts
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for i := range maxClients + 2*maxAttempts {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255)
		a.failed(clientOf(r), now)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "192.0.2.7:1"
	if len(a.counts) != maxClients+1 || !a.exceeded(clientOf(r), now) {
		t.Errorf("%d clients are counted", len(a.counts))
	}
}

// TestAssets checks the errors for files that cannot be served. It also checks that every version has its own hash.
func TestAssets(t *testing.T) {
	page := &fstest.MapFile{Data: []byte(`<script src="assets/main.js">`)}
	hashes := map[string]bool{}
	for want, files := range map[string]fstest.MapFS{
		"notes.txt: the extension": {"index.html": page, "notes.txt": {}},
		"index.html is missing":    {"main.js": {}},
		"1":                        {"index.html": page, "main.js": {Data: []byte("1")}},
		"2":                        {"index.html": page, "main.js": {Data: []byte("2")}},
		"3":                        {"index.html": page, "sub/main.js": {Data: []byte("2")}},
	} {
		a, err := loadAssets(files)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
			continue
		}
		hashes[a.hash] = true
	}
	if len(hashes) != 3 {
		t.Errorf("three versions have the hashes %v", hashes)
	}
}

// TestDir checks that the console serves the current files of a folder. While it cannot read the files, it must serve the first version.
func TestDir(t *testing.T) {
	dir := t.TempDir()
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	c, err := New(Options{Key: make([]byte, minKey), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	page := func(want string) {
		t.Helper()
		recorded := httptest.NewRecorder()
		c.ServeHTTP(recorded, httptest.NewRequest(http.MethodGet, Path, nil))
		if got := recorded.Body.String(); got != want {
			t.Errorf("the page is %q, want %q", got, want)
		}
	}
	page("first")
	write("second")
	page("second")
	if err := os.Remove(filepath.Join(dir, "index.html")); err != nil {
		t.Fatal(err)
	}
	page("first")
}

// TestKey checks that a key that is too short is rejected.
func TestKey(t *testing.T) {
	if _, err := New(Options{Key: []byte("short")}); err == nil {
		t.Error("a key of 5 bytes is accepted")
	}
}
