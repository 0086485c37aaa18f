package subject

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/bench/child"
	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/opensearch/node"
	"github.com/vitrine-dev/vitrine/hack/querystring"
	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/query"
)

// OpenSearch is a real OpenSearch node.
type OpenSearch struct {
	// Version is the version that the node reports.
	Version string

	base   *url.URL
	client *load.Client
	node   *node.Node // nil for an external node
	dir    string
	stamp  string // a part of the names of all indices of this run
}

// OpenOpenSearch connects to the running node at address, which must not require TLS or credentials. If address is "", it starts a node
// with its data and log in dir. It returns a *node.AbsentError if this machine cannot run a node.
func OpenOpenSearch(ctx context.Context, client *load.Client, address, dir string) (*OpenSearch, error) {
	s := &OpenSearch{client: client, stamp: strconv.FormatInt(time.Now().UnixNano(), 36)}
	if address == "" {
		if err := s.start(ctx, dir); err != nil {
			return nil, err
		}
		address = s.node.URL
	}
	var err error
	if s.base, err = url.Parse(strings.TrimSuffix(address, "/")); err != nil {
		return nil, fmt.Errorf("read the address of OpenSearch: %w", err)
	}
	var about struct{ Version struct{ Number string } }
	if err := s.do(ctx, http.MethodGet, "", nil, &about); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	s.Version = about.Version.Number
	return s, nil
}

// start starts a node with 2 GiB of heap.
func (s *OpenSearch) start(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the directory of OpenSearch: %w", err)
	}
	output, err := os.Create(filepath.Join(dir, "opensearch.log"))
	if err != nil {
		return fmt.Errorf("create the log of OpenSearch: %w", err)
	}
	defer output.Close()
	s.dir = filepath.Join(dir, "node")
	s.node, err = node.Start(ctx, node.Options{Dir: s.dir, Heap: "2g", Log: output})
	return err
}

// Close stops the node if the program started it. Otherwise, it deletes the indices of this run.
func (s *OpenSearch) Close(ctx context.Context) error {
	if s.node != nil {
		return s.node.Stop(ctx)
	}
	return s.do(ctx, http.MethodDelete, "/bench-"+s.stamp+"-*?ignore_unavailable=true&expand_wildcards=all", nil, nil)
}

// do sends one request and decodes the response into out, which may be nil.
func (s *OpenSearch) do(ctx context.Context, method, path string, body, out any) error {
	var encoded []byte
	if body != nil {
		encoded = encode(body)
	}
	_, answer, err := s.client.Do(ctx, request(method, s.base, path, nil, encoded), 0)
	if err != nil {
		return fmt.Errorf("send a request to OpenSearch: %w", err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("read OpenSearch's response: %w", err)
	}
	return nil
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
func (s *OpenSearch) Create(ctx context.Context, name string, mapping map[string]any) error {
	body := map[string]any{"settings": map[string]any{
		"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1", "translog.durability": "request",
		"analysis": querystring.Analysis(),
	}}
	if mapping != nil {
		body["mappings"] = mapping
	}
	return s.do(ctx, http.MethodPut, s.index(name), body, nil)
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
	return request(http.MethodPost, s.base, s.index(name)+"/_bulk", nil, lines)
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
func (s *OpenSearch) Refresh(ctx context.Context, name string) error {
	return s.do(ctx, http.MethodPost, s.index(name)+"/_refresh", nil, nil)
}

// Put returns a request that adds one document. The response means that the document is durable.
func (s *OpenSearch) Put(name string, body []byte) load.Request {
	return request(http.MethodPost, s.base, s.index(name)+"/_doc", nil, body)
}

// Rewrite translates a query of Vitrine to a query string with the same meaning in OpenSearch.
func Rewrite(q string, now time.Time) (string, error) {
	parsed, err := query.Parse(q)
	if err != nil {
		return "", fmt.Errorf("parse %s: %w", q, err)
	}
	text, err := querystring.Rewrite(parsed.Root, querystring.Options{Now: now, Source: q})
	if err != nil {
		return "", fmt.Errorf("rewrite %s: %w", q, err)
	}
	return text, nil
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
	return request(http.MethodPost, s.base, s.index(name)+"/_search", nil, encode(body))
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
func (s *OpenSearch) Register(ctx context.Context, name string, queries []string) error {
	const batch = 1000
	for from := 0; from < len(queries); from += batch {
		var lines bytes.Buffer
		for i, q := range queries[from:min(from+batch, len(queries))] {
			doc := encode(map[string]any{percolatorField: queryString(q)})
			lines.Write(append(append(BulkLine(nil, int64(from+i)), doc...), '\n'))
		}
		_, answer, err := s.client.Do(ctx, s.Bulk(name, lines.Bytes()), http.StatusOK)
		if err == nil {
			err = CheckSearchBulk(answer)
		}
		if err != nil {
			return fmt.Errorf("register queries: %w", err)
		}
	}
	return s.Refresh(ctx, name)
}

// Percolate returns a request that matches documents (lines of JSON) against the registered queries.
func (s *OpenSearch) Percolate(name string, documents []json.RawMessage) load.Request {
	encoded := encode(map[string]any{
		"query": map[string]any{"constant_score": map[string]any{"filter": map[string]any{
			"percolate": map[string]any{"field": percolatorField, "documents": documents},
		}}},
		"size": 10000, "track_total_hits": true, "_source": false,
	})
	return request(http.MethodPost, s.base, s.index(name)+"/_search?filter_path=hits.total,hits.hits._id,hits.hits.fields", nil, encoded)
}

// stats are the statistics that a node reports.
type stats struct {
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

func (s *OpenSearch) stats() (stats, error) {
	var answer stats
	err := s.do(context.Background(), http.MethodGet, "/_nodes/_local/stats/jvm,process", nil, &answer)
	return answer, err
}

// CPU returns the processor time that the node has used.
func (s *OpenSearch) CPU() (time.Duration, error) {
	if s.node != nil {
		return s.process().CPU()
	}
	answer, err := s.stats()
	for _, n := range answer.Nodes {
		return time.Duration(n.Process.CPU.Total) * time.Millisecond, nil
	}
	return 0, err
}

// process returns the process of the node that this program started.
func (s *OpenSearch) process() child.Process {
	return child.Process{Name: "OpenSearch", PID: s.node.PID()}
}

// Memory returns the heap in use and the resident memory. The resident memory of an external node is 0.
func (s *OpenSearch) Memory() (heap, resident int64, err error) {
	answer, err := s.stats()
	if err != nil {
		return 0, 0, err
	}
	for _, n := range answer.Nodes {
		heap = n.JVM.Mem.HeapUsed
	}
	if s.node != nil {
		m, err := s.process().Memory(s.dir)
		if err != nil {
			return 0, 0, err
		}
		resident = m.Resident
	}
	return heap, resident, nil
}

// Size returns the size of an index on disk in bytes.
func (s *OpenSearch) Size(ctx context.Context, name string) (int64, error) {
	return s.size(ctx, s.index(name))
}

func (s *OpenSearch) size(ctx context.Context, path string) (int64, error) {
	var answer struct {
		All struct {
			Primaries struct {
				Store struct {
					Size int64 `json:"size_in_bytes"`
				}
			}
		} `json:"_all"`
	}
	err := s.do(ctx, http.MethodGet, path+"/_stats/store", nil, &answer)
	return answer.All.Primaries.Store.Size, err
}
