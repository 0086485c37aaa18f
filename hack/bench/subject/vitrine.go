package subject

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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

// Store is a data directory of Vitrine with a property, two tokens and filters, in the same form as the operator stores them.
type Store struct {
	Dir                 string
	readOnly, readWrite string
	filters             []int64 // the numeric ids, sorted by popularity
}

const (
	property  = library.PropertyID("bench/default")
	namespace = "bench"
)

// NewStore creates a store without items in a directory that does not exist yet. It stores the definitions through the library, because
// there is no Kubernetes cluster. READ-ONLY tokens may list every filter.
func NewStore(ctx context.Context, dir string, filters []sample.Filter) (*Store, error) {
	lib, err := reference.Open(reference.Options{Dir: dir})
	if err != nil {
		return nil, fmt.Errorf("make the store: %w", err)
	}
	return seed(ctx, lib, dir, filters)
}

// NewStoreOn is like NewStore for a library in an OpenSearch cluster, with an index prefix. dir is the data directory of the server.
func NewStoreOn(ctx context.Context, cluster *OpenSearch, prefix, dir string, filters []sample.Filter) (*Store, error) {
	lib, err := opensearch.Open(ctx, opensearch.Options{URLs: []string{cluster.base.String()}, Prefix: prefix, AllowHTTP: true})
	if err != nil {
		return nil, fmt.Errorf("make the library: %w", err)
	}
	return seed(ctx, lib, dir, filters)
}

// seed stores the definitions in a library and closes it.
func seed(ctx context.Context, lib library.Library, dir string, filters []sample.Filter) (*Store, error) {
	s := &Store{Dir: dir, readOnly: rand.Text() + rand.Text(), readWrite: rand.Text() + rand.Text()}
	owner := func(k library.Kind, name string) library.Owner {
		return library.Owner{Install: "bench", Kind: k, Namespace: namespace, Name: name}
	}
	token := func(name, value string, readWrite bool) library.Definition {
		return library.Definition{Property: property, Owner: owner(library.KindToken, name), Token: &library.Token{
			ReadWrite: readWrite, Values: []library.TokenValue{{Digest: sha256.Sum256([]byte(value))}},
		}}
	}
	defs := []library.Definition{
		{Property: property, Owner: owner(library.KindProperty, "default"), PropertySpec: &library.Property{PlatformPageID: 1}},
		token("read-only", s.readOnly, false), token("read-write", s.readWrite, true),
	}
	for _, f := range filters {
		uuid, id := library.FilterIDs(property, library.KindFilter, namespace, f.Name)
		defs = append(defs, library.Definition{Property: property, Owner: owner(library.KindFilter, f.Name), Filter: &library.Filter{
			UUID: uuid, ID: id, Name: f.Name, Query: f.Query, Order: f.Order, Public: true,
		}})
		s.filters = append(s.filters, id)
	}
	results, err := lib.Apply(ctx, defs)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	if err := errors.Join(err, lib.Close()); err != nil {
		return nil, fmt.Errorf("seed the store: %w", err)
	}
	return s, nil
}

// BuildVitrine builds the binary from the repository that contains this module, and returns its path.
func BuildVitrine(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "vitrine")
	cmd := exec.CommandContext(ctx, "go", "-C", "../..", "build", "-trimpath", "-o", binary, "./cmd/vitrine")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build vitrine: %w\n%s", err, out)
	}
	return binary, nil
}

// Vitrine is a running `vitrine serve`.
type Vitrine struct {
	*child.Child
	Store *Store
	// Ready is the time from the start of the process until /readyz reported the process as ready.
	Ready time.Duration

	client *load.Client
	// Addresses on which the server listens.
	http, probes, metrics, debug string
}

// ServeOptions configure vitrine serve.
type ServeOptions struct {
	Binary string
	// Library is the value of --library.
	Library string
	// Kubeconfig selects the cluster to watch; "" runs vitrine without a cluster.
	Kubeconfig string
	// Flags are additional flags.
	Flags []string
	// Output is the log file.
	Output string
	// Debug enables the HTTP endpoints for profiles.
	Debug bool
}

// serveFor limits the time until Vitrine is ready, which may include a rebuild of all indexes.
const serveFor = 10 * time.Minute

// Serve starts vitrine with a store and waits until it is ready.
func Serve(ctx context.Context, store *Store, client *load.Client, o ServeOptions) (*Vitrine, error) {
	v := &Vitrine{Store: store, client: client}
	// Choose the addresses here, because a log that contains only warnings does not show them.
	ports, err := loopback.Free(4)
	if err != nil {
		return nil, err
	}
	v.http, v.probes, v.metrics = ports[0], ports[1], ports[2]
	cluster := "--without-kubernetes"
	if o.Kubeconfig != "" {
		cluster = "--kubeconfig=" + o.Kubeconfig
	}
	args := append([]string{
		"serve", "--data-dir", store.Dir, cluster, "--library", o.Library, "--log-format", "json",
		"--https-bind-address", "", "--http-bind-address", v.http, "--health-probe-bind-address", v.probes, "--metrics-bind-address", v.metrics,
	}, o.Flags...)
	if o.Debug {
		v.debug = ports[3]
		args = append(args, "--debug-bind-address", v.debug)
	}
	began := time.Now()
	if v.Child, err = child.Start(child.Spec{Name: "vitrine", Path: o.Binary, Args: args, Output: o.Output}); err != nil {
		return nil, err
	}
	err = v.Await(ctx, serveFor, "ready", func() bool {
		_, _, err := client.Do(ctx, get(v.probes, "/readyz"), http.StatusOK)
		return err == nil
	})
	if err != nil {
		return nil, errors.Join(err, v.Stop(syscall.SIGKILL))
	}
	v.Ready = time.Since(began)
	return v, nil
}

// base returns the base URL of the HTTP interface.
func (v *Vitrine) base() *url.URL { return &url.URL{Scheme: "http", Host: v.http} }

// PageSize is the number of items on every page.
const PageSize = 50

// Page returns a request for a page of PageSize items of a filter. A web page that shows a wall of items sends such requests. filter is the
// rank of the filter, and the first page is 1.
func (v *Vitrine) Page(filter, page int) load.Request {
	return request(http.MethodGet, v.base(), "/v2/content/filters/"+strconv.FormatInt(v.Store.filters[filter], 10), url.Values{
		"access_token": {v.Store.readOnly}, "page": {strconv.Itoa(page)}, "page_size": {strconv.Itoa(PageSize)},
	}, nil)
}

// Items returns a request for the first page of an ad-hoc query.
func (v *Vitrine) Items(q, order string) load.Request {
	params := url.Values{"access_token": {v.Store.readOnly}, "q": {q}, "page_size": {strconv.Itoa(PageSize)}}
	if order != "" {
		params.Set("sort_by", order)
	}
	return request(http.MethodGet, v.base(), "/v2/content/items", params, nil)
}

// Post returns a request that adds one item.
func (v *Vitrine) Post(body []byte) load.Request {
	return request(http.MethodPost, v.base(), "/v2/content/", url.Values{"access_token": {v.Store.readWrite}}, body)
}

// Bulk returns a request that imports lines. The response means that every line is durable and visible to later reads.
func (v *Vitrine) Bulk(lines []byte) load.Request {
	return request(http.MethodPost, v.base(), "/v2/content/bulk", url.Values{"access_token": {v.Store.readWrite}}, lines)
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
	rest, ok := bytes.CutPrefix(list, []byte(`{"total_results":`))
	end := bytes.IndexByte(rest, ',')
	if !ok || end < 0 {
		return 0, fmt.Errorf("the response is not a list of items: %s", list[:min(len(list), 200)])
	}
	n, err := strconv.ParseInt(string(rest[:end]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read total_results: %w", err)
	}
	return n, nil
}

// Metrics returns the metrics in /metrics, summed over their labels.
func (v *Vitrine) Metrics(ctx context.Context) (map[string]float64, error) {
	_, text, err := v.client.Do(ctx, get(v.metrics, "/metrics"), http.StatusOK)
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	return parseMetrics(string(text)), nil
}

// parseMetrics parses the text format of Prometheus, in which each line is name{labels} value. It returns the sums of the values by name.
func parseMetrics(text string) map[string]float64 {
	sums := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		space := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || space < 0 {
			continue
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			continue
		}
		name, _, _ := strings.Cut(line[:space], "{")
		sums[name] += value
		if labelled := line[:space]; labelled != name {
			sums[labelled] += value
		}
	}
	return sums
}

// Filter returns a request for the first item of a filter by its UUID, with a token.
func (v *Vitrine) Filter(uuid, token string) load.Request {
	r := request(http.MethodGet, v.base(), "/v2/content/filters/"+uuid, url.Values{"page_size": {"1"}}, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// Collect runs the garbage collector of the server, which must have been started with Debug.
func (v *Vitrine) Collect(ctx context.Context) error {
	if _, _, err := v.client.Do(ctx, get(v.debug, "/debug/pprof/heap?gc=1"), http.StatusOK); err != nil {
		return fmt.Errorf("run the garbage collector of the server: %w", err)
	}
	return nil
}

// IndexSize returns the total size of the index segments among files, without the stored items that they contain, and the number of items
// in these segments. It ignores files that are not segments, and segments that a merge has already removed.
func IndexSize(files []string) (bytes, items int64) {
	for _, path := range files {
		s, err := segment.Open(path)
		if err != nil {
			continue
		}
		bytes, items = bytes+s.IndexBytes(), items+int64(s.Len())
		s.Close()
	}
	return bytes, items
}
