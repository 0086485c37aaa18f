// Package plan translates a parsed query into a typed plan: it looks up fields in the catalogue, splits texts into words or parses them as
// numbers and dates, binds date math to an instant, and reduces every construct to the few typed leaves that a library can evaluate. It
// thus implements the rules that are the same for all libraries. It does nothing that needs an index, such as determining document
// frequencies or the terms to which a fuzzy word expands.
//
// This package may import query and its other subpackages.
package plan

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// Options contains the inputs of Build in addition to the query.
type Options struct {
	// Audience determines which fields a query can use, and which fields a pattern expands to. The zero value is Public.
	Audience query.Audience
	// Now is the value of `now`. Required.
	Now time.Time
	// Fields lists the canonical names of the dynamic fields of the corpus (see query.Dynamic), for field patterns. It need not contain
	// static fields.
	Fields []string
}

// Plan is a query that is ready for evaluation.
type Plan struct {
	Root Node
}

// Node is a node of a plan. The name of the Field in a leaf is always a canonical name of the catalogue, or query.AllField.
//
//sumtype:decl
type Node interface{ plan() }

type (
	// All matches every item with score 1.
	All struct{}

	// None matches nothing.
	None struct{}

	// Bool matches if all Must nodes and no MustNot node match and, if Must is empty, at least one Should node matches. Its score is the sum
	// of the scores of the matching Must and Should nodes. A Bool never has only MustNot nodes, because Build then adds an All to Must. Where
	// Lucene gives such a group no score, the All is in a Const with score 0.
	Bool struct{ Must, Should, MustNot []Node }

	// Term matches items whose Field contains Text. On a text field, Text is one analyzed word, scored by BM25. On a keyword field, it is
	// one keyword in lower case, with score 1. On a boolean field, it is "true" or "false", scored by IDF.
	Term struct {
		Field query.Field
		Text  string
	}

	// Phrase matches items in which a text field has the words at the given relative positions, after at most Slop moves of words. It is
	// scored by BM25 with the phrase frequency (see rank.Phrase) and the sum of the IDFs of its words.
	Phrase struct {
		Field query.Field
		Words []Word
		Slop  int
	}

	// Pattern matches items with at least one term (a word, or a keyword in lower case) that the automaton accepts. Its score is 1. Source is
	// the pattern as written, for explanations. Patterns with equal Source and Regexp have the same automaton.
	Pattern struct {
		Field     query.Field
		Automaton automaton.Automaton
		Source    string
		Regexp    bool // true for a regular expression, false for a wildcard
	}

	// Fuzzy matches items with a term that differs from Text by at most Edits edits. A transposition counts as one edit. Fuzzy expands to the
	// most similar terms, at most MaxExpansions. These terms are scored as in Lucene's top-terms rewrite with blended frequencies.
	Fuzzy struct {
		Field         query.Field
		Text          string
		Edits         int
		MaxExpansions int
	}

	// IntRange matches items in which a Long, Date or Boolean field has a value v such that Lo <= v <= Hi. Its score is 1. An exact number
	// or date is a range of one value. Build converts exclusive and open ends to closed ones. Lo > Hi never occurs.
	IntRange struct {
		Field  query.Field
		Lo, Hi int64
	}

	// FloatRange is like IntRange, but for a Double field. Open ends are infinities.
	FloatRange struct {
		Field  query.Field
		Lo, Hi float64
	}

	// TermRange matches items in which a Keyword or Text field has a term between the bounds, in byte order. Its score is 1.
	TermRange struct {
		Field          query.Field
		Lo, Hi         string
		LoOpen, HiOpen bool // true if the range has no bound on that side
		LoIncl, HiIncl bool
	}

	// Exists matches items in which Field has at least one non-empty value. Its score is 1. A text without any word counts as a value if it is
	// not empty.
	Exists struct{ Field query.Field }

	// Const matches the same items as Node, and gives each the score Score.
	Const struct {
		Node  Node
		Score float32
	}

	// Boost multiplies the score of Node by Factor.
	Boost struct {
		Node   Node
		Factor float32
	}

	// DisMax matches if at least one of Nodes matches. Its score is the highest of their scores. It represents one clause on several
	// fields.
	DisMax struct{ Nodes []Node }
)

// Leaf is a node that reads one field.
type Leaf interface {
	Node
	// String returns the leaf as a clause for explanations. It is similar to a query, but need not be one.
	String() string
	// LooksAt returns the field that the leaf reads.
	LooksAt() query.Field
}

// Walk calls visit for n, and then for all nodes below it, from left to right.
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
	case All, None, Leaf:
	}
}

// Word is one word of a Phrase, with its position relative to the first word.
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
