package query

// Node is one node of a parsed query. The tree represents the query as the user wrote it. Looking up fields and splitting texts into words
// is left to package plan. Nodes are immutable and safe for concurrent use.
//
// String returns the canonical form, which parses to an equal tree, so trees with the same canonical form are equal. A leaf that was parsed
// from text contains its position, so never compare trees with == or reflect.DeepEqual. Tests can use cmp.Diff, which ignores positions.
type Node interface {
	String() string
	node()
}

// Occur is the role of a clause in its group (see "Clauses" in the documentation of the query language).
type Occur uint8

const (
	// Should is the role of optional clauses. They contribute to the score. If the group has no Must clause, at least one of its Should
	// clauses must match.
	Should Occur = iota
	// Must is the role of clauses that must match. They contribute to the score.
	Must
	// MustNot is the role of clauses that must not match.
	MustNot
)

type (
	// Clause is one member of a Bool.
	Clause struct {
		Occur Occur
		Node  Node
	}

	// Bool is a group of one or more clauses. It contains no operators, because the parser has mapped AND, OR, NOT, + and - to the Occur of
	// each clause. Parse never returns a Bool with a single Should clause.
	Bool struct{ Clauses []Clause }

	// Leaf is the part that all leaves share: the field, as written, and the position in the query. Field is zero for a leaf without a field.
	// For Exists and Missing, it is the tested field. Nodes that were not parsed from text have no position.
	Leaf struct {
		Field FieldName
		at    place
	}

	// Term is a bare word or a single value. Text has no escapes and is never "".
	Term struct {
		Leaf
		Text string
	}

	// Phrase is quoted text. Slop is the maximum number of moves of words that turn a match into the exact phrase.
	Phrase struct {
		Leaf
		Text string
		Slop int
	}

	// Wildcard is a word with * or ?, including prefixes (word*). In Pattern, only \*, \? and \\ are escaped. The pattern
	// * tests the presence of the field, as Exists does.
	Wildcard struct {
		Leaf
		Pattern string
	}

	// Fuzzy is word~ or word~N. Edits is 0, 1, 2 or AutoEdits.
	Fuzzy struct {
		Leaf
		Text  string
		Edits int
	}

	// Regexp is /pattern/ in Lucene's RegExp syntax. Pattern does not contain the enclosing slashes. A slash in the pattern stays escaped
	// (\/).
	Regexp struct {
		Leaf
		Pattern string
	}

	// Range is [From TO To] with square brackets or braces, or a comparison with >, >=, < or <=. If a bound is * or missing, Bound.Open is
	// true.
	Range struct {
		Leaf
		From, To Bound
	}

	// Any is a list of values, field:(a,b) or field:a,b. It matches if any of the values matches, and is ranked in the same way as their OR.
	// Each value is a Term, Phrase, Wildcard, Fuzzy, Regexp or Range of the same field.
	Any struct{ Values []Node }

	// Exists is _exists_:field.
	Exists struct {
		Leaf
	}

	// Missing is _missing_:field. It matches the items that Exists does not match. Its score is always 1.
	Missing struct {
		Leaf
	}

	// Boost multiplies the score of Node by Factor, which is at least 0.
	Boost struct {
		Node   Node
		Factor float64
	}

	// All matches everything. It is *:*.
	All struct{}

	// None matches nothing. It is the blank query.
	None struct{}
)

// AutoEdits selects the number of edits by the length of the text: 0 for up to 2 characters, 1 for 3 to 5 characters, and 2 for more.
const AutoEdits = -1

// FieldName is the name of a field as written, without escapes, or a pattern with stars. The two cannot be confused, because no field has a
// star in its name. As in Lucene, a query must escape the stars of a pattern (tags.\*:x).
type FieldName struct {
	// Name is the name or the pattern. "" means no field.
	Name string
	// Pattern is true if Name is a pattern, in which * matches any string.
	Pattern bool
}

// Bound is one end of a Range.
type Bound struct {
	// Text is the value without escapes and quotes. It is not used if Open is true.
	Text string
	// Open is true if the range has no bound at this end (*).
	Open bool
	// Inclusive is true for a square bracket, >= and <=.
	Inclusive bool
	at        place
}

// leaf is a Node that embeds Leaf. Its methods describe a kind of leaf, so that the rest of the package need not name the kind. Leaf
// implements them as they are for a comparison of single terms. Other kinds of leaves replace some of them.
type leaf interface {
	Node
	header() Leaf
	// construct is the noun for the leaf in the error about a field that has no terms.
	construct() string
	// words returns the text of a leaf that a text field splits into words. It returns false for other leaves.
	words() (text string, split bool)
	// interval returns the range that the leaf means on a field of numbers, dates or booleans, and false if it does not mean a range.
	interval() (Range, bool)
	// presence reports whether the leaf only tests whether its field has a value.
	presence() bool
	// pattern returns the pattern that terms have to match, and false if the leaf has none.
	pattern() (pattern, bool)
	// expands reports whether the leaf means terms that are chosen from the terms of all items.
	expands() bool
}

func (l Leaf) header() Leaf           { return l }
func (Leaf) construct() string        { return "a comparison of terms" }
func (Leaf) words() (string, bool)    { return "", false }
func (Leaf) interval() (Range, bool)  { return Range{}, false }
func (Leaf) presence() bool           { return false }
func (Leaf) pattern() (pattern, bool) { return pattern{}, false }
func (Leaf) expands() bool            { return false }

// Equal lets cmp.Diff ignore the positions of leaves.
func (l Leaf) Equal(o Leaf) bool { return l.Field == o.Field }

// Equal lets cmp.Diff ignore the positions of bounds.
func (b Bound) Equal(o Bound) bool { b.at, o.at = place{}, place{}; return b == o }

func (Bool) node()  {}
func (Any) node()   {}
func (Boost) node() {}
func (Leaf) node()  {}
func (All) node()   {}
func (None) node()  {}
