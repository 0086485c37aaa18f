package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestBudget checks that a read without time left returns the cause of its context, and that the same read then succeeds when it
// has time.
func TestBudget(t *testing.T) {
	l, err := Open(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	results, err := l.Apply(t.Context(), []library.Definition{{
		Property: trialShop, Owner: library.Owner{Install: "cluster", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: 7},
	}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	if _, err := l.Write(t.Context(), trialShop, []library.Mutation{{Put: &item.Item{Content: item.Content{ContentType: item.Image, Text: "beach"}}}}); err != nil {
		t.Fatal(err)
	}
	tooLong := errors.New("too long")
	short, cancel := context.WithTimeoutCause(t.Context(), time.Nanosecond, tooLong)
	defer cancel()
	for _, q := range []string{"beach", "beech~", "text:b*", `"beach sunset"~3`} {
		parsed, err := query.Parse(q)
		if err != nil {
			t.Fatal(err)
		}
		r := library.Read{Property: trialShop, Query: parsed.Root, Limit: 5}
		if _, err := l.Read(short, r); !errors.Is(err, tooLong) {
			t.Errorf("%s: %v, want the cause", q, err)
		}
		if _, err := l.Read(t.Context(), r); err != nil {
			t.Errorf("%s without a budget: %v", q, err)
		}
	}
}
