package parity

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// node is a fake OpenSearch node that evaluates queries with the walker.
type node struct {
	t    *testing.T
	ours *walker
	// answer changes the result of a query. If answer is nil, results stay unchanged.
	answer func(q string, hits []hit) []hit
	// fail is the HTTP status of the responses to all searches; 0 means success.
	fail int
	mu   sync.Mutex // guards the following fields
	// indexed is the number of indexed documents. indices contains the names of existing indices.
	indexed int
	indices map[string]bool
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	index, action, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	n.mu.Lock()
	there := n.indices[index]
	n.mu.Unlock()
	if there && action == "_search" {
		n.search(w, r)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && index == "": // the version
	case r.Method == http.MethodPut && action == "":
		n.indices[index] = true
	case r.Method == http.MethodDelete && action == "":
		delete(n.indices, index)
	case !there && n.fail != 0: // a run ends with its first failed search, while its other searches can be in progress
	case !there:
		n.t.Errorf("%s %s: there is no such index", r.Method, r.URL)
	case action == "_bulk":
		for dec := json.NewDecoder(r.Body); dec.More(); n.indexed++ {
			var action, source map[string]any
			if err := dec.Decode(&action); err != nil {
				n.t.Errorf("read a bulk line: %v", err)
				break
			}
			if err := dec.Decode(&source); err != nil {
				n.t.Errorf("read a document: %v", err)
				break
			}
		}
	}
	fmt.Fprint(w, "{}")
}

func (n *node) search(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Query struct {
			QueryString struct{ Query string } `json:"query_string"`
		}
		Sort []map[string]any
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		n.t.Errorf("read a search: %v", err)
	}
	if n.fail != 0 {
		w.WriteHeader(n.fail)
		fmt.Fprint(w, `{"error":{"type":"outage","reason":"the shards are gone"},"status":503}`)
		return
	}
	parsed, err := query.Parse(body.Query.QueryString.Query)
	var hits []hit
	if err == nil {
		hits, err = n.ours.search(r.Context(), parsed.Root, query.Order{{Field: query.ScoreKey, Desc: true}})
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"type":"search_phase_execution_exception","reason":"all shards failed","failed_shards":[`+
			`{"reason":{"type":"query_shard_exception","reason":"Failed","caused_by":{"type":"parse_exception","reason":"no\nquery"}}}]},"status":400}`)
		return
	}
	if n.answer != nil {
		hits = n.answer(body.Query.QueryString.Query, hits)
	}
	list := make([]any, len(hits))
	for i, h := range hits {
		list[i] = map[string]any{"sort": []any{h.score, 0, h.id}}
	}
	answer := map[string]any{"hits": map[string]any{"total": map[string]any{"value": len(hits)}, "hits": list}}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		n.t.Errorf("answer a search: %v", err)
	}
}

// start runs the fake and returns the settings of a run against it.
func (n *node) start(t *testing.T) settings {
	t.Helper()
	now := time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)
	n.t, n.ours, n.indices = t, newWalker(corpus(t), now), map[string]bool{}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return settings{url: server.URL, family: "words", library: "engine", now: now}
}

func TestRun(t *testing.T) {
	tests := map[string]struct {
		node      *node
		wantEqual bool
		want      string // part of the output
		wantErr   string
	}{
		"equal": {node: &node{}, wantEqual: true, want: "0 words\n"},
		"an item is missing": {
			node: &node{answer: func(q string, hits []hit) []hit {
				if strings.Contains(q, "friends") && len(hits) > 0 {
					return hits[1:]
				}
				return hits
			}},
			want: `words: "friends"`,
		},
		"an outage is no difference": {node: &node{fail: http.StatusServiceUnavailable}, wantErr: "the shards are gone"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := tt.node.start(t)
			t.Run("compare", func(t *testing.T) {
				b, err := newBench(t.Context(), t, s)
				if err != nil {
					t.Fatal(err)
				}
				questions, err := gather(s, b.docs)
				if err != nil {
					t.Fatal(err)
				}
				r, err := b.judgeAll(t.Context(), questions)
				if tt.wantErr != "" {
					if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
						t.Errorf("error %v, want %q", err, tt.wantErr)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				var out strings.Builder
				r.print(&out)
				said := strings.Join(r.failures, "\n") + out.String()
				if (len(r.failures) == 0) != tt.wantEqual || !strings.Contains(said, tt.want) {
					t.Errorf("failures %q, want none: %t; the output should contain %q:\n%s", r.failures, tt.wantEqual, tt.want, said)
				}
			})
			if len(tt.node.indices) > 0 {
				t.Errorf("the index was not deleted: %v", tt.node.indices)
			}
			if tt.node.indexed != len(corpus(t)) {
				t.Errorf("%d documents were indexed, want %d", tt.node.indexed, len(corpus(t)))
			}
		})
	}
}

// TestCompareRefusals checks which errors count as a rejection by either side.
func TestCompareRefusals(t *testing.T) {
	var n node
	s := n.start(t)
	b := &bench{ours: n.ours, theirs: newOracle(s.url), now: s.now}
	if err := b.theirs.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]kind{
		`love`: same, `love AND`: bothRefuse, `campaign:x`: bothRefuse, `text:(love,day)`: same, `created_on:now-1x`: bothRefuse,
	} {
		v, err := b.compare(t.Context(), text, "")
		if err != nil {
			t.Fatal(err)
		}
		if v.kind != want {
			t.Errorf("%s: kind %d, want %d: %s", text, v.kind, want, v.difference)
		}
	}
	n.answer = func(_ string, hits []hit) []hit { return append(hits[:len(hits):len(hits)], hit{id: 1}) }
	if v, err := b.compare(t.Context(), `love`, ""); err != nil || v.kind != differs {
		t.Errorf("one item more: kind %d, error %v", v.kind, err)
	}
	if complaint := (question{family: refused}).judge(verdict{kind: same}); complaint == "" {
		t.Error("both sides accept a query that they should reject, and judge reports nothing")
	}
}
