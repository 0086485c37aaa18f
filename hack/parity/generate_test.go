package main

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

// draw returns n questions over the corpus of the project.
func draw(t *testing.T, docs []document, seed uint64, n int) []string {
	t.Helper()
	g := newGenerator(seed, docs)
	var out []string
	for range n {
		q := g.next()
		out = append(out, q.family+"\t"+q.text)
	}
	return out
}

// ownCorpus is the corpus of a run without files, read once for all tests.
var ownCorpus = sync.OnceValues(func() ([]document, error) { return loadCorpus(nil) })

func corpus(t *testing.T) []document {
	t.Helper()
	docs, err := ownCorpus()
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func TestGenerateIsDeterministic(t *testing.T) {
	first, again := draw(t, corpus(t), 5, 500), draw(t, corpus(t), 5, 500)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same seed gives other queries (-first +again)\n%s", diff)
	}
	if slices.Equal(first, draw(t, corpus(t), 6, 500)) {
		t.Error("another seed gives the same queries")
	}
}

// TestGenerateCoversTheGrammar holds that every family is drawn, and that what is not soup is a query.
func TestGenerateCoversTheGrammar(t *testing.T) {
	counts := map[string]int{}
	for _, line := range draw(t, corpus(t), 1, 2000) {
		family, text, _ := strings.Cut(line, "\t")
		counts[family]++
		if _, err := query.Parse(text); err != nil && family != "generated soup" {
			t.Errorf("%s: %s: %v", family, text, err)
		}
	}
	for _, family := range []string{
		"word", "text field", "field", "bare value", "phrase", "wildcard", "regex", "fuzzy", "range", "term range", "date", "exists",
		"field pattern", "odd", "list", "flat", "nested", "as typed", "soup",
	} {
		if counts["generated "+family] < 10 {
			t.Errorf("%d of 2000 queries are of the family %q, want 10 or more", counts["generated "+family], family)
		}
		delete(counts, "generated "+family)
	}
	if len(counts) > 0 {
		t.Errorf("families that this test does not know: %v", counts)
	}
}
