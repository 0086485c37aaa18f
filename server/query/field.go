package query

import (
	"fmt"
	"strings"
)

// Type is the type of a field. It determines how values are indexed, compared, sorted and ranked.
type Type uint8

const (
	// Keyword values are compared as a whole and in lower case. Items in responses show them as they were stored.
	Keyword Type = iota
	// Text values are split into words (UAX #29, lower case) with positions. Between two values of one field, there is a gap of 100 positions.
	Text
	// Long values are 64-bit integers.
	Long
	// Double values are 64-bit floating-point numbers.
	Double
	// Boolean values are true or false.
	Boolean
	// Date values are instants in milliseconds since 1970-01-01T00:00:00Z.
	Date
)

// String returns the name of the type, as in the documentation and in OpenSearch mappings.
func (t Type) String() string {
	switch t {
	case Keyword:
		return "keyword"
	case Text:
		return "text"
	case Long:
		return "long"
	case Double:
		return "double"
	case Boolean:
		return "boolean"
	case Date:
		return "date"
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// Field is a field of the catalogue.
type Field struct {
	// Name is the documented path, such as content.text.
	Name string
	Type Type
	// Private is true for fields that only READ-WRITE callers can see: everything in the submission, and LastModified.
	Private bool
	// Sortable is true for fields that can be used in sort_by. Such a field has at most one value in each item, and is never a Text field.
	Sortable bool
}

// visibleTo reports whether an audience may see the field.
func (f Field) visibleTo(a Audience) bool { return a == Private || !f.Private }

// Value is one indexed value of a field. The type of the field determines which member contains the value.
type Value struct {
	// Str holds the values of Keyword fields (as stored, not in lower case) and of Text fields.
	Str string
	// Int holds Long values, Date values in milliseconds, and Boolean values (0 or 1).
	Int int64
	// Float holds Double values.
	Float float64
}

// Audience is the kind of reader. It determines which fields a query can use, and which data the reader sees.
type Audience uint8

const (
	// Public is the audience of READ-ONLY tokens, and the zero value. It sees nothing private.
	Public Audience = iota
	// Private is the audience of READ-WRITE tokens. It sees everything.
	Private
)

// Matches reports whether f is the canonical name or a short name of the field with the given canonical name, or a pattern that matches one
// of these names.
func (f FieldName) Matches(canonical string) bool {
	if !f.Pattern {
		field, ok := Lookup(f.Name)
		return ok && field.Name == canonical
	}
	if matchStars(f.Name, canonical) {
		return true
	}
	for short, long := range shortNames() {
		if long == canonical && matchStars(f.Name, short) {
			return true
		}
	}
	for short, long := range shortPrefixes() {
		if rest, ok := strings.CutPrefix(canonical, long); ok && matchStars(f.Name, short+rest) {
			return true
		}
	}
	return false
}

// Reaches reports whether f is the name of an object (such as tags) or of something in the object, or a pattern that can match such a name.
// It treats short names as their canonical names. It serves rules that forbid the use of an object in a query.
func (f FieldName) Reaches(object string) bool {
	if f.Pattern {
		return starsMeet(f.Name, object) || starsMeet(f.Name, object+".*")
	}
	name := expandShort(f.Name)
	return name == object || strings.HasPrefix(name, object+".")
}

// matchStars reports whether s matches a pattern in which * matches any string.
func matchStars(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return true
}

// starsMeet reports whether at least one string matches both patterns.
func starsMeet(a, b string) bool {
	// meet[j] is true if at least one string matches both a[:i] and b[:j].
	meet := make([]bool, len(b)+1)
	for i := range len(a) + 1 {
		diagonal := false // the value of meet[j-1] in the previous row
		for j := range len(b) + 1 {
			above := meet[j]
			switch {
			case i == 0 && j == 0:
				meet[j] = true
			case i > 0 && j > 0 && a[i-1] == b[j-1] && a[i-1] != '*':
				meet[j] = diagonal
			default:
				meet[j] = i > 0 && a[i-1] == '*' && (above || j > 0 && meet[j-1]) ||
					j > 0 && b[j-1] == '*' && (meet[j-1] || i > 0 && above)
			}
			diagonal = above
		}
	}
	return meet[len(b)]
}
