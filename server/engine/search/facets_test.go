package search_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// TestCountValuesChecksContext checks that CountValues regularly checks the context, both for values of many documents and for tags of
// many namespaces.
func TestCountValuesChecksContext(t *testing.T) {
	w := newWorld(t, 3, 10)
	const docs, namespaces = 10_000, 60
	w.add(t, docs, func(it *item.Item) {
		it.Tags = []item.Tag{{Namespace: fmt.Sprintf("n%d", it.ID%namespaces), Key: "k"}}
	})
	w.corpus = &search.Corpus{Parts: w.corpus.Parts[len(w.corpus.Parts)-1:]}
	for field, c := range map[string]struct{ checks, values int }{"id": {docs / 1024, library.MaxFacetValues}, "tags": {namespaces, namespaces}} {
		count := func(ctx context.Context) (*library.Facets, error) {
			counter, f, err := library.NewFacetCounter(library.Facet{Field: field, Limit: library.MaxFacetValues}, query.Private)
			if err != nil {
				return nil, err
			}
			q, err := search.Bind(t.Context(), plan.All{}, w.corpus)
			if err != nil {
				return nil, err
			}
			total, err := w.corpus.CountValues(ctx, []*search.Query{q}, f, counter)
			return counter.Facets(total), err
		}
		ctx := &countedContext{Context: t.Context()}
		found, err := count(ctx)
		if err != nil || found.Total != docs || len(found.Values) != c.values || ctx.n < c.checks {
			t.Errorf("%s: counted %+v, error %v; the context is checked %d times, want at least %d", field, found, err, ctx.n, c.checks)
		}
		for until := 1; until < ctx.n; until += 1 + ctx.n/8 {
			ended := &countedContext{Context: context.Background(), until: until}
			if _, err := count(ended); !errors.Is(err, context.Canceled) || ended.n > until+2 {
				t.Errorf("%s: the context ended after %d checks: error %v after %d checks", field, until, err, ended.n)
			}
		}
	}
}
