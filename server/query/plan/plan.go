// Package plan translates a parsed query into a typed plan: it looks up fields in the catalogue, splits texts into words or
// parses them as numbers and dates, binds date math to an instant, and reduces every construct to the few typed leaves that
// a library can evaluate. It implements all rules that libraries share. Everything that needs an index (document
// frequencies, the terms that a fuzzy word expands to) comes later.
//
// This package may import query and its other subpackages.
package plan

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// Options are the inputs of a plan in addition to the query.
type Options struct {
	// Audience determines which fields can be named and which a pattern expands to. The zero value is Public.
	Audience query.Audience
	// Now is the value of `now`. Required.
	Now time.Time
	// Fields lists the canonical names of the dynamic fields (see query.Dynamic) of the corpus, for field patterns. It need
	// not list static fields.
	Fields []string
}

// Plan is a query ready to be evaluated.
type Plan struct {
	Root Node
}

// Node is a node of a plan. All leaves are typed; their Field is always a canonical catalogue name or query.AllField.
//
//sumtype:decl
type Node interface{ plan() }

type (
	// All matches every item with score 1.
	All struct{}

	// None matches nothing.
	None struct{}

	// Bool matches if every Must and no MustNot matches and, if Must is empty, at least one Should. Its score is the sum of
	// the scores of the matching Must and Should. A Bool never has only MustNot: Build adds All to Must (with score 0
	// through Const where Lucene gives none).
	Bool struct{ Must, Should, MustNot []Node }

	// Term matches items whose Field contains Text: one analyzed word of a text field, scored by BM25; one lower-cased
	// keyword, score 1; or "true" or "false" of a boolean, scored by idf.
	Term struct {
		Field query.Field
		Text  string
	}

	// Phrase matches items with the words at the given relative positions, with up to Slop moves, in a text field. It is scored by BM25
	// with the (sloppy) phrase frequency and the sum of the idf of its words.
	Phrase struct {
		Field query.Field
		Words []Word
		Slop  int
	}

	// Pattern matches items with at least one term (word or lower-cased keyword) that the automaton accepts; score 1.
	// Source is the pattern as written, for explanations. Source and Regexp together identify the automaton.
	Pattern struct {
		Field     query.Field
		Automaton automaton.Automaton
		Source    string
		Regexp    bool // a regular expression, otherwise a wildcard
	}

	// Fuzzy matches items with a term within Edits of Text, where a transposition is one edit. It expands to at most
	// MaxExpansions terms, the most similar first, scored like Lucene's top-terms blended-frequency rewrite.
	Fuzzy struct {
		Field         query.Field
		Text          string
		Edits         int
		MaxExpansions int
	}

	// IntRange matches items with a value v of a Long, Date or Boolean field such that Lo <= v <= Hi; score 1. Exact
	// numbers and dates are ranges of one value. Build converts exclusive and open ends to closed ones; Lo > Hi never
	// occurs.
	IntRange struct {
		Field  query.Field
		Lo, Hi int64
	}

	// FloatRange is IntRange for a Double field; open ends are infinities.
	FloatRange struct {
		Field  query.Field
		Lo, Hi float64
	}

	// TermRange matches items with a term of a Keyword or Text field between the bounds in byte order; score 1.
	TermRange struct {
		Field          query.Field
		Lo, Hi         string
		LoOpen, HiOpen bool // no bound on that side
		LoIncl, HiIncl bool
	}

	// Exists matches items in which Field has at least one non-empty value; score 1. A text without any word is such a
	// value.
	Exists struct{ Field query.Field }

	// Const gives every match of Node the score Score.
	Const struct {
		Node  Node
		Score float32
	}

	// Boost multiplies the score of Node by Factor.
	Boost struct {
		Node   Node
		Factor float32
	}

	// DisMax matches if any of Nodes matches, with the highest of their scores. It represents one clause over several
	// fields.
	DisMax struct{ Nodes []Node }
)

// Leaf is a node that reads one field.
type Leaf interface {
	Node
	// LooksAt returns the field.
	LooksAt() query.Field
}

// Walk calls visit with n and then with all nodes below it, from left to right.
func Walk(n Node, visit func(Node)) {
	visit(n)
	switch n := n.(type) {
	case Bool:
		for _, list := range [][]Node{n.Must, n.Should, n.MustNot} {
			for _, below := range list {
				Walk(below, visit)
			}
		}
	case DisMax:
		for _, below := range n.Nodes {
			Walk(below, visit)
		}
	case Const:
		Walk(n.Node, visit)
	case Boost:
		Walk(n.Node, visit)
	case All, None, Term, Phrase, Pattern, Fuzzy, IntRange, FloatRange, TermRange, Exists:
	}
}

// Word is one word of a Phrase and its position relative to the first.
type Word struct {
	Text     string
	Position int
}

func (All) plan()        {}
func (None) plan()       {}
func (Bool) plan()       {}
func (Term) plan()       {}
func (Phrase) plan()     {}
func (Pattern) plan()    {}
func (Fuzzy) plan()      {}
func (IntRange) plan()   {}
func (FloatRange) plan() {}
func (TermRange) plan()  {}
func (Exists) plan()     {}
func (Const) plan()      {}
func (Boost) plan()      {}
func (DisMax) plan()     {}

// LooksAt implements Leaf.
func (n Term) LooksAt() query.Field { return n.Field }

// LooksAt implements Leaf.
func (n Phrase) LooksAt() query.Field { return n.Field }

// LooksAt implements Leaf.
func (n Pattern) LooksAt() query.Field { return n.Field }

// LooksAt implements Leaf.
func (n Fuzzy) LooksAt() query.Field { return n.Field }

// LooksAt implements Leaf.
func (n IntRange) LooksAt() query.Field { return n.Field }

// LooksAt implements Leaf.
func (n FloatRange) LooksAt() query.Field { return n.Field }

// LooksAt implements Leaf.
func (n TermRange) LooksAt() query.Field { return n.Field }

// LooksAt implements Leaf.
func (n Exists) LooksAt() query.Field { return n.Field }
