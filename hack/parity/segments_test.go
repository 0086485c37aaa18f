package main

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// TestSegments holds that both libraries bring the same hits with the same scores to the comparison.
func TestSegments(t *testing.T) {
	now := time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)
	docs := corpus(t)
	reference, engine := newWalker(docs, now), must(newSegments(docs, now))(t)
	for _, q := range append(questions(curated), orders()...) {
		order, err := query.ParseOrder(cmp.Or(q.order, byRelevance))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := query.Parse(q.text)
		if err != nil {
			continue // both refuse it before they see it
		}
		want, refusal := reference.search(t.Context(), parsed.Root, order)
		got, err := engine.search(t.Context(), parsed.Root, order)
		if (err != nil) != (refusal != nil) {
			t.Errorf("%s: the engine says %v, the reference %v", q.text, err, refusal)
		}
		equal := func(a, b hit) bool { return a.id == b.id && (a.score == b.score || !order.Scored()) }
		if !slices.EqualFunc(got, want, equal) {
			t.Errorf("%s: %d hits of the engine, %d of the reference, or others", q.text, len(got), len(want))
		}
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
