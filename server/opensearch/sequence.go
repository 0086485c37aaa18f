package opensearch

import (
	"context"
	"net/http"
)

// searchPath disables partial results, because a response that lacks some shards would be wrong.
const searchPath = "/_search?allow_partial_search_results=false"

// itemsPath is like searchPath, for searches that return items. The response is in CBOR. Decoding a page of items from CBOR is much cheaper
// than decoding it from JSON, because CBOR does not escape strings.
const itemsPath = searchPath + "&format=cbor"

// numbered is a document in the response to a search by sequence number.
type numbered[S any] struct {
	version
	ID     string `json:"_id"`
	Source S      `json:"_source"`
}

// recordsAtOnce is the maximum number of documents that one search by sequence number returns.
const recordsAtOnce = 1000

// bySequence returns the documents of an index whose last operation has at least the sequence number `from`, ordered by that number. The
// function send sends a request, as cluster.do does.
func bySequence[S any](ctx context.Context, send func(ctx context.Context, method, path string, body any, out answer) error, index string, from int64) ([]numbered[S], error) {
	var all []numbered[S]
	for {
		var answer hitsOf[numbered[S]]
		body := object{
			"size": recordsAtOnce, "seq_no_primary_term": true, "track_total_hits": false,
			"query": object{"range": object{"_seq_no": object{"gte": from}}}, "sort": []any{object{"_seq_no": "asc"}},
		}
		if err := send(ctx, http.MethodPost, "/"+index+searchPath, body, &answer); err != nil {
			return nil, err
		}
		hits := answer.Hits.Hits
		all = append(all, hits...)
		if len(hits) < recordsAtOnce {
			return all, nil
		}
		from = hits[len(hits)-1].Seq + 1
	}
}
