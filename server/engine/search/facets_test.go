package search_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// sums is a search.Tally that counts values and adds up their counts.
type sums struct{ values, items int64 }

func (s *sums) Prefix() string             { return "" }
func (s *sums) Key() string                { return "" }
func (s *sums) Only() []string             { return nil }
func (s *sums) Wants(string) bool          { return true }
func (s *sums) Reaches(int64) bool         { return true }
func (s *sums) AddNumber(_, count int64)   { s.Add("", count) }
func (s *sums) Add(_ string, n int64) bool { s.values++; s.items += n; return false }

// TestCountValuesChecksContext checks that CountValues regularly checks the context, both for values of many documents and for tags of
// many namespaces.
func TestCountValuesChecksContext(t *testing.T) {
	w := newWorld(t, 3, 10)
	const docs, namespaces = 10_000, 60
	w.add(t, docs, func(it *item.Item) {
		it.Tags = []item.Tag{{Namespace: fmt.Sprintf("n%d", it.ID%namespaces), Key: "k"}}
	})
	w.corpus = &search.Corpus{Parts: w.corpus.Parts[len(w.corpus.Parts)-1:]}
	for field, least := range map[string]int{"id": docs / 1024, "tags": namespaces} {
		f, err := query.Countable(field, query.Private)
		if err != nil {
			t.Fatal(err)
		}
		count := func(ctx context.Context) (sums, error) {
			q, err := search.Bind(t.Context(), plan.All{}, w.corpus)
			if err != nil {
				return sums{}, err
			}
			var s sums
			_, err = w.corpus.CountValues(ctx, []*search.Query{q}, f, &s)
			return s, err
		}
		ctx := &countedContext{Context: t.Context()}
		found, err := count(ctx)
		if err != nil || found.items != docs || ctx.n < least {
			t.Errorf("%s: counted %+v, error %v; the context is checked %d times, want at least %d", field, found, err, ctx.n, least)
		}
		for until := 1; until < ctx.n; until += 1 + ctx.n/8 {
			ended := &countedContext{Context: context.Background(), until: until}
			if _, err := count(ended); !errors.Is(err, context.Canceled) || ended.n > until+2 {
				t.Errorf("%s: the context ended after %d checks: error %v after %d checks", field, until, err, ended.n)
			}
		}
	}
}
