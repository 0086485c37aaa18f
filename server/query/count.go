package query

import (
	"fmt"
	"strconv"
	"strings"
)

// AllTags is the name of the field of all tags, with values of the form namespace:key. Its values can be counted. Queries cannot name it:
// they name the tags of one namespace (TagFieldName).
const AllTags = "tags"

// FieldError says that the values of a field cannot be counted.
type FieldError struct {
	// Field is the name as the caller wrote it.
	Field string
	// Reason says why, and which field to name instead.
	Reason string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("the values of field %q cannot be counted: %s", excerpt(e.Field, longestName), e.Reason)
}

// Countable finds a field whose values can be counted: a keyword, a boolean or a whole number by any name that Lookup accepts, or
// AllTags. It returns a *ForbiddenFieldError if the Public audience names a private field, and a *FieldError for a field
// that does not exist or has another type.
func Countable(name string, a Audience) (Field, error) {
	if a == Public && private(name) {
		return Field{}, &ForbiddenFieldError{Field: name}
	}
	if name == AllTags {
		return Field{Name: AllTags}, nil
	}
	refused := func(format string, args ...any) (Field, error) {
		return Field{}, &FieldError{Field: name, Reason: fmt.Sprintf(format, args...)}
	}
	f, ok := Lookup(name)
	if !ok {
		if object, ok := Object(name); ok {
			return refused("it is an object; name one of its members, such as %q", memberOf(object))
		}
		if near := nearestField(name); near != "" {
			return refused("there is no such field; did you mean %q?", near)
		}
		return refused("there is no such field")
	}
	switch f.Type {
	case Keyword, Boolean, Long:
	case Text, Double, Date:
		return refused("its type is %s; use %q, or a field of type keyword, boolean or long", f.Type, AllTags)
	}
	return f, nil
}

// CountedNumber returns the form in which a number of a countable field of the type Long or Boolean is shown.
func (f Field) CountedNumber(n int64) string {
	if f.Type == Boolean {
		return strconv.FormatBool(n != 0)
	}
	return strconv.FormatInt(n, 10)
}

// ValueTerm returns the query for the items in which a countable field has a value. The value is in the form in which it is shown.
func ValueTerm(f Field, value string) Node {
	if f.Name == AllTags {
		// A namespace can contain a colon; a key cannot.
		at := strings.LastIndexByte(value, ':')
		if at < 0 {
			return None{}
		}
		return FieldTerm(TagFieldName(value[:at]), value[at+1:])
	}
	return FieldTerm(f.Name, value)
}
