package query

// Node is one node of a parsed query. The tree is what the user wrote, before any field is looked up or any text is
// cut into words: package plan gives it a meaning. A Node is immutable once made and safe for concurrent use.
//
// String returns the canonical form: parsing it again yields an equal tree. A node that was parsed remembers where it
// stood, which its Equal method leaves out; compare trees with Equal or cmp.Diff, never with == or reflect.DeepEqual.
type Node interface {
	String() string
	node()
}

// Occur says how a clause takes part in its group (query language, "Clauses, not a tree").
type Occur uint8

const (
	// Should clauses rank; at least one must match where the group has no Must clause.
	Should Occur = iota
	// Must clauses have to match, and rank.
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

	// Bool is a group of clauses, at least one. There is no precedence in it: AND, OR, NOT, + and - have already
	// become the Occur of each clause. Parse never makes one of a single Should clause.
	Bool struct{ Clauses []Clause }

	// Term is a bare word or a single value, never "". Field is the name as written ("" for no field; a name with a *
	// is a pattern, see FieldName). Text has its escapes removed.
	Term struct {
		Field FieldName
		Text  string
		at    place
	}

	// Phrase is a quoted text. Slop is the number of moves allowed, 0 for an exact phrase.
	Phrase struct {
		Field FieldName
		Text  string
		Slop  int
		at    place
	}

	// Wildcard is a word with * or ?, prefixes (word*) included. Pattern keeps \*, \? and \\ escaped and has all
	// other escapes removed. The pattern * alone asks for the presence of the field, as Exists does.
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

	// Regexp is /pattern/ in Lucene's RegExp syntax, the slashes around it taken off; one inside stays escaped (\/).
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

	// Any is the comma form field:(a,b) or field:a,b (specification, Query language): any of the values, ranked as
	// their OR. Each value is a Term, Phrase, Wildcard, Fuzzy, Regexp or Range of the same field.
	Any struct{ Values []Node }

	// Exists is _exists_:field.
	Exists struct {
		Field FieldName
		at    place
	}

	// Missing is _missing_:field, the exact negation of Exists; it ranks as a constant 1.
	Missing struct {
		Field FieldName
		at    place
	}

	// Boost multiplies the score of Node by Factor, which is greater than or equal to 0.
	Boost struct {
		Node   Node
		Factor float64
	}

	// All matches everything: *:*.
	All struct{}

	// None matches nothing: the blank query.
	None struct{}
)

// AutoEdits stands for the number of edits by length: 0 for 1–2 characters, 1 for 3–5, 2 from 6.
const AutoEdits = -1

// FieldName is a field as written: a name with its escapes removed, or a pattern whose stars are wild. No field has a
// star in its name; in a query the star of a pattern is written escaped (tags.\*:x), as in Lucene.
type FieldName struct {
	// Name is the name, or the pattern with * for "any characters". "" means no field.
	Name string
	// Pattern is true where a * in Name is wild.
	Pattern bool
}

// Bound is one end of a Range.
type Bound struct {
	// Text is the value with its escapes and quotes removed; it means nothing when Open.
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
