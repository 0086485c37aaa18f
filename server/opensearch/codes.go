package opensearch

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
)

// codesAtOnce is the maximum number of short codes that one search looks up.
const codesAtOnce = 5000

// codeHolders contains the items of all properties that have one of the requested short codes.
type codeHolders struct {
	// of contains the items by code. The items of each code are sorted by property and id.
	of map[string][]holder
	// incomplete is an error if some items could not be searched. These items may also have the codes.
	incomplete error
}

// codeHolders looks up short codes. An index without a working shard does not make the lookup fail. Instead, the result is incomplete,
// and the caller decides whether it needs the missing items.
func (c *conn) codeHolders(ctx context.Context, set definitions.Set, codes []string) (codeHolders, error) {
	out := codeHolders{of: map[string][]holder{}}
	for chunk := range slices.Chunk(codes, codesAtOnce) {
		var answer codesAnswer
		// Codes are random, so almost every code belongs to at most one item.
		body := object{
			"size": 2 * len(chunk), "track_total_hits": false, "docvalue_fields": []string{schema.FieldCode}, "_source": false,
			"query": object{"bool": object{"filter": object{"terms": object{schema.FieldCode: chunk}}}},
		}
		path := "/" + c.names.CurrentItems() + "/_search?allow_partial_search_results=true&allow_no_indices=true&ignore_unavailable=true"
		if err := c.cluster.Do(ctx, http.MethodPost, path, body, &answer); err != nil {
			return out, fmt.Errorf("look up short links: %w", err)
		}
		// A shard without a working copy counts neither as successful nor as failed.
		if n := answer.Shards.Total - answer.Shards.Successful; n > 0 {
			out.incomplete = fmt.Errorf("look up short links: %w: OpenSearch cannot search %d shards", library.ErrUnavailable, n)
		}
		for _, h := range answer.Hits.Hits {
			p, ok := c.propertyOf(set, h.Index)
			if !ok || len(h.Fields.Code) != 1 {
				continue
			}
			out.of[h.Fields.Code[0]] = append(out.of[h.Fields.Code[0]], holder{p, h.ID})
		}
	}
	for _, holders := range out.of {
		slices.SortFunc(holders, func(a, b holder) int {
			return cmp.Or(strings.Compare(string(a.property), string(b.property)), cmp.Compare(a.id, b.id))
		})
	}
	return out, nil
}

// propertyOf returns the property whose items an index contains. It returns false for other indices. It also returns false if the
// property is not served and its name is too long to be part of the name of the index.
func (c *conn) propertyOf(set definitions.Set, index string) (library.PropertyID, bool) {
	if p, ok := c.names.Property(index); ok {
		return p, true
	}
	for p := range set.Catalogues() {
		if strings.HasPrefix(index, c.names.Items(p)+schema.GenerationMark) {
			return p, true
		}
	}
	return "", false
}

// codesAnswer is the response to a search for short codes. It may lack the hits of shards that do not work.
type codesAnswer struct {
	cluster.HitsOf[struct {
		ID     item.ID `json:"_id,string"`
		Index  string  `json:"_index"`
		Fields struct {
			Code []string `json:"code"`
		} `json:"fields"`
	}]
}

func (a *codesAnswer) Lacks() string {
	return cmp.Or(a.InTime(), cluster.Lacking(a.Shards != nil, "_shards"), a.Found())
}

// holder is an item that has a short code.
type holder struct {
	property library.PropertyID
	id       item.ID
}
