package query

// Node is one node of a parsed query. The tree represents what the user wrote, before fields are looked up and texts are
// split into words; package plan interprets it. Nodes are immutable and safe for concurrent use.
//
// String returns the canonical form, which parses to an equal tree. A parsed node has a position, which its Equal method
// ignores. Compare trees with Equal or cmp.Diff, never with == or reflect.DeepEqual.
type Node interface {
	String() string
	node()
}

// Occur is the role of a clause in its group (query language, "Clauses").
type Occur uint8

const (
	// Should clauses contribute to the score. At least one must match if the group has no Must clause.
	Should Occur = iota
	// Must clauses must match, and contribute to the score.
	Must
	// MustNot clauses must not match.
	MustNot
)

type (
	// Clause is one member of a Bool.
	Clause struct {
		Occur Occur
		Node  Node
	}

	// Bool is a group of one or more clauses. It has no precedence: the parser has already mapped AND, OR, NOT, + and - to
	// the Occur of each clause. Parse never returns a Bool with a single Should clause.
	Bool struct{ Clauses []Clause }

	// Term is a bare word or a single value, never "". Field is the name as written ("" for none; a name with a * is a
	// pattern, see FieldName). Text is unescaped.
	Term struct {
		Field FieldName
		Text  string
		at    place
	}

	// Phrase is quoted text. Slop is the number of permitted moves, 0 for an exact phrase.
	Phrase struct {
		Field FieldName
		Text  string
		Slop  int
		at    place
	}

	// Wildcard is a word with * or ?, including prefixes (word*). Pattern keeps \*, \? and \\ escaped and has no other
	// escapes. The pattern * tests the presence of the field, like Exists.
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

	// Regexp is /pattern/ in Lucene's RegExp syntax, without the enclosing slashes; a slash inside stays escaped (\/).
	Regexp struct {
		Field   FieldName
		Pattern string
		at      place
	}

	// Range is [From TO To] with either bracket, or >, >=, <, <=. An empty bound is Open.
	Range struct {
		Field    FieldName
		From, To Bound
		at       place
	}

	// Any is the comma form field:(a,b) or field:a,b (specification, Query language). It matches any of the values and
	// ranks like their OR. Each value is a Term, Phrase, Wildcard, Fuzzy, Regexp or Range of the same field.
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

	// All matches everything: *:*.
	All struct{}

	// None matches nothing: the blank query.
	None struct{}
)

// AutoEdits selects the number of edits by length: 0 for 1–2 characters, 1 for 3–5, 2 from 6.
const AutoEdits = -1

// FieldName is a field as written: an unescaped name, or a pattern with stars. No field has a star in its name; a query
// writes the star of a pattern with an escape (tags.\*:x), as in Lucene.
type FieldName struct {
	// Name is the name, or the pattern in which * matches any characters. "" means no field.
	Name string
	// Pattern is true if a * in Name is a wildcard.
	Pattern bool
}

// Bound is one end of a Range.
type Bound struct {
	// Text is the value without escapes and quotes; it is not used if Open.
	Text string
	// Open is true for *.
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
