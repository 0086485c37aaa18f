package subject

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// TestMain runs the program of a subject instead of the tests if the arguments request that, because the subjects start this binary as a
// child process.
func TestMain(m *testing.M) {
	if ran, err := Main(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	} else if ran {
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestNewStore(t *testing.T) {
	filters := sample.NewLibrary().Filters(20)
	s := NewStore(t, filepath.Join(t.TempDir(), "data"), filters)
	lib, err := reference.Open(reference.Options{Dir: s.Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	for i, f := range filters {
		got, err := lib.Filter(property, library.FilterRef{ID: s.filters[i]})
		if err != nil || got.Query != f.Query || got.Order != f.Order || !got.Public {
			t.Errorf("filter %d: %+v, %v", i, got, err)
		}
	}
}

func TestBareServer(t *testing.T) {
	vitrine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "then")
		w.Header().Set("Etag", r.URL.RawQuery)
		_, _ = io.WriteString(w, r.Method+strings.Repeat(r.URL.RawQuery, 1000))
	}))
	t.Cleanup(vitrine.Close)
	page := func(n int) load.Request {
		return load.Request{Method: http.MethodGet, URL: fmt.Sprintf("%s/page?%d", vitrine.URL, n)}
	}
	post := func(body []byte) load.Request {
		return load.Request{Method: http.MethodPost, URL: vitrine.URL + "/posts", Body: body}
	}
	path := filepath.Join(t.TempDir(), "book")
	bare := StartBare(t, path, []load.Request{page(0), page(1), post([]byte("{}"))}, http.StatusOK)
	t.Cleanup(func() { bare.Stop(t, syscall.SIGKILL) })
	header, body := load.Do(t, bare.At(page(1)), http.StatusOK)
	if string(body) != "GET"+strings.Repeat("1", 1000) || header.Get("Etag") != "1" || header.Get("Date") == "then" {
		t.Errorf("%v %s", header, body)
	}
	load.Do(t, bare.At(page(7)), http.StatusNotFound)
	var posts []load.Request
	for i := range 40 {
		posts = append(posts, bare.At(post(fmt.Appendf(nil, `{"content_type":"text","caption":"%d"}`, i))))
	}
	load.Run(t, 8, posts, http.StatusCreated, nil)
	kept, err := os.ReadFile(path + ".posts")
	if err != nil || strings.Count(string(kept), "\n") != 40 {
		t.Errorf("%d of 40 posts were kept, %v", strings.Count(string(kept), "\n"), err)
	}
	load.Do(t, bare.At(post([]byte("{"))), http.StatusBadRequest)
	var p posted
	if err := json.Unmarshal(sample.NewLibrary().Post(1), &p); err != nil || p.Caption == "" || p.Author.AuthorRef == "" || p.ContentURL == "" || p.ApprovalStatus == "" {
		t.Errorf("the bare server does not decode all members: %+v, %v", p, err)
	}
}

func TestFieldsOfBareWords(t *testing.T) {
	line, err := item.ParseLine(sample.NewLibrary().Item(0), item.ParseOptions{AuthorKey: []byte("key")})
	if err != nil {
		t.Fatal(err)
	}
	var last string
	seen := map[string]bool{}
	for f := range line.Item.Values(nil, nil, nil) {
		if f.Name == query.AllField {
			seen[last] = true
		}
		last = f.Name
	}
	var got []string
	for name, mapping := range ItemMapping()["properties"].(map[string]any) {
		if mapping.(map[string]any)["copy_to"] != nil {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(seen)); !slices.Equal(want, got) {
		t.Errorf("OpenSearch searches bare words in %v, want %v", got, want)
	}
}

func TestRewrite(t *testing.T) {
	got := Rewrite(t, "approval_status:app AND created_on:[2026-03 TO 2026-04]")
	if want := "+approval_status:app +created_on:[2026-03-01T00:00:00.000Z TO 2026-04-30T23:59:59.999Z]"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

func TestTotal(t *testing.T) {
	if n, err := Total([]byte(`{"total_results":12,"items":[]}`)); err != nil || n != 12 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := Total([]byte(`{"error":"no"}`)); err == nil {
		t.Error("a response without a total is accepted")
	}
}

func TestIndexSize(t *testing.T) {
	var docs []segment.Doc
	c := sample.NewLibrary()
	size := 0
	for i := range 100 {
		line, err := item.ParseLine(c.Item(i), item.ParseOptions{AuthorKey: []byte("key")})
		if err != nil {
			t.Fatal(err)
		}
		d := segment.NewDoc(line.Item)
		size += len(d.Bytes)
		docs = append(docs, d)
	}
	s, err := segment.Build(docs)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "segment"))
	if err != nil {
		t.Fatal(err)
	}
	length, err := s.WriteTo(file)
	if err := errors.Join(err, file.Close(), os.WriteFile(filepath.Join(dir, "other"), []byte("other"), 0o600)); err != nil {
		t.Fatal(err)
	}
	bytes, items := IndexSize([]string{filepath.Join(dir, "segment"), filepath.Join(dir, "other"), filepath.Join(dir, "absent")})
	if items != 100 || bytes <= 0 || bytes > length-int64(size) {
		t.Errorf("%d index bytes, %d item bytes, a file of %d bytes, %d items", bytes, size, length, items)
	}
}

func TestRecorder(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer node.Close()
	r := NewRecorder(t, &OpenSearch{urls: []string{node.URL}})
	send := func(path, body string) {
		t.Helper()
		_, answer := load.Do(t, load.Request{Method: http.MethodPost, URL: r.server.URL + path, Body: []byte(body)}, http.StatusOK)
		if string(answer) != body {
			t.Errorf("%s: %s", path, answer)
		}
	}
	send("/_bulk", `{"create":{"_id":"1","_index":"bench-x-items-bench_default==1==write"}}`+"\n"+`{"id":1}`+"\n"+
		`{"index":{"_id":"ledger","_index":"bench-x-facts"}}`+"\n"+`{"sequence":1}`+"\n")
	send("/index/_search?x=y", `{"query":{"match_all":{}}}`)
	send("/index/_search", `{"query":{"range":{"_seq_no":{"gte":7}}}}`)
	if documents := r.Sources(t); len(documents) != 1 || string(documents["1"]) != `{"id":1}` {
		t.Errorf("%q", documents)
	}
	searches := r.Searches()
	if len(searches) != 2 || IsFollowing(searches[0]) || !IsFollowing(searches[1]) || len(r.Searches()) != 0 {
		t.Errorf("%q", searches)
	}
}
