package subject

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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
	if ran, err := Main(os.Args[1:], os.Stdin, os.Stdout); ran {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestNewStore(t *testing.T) {
	filters := sample.NewLibrary().Filters(20)
	s, err := NewStore(t.Context(), filepath.Join(t.TempDir(), "data"), filters)
	if err != nil {
		t.Fatal(err)
	}
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
	dir := t.TempDir()
	book, err := NewBook(filepath.Join(dir, "book"))
	if err != nil {
		t.Fatal(err)
	}
	client := load.NewClient(1)
	t.Cleanup(client.Close)
	page := func(n int) load.Request {
		return request(http.MethodGet, &url.URL{Scheme: "http", Host: "elsewhere.example"}, "/page", url.Values{"n": {fmt.Sprint(n)}}, nil)
	}
	for n := range 3 {
		body := strings.Repeat(fmt.Sprint(n), 1000)
		header := http.Header{"Etag": {fmt.Sprintf(`"%d"`, n)}, "Content-Length": {"1000"}, "Content-Type": {"application/json"}, "Date": {"then"}}
		if err := book.Add(page(n), header, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if book.Bytes() != 3000 {
		t.Errorf("the book has %d bytes, want 3000", book.Bytes())
	}
	posting := request(http.MethodPost, &url.URL{Scheme: "http", Host: "elsewhere.example"}, "/posts", nil, nil)
	if err := errors.Join(book.Add(posting, http.Header{"Location": {"/made"}}, []byte("made")), book.Close()); err != nil {
		t.Fatal(err)
	}
	bare, err := StartBare(t.Context(), dir, book)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bare.Stop(syscall.SIGKILL) })

	header, body, err := client.Do(t.Context(), bare.At(page(1)), http.StatusOK)
	if err != nil || string(body) != strings.Repeat("1", 1000) || header.Get("Etag") != `"1"` || header.Get("Date") == "then" {
		t.Errorf("%v %s %v", header, body, err)
	}
	held := bare.At(page(1))
	held.Header = http.Header{"If-None-Match": {`"1"`}}
	if _, body, err := client.Do(t.Context(), held, http.StatusNotModified); err != nil || len(body) > 0 {
		t.Errorf("%s %v", body, err)
	}
	if _, _, err := client.Do(t.Context(), bare.At(page(7)), http.StatusNotFound); err != nil {
		t.Error(err)
	}

	c := sample.NewLibrary()
	var posts []load.Request
	for i := range 40 {
		r := bare.At(posting)
		r.Body = fmt.Appendf(nil, `{"content_type":"text","caption":"%d"}`, i)
		posts = append(posts, r)
	}
	if _, err := client.Run(t.Context(), load.Plan{Clients: 8, Requests: posts, Want: http.StatusCreated, CPU: bare.CPU}); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "bare-posts"))
	if err != nil || strings.Count(string(kept), "\n") != 40 {
		t.Errorf("%d of 40 posts were kept, %v", strings.Count(string(kept), "\n"), err)
	}
	broken := bare.At(posting)
	broken.Body = []byte("{")
	if _, _, err := client.Do(t.Context(), broken, http.StatusBadRequest); err != nil {
		t.Error(err)
	}
	var p posted
	if err := json.Unmarshal(c.Post(1), &p); err != nil || p.Caption == "" || p.Author.AuthorRef == "" || p.ContentURL == "" || p.ApprovalStatus == "" {
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
	got, err := Rewrite("approval_status:app AND created_on:[2026-03 TO 2026-04]", time.Unix(0, 0))
	if want := "+approval_status:app +created_on:[2026-03-01T00:00:00.000Z TO 2026-04-30T23:59:59.999Z]"; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func TestParseMetrics(t *testing.T) {
	got := parseMetrics("# HELP x y\nx{a=\"1\"} 2\nx{a=\"2\"} 3\ny 1e+06\nbroken\n")
	want := map[string]float64{"x": 5, `x{a="1"}`: 2, `x{a="2"}`: 3, "y": 1e6}
	if !maps.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
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
	base, err := url.Parse(node.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRecorder(&OpenSearch{base: base, stamp: "x"})
	defer r.Close()
	client := load.NewClient(1)
	t.Cleanup(client.Close)
	send := func(path, body string) {
		t.Helper()
		address, err := url.Parse(r.URL())
		if err != nil {
			t.Fatal(err)
		}
		_, answer, err := client.Do(t.Context(), request(http.MethodPost, address, path, nil, []byte(body)), http.StatusOK)
		if err != nil || string(answer) != body {
			t.Errorf("%s: %s, %v", path, answer, err)
		}
	}
	send("/_bulk", `{"create":{"_id":"1","_index":"bench-x-items-bench_default==1==write"}}`+"\n"+`{"id":1}`+"\n"+
		`{"index":{"_id":"ledger","_index":"bench-x-facts"}}`+"\n"+`{"sequence":1}`+"\n")
	send("/index/_search?x=y", `{"query":{"match_all":{}}}`)
	send("/index/_search", `{"query":{"range":{"_seq_no":{"gte":7}}}}`)
	documents, err := r.Sources()
	if err != nil || len(documents) != 1 || string(documents["1"]) != `{"id":1}` {
		t.Errorf("%q, %v", documents, err)
	}
	searches := r.Searches()
	if len(searches) != 2 || IsFollowing(searches[0]) || !IsFollowing(searches[1]) || len(r.Searches()) != 0 {
		t.Errorf("%q", searches)
	}
}
