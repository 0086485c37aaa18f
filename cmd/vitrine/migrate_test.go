package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/internal/exit"
)

// post creates an item and returns the status, the header Retry-After and the body.
func (s *instance) post(body string) (status int, retryAfter, answer string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.addresses["http"]+"/v2/content/?access_token="+secret, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Retry-After"), string(text)
}

// everything returns the responses of a server to a fixed list of queries.
func (s *instance) everything() (answers []string) {
	s.t.Helper()
	for _, q := range []string{"q=*:*&sort_by=id:asc", "q=text:number&sort_by=created_on:desc", "q=tags.marketer_tags.key:summer&sort_by=id:desc", "q=item+7"} {
		_, body := get(s.t, s.items(q))
		answers = append(answers, body)
	}
	return answers
}

// equal fails the test for each response in got that differs from the earlier response in want.
func equal(t *testing.T, when string, want, got []string) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s:\n%s\nbefore:\n%s", when, got[i], want[i])
		}
	}
}

// rejectsWrites checks that a server rejects writes and serves reads.
func (s *instance) rejectsWrites(want []string) {
	s.t.Helper()
	// For a short time after another process has frozen the library, the response does not contain the reason yet.
	eventually(s.t, "a 503 with the reason", func() bool {
		status, retryAfter, body := s.post(`{"content_type":"text","caption":"x"}`)
		if status != http.StatusServiceUnavailable || retryAfter == "" {
			s.t.Errorf("a write: %d, Retry-After %q, %s", status, retryAfter, body)
		}
		return retryAfter == "30" && strings.Contains(body, "Reads continue")
	})
	equal(s.t, "while writes are rejected", want, s.everything())
	if code, body := s.probe("/readyz?verbose"); code != http.StatusOK || !strings.Contains(body, "vitrine migrate --cancel") {
		s.t.Errorf("/readyz: %d %s", code, body)
	}
}

// changes follows all items from a cursor. It returns the first line, and the last cursor.
func (s *instance) changes(since string) (first, cursor string) {
	s.t.Helper()
	s.environment(s.t)
	r := vitrine(s.t.Context(), "", "changes", "-q", "*:*", "--since", since)
	r.want(s.t, 0)
	for line := range strings.Lines(r.stdout) {
		var parsed changeLine
		if err := json.Unmarshal([]byte(line), &parsed); err != nil {
			s.t.Fatalf("%v: %s", err, line)
		}
		first, cursor = cmp.Or(first, line), parsed.Cursor
	}
	return first, cursor
}

// TestMigrate moves a library from a running server to OpenSearch and back.
func TestMigrate(t *testing.T) {
	urls, prefix := nodetest.URLs(t), nodetest.Prefix(t)
	cluster := []string{"--opensearch-url", strings.Join(urls, ","), "--opensearch-index-prefix", prefix}
	plain := []string{"--http-bind-address", "127.0.0.1:0"}
	migrate := func(flags ...string) result {
		return vitrine(t.Context(), "", append([]string{"migrate"}, flags...)...)
	}

	first := start(t, newStore(t), plain...)
	first.environment(t)
	vitrine(t.Context(), itemLines(1, 50), "import", "-").want(t, 0, "50 added")
	if status, _, body := first.post(`{"content_type":"text","caption":"number fifty one"}`); status != http.StatusCreated {
		t.Fatal(status, body)
	}
	want := first.everything()
	_, cursor := first.changes("")
	migrate(append(cluster, "--to=opensearch", "--data-dir", first.dir)...).want(t, 0,
		"PROPERTY", "shop/default   51", "51 items and 3 definitions copied; the copy equals the original", "to use the copy, start the server with --library=opensearch")
	first.rejectsWrites(want)
	if line, _ := first.changes(cursor); !strings.HasPrefix(line, `{"cursor":`) {
		t.Errorf("the frozen original has changes: %s", line)
	}
	if code := first.signal(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	first = start(t, first.dir, plain...)
	first.rejectsWrites(want)

	onCluster := append(append([]string{"--library=opensearch"}, cluster...), plain...)
	second := start(t, filepath.Join(t.TempDir(), "data"), onCluster...)
	equal(t, "on OpenSearch", want, second.everything())
	_, _, body := second.post(`{"content_type":"text","caption":"number fifty two"}`)
	if !strings.Contains(body, `52`) {
		t.Errorf("the next item: %s", body)
	}
	line, cursor := second.changes(cursor)
	if line != `{"change":"upsert","id":52}`+"\n" {
		t.Errorf("on OpenSearch, since a cursor of the original: %s", line)
	}
	want = second.everything()
	migrate(append(cluster, "--to=opensearch", "--data-dir", first.dir)...).want(t, exit.Failed, "the cluster contains a library with the index prefix "+prefix)
	migrate(append(cluster, "--to=opensearch", "--data-dir", second.dir)...).want(t, exit.Failed, "--to=engine")
	migrate(append(cluster, "--to=engine", "--data-dir", second.dir)...).want(t, exit.Store, "in use by process")

	back := filepath.Join(t.TempDir(), "back")
	migrate(append(cluster, "--to=engine", "--data-dir", back)...).want(t, 0, "52 items and 3 definitions copied", "--data-dir="+back)
	second.rejectsWrites(want)
	third := start(t, back, plain...)
	equal(t, "back in a data directory", want, third.everything())
	if _, _, body := third.post(`{"content_type":"text","caption":"number fifty three"}`); !strings.Contains(body, `53`) {
		t.Errorf("the next item: %s", body)
	}
	if line, _ := third.changes(cursor); line != `{"change":"upsert","id":53}`+"\n" {
		t.Errorf("back in a data directory, since a cursor from OpenSearch: %s", line)
	}

	migrate(append(cluster, "--cancel")...).want(t, 0, "the original library accepts writes")
	eventually(t, "writes on OpenSearch", func() bool {
		status, _, _ := second.post(`{"content_type":"text","caption":"x"}`)
		return status == http.StatusCreated
	})
	// The copy was used, so it stays a library.
	migrate("--cancel", "--data-dir", first.dir).want(t, 0, "the original library accepts writes", "the copy was used since the migration")
	if status, _, body := first.post(`{"content_type":"text","caption":"x"}`); status != http.StatusCreated {
		t.Errorf("after --cancel: %d %s", status, body)
	}
}

// TestCancelledCopy checks that a copy whose migration was cancelled cannot be opened, unless it was used before or is revived.
func TestCancelledCopy(t *testing.T) {
	urls, prefix := nodetest.URLs(t), nodetest.Prefix(t)
	cluster := []string{"--opensearch-url", strings.Join(urls, ","), "--opensearch-index-prefix", prefix}
	migrate := func(flags ...string) result {
		return vitrine(t.Context(), "", append([]string{"migrate"}, flags...)...)
	}
	dir := newStore(t)
	migrate(append(cluster, "--to=opensearch", "--data-dir", dir)...).want(t, 0, "the copy equals the original")
	migrate("--cancel", "--data-dir", dir).want(t, 0, "the original library accepts writes again; the copy can no longer be opened: delete the indices "+prefix+"-*")
	migrate("--cancel", "--data-dir", dir).want(t, 0, "the original library accepts writes again")
	const refused = "are a copy whose migration was cancelled"
	serve := append([]string{"serve", "--without-kubernetes", "--library=opensearch", "--data-dir", filepath.Join(t.TempDir(), "data")}, cluster...)
	vitrine(t.Context(), "", serve...).want(t, exit.Store, refused, "vitrine migrate --cancel")
	back := filepath.Join(t.TempDir(), "back")
	migrate(append(cluster, "--to=engine", "--data-dir", back)...).want(t, exit.Store, refused)
	migrate(append(cluster, "--to=opensearch", "--data-dir", dir)...).want(t, exit.Failed, "the cluster contains a library")
	migrate(append(cluster, "--cancel")...).want(t, 0, "this copy can be opened again", "do not use both")
	migrate(append(cluster, "--to=engine", "--data-dir", back)...).want(t, 0, "the copy equals the original")

	// If OpenSearch is unreachable, the original accepts writes nevertheless.
	node, err := url.Parse(urls[0])
	if err != nil {
		t.Fatal(err)
	}
	gone := httptest.NewServer(httputil.NewSingleHostReverseProxy(node))
	other := nodetest.Prefix(t)
	migrate("--to=opensearch", "--data-dir", dir, "--opensearch-url", gone.URL, "--opensearch-index-prefix", other).want(t, 0, "the copy equals the original")
	gone.Close()
	migrate("--cancel", "--data-dir", dir).want(t, 0, "the original library accepts writes again; the copy could not be marked", "delete the indices "+other+"-*")
}

// TestMigrateWithoutServer interrupts and continues the copy of a store that no server uses.
func TestMigrateWithoutServer(t *testing.T) {
	urls, prefix := nodetest.URLs(t), nodetest.Prefix(t)
	args := []string{"migrate", "--to=opensearch", "--data-dir", newStore(t), "--opensearch-url", strings.Join(urls, ","), "--opensearch-index-prefix", prefix}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	vitrine(interrupted, "", args...).want(t, exit.Interrupted, "to continue, run the same command again")
	vitrine(t.Context(), "", args...).want(t, 0, "0 items and 3 definitions copied")
	none := append(args[:3:3], filepath.Join(t.TempDir(), "none"))
	vitrine(t.Context(), "", append(none, args[4:]...)...).want(t, exit.Store, "contains no store")
}

// TestMigrateFlags checks that migrate refuses invalid flags.
func TestMigrateFlags(t *testing.T) {
	url := "--opensearch-url=http://127.0.0.1:1"
	for name, test := range map[string]struct {
		flags []string
		want  string
	}{
		"nothing":           {nil, "--to=opensearch"},
		"both":              {[]string{"--to=engine", "--cancel", url}, "--cancel"},
		"another library":   {[]string{"--to=solr", url}, "opensearch or engine"},
		"no URL":            {[]string{"--to=engine"}, "--opensearch-url"},
		"plain text":        {[]string{"--to=engine", "--opensearch-url=http://search.example"}, "not encrypted"},
		"half of a secret":  {[]string{"--cancel", url, "--opensearch-username-file=u"}, "--opensearch-password-file"},
		"an extra argument": {[]string{"--cancel", "x"}, "1 argument given: use vitrine migrate"},
	} {
		t.Run(name, func(t *testing.T) {
			vitrine(t.Context(), "", append([]string{"migrate"}, test.flags...)...).want(t, exit.Usage, test.want)
		})
	}
}
