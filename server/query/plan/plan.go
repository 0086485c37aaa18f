// Package plan gives a parsed query its meaning: fields are looked up in the catalogue, texts cut into words or read as
// numbers and dates, date math bound to an instant, and every construct reduced to the few typed leaves that a library
// can evaluate. The rules that every library shares end here; what needs an index (document frequencies, the terms
// that a fuzzy word expands to) begins behind it.
//
// It may import query and its other subpackages.
package plan

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// Options are what a query's meaning depends on besides its text.
type Options struct {
	// Audience decides which fields may be named and which a pattern expands to. The zero value is Public.
	Audience query.Audience
	// Now is what `now` stands for. Required.
	Now time.Time
	// Fields lists the canonical names of the dynamic fields (see query.Dynamic) that the corpus holds, for field patterns. Static
	// fields need not be listed.
	Fields []string
}

// Plan is a query ready to be evaluated.
type Plan struct {
	Root Node
}

// Node is a node of a plan. All leaves are typed; Field is always a canonical catalogue name, or query.AllField.
//
//sumtype:decl
type Node interface{ plan() }

type (
	// All matches every item with score 1.
	All struct{}

	// None matches nothing.
	None struct{}

	// Bool matches when every Must and no MustNot matches and, where Must is empty, at least one Should. Its score is
	// the sum of the scores of the matching Must and Should. A Bool with MustNot alone never occurs: Build adds All to
	// Must (with score 0 by Const where Lucene gives none).
	Bool struct{ Must, Should, MustNot []Node }

	// Term matches items whose Field holds Text: one analysed word of a text field, scored by BM25; one lower-cased
	// keyword, score 1; "true" or "false" of a boolean, scored by idf.
	Term struct {
		Field query.Field
		Text  string
	}

	// Phrase matches items in which the words stand at the given relative positions, moves up to Slop allowed, on a
	// text field; scored by BM25 with the sum of the idf and the (sloppy) phrase frequency.
	Phrase struct {
		Field query.Field
		Words []Word
		Slop  int
	}

	// Pattern matches items with at least one term (word or lower-cased keyword) that the automaton accepts; score 1.
	// Source is the pattern as written, for explanations; with Regexp it tells the automaton from every other one.
	Pattern struct {
		Field     query.Field
		Automaton automaton.Automaton
		Source    string
		Regexp    bool // a regular expression, else a wildcard
	}

	// Fuzzy matches items with a term within Edits (transposition one edit) of Text; at most MaxExpansions terms, the
	// most similar first, scored as Lucene's top-terms blended-frequency rewrite does.
	Fuzzy struct {
		Field         query.Field
		Text          string
		Edits         int
		MaxExpansions int
	}

	// IntRange matches items with a value v of a Long, Date or Boolean field, Lo <= v <= Hi; score 1. Exact numbers and
	// dates are ranges of one value. Build turns exclusive and open ends into closed ones; Lo > Hi never occurs.
	IntRange struct {
		Field  query.Field
		Lo, Hi int64
	}

	// FloatRange is the same for a Double field; open ends are infinities.
	FloatRange struct {
		Field  query.Field
		Lo, Hi float64
	}

	// TermRange matches items with a term of a Keyword or Text field between the bounds, compared by bytes; score 1.
	TermRange struct {
		Field          query.Field
		Lo, Hi         string
		LoOpen, HiOpen bool // no bound on that side
		LoIncl, HiIncl bool
	}

	// Exists matches items in which Field has at least one value that is not empty; score 1. A text without a word is
	// such a value.
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

	// DisMax matches where any of Nodes does, with the highest of their scores: one clause over several fields.
	DisMax struct{ Nodes []Node }
)

// Leaf is a node that looks at one field.
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
