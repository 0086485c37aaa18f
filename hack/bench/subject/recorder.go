package subject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
)

// Recorder forwards requests to a node of OpenSearch and keeps their bodies, so that the benchmark can send them again without Vitrine. No
// recorder runs during a measurement.
type Recorder struct {
	server *httptest.Server
	mu     sync.Mutex
	bodies map[string][][]byte // by the last part of the path, such as "_bulk"
}

// NewRecorder starts a recorder in front of a node, which runs until the test ends.
func NewRecorder(tb testing.TB, s *OpenSearch) *Recorder {
	tb.Helper()
	base, err := url.Parse(s.urls[0])
	if err != nil {
		tb.Fatal(err)
	}
	r := &Recorder{bodies: map[string][][]byte{}}
	forward := httputil.NewSingleHostReverseProxy(base)
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		kind := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
		r.mu.Lock()
		r.bodies[kind] = append(r.bodies[kind], body)
		r.mu.Unlock()
		req.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, req)
	}))
	tb.Cleanup(r.server.Close)
	return r
}

// take returns the bodies with a kind, such as "_bulk", that have arrived since the last call, in order.
func (r *Recorder) take(kind string) [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	bodies := r.bodies[kind]
	delete(r.bodies, kind)
	return bodies
}

// Sources returns the documents that Vitrine has stored for items since the last call: one line of JSON by the id of the item.
func (r *Recorder) Sources(tb testing.TB) map[string][]byte {
	tb.Helper()
	documents := map[string][]byte{}
	for _, body := range r.take("_bulk") {
		action := map[string]struct {
			ID    string `json:"_id"`
			Index string `json:"_index"`
		}{}
		for line := range bytes.Lines(body) {
			if len(action) == 0 {
				if err := json.Unmarshal(line, &action); err != nil {
					tb.Fatalf("read a recorded request: %v", err)
				}
				continue
			}
			for _, about := range action {
				if strings.Contains(about.Index, itemsOfProperty) {
					documents[about.ID] = bytes.TrimSpace(line)
				}
			}
			clear(action)
		}
	}
	return documents
}

// Searches returns the bodies of the searches since the last call.
func (r *Recorder) Searches() [][]byte { return r.take("_search") }

// IsFollowing reports whether a recorded search only looks for changed definitions. Every process with a library on OpenSearch sends such
// searches several times a second.
func IsFollowing(search []byte) bool { return bytes.Contains(search, []byte(`{"_seq_no":{"gte":`)) }

// itemsOfProperty is the end of the name of the alias with which Vitrine reads the items of the library. The aliases for writes have a
// further suffix.
const itemsOfProperty = "-items-bench_default"

// Prefix returns an index prefix for a library of Vitrine in this cluster.
func (s *OpenSearch) Prefix(name string) string { return "bench-" + s.stamp + "-" + name }

// LibraryFlags returns the flags that make Vitrine use the library with a prefix. Vitrine connects through the recorder, or directly to the
// nodes if through is nil.
func (s *OpenSearch) LibraryFlags(prefix string, through *Recorder) []string {
	address := strings.Join(s.urls, ",")
	if through != nil {
		address = through.server.URL
	}
	return []string{"--library", "opensearch", "--opensearch-url", address, "--opensearch-index-prefix", prefix, "--opensearch-allow-plaintext"}
}

// CreateLike creates an index with the settings and the mapping of the items index of a library.
func (s *OpenSearch) CreateLike(tb testing.TB, name, prefix string) {
	tb.Helper()
	var like map[string]struct {
		Mappings map[string]any `json:"mappings"`
		Settings struct {
			Index map[string]any `json:"index"`
		} `json:"settings"`
	}
	s.do(tb, http.MethodGet, "/"+prefix+itemsOfProperty, nil, &like)
	for _, index := range like {
		for _, own := range []string{"creation_date", "uuid", "version", "provided_name", "replication"} {
			delete(index.Settings.Index, own)
		}
		body := map[string]any{"mappings": index.Mappings, "settings": index.Settings}
		s.do(tb, http.MethodPut, s.index(name), body, nil)
	}
}

// SearchItems returns a request that sends the body of a recorded search to the items of a library.
func (s *OpenSearch) SearchItems(prefix string, body []byte) load.Request {
	return s.request(http.MethodPost, "/"+prefix+itemsOfProperty+"/_search?allow_partial_search_results=false", body)
}

// ItemsSize returns the number of bytes on disk of the items of a library.
func (s *OpenSearch) ItemsSize(tb testing.TB, prefix string) int64 {
	tb.Helper()
	return s.size(tb, "/"+prefix+itemsOfProperty)
}

// Primary returns the number of the node, from 0, with the primary shard of the items of a library. Node 0 has the name n1. Later requests
// of the benchmark go to another node.
func (s *OpenSearch) Primary(tb testing.TB, prefix string) (node int) {
	tb.Helper()
	var shards []struct{ Prirep, Node string }
	s.do(tb, http.MethodGet, "/_cat/shards/"+prefix+itemsOfProperty+"?format=json&h=prirep,node", nil, &shards)
	for _, shard := range shards {
		if _, err := fmt.Sscanf(shard.Node, "n%d", &node); err == nil && shard.Prirep == "p" {
			s.urls = append(s.urls[node:], s.urls[:node-1]...)
			return node - 1
		}
	}
	tb.Fatalf("no node has the primary shard: %v", shards)
	return 0
}

// Outdate marks the index of the items of a library as one of the previous schema, so that the next server rebuilds it.
func (s *OpenSearch) Outdate(tb testing.TB, prefix string) {
	tb.Helper()
	path := "/" + prefix + itemsOfProperty + "/_mapping"
	var found map[string]struct {
		Mappings struct {
			Meta map[string]any `json:"_meta"`
		}
	}
	s.do(tb, http.MethodGet, path, nil, &found)
	for _, index := range found {
		index.Mappings.Meta["schema"] = index.Mappings.Meta["schema"].(float64) - 1
		s.do(tb, http.MethodPut, path, map[string]any{"_meta": index.Mappings.Meta}, nil)
	}
}

// Indices returns the names of the indices with the items of a library: two during a rebuild, and for a minute afterwards. current is the one
// that serves reads.
func (s *OpenSearch) Indices(tb testing.TB, prefix string) (all []string, current string) {
	tb.Helper()
	var found map[string]struct{ Aliases map[string]any }
	s.do(tb, http.MethodGet, "/"+prefix+itemsOfProperty+"*/_alias", nil, &found)
	for name, index := range found {
		all = append(all, name)
		if _, reads := index.Aliases[prefix+itemsOfProperty]; reads {
			current = name
		}
	}
	return all, current
}
