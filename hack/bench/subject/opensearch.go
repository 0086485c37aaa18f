package subject

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/opensearch/node"
	"github.com/vitrine-dev/vitrine/hack/querystring"
	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/query"
)

// OpenSearch is a real OpenSearch node, or a cluster of nodes.
type OpenSearch struct {
	// Version is the version that the node reports.
	Version string

	urls  []string   // of the nodes; the first one answers the requests of the benchmark
	node  *node.Node // nil for an external node
	dir   string
	stamp string // a part of the names of all indices of this run
}

// OpenOpenSearch connects to the running nodes at address, a list of URLs with commas, which must not require TLS or credentials. If
// address is "", it starts a node with its data in dir and 2 GiB of heap. It returns nil if this machine cannot run a node.
func OpenOpenSearch(tb testing.TB, address, dir string) *OpenSearch {
	tb.Helper()
	s := &OpenSearch{dir: dir, stamp: strconv.FormatInt(time.Now().UnixNano(), 36)}
	for url := range strings.SplitSeq(address, ",") {
		s.urls = append(s.urls, strings.TrimSuffix(url, "/"))
	}
	if address == "" {
		started, err := node.Start(context.Background(), node.Options{Dir: dir, Heap: "2g"})
		if absent, ok := errors.AsType[*node.AbsentError](err); ok {
			tb.Log(absent)
			return nil
		}
		if err != nil {
			tb.Fatal(err)
		}
		s.node, s.urls = started, []string{started.URL}
	}
	var about struct{ Version struct{ Number string } }
	s.do(tb, http.MethodGet, "", nil, &about)
	s.Version = about.Version.Number
	return s
}

// Close stops the node if the program started it. Otherwise, it deletes the indices of this run.
func (s *OpenSearch) Close(ctx context.Context) error {
	if s.node != nil {
		return s.node.Stop(ctx)
	}
	_, err := load.Send(ctx, load.Request{Method: http.MethodDelete, URL: s.urls[0] + "/bench-" + s.stamp + "-*?ignore_unavailable=true&expand_wildcards=all"})
	return err
}

// request returns a request to the node.
func (s *OpenSearch) request(method, path string, body []byte) load.Request {
	r := load.Request{Method: method, URL: s.urls[0] + path, Body: body}
	if body != nil {
		r.Header = jsonBody
	}
	return r
}

// do sends one request and decodes the response into out, which may be nil.
func (s *OpenSearch) do(tb testing.TB, method, path string, body, out any) {
	tb.Helper()
	var encoded []byte
	if body != nil {
		encoded = encode(body)
	}
	_, answer := load.Do(tb, s.request(method, path, encoded), 0)
	if out == nil {
		return
	}
	if err := json.Unmarshal(answer, out); err != nil {
		tb.Fatalf("read OpenSearch's response: %v", err)
	}
}

// encode returns a body as JSON. Bodies consist of maps, lists and strings, whose encoding cannot fail.
func encode(body any) []byte {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return encoded
}

// index returns the path of an index of this run.
func (s *OpenSearch) index(name string) string { return "/bench-" + s.stamp + "-" + name }

// Create creates an index with a mapping. If the mapping is nil, OpenSearch creates fields from documents. The index is refreshed only on
// request, so that imports are as fast as possible. As by default, OpenSearch syncs the translog before each response.
func (s *OpenSearch) Create(tb testing.TB, name string, mapping map[string]any) {
	tb.Helper()
	body := map[string]any{"settings": map[string]any{
		"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1", "translog.durability": "request",
		"analysis": querystring.Analysis(),
	}}
	if mapping != nil {
		body["mappings"] = mapping
	}
	s.do(tb, http.MethodPut, s.index(name), body, nil)
}

// ItemMapping returns the mapping of an index of items. It has every field of the catalogue, and a field for words without a field name.
func ItemMapping() map[string]any {
	mapping := querystring.Mapping()
	properties := mapping["properties"].(map[string]any)
	for _, r := range query.Rows() {
		if r.InAll {
			properties[r.Name].(map[string]any)["copy_to"] = querystring.DefaultAllField
		}
	}
	return mapping
}

// PercolatorMapping returns ItemMapping for a percolator, whose documents are queries.
func PercolatorMapping() map[string]any {
	mapping := ItemMapping()
	properties := mapping["properties"].(map[string]any)
	properties[percolatorField] = map[string]any{"type": "percolator"}
	// Map these fields explicitly: the percolator parses a query when the query is registered, and at that time no item has created the
	// fields yet.
	for _, name := range sample.DynamicFields() {
		properties[name] = querystring.FieldMapping(query.Keyword)
	}
	return mapping
}

// Bulk returns a request that imports documents. lines contains the documents, each of them after the line that BulkLine appends.
func (s *OpenSearch) Bulk(name string, lines []byte) load.Request {
	return s.request(http.MethodPost, s.index(name)+"/_bulk", lines)
}

// BulkLine appends the line that precedes a document.
func BulkLine(out []byte, id int64) []byte {
	return append(strconv.AppendInt(append(out, `{"index":{"_id":"`...), id, 10), "\"}}\n"...)
}

// CheckSearchBulk returns an error if a document was not stored.
func CheckSearchBulk(answer []byte) error {
	if !bytes.Contains(answer[:min(len(answer), 200)], []byte(`"errors":false`)) {
		return fmt.Errorf("OpenSearch rejects documents: %s", answer[:min(len(answer), 600)])
	}
	return nil
}

// Refresh makes all documents searchable.
func (s *OpenSearch) Refresh(tb testing.TB, name string) {
	tb.Helper()
	s.do(tb, http.MethodPost, s.index(name)+"/_refresh", nil, nil)
}

// Put returns a request that adds one document. The response means that the document is durable.
func (s *OpenSearch) Put(name string, body []byte) load.Request {
	return s.request(http.MethodPost, s.index(name)+"/_doc", body)
}

// Rewrite translates a query of Vitrine to a query string with the same meaning in OpenSearch.
func Rewrite(tb testing.TB, q string) string {
	tb.Helper()
	parsed, err := query.Parse(q)
	if err != nil {
		tb.Fatalf("parse %s: %v", q, err)
	}
	text, err := querystring.Rewrite(parsed.Root, querystring.Options{Now: time.Now(), Source: q})
	if err != nil {
		tb.Fatalf("rewrite %s: %v", q, err)
	}
	return text
}

func queryString(q string) map[string]any {
	return map[string]any{"query_string": map[string]any{"query": q, "fields": []string{querystring.DefaultAllField}}}
}

// Search returns a request for the first page of a query with its exact total and whole documents. The order is newest first, or by
// relevance. In an order by relevance, Vitrine also sorts items with the same score. This request does not ask OpenSearch to do that, so
// OpenSearch has less work than Vitrine.
func (s *OpenSearch) Search(name, q string, newestFirst bool) load.Request {
	body := map[string]any{"query": queryString(q), "size": PageSize, "track_total_hits": true}
	if newestFirst {
		body["sort"] = []any{map[string]any{"created_on": "desc"}, map[string]any{"id": "desc"}}
	}
	return s.request(http.MethodPost, s.index(name)+"/_search", encode(body))
}

// SearchTotal returns the exact total of a response.
func SearchTotal(answer []byte) (int64, error) {
	var a struct {
		Hits struct {
			Total struct {
				Value    int64
				Relation string
			}
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil || a.Hits.Total.Relation != "eq" {
		return 0, fmt.Errorf("the response has no exact total: %s, %w", answer[:min(len(answer), 200)], err)
	}
	return a.Hits.Total.Value, nil
}

// percolatorField is the field that contains the queries of a percolator.
const percolatorField = "percolated_query"

// Register stores queries in a percolator.
func (s *OpenSearch) Register(tb testing.TB, name string, queries []string) {
	tb.Helper()
	var lines []byte
	for i, q := range queries {
		doc := encode(map[string]any{percolatorField: queryString(q)})
		lines = append(append(BulkLine(lines, int64(i)), doc...), '\n')
	}
	_, answer := load.Do(tb, s.Bulk(name, lines), http.StatusOK)
	if err := CheckSearchBulk(answer); err != nil {
		tb.Fatal(err)
	}
	s.Refresh(tb, name)
}

// Percolate returns a request that matches documents (lines of JSON) against the registered queries.
func (s *OpenSearch) Percolate(name string, documents []json.RawMessage) load.Request {
	encoded := encode(map[string]any{
		"query": map[string]any{"constant_score": map[string]any{"filter": map[string]any{
			"percolate": map[string]any{"field": percolatorField, "documents": documents},
		}}},
		"size": 10000, "track_total_hits": true, "_source": false,
	})
	return s.request(http.MethodPost, s.index(name)+"/_search?filter_path=hits.total,hits.hits._id,hits.hits.fields", encoded)
}

// stats returns the heap in use and the processor time that the nodes report.
func (s *OpenSearch) stats(tb testing.TB) (heap int64, cpu time.Duration) {
	tb.Helper()
	var answer struct {
		Nodes map[string]struct {
			JVM struct {
				Mem struct {
					HeapUsed int64 `json:"heap_used_in_bytes"`
				}
			}
			Process struct {
				CPU struct {
					Total int64 `json:"total_in_millis"`
				}
			}
		}
	}
	s.do(tb, http.MethodGet, "/_nodes/stats/jvm,process", nil, &answer)
	for _, n := range answer.Nodes {
		heap, cpu = heap+n.JVM.Mem.HeapUsed, cpu+time.Duration(n.Process.CPU.Total)*time.Millisecond
	}
	return heap, cpu
}

// CPU returns the processor time that the nodes have used.
func (s *OpenSearch) CPU(tb testing.TB) time.Duration {
	tb.Helper()
	if s.node != nil {
		return s.process().CPU(tb)
	}
	_, cpu := s.stats(tb)
	return cpu
}

// process returns the process of the node that this program started.
func (s *OpenSearch) process() child.Process {
	return child.Process{Name: "OpenSearch", PID: s.node.PID()}
}

// Memory returns the heap in use and the resident memory. The resident memory of an external node is 0.
func (s *OpenSearch) Memory(tb testing.TB) (heap, resident int64) {
	tb.Helper()
	heap, _ = s.stats(tb)
	if s.node != nil {
		resident = s.process().Memory(tb, s.dir).Resident
	}
	return heap, resident
}

// Size returns the size of an index on disk in bytes.
func (s *OpenSearch) Size(tb testing.TB, name string) int64 {
	tb.Helper()
	return s.size(tb, s.index(name))
}

func (s *OpenSearch) size(tb testing.TB, path string) int64 {
	tb.Helper()
	var answer struct {
		All struct {
			Primaries struct {
				Store struct {
					Size int64 `json:"size_in_bytes"`
				}
			}
		} `json:"_all"`
	}
	s.do(tb, http.MethodGet, path+"/_stats/store", nil, &answer)
	return answer.All.Primaries.Store.Size
}
