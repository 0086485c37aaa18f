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

// looks is a context that counts how often it is checked, and has ended after a number of checks.
type looks struct {
	context.Context
	n, until int
}

func (c *looks) Err() error {
	if c.n++; c.until > 0 && c.n > c.until {
		return context.Canceled
	}
	return nil
}

// TestManyClausesLookAtTheTime evaluates queries of many slow clauses. In each step of the evaluation, the context must be checked
// between any two of them.
func TestManyClausesLookAtTheTime(t *testing.T) {
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
		"fuzzy words that are there":     {many("beach%d~2 beach~2"), true},
		"fuzzy words that are not there": {many("unheardof%d~2"), true},
		"prefixes":                       {many("author.username:b%d*"), false},
		"words":                          {many("beach w%d"), false},
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
			if name != "fuzzy words that are not there" { // they match no term
				step("match")
			}
			_, _, err = q.Top(ctx, 5, nil)
			step("rank")
			return err
		}
		ctx := &looks{Context: t.Context()}
		before := 0
		if err := steps(ctx, func(what string) {
			if n := ctx.n - before; n < clauses && !(what == "rank" && test.bind) {
				t.Errorf("%s: %s: the time is looked at %d times for %d clauses", name, what, n, clauses)
			}
			before = ctx.n
		}); err != nil {
			t.Fatal(err)
		}
		for until := 1; until < ctx.n; until += 1 + ctx.n/12 {
			ended := &looks{Context: context.Background(), until: until}
			// After the check that finds the end, there is one for the cause.
			if err := steps(ended, func(string) {}); !errors.Is(err, context.Canceled) || ended.n > until+2 {
				t.Fatalf("%s: over after %d looks: error %v after %d", name, until, err, ended.n)
			}
		}
		if test.bind {
			judged := &looks{Context: t.Context()}
			if _, err := w.judge.Compile(judged, test.root); err != nil || judged.n < clauses {
				t.Errorf("%s: the judge looks at the time %d times for %d clauses, error %v", name, judged.n, clauses, err)
			}
		}
	}
}
