package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestBudget holds that a free query ends when its time is over, that a stored filter does not, and that what the one did
// not finish is no loss for the other.
func TestBudget(t *testing.T) {
	l, err := Open(Options{Dir: t.TempDir(), QueryBudget: time.Nanosecond})
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
	for _, q := range []string{"beach", "beech~", "text:b*", `"beach sunset"~3`} {
		parsed, err := query.Parse(q)
		if err != nil {
			t.Fatal(err)
		}
		r := library.Read{Property: trialShop, Query: parsed.Root, Limit: 5, Budgeted: true}
		if _, err := l.Read(t.Context(), r); !errors.Is(err, library.ErrTooExpensive) || !strings.Contains(err.Error(), "it took longer than 1ns") {
			t.Errorf("%s: %v, want too expensive", q, err)
		}
		r.Budgeted = false
		if _, err := l.Read(t.Context(), r); err != nil {
			t.Errorf("%s without a budget: %v", q, err)
		}
	}
}
