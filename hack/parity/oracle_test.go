package parity

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/querystring"
	"github.com/vitrine-dev/vitrine/server/query"
)

// window is the maximum number of hits of one search in OpenSearch, and therefore the maximum size of the corpus.
const window = 10000

// oracle is a real OpenSearch node with one index.
type oracle struct {
	url, index string
	client     *http.Client
}

// newOracle returns an oracle with a unique index name.
func newOracle(url string) *oracle {
	return &oracle{url: url, index: "parity-" + strings.ToLower(rand.Text()), client: &http.Client{Timeout: time.Minute}}
}

// do sends one request and decodes the response into out, which may be nil. If the node responds with an error, do returns an *oracleError
// with the reason that the node states.
func (o *oracle) do(ctx context.Context, method, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, o.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	// This content type is correct for all requests: the bulk API accepts it for lines of JSON too.
	req.Header.Set("Content-Type", "application/json")
	res, err := o.client.Do(req)
	if err != nil {
		return fmt.Errorf("ask OpenSearch: %w", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("read OpenSearch's response: %w", err)
	}
	if res.StatusCode >= 300 {
		return &oracleError{status: res.StatusCode, cause: innermost(data)}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// oracleError is an error response of the node.
type oracleError struct {
	status int
	cause
}

// cause is an error as the node reports it.
type cause struct {
	Type     string `json:"type"`
	Reason   string `json:"reason"`
	CausedBy *cause `json:"caused_by"`
}

// aboutQuery reports whether the error means that the node rejects the query, and not that the node has failed. The status is not enough:
// OpenSearch reports a query with too many clauses as a failure of the server.
func (e *oracleError) aboutQuery() bool {
	return e.status == http.StatusBadRequest || strings.HasPrefix(e.Type, "too_many_")
}

func (e *oracleError) Error() string {
	return fmt.Sprintf("OpenSearch returned %d: %s", e.status, e.Reason)
}

// innermost returns the innermost cause of an error body.
func innermost(data []byte) cause {
	var body struct {
		Error struct {
			cause
			FailedShards []struct {
				Reason cause `json:"reason"`
			} `json:"failed_shards"`
		} `json:"error"`
	}
	if json.Unmarshal(data, &body) != nil {
		return cause{Reason: string(data[:min(len(data), 200)])}
	}
	c := &body.Error.cause
	if shards := body.Error.FailedShards; len(shards) > 0 {
		c = &shards[0].Reason
	}
	for c.CausedBy != nil {
		c = c.CausedBy
	}
	c.Reason, _, _ = strings.Cut(c.Reason, "\n")
	return *c
}

// create creates the index without replicas and with only one shard, so that document frequencies are those of the whole corpus.
func (o *oracle) create(ctx context.Context) error {
	body, err := json.Marshal(map[string]any{
		"settings": map[string]any{
			"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1",
			"max_result_window": window,
			"analysis":          querystring.Analysis(),
		},
		"mappings": querystring.Mapping(),
	})
	if err != nil {
		return fmt.Errorf("encode the mapping: %w", err)
	}
	return o.do(ctx, http.MethodPut, "/"+o.index, body, nil)
}

// version returns the version of the node.
func (o *oracle) version(ctx context.Context) (string, error) {
	var answer struct{ Version struct{ Number string } }
	err := o.do(ctx, http.MethodGet, "/", nil, &answer)
	return answer.Version.Number, err
}

// drop deletes the index.
func (o *oracle) drop(ctx context.Context) error {
	err := o.do(ctx, http.MethodDelete, "/"+o.index, nil, nil)
	var no *oracleError
	if errors.As(err, &no) && no.status == http.StatusNotFound {
		return nil
	}
	return err
}

// fill indexes the documents and merges them into one segment, so that deleted documents do not affect scores.
func (o *oracle) fill(ctx context.Context, docs []document) error {
	const batch = 500
	for len(docs) > 0 {
		var body bytes.Buffer
		n := min(batch, len(docs))
		for _, d := range docs[:n] {
			fmt.Fprintf(&body, "{\"index\":{\"_id\":\"%d\"}}\n", d.id)
			line, err := json.Marshal(d.fields)
			if err != nil {
				return err
			}
			body.Write(line)
			body.WriteByte('\n')
		}
		var answer struct {
			Errors bool `json:"errors"`
			Items  []struct {
				Index struct {
					ID    string          `json:"_id"`
					Error json.RawMessage `json:"error"`
				} `json:"index"`
			} `json:"items"`
		}
		if err := o.do(ctx, http.MethodPost, "/"+o.index+"/_bulk", body.Bytes(), &answer); err != nil {
			return err
		}
		if answer.Errors {
			for _, item := range answer.Items {
				if item.Index.Error != nil {
					return fmt.Errorf("OpenSearch refuses item %s: %s", item.Index.ID, item.Index.Error)
				}
			}
		}
		docs = docs[n:]
	}
	if err := o.do(ctx, http.MethodPost, "/"+o.index+"/_forcemerge?max_num_segments=1", nil, nil); err != nil {
		return err
	}
	return o.do(ctx, http.MethodPost, "/"+o.index+"/_refresh", nil, nil)
}

// queryString returns the query for OpenSearch.
func queryString(q string) map[string]any {
	return map[string]any{"query_string": map[string]any{
		"query": q, "fields": []string{querystring.DefaultAllField}, "allow_leading_wildcard": true, "max_determinized_states": 10000,
	}}
}

// search returns every match in the given order. The tie rule determines the order of items that are equal in it. The scores of the hits
// are 0 unless the order begins with the score.
func (o *oracle) search(ctx context.Context, q string, order query.Order) ([]hit, error) {
	body, err := json.Marshal(map[string]any{
		"query": queryString(q), "sort": sorting(order),
		// This filter matches all documents, but it makes OpenSearch count the matches. Without it, OpenSearch computes the total of
		// _exists_ on a text field from the terms. Texts without a word have no terms, so that total would not count them, although
		// OpenSearch finds them.
		"post_filter": map[string]any{"match_all": map[string]any{}},
		"size":        window, "stored_fields": "_none_", "track_total_hits": true,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the search: %w", err)
	}
	var answer struct {
		Hits struct {
			Total struct{ Value int }
			Hits  []struct{ Sort []json.RawMessage }
		}
	}
	path := "/" + o.index + "/_search?filter_path=hits.total.value,hits.hits.sort"
	if err := o.do(ctx, http.MethodPost, path, body, &answer); err != nil {
		return nil, err
	}
	hits := make([]hit, len(answer.Hits.Hits))
	for i, h := range answer.Hits.Hits {
		if len(h.Sort) != len(order)+2 {
			return nil, fmt.Errorf("read OpenSearch's response: %d sort values, want %d", len(h.Sort), len(order)+2)
		}
		err := json.Unmarshal(h.Sort[len(h.Sort)-1], &hits[i].id)
		if err == nil && order[0].Field == query.ScoreKey {
			err = json.Unmarshal(h.Sort[0], &hits[i].score)
		}
		if err != nil {
			return nil, fmt.Errorf("read OpenSearch's response: %w", err)
		}
	}
	if answer.Hits.Total.Value != len(hits) {
		return nil, fmt.Errorf("OpenSearch found %d items and sent %d", answer.Hits.Total.Value, len(hits))
	}
	return hits, nil
}

// sorting returns the OpenSearch sort keys for order. Items without a value come last. Items with equal values are sorted newest first, and
// then by id, highest first.
func sorting(order query.Order) []any {
	key := func(field, direction string) any {
		return map[string]any{field: map[string]any{"order": direction, "missing": "_last"}}
	}
	var list []any
	for _, k := range order {
		switch {
		case k.Field == query.ScoreKey:
			list = append(list, map[string]any{"_score": "desc"})
		case k.Desc:
			list = append(list, key(k.Field, "desc"))
		default:
			list = append(list, key(k.Field, "asc"))
		}
	}
	return append(list, key("created_on", "desc"), key("id", "desc"))
}

// reading returns the Lucene query, as text, that OpenSearch creates from the query q.
func (o *oracle) reading(ctx context.Context, q string) (string, error) {
	body, err := json.Marshal(map[string]any{"query": queryString(q)})
	if err != nil {
		return "", fmt.Errorf("encode the query: %w", err)
	}
	var answer struct {
		Explanations []struct{ Explanation string }
	}
	if err := o.do(ctx, http.MethodPost, "/"+o.index+"/_validate/query?explain=true", body, &answer); err != nil {
		return "", err
	}
	if len(answer.Explanations) == 0 {
		return "", errors.New("OpenSearch returned no explanation")
	}
	return answer.Explanations[0].Explanation, nil
}

// explain returns OpenSearch's explanation of one item as indented text.
func (o *oracle) explain(ctx context.Context, q string, id int64) (string, error) {
	body, err := json.Marshal(map[string]any{"query": queryString(q)})
	if err != nil {
		return "", fmt.Errorf("encode the query: %w", err)
	}
	type detail struct {
		Value       float64
		Description string
		Details     []json.RawMessage
	}
	var answer struct{ Explanation json.RawMessage }
	if err := o.do(ctx, http.MethodPost, fmt.Sprintf("/%s/_explain/%d", o.index, id), body, &answer); err != nil {
		return "", err
	}
	var text strings.Builder
	var write func(raw json.RawMessage, depth int) error
	write = func(raw json.RawMessage, depth int) error {
		var d detail
		if err := json.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("read OpenSearch's explanation: %w", err)
		}
		fmt.Fprintf(&text, "%s%g %s\n", strings.Repeat("  ", depth), d.Value, d.Description)
		for _, below := range d.Details {
			if err := write(below, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if answer.Explanation == nil {
		return "", nil
	}
	if err := write(answer.Explanation, 1); err != nil {
		return "", err
	}
	return text.String(), nil
}
