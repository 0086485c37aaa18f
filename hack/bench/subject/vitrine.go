// Package subject runs the programs that the benchmarks compare (subjects): Vitrine's binary with each of its libraries, a bare net/http
// server that sends the same bytes, and OpenSearch. Each subject is a separate process, so that its processor time and memory can be
// measured.
//
// The other subjects must do the same work as Vitrine. For example, the bare server sends the same bytes and headers, and all subjects
// acknowledge a write after an fsync.
//
// The package may import child, load, loopback, querystring and opensearch/node, and Vitrine's domain, sample content, engine segments, and
// the libraries that seed its stores.
package subject

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/loopback"
	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// Store is a data directory of Vitrine with a property, tokens and filters, in the same form as the operator stores them.
type Store struct {
	Dir                 string
	readOnly, readWrite string
	// plain and scoped are READ-ONLY tokens. Those in scoped have a query.
	plain, scoped [100]string
	filters       []int64 // the numeric ids, sorted by popularity
}

const (
	property  = library.PropertyID("bench/default")
	namespace = "bench"
)

// NewStore creates a store without items in a directory that does not exist yet. It stores the definitions through the library, because
// there is no Kubernetes cluster. READ-ONLY tokens may list every filter.
func NewStore(tb testing.TB, dir string, filters []sample.Filter) *Store {
	tb.Helper()
	lib, err := reference.Open(reference.Options{Dir: dir})
	if err != nil {
		tb.Fatal(err)
	}
	return seed(tb, lib, dir, filters)
}

// NewStoreOn is like NewStore for a library in an OpenSearch cluster, with an index prefix. dir is the data directory of the server.
func NewStoreOn(tb testing.TB, cluster *OpenSearch, prefix, dir string, filters []sample.Filter) *Store {
	tb.Helper()
	return seed(tb, cluster.library(tb, prefix), dir, filters)
}

// library opens a library in the cluster.
func (s *OpenSearch) library(tb testing.TB, prefix string) library.Library {
	tb.Helper()
	lib, err := opensearch.Open(context.Background(), opensearch.Options{URLs: s.urls, Prefix: prefix, AllowHTTP: true})
	if err != nil {
		tb.Fatal(err)
	}
	return lib
}

// Rules stores tags and units with rules in a library in the cluster, as the controllers do. Servers find out about them by themselves.
func (s *OpenSearch) Rules(tb testing.TB, prefix string, tags []library.TagRule, units []library.UnitRule) {
	tb.Helper()
	var defs []library.Definition
	owner := func(k library.Kind) library.Owner {
		return library.Owner{Install: "bench", Kind: k, Namespace: namespace, Name: fmt.Sprintf("rule-%d", len(defs))}
	}
	for _, t := range tags {
		defs = append(defs, library.Definition{Property: property, Owner: owner(library.KindTag), Tag: &t})
	}
	for _, u := range units {
		defs = append(defs, library.Definition{Property: property, Owner: owner(library.KindUnit), Unit: &u})
	}
	apply(tb, s.library(tb, prefix), defs)
}

// apply stores definitions in a library and closes it.
func apply(tb testing.TB, lib library.Library, defs []library.Definition) {
	tb.Helper()
	results, err := lib.Apply(context.Background(), defs)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	if err := errors.Join(err, lib.Close()); err != nil {
		tb.Fatal(err)
	}
}

// seed stores the definitions in a library and closes it.
func seed(tb testing.TB, lib library.Library, dir string, filters []sample.Filter) *Store {
	tb.Helper()
	s := OpenStore(dir, filters)
	owner := func(k library.Kind, name string) library.Owner {
		return library.Owner{Install: "bench", Kind: k, Namespace: namespace, Name: name}
	}
	tokenOf := func(name, value string, t library.Token) library.Definition {
		t.Values = []library.TokenValue{{Digest: sha256.Sum256([]byte(value))}}
		return library.Definition{Property: property, Owner: owner(library.KindToken, name), Token: &t}
	}
	defs := []library.Definition{
		{Property: property, Owner: owner(library.KindProperty, "default"), PropertySpec: &library.Property{PlatformPageID: 1}},
		tokenOf("read-only", s.readOnly, library.Token{}), tokenOf("read-write", s.readWrite, library.Token{ReadWrite: true}),
	}
	for i := range s.plain {
		defs = append(defs, tokenOf(fmt.Sprintf("plain-%d", i), s.plain[i], library.Token{}),
			tokenOf(fmt.Sprintf("scoped-%d", i), s.scoped[i], library.Token{Query: "approval_status:app"}))
	}
	for _, f := range filters {
		uuid, id := library.FilterIDs(property, library.KindFilter, namespace, f.Name)
		defs = append(defs, library.Definition{Property: property, Owner: owner(library.KindFilter, f.Name), Filter: &library.Filter{
			UUID: uuid, ID: id, Name: f.Name, Query: f.Query, Order: f.Order, Public: true,
		}})
	}
	apply(tb, lib, defs)
	return s
}

// OpenStore returns the store that NewStore has created in a directory with the same filters.
func OpenStore(dir string, filters []sample.Filter) *Store {
	s := &Store{Dir: dir, readOnly: token("read-only"), readWrite: token("read-write")}
	for i := range s.plain {
		s.plain[i], s.scoped[i] = token(fmt.Sprintf("plain-%d", i)), token(fmt.Sprintf("scoped-%d", i))
	}
	for _, f := range filters {
		_, id := library.FilterIDs(property, library.KindFilter, namespace, f.Name)
		s.filters = append(s.filters, id)
	}
	return s
}

// token returns the value of a token. It is not secret, and always the same, so that OpenStore needs no file.
func token(name string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte("bench "+name))) }

// BuildVitrine builds the binary from the repository at root into dir, without cgo as in the image, and returns its path. With cgo, Pebble
// uses another implementation of Zstandard.
func BuildVitrine(tb testing.TB, root, dir string) string {
	tb.Helper()
	binary := filepath.Join(dir, "vitrine")
	cmd := exec.CommandContext(tb.Context(), "go", "-C", root, "build", "-trimpath", "-o", binary, "./cmd/vitrine")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build vitrine: %v\n%s", err, out)
	}
	return binary
}

// Vitrine is a running `vitrine serve`.
type Vitrine struct {
	*child.Child
	Store *Store
	// Ready is the time from the start of the process until /readyz reported the process as ready.
	Ready time.Duration
	// Addresses on which the server listens.
	http, metrics, debug string
}

// Serve starts `vitrine serve` with a store and additional flags, and waits until it is ready.
func Serve(tb testing.TB, binary string, store *Store, flags ...string) *Vitrine {
	tb.Helper()
	return ServeIn(tb, nil, binary, store, flags...)
}

// ServeIn is like Serve, but starts the process in a control group. A nil group is the group of this process.
func ServeIn(tb testing.TB, group *child.Group, binary string, store *Store, flags ...string) *Vitrine {
	tb.Helper()
	// Choose the addresses here, because a log that contains only warnings does not show them.
	ports, err := loopback.Free(4)
	if err != nil {
		tb.Fatal(err)
	}
	v := &Vitrine{Store: store, http: ports[0], metrics: ports[1], debug: ports[2]}
	began := time.Now()
	v.Child = child.Start(tb, child.Spec{Name: "vitrine", Group: group, Path: binary, Output: store.Dir + ".log", Args: append([]string{
		"serve", "--data-dir", store.Dir, "--log-format", "json", "--https-bind-address", "", "--http-bind-address", v.http,
		"--metrics-bind-address", v.metrics, "--debug-bind-address", v.debug, "--health-probe-bind-address", ports[3],
	}, flags...)})
	v.Await(tb, "ready", func() bool {
		resp, err := load.Send(context.Background(), get(ports[3], "/readyz"))
		return err == nil && resp.Status == http.StatusOK
	})
	v.Ready = time.Since(began)
	return v
}

// Restart stops the server with a signal, and starts it again with the given flags.
func (v *Vitrine) Restart(tb testing.TB, binary string, sig syscall.Signal, flags ...string) {
	tb.Helper()
	v.Stop(tb, sig)
	*v = *Serve(tb, binary, v.Store, flags...)
}

// request returns a request to the HTTP interface.
func (v *Vitrine) request(method, path string, params url.Values, body []byte) load.Request {
	r := load.Request{Method: method, URL: "http://" + v.http + path + "?" + params.Encode(), Body: body}
	if body != nil {
		r.Header = jsonBody
	}
	return r
}

// jsonBody are the headers of a request with a body.
var jsonBody = http.Header{"Content-Type": {"application/json"}}

// get returns a GET request for a path on a host.
func get(host, path string) load.Request {
	return load.Request{Method: http.MethodGet, URL: "http://" + host + path}
}

// PageSize is the number of items on every page.
const PageSize = 50

// Page returns a request for a page of PageSize items of a filter. A web page that shows a wall of items sends such requests. filter is the
// rank of the filter, and the first page is 1.
func (v *Vitrine) Page(filter, page int) load.Request { return v.page(filter, page, v.Store.readOnly) }

// FirstPages returns requests for the first page of a filter, each with another token. The tokens have no query, or the same one.
func (v *Vitrine) FirstPages(filter int, scoped bool) []load.Request {
	tokens := v.Store.plain
	if scoped {
		tokens = v.Store.scoped
	}
	requests := make([]load.Request, len(tokens))
	for i, token := range tokens {
		requests[i] = v.page(filter, 1, token)
	}
	return requests
}

func (v *Vitrine) page(filter, page int, token string) load.Request {
	return v.request(http.MethodGet, "/v2/content/filters/"+strconv.FormatInt(v.Store.filters[filter], 10), url.Values{
		"access_token": {token}, "page": {strconv.Itoa(page)}, "page_size": {strconv.Itoa(PageSize)},
	}, nil)
}

// Events returns a request for the stream of events of the first filter, with one of 100 tokens.
func (v *Vitrine) Events(i int) load.Request {
	return v.request(http.MethodGet, fmt.Sprintf("/v2/content/filters/%d/events", v.Store.filters[0]), url.Values{
		"access_token": {v.Store.plain[i%len(v.Store.plain)]},
	}, nil)
}

// Changes returns a request for the changes of a query, which waits for them.
func (v *Vitrine) Changes(q string) load.Request {
	r := v.request(http.MethodGet, "/v2/content/changes", url.Values{"q": {q}, "wait": {"30"}, "page_size": {"500"}}, nil)
	r.Header = bearer(v.Store.readWrite)
	return r
}

// Items returns a request for the first page of an ad-hoc query.
func (v *Vitrine) Items(q, order string) load.Request {
	params := url.Values{"access_token": {v.Store.readOnly}, "q": {q}, "page_size": {strconv.Itoa(PageSize)}}
	if order != "" {
		params.Set("sort_by", order)
	}
	return v.request(http.MethodGet, "/v2/content/items", params, nil)
}

// Post returns a request that adds one item.
func (v *Vitrine) Post(body []byte) load.Request {
	return v.request(http.MethodPost, "/v2/content/", url.Values{"access_token": {v.Store.readWrite}}, body)
}

// Bulk returns a request that imports lines. The response means that every line is durable and visible to later reads.
func (v *Vitrine) Bulk(lines []byte) load.Request {
	return v.request(http.MethodPost, "/v2/content/bulk", url.Values{"access_token": {v.Store.readWrite}}, lines)
}

// Replace returns a request that stores one item with an ID, whether or not the item exists.
func (v *Vitrine) Replace(line []byte) load.Request {
	return v.request(http.MethodPost, "/v2/content/bulk", url.Values{"access_token": {v.Store.readWrite}, "on_conflict": {"replace"}}, line)
}

// Delete returns a request that deletes an item.
func (v *Vitrine) Delete(id int64) load.Request {
	return v.request(http.MethodDelete, fmt.Sprintf("/v2/content/%d", id), url.Values{"access_token": {v.Store.readWrite}}, nil)
}

// Facets returns a request for the most frequent tags that begin with a prefix.
func (v *Vitrine) Facets(prefix, q string) load.Request {
	return v.request(http.MethodGet, "/v2/content/facets", url.Values{
		"access_token": {v.Store.readOnly}, "field": {"tags"}, "prefix": {prefix}, "q": {q},
	}, nil)
}

// Environment returns the variables with which the commands of Vitrine connect to the server.
func (v *Vitrine) Environment() []string {
	return []string{"VITRINE_SERVER=http://" + v.http, "VITRINE_TOKEN=" + v.Store.readWrite}
}

// CheckBulk returns an error unless exactly n lines were stored.
func CheckBulk(answer []byte, n int) error {
	if stored := bytes.Count(answer, []byte(`"status":201`)); stored != n {
		return fmt.Errorf("%d of %d lines were stored: %s", stored, n, answer[:min(len(answer), 300)])
	}
	return nil
}

// Total returns total_results, which is at the beginning of a list.
func Total(list []byte) (int64, error) {
	var total int64
	if _, err := fmt.Sscanf(string(list[:min(len(list), 50)]), `{"total_results":%d,`, &total); err != nil {
		return 0, fmt.Errorf("the response is not a list of items: %w: %s", err, list[:min(len(list), 200)])
	}
	return total, nil
}

// Metric returns a metric in /metrics. The name of a metric with labels contains them, as in vitrine_items{property="shop/default"}.
func (v *Vitrine) Metric(tb testing.TB, name string) float64 {
	tb.Helper()
	_, text := load.Do(tb, get(v.metrics, "/metrics"), http.StatusOK)
	for line := range strings.Lines(string(text)) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				tb.Fatal(err)
			}
			return value
		}
	}
	tb.Fatalf("the server has no metric %s", name)
	return 0
}

// Filter returns a request for the first item of a filter by its UUID, with a token.
func (v *Vitrine) Filter(uuid, token string) load.Request {
	r := v.request(http.MethodGet, "/v2/content/filters/"+uuid, url.Values{"page_size": {"1"}}, nil)
	r.Header = bearer(token)
	return r
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// Collect runs the garbage collector of the server.
func (v *Vitrine) Collect(tb testing.TB) {
	tb.Helper()
	load.Do(tb, get(v.debug, "/debug/pprof/heap?gc=1"), http.StatusOK)
}

// IndexSize returns the total size of the index segments among files, without the stored items that they contain, and the number of items
// in these segments. It ignores files that are not segments, and segments that a merge has already removed.
func IndexSize(files []string) (bytes, items int64) {
	for _, path := range files {
		s, err := segment.Open(path, nil)
		if err != nil {
			continue
		}
		bytes, items = bytes+s.IndexBytes(), items+int64(s.Len())
		s.Close()
	}
	return bytes, items
}
