package cluster

import (
	"context"
	"net/http"
)

// SearchPath disables partial results, because a response that lacks some shards would be wrong.
const SearchPath = "/_search?allow_partial_search_results=false"

// ItemsPath is like SearchPath, for searches that return items. The response is in CBOR. Decoding a page of items from CBOR is much cheaper
// than decoding it from JSON, because CBOR does not escape strings.
const ItemsPath = SearchPath + "&format=cbor"

// Numbered is a document in the response to a search by sequence number.
type Numbered[S any] struct {
	Version
	ID     string `json:"_id"`
	Source S      `json:"_source"`
}

// recordsAtOnce is the maximum number of documents that one search by sequence number returns.
const recordsAtOnce = 1000

// doer sends a request, as Client.Do does.
type doer = func(ctx context.Context, method, path string, body any, out Answer) error

// BySequence returns the documents of an index whose last operation has at least the sequence number `from`, ordered by that number.
func BySequence[S any](ctx context.Context, do doer, index string, from int64) (all []Numbered[S], err error) {
	for more := true; more; {
		var hits []Numbered[S]
		if hits, more, err = PageBySequence[S](ctx, do, index, from); err != nil {
			return nil, err
		}
		all = append(all, hits...)
		if more {
			from = hits[len(hits)-1].Seq + 1
		}
	}
	return all, nil
}

// PageBySequence is like BySequence, but it returns at most recordsAtOnce documents. `more` reports whether there may be more.
func PageBySequence[S any](ctx context.Context, do doer, index string, from int64) (hits []Numbered[S], more bool, err error) {
	var answer HitsOf[Numbered[S]]
	body := object{
		"size": recordsAtOnce, "seq_no_primary_term": true, "track_total_hits": false,
		"query": object{"range": object{"_seq_no": object{"gte": from}}}, "sort": []any{object{"_seq_no": "asc"}},
	}
	if err := do(ctx, http.MethodPost, "/"+index+SearchPath, body, &answer); err != nil {
		return nil, false, err
	}
	return answer.Hits.Hits, len(answer.Hits.Hits) == recordsAtOnce, nil
}
