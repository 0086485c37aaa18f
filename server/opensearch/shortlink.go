package opensearch

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
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
func (l *Library) codeHolders(ctx context.Context, codes []string) (codeHolders, error) {
	out := codeHolders{of: map[string][]holder{}}
	for chunk := range slices.Chunk(codes, codesAtOnce) {
		var answer codesAnswer
		// Codes are random, so almost every code belongs to at most one item.
		body := object{
			"size": 2 * len(chunk), "track_total_hits": false, "docvalue_fields": []string{fieldCode}, "_source": false,
			"query": object{"bool": object{"filter": object{"terms": object{fieldCode: chunk}}}},
		}
		path := "/" + l.names.currentItems() + "/_search?allow_partial_search_results=true&allow_no_indices=true&ignore_unavailable=true"
		if err := l.cluster.do(ctx, http.MethodPost, path, body, &answer); err != nil {
			return out, fmt.Errorf("look up short links: %w", err)
		}
		// A shard without a working copy counts neither as successful nor as failed.
		if n := answer.Shards.Total - answer.Shards.Successful; n > 0 {
			out.incomplete = fmt.Errorf("look up short links: %w: OpenSearch cannot search %d shards", library.ErrUnavailable, n)
		}
		for _, h := range answer.Hits.Hits {
			p, ok := l.propertyOf(h.Index)
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

// codesAnswer is the response to a search for short codes. It may lack the hits of shards that do not work.
type codesAnswer struct {
	hitsOf[struct {
		ID     item.ID `json:"_id,string"`
		Index  string  `json:"_index"`
		Fields struct {
			Code []string `json:"code"`
		} `json:"fields"`
	}]
}

func (a *codesAnswer) lacks() string {
	return cmp.Or(a.inTime(), lacking(a.Shards != nil, "_shards"), a.found())
}

// ShortLink returns the target of a short link. See library.Library.
func (l *Library) ShortLink(ctx context.Context, code string) (library.PropertyID, string, error) {
	ctx, end, err := l.reading(ctx)
	if err != nil {
		return "", "", err
	}
	defer end()
	notFound := fmt.Errorf("short link: %w", library.ErrNotFound)
	if code == "" {
		return "", "", notFound
	}
	holders, err := l.codeHolders(ctx, []string{code})
	if err != nil {
		return "", "", err
	}
	for _, h := range holders.of[code] {
		c, err := l.Served(h.property)
		if err != nil {
			continue // the property is not served
		}
		it, err := l.view(c, l.now()).item(ctx, h.id)
		if err != nil {
			return "", "", err
		}
		if original, ok := originalURL(it); ok {
			return h.property, original, nil
		}
		return "", "", notFound
	}
	return "", "", cmp.Or(holders.incomplete, notFound)
}

// originalURL returns the URL to which the short link of an item leads. Only approved items have such a URL.
func originalURL(it *item.Item) (string, bool) {
	original := it.Content.OriginalURL
	if original == "" && it.Content.Media != nil {
		original = it.Content.Media.OriginalURL
	}
	u, err := url.Parse(original)
	return original, err == nil && it.ApprovalStatus == item.Approved && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}
