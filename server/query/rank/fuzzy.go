package rank

import (
	"cmp"
	"container/heap"
	"slices"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// Expansion is one term that a fuzzy word stands for.
type Expansion struct {
	Term string
	// Similarity is 1 for the word itself, less the more edits lie between in relation to the shorter of both, never
	// negative; the score of the term is multiplied by it.
	Similarity float32
	// DocFreq is the number of items that hold the term.
	DocFreq int64
}

// Expansions chooses the terms that a fuzzy word stands for out of all terms of a field: the most similar ones, the
// first in byte order among equals. Its terms may come in any order.
type Expansions struct {
	text  string
	runes int
	edits int
	max   int
	best  leastFirst
}

// NewExpansions begins the choice of at most max terms within edits of text.
func NewExpansions(text string, edits, max int) *Expansions {
	return &Expansions{text: text, runes: utf8.RuneCountInString(text), edits: edits, max: max}
}

// Offer considers a term. Each term may be offered once.
func (e *Expansions) Offer(term string, docFreq int64) {
	d := automaton.Distance(e.text, term, e.edits)
	if d > e.edits || e.max <= 0 {
		return
	}
	x := Expansion{Term: term, Similarity: 1, DocFreq: docFreq}
	if d > 0 {
		x.Similarity = 1 - float32(d)/float32(min(e.runes, utf8.RuneCountInString(term)))
	}
	if len(e.best) == e.max {
		if compareExpansions(x, e.best[0]) <= 0 {
			return
		}
		e.best[0] = x
		heap.Fix(&e.best, 0)
		return
	}
	heap.Push(&e.best, x)
}

// Terms returns the chosen terms in byte order, with Similarity cut at 0.
func (e *Expansions) Terms() []Expansion {
	terms := slices.Clone([]Expansion(e.best))
	for i := range terms {
		terms[i].Similarity = max(terms[i].Similarity, 0)
	}
	slices.SortFunc(terms, func(a, b Expansion) int { return cmp.Compare(a.Term, b.Term) })
	return terms
}

// WeighExpansions returns what the terms that a fuzzy word stands for are scored with, their boost the similarity; total and
// norms are those of the field. All have the idf of the highest of their document frequencies, so that a rare misspelling
// does not outweigh the word.
func WeighExpansions(f query.Field, expansions []Expansion, total Field, norms *Norms) []WeightedTerm {
	var docFreq int64
	for _, e := range expansions {
		docFreq = max(docFreq, e.DocFreq)
	}
	idf := IDF(docFreq, total.Docs)
	terms := make([]WeightedTerm, len(expansions))
	for i, e := range expansions {
		terms[i] = WeightedTerm{Field: f, Text: e.Term, Boost: float64(e.Similarity), IDF: idf, Norms: norms}
	}
	return terms
}

// compareExpansions orders by merit: the more similar is greater, then the first in byte order.
func compareExpansions(a, b Expansion) int {
	if c := cmp.Compare(a.Similarity, b.Similarity); c != 0 {
		return c
	}
	return cmp.Compare(b.Term, a.Term)
}

// leastFirst is a heap with the weakest expansion on top.
type leastFirst []Expansion

func (h leastFirst) Len() int           { return len(h) }
func (h leastFirst) Less(i, j int) bool { return compareExpansions(h[i], h[j]) < 0 }
func (h leastFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *leastFirst) Push(x any)        { *h = append(*h, x.(Expansion)) }
func (h *leastFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
