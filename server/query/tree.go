package query

// Node is one node of a parsed query. The tree represents the query as the user wrote it. Package plan interprets it: it looks up fields
// and splits texts into words. Nodes are immutable and safe for concurrent use.
//
// String returns the canonical form, which parses to an equal tree. A parsed node has a position, which the Equal methods ignore. Compare
// trees with Equal or cmp.Diff, never with == or reflect.DeepEqual.
type Node interface {
	String() string
	node()
}

// Occur is the role of a clause in its group (query language, "Clauses").
type Occur uint8

const (
	// Should is the role of optional clauses. They contribute to the score. At least one of them must match if the group has no Must
	// clause.
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

	// Term is a bare word or a single value. Field is the name as written (see FieldName). Text has no escapes and is never "".
	Term struct {
		Field FieldName
		Text  string
		at    place
	}

	// Phrase is quoted text. Slop is the number of allowed moves. It is 0 for an exact phrase.
	Phrase struct {
		Field FieldName
		Text  string
		Slop  int
		at    place
	}

	// Wildcard is a word with * or ?, including prefixes (word*). Pattern keeps \*, \? and \\ escaped and has no other escapes. The pattern
	// * tests the presence of the field, as Exists does.
	Wildcard struct {
		Field   FieldName
		Pattern string
		at      place
	}

	// Fuzzy is word~ or word~N. Edits is 0, 1, 2 or AutoEdits.
	Fuzzy struct {
		Field FieldName
		Text  string
		Edits int
		at    place
	}

	// Regexp is /pattern/ in Lucene's RegExp syntax. Pattern does not contain the enclosing slashes. A slash in the pattern stays escaped
	// (\/).
	Regexp struct {
		Field   FieldName
		Pattern string
		at      place
	}

	// Range is [From TO To] with square brackets or braces, or a comparison with >, >=, < or <=. A bound that is * or missing is Open.
	Range struct {
		Field    FieldName
		From, To Bound
		at       place
	}

	// Any is the comma form field:(a,b) or field:a,b (specification, Query language). It matches any of the values, and is ranked in the
	// same way as their OR. Each value is a Term, Phrase, Wildcard, Fuzzy, Regexp or Range of the same field.
	Any struct{ Values []Node }

	// Exists is _exists_:field.
	Exists struct {
		Field FieldName
		at    place
	}

	// Missing is _missing_:field, the exact negation of Exists. Its score is a constant 1.
	Missing struct {
		Field FieldName
		at    place
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

// AutoEdits selects the number of edits by the length of the text: 0 for up to 2 characters, 1 for 3 to 5, and 2 for 6 or more.
const AutoEdits = -1

// FieldName is the name of a field as written, without escapes, or a pattern with stars. No field has a star in its name. As in Lucene, a
// query escapes the stars of a pattern (tags.\*:x).
type FieldName struct {
	// Name is the name, or the pattern, in which * matches any number of any characters. "" means no field.
	Name string
	// Pattern is true if Name is a pattern, in which * is a wildcard.
	Pattern bool
}

// Bound is one end of a Range.
type Bound struct {
	// Text is the value without escapes and quotes. It is not used if Open is true.
	Text string
	// Open is true if there is no bound (*).
	Open bool
	// Inclusive is true for a square bracket, >= and <=.
	Inclusive bool
	at        place
}

func (Bool) node()     {}
func (Term) node()     {}
func (Phrase) node()   {}
func (Wildcard) node() {}
func (Fuzzy) node()    {}
func (Regexp) node()   {}
func (Range) node()    {}
func (Any) node()      {}
func (Exists) node()   {}
func (Missing) node()  {}
func (Boost) node()    {}
func (All) node()      {}
func (None) node()     {}
