package rank

import (
	"cmp"
	"container/heap"
	"slices"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// Expansion is one term that a fuzzy word expands to.
type Expansion struct {
	Term string
	// Similarity is a factor of the term's score. It is 1 for the word itself. It decreases with the number of edits between the term and the
	// word, relative to the length of the shorter of the two. It is never negative.
	Similarity float32
	// DocFreq is the number of items that contain the term.
	DocFreq int64
}

// Expansions selects the expansions of a fuzzy word from all terms of a field. It selects the most similar terms. Of equally similar terms,
// it selects the first in byte order. The caller can offer terms to it in any order.
type Expansions struct {
	text  string
	runes int
	edits int
	max   int
	best  leastFirst
}

// NewExpansions returns an empty selection for at most max terms whose edit distance from text is at most edits.
func NewExpansions(text string, edits, max int) *Expansions {
	return &Expansions{text: text, runes: utf8.RuneCountInString(text), edits: edits, max: max}
}

// Offer considers a term for the selection. The caller must offer each term at most once.
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

// Terms returns the selected terms in byte order. Their Similarity is at least 0.
func (e *Expansions) Terms() []Expansion {
	terms := slices.Clone([]Expansion(e.best))
	for i := range terms {
		terms[i].Similarity = max(terms[i].Similarity, 0)
	}
	slices.SortFunc(terms, func(a, b Expansion) int { return cmp.Compare(a.Term, b.Term) })
	return terms
}

// WeighExpansions returns the weights of the expansions of a fuzzy word, with the similarity as their boost. total and norms are the
// statistics and the norms of the field. All expansions get the IDF of the most frequent expansion, so that a rare misspelling does not get
// a higher score than the word.
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

// compareExpansions compares expansions by similarity. Of two expansions with the same similarity, the one that comes first in byte order
// counts as greater.
func compareExpansions(a, b Expansion) int {
	if c := cmp.Compare(a.Similarity, b.Similarity); c != 0 {
		return c
	}
	return cmp.Compare(b.Term, a.Term)
}

// leastFirst is a heap with the least similar expansion on top.
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
