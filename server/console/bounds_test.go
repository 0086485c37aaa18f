package console

import (
	"encoding/base64"
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

// TestRegister checks that a register remembers every ended serial as long as it would be valid, and then forgets it. Serials of other
// servers have the same numbers, but end separately.
func TestRegister(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r, other := newRegister(sessionFor, maxIssued), newRegister(sessionFor, maxIssued)
	issue := func(r *register) serial {
		t.Helper()
		n, ok := r.issue(now)
		if !ok {
			t.Fatal("the register is full")
		}
		return n
	}
	var all []serial
	for range 2*pageSize + 2 {
		all = append(all, issue(r), issue(other))
	}
	const ended = 4 // of four consecutive serials, the first two are from different servers with the same number
	for i, n := range all {
		if i%ended == 0 && !r.end(n, now.Add(sessionFor), now) {
			t.Fatalf("serial %d had already ended", i)
		}
	}
	for i, n := range all {
		if got, want := r.hasEnded(n), i%ended == 0; got != want {
			t.Fatalf("serial %d has ended: %t, want %t", i, got, want)
		}
	}
	if r.end(all[0], now.Add(sessionFor), now) {
		t.Error("a serial ends twice")
	}
	now = now.Add(sessionFor - time.Second)
	last := issue(r)
	r.end(last, now.Add(sessionFor), now)
	if !r.hasEnded(all[0]) || !r.hasEnded(last) {
		t.Errorf("shortly before the end of their lifetime, the first serial has ended: %t; the last: %t", r.hasEnded(all[0]), r.hasEnded(last))
	}
	now = now.Add(time.Hour)
	r.end(issue(r), now.Add(sessionFor), now)
	if len(r.ended) != 1 || !r.hasEnded(last) {
		t.Errorf("%d pages are remembered after their serials are over; the last serial has ended: %t", len(r.ended), r.hasEnded(last))
	}
}

// TestRegisterIsFull checks that a server issues a limited number of serials within their lifetime, which limits the memory of the
// register.
func TestRegisterIsFull(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const most = 2 * pageSize
	r := newRegister(sessionFor, most)
	issue := func(want bool) {
		t.Helper()
		n, ok := r.issue(now)
		if ok != want {
			t.Fatalf("at %s, a serial is issued: %t, want %t", now, ok, want)
		}
		if ok {
			r.end(n, now.Add(sessionFor), now)
		}
	}
	for range most / 2 {
		issue(true)
	}
	now = now.Add(sessionFor / 2)
	for range most / 2 {
		issue(true)
	}
	issue(false)
	if n := len(r.ended); n != most/pageSize {
		t.Errorf("%d pages, want %d", n, most/pageSize)
	}
	now = now.Add(sessionFor/2 + sessionFor/steps)
	for range most / 2 {
		issue(true)
	}
	issue(false)
	if n := len(r.ended); n > 1+most/pageSize || len(r.marks) > steps+1 {
		t.Errorf("%d pages and %d marks", n, len(r.marks))
	}
}

// TestUnnumberedSession checks that the console rejects a session without a serial, such as one of an earlier version, because it could not
// remember that this session has ended.
func TestUnnumberedSession(t *testing.T) {
	handler, err := New(Options{Key: make([]byte, minKey)})
	if err != nil {
		t.Fatal(err)
	}
	c := handler.(*console)
	for text, want := range map[string]bool{
		`{"id":"a","token":"t","begun":1,"seen":1}`:                            false,
		`{"id":"a","token":"t","begun":1,"seen":1,"server":"b"}`:               true,
		`{"id":"a","token":"t","begun":1,"seen":1,"server":"b","number":4000}`: true,
		`not JSON`: false,
	} {
		if _, ok := c.openSession(base64.RawURLEncoding.EncodeToString(c.sealer.seal([]byte(text)))); ok != want {
			t.Errorf("%s is a session: %t", text, ok)
		}
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
		"script names none.js":     {"index.html": {Data: []byte(`<script>none.js</script>`)}},
		"style names a.css":        {"index.html": {Data: []byte(`<style>a.css</style>`)}, "a.css": {Data: []byte(`</style>`)}},
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
