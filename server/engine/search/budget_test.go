package search_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// countedContext is a context that counts the calls of Err. If until is positive, the context ends after that many calls.
type countedContext struct {
	context.Context
	n, until int
}

func (c *countedContext) Err() error {
	if c.n++; c.until > 0 && c.n > c.until {
		return context.Canceled
	}
	return nil
}

// TestManyClausesCheckContext evaluates queries with many slow clauses. Each step of the evaluation must check the context at least once
// for each clause.
func TestManyClausesCheckContext(t *testing.T) {
	w, cache := newWorld(t, 3, 300), search.NewCache(1<<30)
	const clauses = 100
	many := func(format string) plan.Node {
		var b strings.Builder
		for i := range clauses {
			fmt.Fprintf(&b, format+" ", i)
		}
		return build(t, b.String(), nil)
	}
	for name, test := range map[string]struct {
		root plan.Node
		bind bool // whether binding alone takes long
	}{
		"fuzzy words that match":        {many("beach%d~2 beach~2"), true},
		"fuzzy words that do not match": {many("unheardof%d~2"), true},
		"prefixes":                      {many("author.username:b%d*"), false},
		"words":                         {many("beach w%d"), false},
	} {
		fresh := func() *search.Corpus {
			cache.Shrink(0)
			return &search.Corpus{Parts: w.corpus.Parts, Overlay: w.corpus.Overlay, Cache: cache}
		}
		steps := func(ctx context.Context, step func(what string)) error {
			q, err := search.Bind(ctx, test.root, fresh())
			if err != nil {
				return err
			}
			if test.bind {
				step("bind")
			}
			if _, err := q.Match(ctx, w.corpus.Parts[0]); err != nil {
				return err
			}
			if name != "fuzzy words that do not match" { // without terms, there is nothing to match
				step("match")
			}
			_, _, err = q.Top(ctx, 5, nil)
			step("rank")
			return err
		}
		ctx := &countedContext{Context: t.Context()}
		before := 0
		if err := steps(ctx, func(what string) {
			if n := ctx.n - before; n < clauses && !(what == "rank" && test.bind) {
				t.Errorf("%s: %s: the context is checked %d times for %d clauses", name, what, n, clauses)
			}
			before = ctx.n
		}); err != nil {
			t.Fatal(err)
		}
		for until := 1; until < ctx.n; until += 1 + ctx.n/12 {
			ended := &countedContext{Context: context.Background(), until: until}
			// One more call of Err reports that the context has ended, and context.Cause calls Err once more. The maximum is therefore until+2.
			if err := steps(ended, func(string) {}); !errors.Is(err, context.Canceled) || ended.n > until+2 {
				t.Fatalf("%s: the context ended after %d checks: error %v after %d checks", name, until, err, ended.n)
			}
		}
		if test.bind {
			checked := &countedContext{Context: t.Context()}
			if _, err := w.reference.Compile(checked, test.root); err != nil || checked.n < clauses {
				t.Errorf("%s: the reference checks the context %d times for %d clauses, error %v", name, checked.n, clauses, err)
			}
		}
	}
}
