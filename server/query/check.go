package query

import (
	"fmt"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// ParseFor combines Parse and Check: it parses a query, and checks it with the rights of its audience. It returns the warnings of both.
func ParseFor(q string, a Audience) (Query, error) {
	parsed, err := Parse(q)
	if err != nil {
		return Query{}, err
	}
	warnings, err := Check(parsed.Root, a)
	if err != nil {
		return Query{}, err
	}
	for _, w := range warnings {
		at := parsed.names[FieldName{Name: w.Field, Pattern: strings.Contains(w.Field, "*")}]
		w.Start, w.End = at.start, at.end
		parsed.Warnings = append(parsed.Warnings, w)
	}
	return parsed, nil
}

// Check validates a tree against the catalogue, without an index. It warns about the first 20 unknown fields. The error is a *SyntaxError
// if a value or a construct does not fit the type of its field, or if a limit is exceeded. It is a *ForbiddenFieldError if the audience is
// Public and n uses a private field.
func Check(n Node, a Audience) ([]Warning, error) {
	var (
		warnings []Warning
		first    error
		warned   = map[FieldName]bool{}
		leaves   = 0
		clauses  = 0
		patterns Patterns
	)
	Walk(n, func(n Node) bool {
		if first != nil {
			return false
		}
		if leaves += leafCount(n); leaves > MaxClauses {
			first = tooManyClauses(n)
			return false
		}
		f := FieldOf(n)
		if f.Name == "" {
			all := Field{Name: AllField, Type: Text}
			if clauses += clauseCount(n, []Field{all}); clauses > MaxClauses {
				first = ExpandedError(n)
				return false
			}
			first = checkFit(n, all, &patterns)
			return first == nil
		}
		if a == Public && namesPrivate(f) {
			first = &ForbiddenFieldError{Field: f.Name}
			return false
		}
		fields := Resolve(f, a, nil)
		if len(fields) == 0 && !warned[f] && len(warnings) < maxWarnings && !known(n, f) {
			warned[f] = true
			warnings = append(warnings, unknownField(f, a))
		}
		if clauses += clauseCount(n, fields); clauses > MaxClauses {
			first = ExpandedError(n)
			return false
		}
		for _, field := range fields {
			if first = checkFit(n, field, &patterns); first != nil {
				return false
			}
		}
		return true
	})
	if first != nil {
		return nil, first
	}
	return warnings, nil
}

// namesPrivate reports whether f is the name of a private field, or a pattern that starts like such a name. For the Public audience,
// patterns never match private fields, but Check refuses such a pattern to show why it finds nothing.
func namesPrivate(f FieldName) bool {
	return private(f.Name) || f.Pattern &&
		(strings.HasPrefix(f.Name, LastModified) || strings.HasPrefix(f.Name, strings.TrimSuffix(submissionPrefix, ".")))
}

// UsesPrivate reports whether n names a private field, or a pattern of field names, which may match one. What n matches may then depend on
// private fields.
func UsesPrivate(n Node) bool {
	return !Walk(n, func(n Node) bool {
		f := FieldOf(n)
		return !f.Pattern && !private(f.Name)
	})
}

// leafCount returns 1 for a leaf and 0 for other nodes.
func leafCount(n Node) int {
	switch n.(type) {
	case Bool, Any, Boost:
		return 0
	}
	return 1
}

// tooManyClauses returns the error about n, the first clause beyond MaxClauses.
func tooManyClauses(n Node) error {
	err := ErrorAt(n, "too many clauses", fmt.Sprintf("at most %d", MaxClauses))
	err.Limit = true
	return err
}

// clauseCount returns the number of clauses to which n expands on the given fields, at least in any corpus: one for each word of a text in
// each text field, and one for each other field. A pattern of field names can add clauses for the dynamic fields of a corpus, which are
// counted only when the query runs.
func clauseCount(n Node, fields []Field) int {
	l, ok := n.(leaf)
	if !ok {
		return leafCount(n)
	}
	if l.presence() {
		if object := ResolveObject(FieldOf(n), Private, nil); len(object) > 0 {
			return len(object)
		}
	}
	text, split := l.words()
	if !split || len(fields) == 0 {
		return max(1, len(fields))
	}
	words, count := -1, 0
	for _, f := range fields {
		if f.Type != Text {
			count++
			continue
		}
		if words < 0 {
			words = analysis.CountWords(text)
		}
		count += words
	}
	return count
}

// ExpandedError returns the error for a query that exceeds MaxClauses after the expansion of words, lists and field patterns. n is the
// clause at which the count exceeds the limit.
func ExpandedError(n Node) *SyntaxError {
	err := ErrorAt(n, "too many clauses after words, lists and field patterns were expanded", fmt.Sprintf("at most %d", MaxClauses))
	err.Limit = true
	return err
}

// Resolve returns the fields that f matches for an audience: one field for a known name, all matches of a pattern, or none for an unknown
// name. dynamic lists the canonical names of the dynamic fields of a corpus, which is needed only for patterns. The result is read-only.
func Resolve(f FieldName, a Audience, dynamic []string) []Field {
	if !f.Pattern {
		if one := loadCatalogue().fields[f.Name]; one != nil {
			return one
		}
		if field, ok := Lookup(f.Name); ok {
			return []Field{field}
		}
		return nil
	}
	return collect(a, dynamic, func(name string) bool { return f.Matches(name) })
}

// ResolveObject returns the fields in the object with the name f, or none if f is not the name of an object. dynamic is the same as for
// Resolve.
func ResolveObject(f FieldName, a Audience, dynamic []string) []Field {
	object, ok := Object(f.Name)
	if f.Pattern || !ok {
		return nil
	}
	return collect(a, dynamic, func(name string) bool { return strings.HasPrefix(name, object+".") })
}

// collect returns the fields that wanted accepts and that the audience may see.
func collect(a Audience, dynamic []string, wanted func(string) bool) []Field {
	var out []Field
	for _, field := range Fields() {
		if wanted(field.Name) && field.visibleTo(a) {
			out = append(out, field)
		}
	}
	for _, name := range dynamic {
		if field, ok := Lookup(name); ok && field.Name == name && wanted(name) && field.visibleTo(a) {
			out = append(out, field)
		}
	}
	return out
}

// known reports whether the name f in the clause n is valid although it matches no static field. It is valid if it is a pattern that can
// match dynamic fields, or an object whose presence n tests.
func known(n Node, f FieldName) bool {
	if f.Pattern {
		return f.Reaches("tags") || f.Reaches("submission") || starsMeet(f.Name, referencePrefix+"*")
	}
	_, ok := Object(f.Name)
	return ok && AsksPresence(n)
}

// unknownField warns about a field that the catalogue does not have.
func unknownField(f FieldName, a Audience) Warning {
	name := excerpt(f.Name, longestName)
	if f.Pattern {
		return Warning{Code: WarnUnknownField, Message: fmt.Sprintf("no field matches the pattern %q, so its clause finds nothing", name), Field: f.Name}
	}
	message := fmt.Sprintf("there is no field %q, so its clause finds nothing", name)
	if object, ok := Object(f.Name); ok {
		message = fmt.Sprintf("%q is an object and not a field, so its clause finds nothing; use one of its members, such as %q", name, memberOf(object))
	} else if near := nearestField(f.Name, a); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	return Warning{Code: WarnUnknownField, Message: message, Field: f.Name}
}

// checkFit checks that the construct n and its value are valid for the type of the field.
func checkFit(n Node, f Field, patterns *Patterns) error {
	l, ok := n.(leaf)
	if !ok {
		return nil
	}
	switch f.Type {
	case Keyword, Text:
		if _, ok := l.pattern(); !ok {
			return nil
		}
		_, err := patterns.Compile(n)
		return err
	case Long, Double, Boolean, Date:
	}
	var err error
	switch _, ok := l.interval(); {
	case l.presence():
	case !ok:
		err = ErrorAt(n, fmt.Sprintf("%s on the %s field %q", l.construct(), typeNoun(f.Type), f.Name), "a value, a range, or * for any value")
	case f.Type == Double:
		_, _, err = FloatSpan(n, f)
	default:
		_, _, err = Span(n, f, time.UnixMilli(0))
	}
	return err
}
