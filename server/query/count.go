package query

import (
	"fmt"
	"strconv"
	"strings"
)

// AllTags is the name of a field that contains all tags, as values of the form namespace:key. Its values can be counted, but queries cannot
// use it. Instead, they use the fields for the tags of one namespace (TagFieldName).
const AllTags = "tags"

// FieldError says that the values of a field cannot be counted.
type FieldError struct {
	// Field is the name of the field as the caller wrote it.
	Field string
	// Reason says why the field cannot be counted, and which field to use instead.
	Reason string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("the values of field %q cannot be counted: %s", excerpt(e.Field, longestName), e.Reason)
}

// Countable finds a field whose values can be counted. The name can be AllTags, or any name that Lookup accepts for a Keyword, Boolean or
// Long field. Countable returns a *ForbiddenFieldError if the audience is Public and the field is private. It returns a *FieldError if the
// field does not exist or has another type.
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
			return refused("it is an object; use one of its members, such as %q", memberOf(object))
		}
		if near := nearestField(name, a); near != "" {
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

// CountedNumber formats a number of a countable field of type Long or Boolean as a value in facets.
func (f Field) CountedNumber(n int64) string {
	if f.Type == Boolean {
		return strconv.FormatBool(n != 0)
	}
	return strconv.FormatInt(n, 10)
}

// ValueTerm returns the query for the items in which a countable field has a value. The value must have the form in which facets show it.
func ValueTerm(f Field, value string) Node {
	if f.Name == AllTags {
		// A namespace can contain a colon, but a key cannot.
		at := strings.LastIndexByte(value, ':')
		if at < 0 {
			return None{}
		}
		return FieldTerm(TagFieldName(value[:at]), value[at+1:])
	}
	return FieldTerm(f.Name, value)
}
