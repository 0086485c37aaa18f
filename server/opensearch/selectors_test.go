package opensearch

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestRefusedSelector checks a property with selectors that OpenSearch refuses, in the rule of a tag and in the rule of a unit. These rules
// must apply only to the items that they list, and all other rules must apply as before. OpenSearch must not be asked again about a
// selector.
func TestRefusedSelector(t *testing.T) {
	for _, reason := range []string{"query_shard_exception", "too_many_clauses"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			checkRefusedSelector(t, reason)
		})
	}
}

func checkRefusedSelector(t *testing.T, reason string) {
	t.Helper()
	transport := &intercepted{RoundTripper: http.DefaultTransport}
	l := openWith(t, t.TempDir(), time.Now, transport)
	defer l.Close()
	defs := agreedDefinitions()
	bad := library.Definition{Property: shop, Owner: manifest(library.KindTag, "bad"), Created: noon, Tag: &library.TagRule{
		Tag: item.Tag{Namespace: "marketer_tags", Key: "bad"}, Items: []item.ID{2}, Selector: "text:refused",
	}}
	worse := library.Definition{Property: shop, Owner: manifest(library.KindUnit, "worse"), Created: noon, Unit: &library.UnitRule{
		Unit:     item.Unit{ID: library.UnitID(shop, "shop", "worse"), Name: "worse", ImageURL: "https://cdn.example/a.png", ClickThroughURL: "https://shop.example/a"},
		Selector: "text:refused OR text:nothing",
	}}
	apply(t, l, append(defs, bad, worse)...)
	mustWrite(t, l, library.Mutation{Put: image(1, "beach")}, library.Mutation{Put: image(2, "refused")}, library.Mutation{Put: image(3, "refused")})
	var refusals atomic.Int64
	transport.intercept(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/_search") && r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			if bytes.Contains(body, []byte("refused")) {
				refusals.Add(1)
				return respond(r, http.StatusBadRequest, `{"error":{"type":"`+reason+`","reason":"failed to create query"},"status":400}`), nil
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		return transport.RoundTripper.RoundTrip(r)
	})
	counts := func() map[string]int64 {
		t.Helper()
		f, err := l.Facets(t.Context(), library.Read{Property: shop, Query: query.All{}}, library.Facet{Field: query.AllTags, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]int64{}
		for _, v := range f.Values {
			out[v.Value] = v.Count
		}
		return out
	}
	if got := counts(); got["marketer_tags:bad"] != 1 || got["marketer_tags:summer"] != 1 {
		t.Errorf("%v, want each tag on one item", got)
	}
	find := func(text string) []item.ID {
		t.Helper()
		q, err := query.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.Read(t.Context(), library.Read{Property: shop, Query: q.Root, Limit: 10, OnlyIDs: true})
		if err != nil {
			t.Fatal(err)
		}
		return p.IDs
	}
	if ids := find("tags.marketer_tags.key:bad"); !slices.Equal(ids, []item.ID{2}) {
		t.Errorf("items %v have the tag, want 2", ids)
	}
	if ids := find("activate_units.name:worse"); len(ids) != 0 {
		t.Errorf("items %v have the unit, want none", ids)
	}
	before := refusals.Load()
	counts()
	if n := refusals.Load(); n != before {
		t.Errorf("%d more requests contain a refused selector", n-before)
	}
	// A query that OpenSearch refuses fails, and tries no selector again.
	q, err := query.Parse("text:refused")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(t.Context(), library.Read{Property: shop, Query: q.Root, Limit: 1}); !isRefusal(err) || refusals.Load() != before+1 {
		t.Errorf("%v after %d requests, want a refusal after one", err, refusals.Load()-before)
	}
}
