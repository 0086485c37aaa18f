package eval_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/query"
)

// update makes TestGolden record the golden file. The file contains a small corpus, queries, and the answers of a real OpenSearch 3.8. To
// record it again, run:
//
//	OPENSEARCH_URL=http://127.0.0.1:9200 go test ./server/eval -run Golden -update
//
// This command creates and deletes the index vitrine-golden on that node.
var update = flag.Bool("update", false, "record testdata/golden.json from the OpenSearch node at OPENSEARCH_URL")

const goldenFile = "testdata/golden.json"

type golden struct {
	Docs    []goldenDoc   `json:"docs"`
	Queries []goldenQuery `json:"queries"`
}

type goldenDoc struct {
	ID      int64          `json:"id"`
	Created int64          `json:"created"`
	Fields  map[string]any `json:"fields"`
}

type goldenQuery struct {
	Name  string          `json:"name"`
	Query json.RawMessage `json:"query"`
	Hits  []goldenHit     `json:"hits"`
}

type goldenHit struct {
	ID    int64   `json:"id"`
	Score float32 `json:"score"`
}

// values yields the values of a golden document in the same way as item.Item.Values.
func (d goldenDoc) values() iter.Seq2[query.Field, query.Value] {
	return func(yield func(query.Field, query.Value) bool) {
		for name, v := range d.Fields {
			list, ok := v.([]any)
			if !ok {
				list = []any{v}
			}
			for _, v := range list {
				if !yield(fieldNamed(name), goldenValue(fieldNamed(name), v)) {
					return
				}
			}
		}
	}
}

func goldenValue(f query.Field, v any) query.Value {
	switch v := v.(type) {
	case string:
		return query.Value{Str: v}
	case bool:
		if v {
			return query.Value{Int: 1}
		}
		return query.Value{}
	case float64:
		if f.Type == query.Double {
			return query.Value{Float: v}
		}
		return query.Value{Int: int64(v)}
	}
	panic(fmt.Sprintf("value of type %T", v))
}

func readGolden(t testing.TB) (golden, *eval.Corpus) {
	t.Helper()
	b, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	c := eval.NewCorpus()
	for _, d := range g.Docs {
		c.Put(eval.NewDoc(d.ID, d.Created, d.values()))
	}
	return g, c
}

// TestGolden compares ids and scores with those from OpenSearch.
func TestGolden(t *testing.T) {
	g, corpus := readGolden(t)
	if *update {
		record(t, &g)
	}
	for _, q := range g.Queries {
		t.Run(q.Name, func(t *testing.T) {
			n, err := decodeDSL(q.Query)
			if err != nil {
				t.Fatal(err)
			}
			m, err := corpus.Compile(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			hits, err := m.Search(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := map[int64]float32{}
			for _, h := range hits {
				got[h.Doc.ID()] = h.Score
			}
			for _, want := range q.Hits {
				score, ok := got[want.ID]
				if !ok {
					t.Errorf("item %d is missing, score %v", want.ID, want.Score)
				} else if math.Abs(float64(score-want.Score)) > 1e-5*math.Abs(float64(want.Score)) {
					t.Errorf("item %d has score %v, want %v", want.ID, score, want.Score)
				}
				delete(got, want.ID)
			}
			for id, score := range got {
				t.Errorf("item %d must not match, score %v", id, score)
			}
		})
	}
}

// record requests the answers from an OpenSearch node, and writes the golden file.
func record(t *testing.T, g *golden) {
	t.Helper()
	node := node{t: t, url: strings.TrimSuffix(os.Getenv("OPENSEARCH_URL"), "/")}
	if node.url == "" {
		t.Fatal("-update needs OPENSEARCH_URL")
	}
	node.index(g.Docs)
	for i := range g.Queries {
		g.Queries[i].Hits = node.search(g.Queries[i].Query, len(g.Docs))
	}
	node.do(http.MethodDelete, "/"+goldenIndex, nil)

	var b bytes.Buffer
	b.WriteString("{\"docs\": [\n")
	writeLines(t, &b, g.Docs)
	b.WriteString("], \"queries\": [\n")
	writeLines(t, &b, g.Queries)
	b.WriteString("]}\n")
	if err := os.WriteFile(goldenFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeLines writes the elements of an array, one on each line.
func writeLines[T any](t *testing.T, w *bytes.Buffer, list []T) {
	t.Helper()
	for i, v := range list {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(line)
		if i < len(list)-1 {
			w.WriteByte(',')
		}
		w.WriteByte('\n')
	}
}

const goldenIndex = "vitrine-golden"

// node is the OpenSearch node that provides the answers for the golden file.
type node struct {
	t   *testing.T
	url string
}

func (n node) do(method, path string, body []byte) []byte {
	n.t.Helper()
	r, err := http.NewRequestWithContext(n.t.Context(), method, n.url+path, bytes.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		n.t.Fatalf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	return answer
}

// index creates the index with one shard, so that the shard has the statistics of the whole corpus.
func (n node) index(docs []goldenDoc) {
	n.t.Helper()
	names := map[query.Type]string{
		query.Keyword: "keyword", query.Text: "text", query.Long: "long", query.Double: "double",
		query.Boolean: "boolean", query.Date: "date",
	}
	properties := map[string]any{}
	for name, typ := range testFields {
		p := map[string]any{"type": names[typ]}
		if typ == query.Keyword {
			p["normalizer"] = "lowercase"
		}
		properties[name] = p
	}
	settings, err := json.Marshal(map[string]any{
		"settings": map[string]any{"number_of_shards": 1, "number_of_replicas": 0},
		"mappings": map[string]any{"properties": properties},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.do(http.MethodPut, "/"+goldenIndex, settings)
	var bulk bytes.Buffer
	for _, d := range docs {
		fmt.Fprintf(&bulk, `{"index":{"_id":"%d"}}`+"\n", d.ID)
		line, err := json.Marshal(d.Fields)
		if err != nil {
			n.t.Fatal(err)
		}
		bulk.Write(line)
		bulk.WriteByte('\n')
	}
	n.do(http.MethodPost, "/"+goldenIndex+"/_bulk?refresh=true", bulk.Bytes())
}

func (n node) search(q json.RawMessage, size int) []goldenHit {
	n.t.Helper()
	body := fmt.Appendf(nil, `{"size": %d, "_source": false, "query": %s}`, size, q)
	var answer struct {
		Hits struct {
			Hits []struct {
				ID    string  `json:"_id"`
				Score float32 `json:"_score"`
			}
		}
	}
	if err := json.Unmarshal(n.do(http.MethodPost, "/"+goldenIndex+"/_search", body), &answer); err != nil {
		n.t.Fatal(err)
	}
	hits := []goldenHit{}
	for _, h := range answer.Hits.Hits {
		id, err := strconv.ParseInt(h.ID, 10, 64)
		if err != nil {
			n.t.Fatal(err)
		}
		hits = append(hits, goldenHit{ID: id, Score: h.Score})
	}
	slices.SortFunc(hits, func(a, b goldenHit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return hits
}
