package query

import (
	"fmt"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// ParseFor is Parse and Check in one: it reads a query with the rights of its audience. The warnings are of both.
func ParseFor(q string, a Audience) (Query, error) {
	parsed, err := Parse(q)
	if err != nil {
		return Query{}, err
	}
	warnings, err := Check(parsed.Root, a)
	if err != nil {
		return Query{}, err
	}
	parsed.Warnings = append(parsed.Warnings, warnings...)
	return parsed, nil
}

// Check judges a tree against the catalogue, without an index. Warnings name fields that do not exist, the first 20 of
// them. The error is a *SyntaxError where a value or a construct does not fit the type of its field or a limit is
// passed, and a *ForbiddenFieldError where n names a private field to the Public.
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
			warnings = append(warnings, unknownField(f))
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

// namesPrivate reports whether f is a private field. A pattern never reaches one for the Public; one that begins like
// them names them all the same.
func namesPrivate(f FieldName) bool {
	return private(f.Name) || f.Pattern && strings.HasPrefix(f.Name, strings.TrimSuffix(submissionPrefix, "."))
}

// leafCount is 1 for a node that looks at a field.
func leafCount(n Node) int {
	switch n.(type) {
	case Bool, Any, Boost:
		return 0
	}
	return 1
}

// tooManyClauses is the error about the clause with which MaxClauses is passed.
func tooManyClauses(n Node) error {
	err := ErrorAt(n, "too many clauses", fmt.Sprintf("at most %d", MaxClauses))
	err.Limit = true
	return err
}

// clauseCount is how many clauses n comes to over the fields that its name stands for in any corpus: each word that a text
// is cut into is one, and so is every field that is looked at for presence. What the dynamic fields of a corpus add to a
// pattern shows when the query is asked.
func clauseCount(n Node, fields []Field) int {
	text := ""
	switch n := n.(type) {
	case Bool, Any, Boost:
		return 0
	case Term:
		text = n.Text
	case Phrase:
		text = n.Text
	case Exists, Missing:
		if object := ResolveObject(FieldOf(n), Private, nil); len(object) > 0 {
			return len(object)
		}
		return max(1, len(fields))
	default:
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
	if len(fields) == 0 {
		return 1
	}
	return count
}

// ExpandedError is the error about the clause with which MaxClauses is passed once words, lists and field patterns are
// expanded.
func ExpandedError(n Node) *SyntaxError {
	err := ErrorAt(n, "too many clauses once words, lists and field patterns are expanded", fmt.Sprintf("at most %d", MaxClauses))
	err.Limit = true
	return err
}

// Resolve returns the fields that f stands for to an audience: one for a name, those that a pattern covers, none for an
// unknown name. dynamic lists the canonical names of the dynamic fields that a corpus holds, which only patterns need.
func Resolve(f FieldName, a Audience, dynamic []string) []Field {
	if !f.Pattern {
		if field, ok := Lookup(f.Name); ok {
			return []Field{field}
		}
		return nil
	}
	return collect(a, dynamic, func(name string) bool { return f.Matches(name) })
}

// ResolveObject returns the fields below the object that f names, none where it names no object. dynamic is as for
// Resolve.
func ResolveObject(f FieldName, a Audience, dynamic []string) []Field {
	object, ok := Object(f.Name)
	if f.Pattern || !ok {
		return nil
	}
	return collect(a, dynamic, func(name string) bool { return strings.HasPrefix(name, object+".") })
}

// collect returns the fields that wanted accepts.
func collect(a Audience, dynamic []string, wanted func(string) bool) []Field {
	var out []Field
	for _, field := range Fields() {
		if wanted(field.Name) {
			out = append(out, field)
		}
	}
	for _, name := range dynamic {
		if field, ok := Lookup(name); ok && field.Name == name && wanted(name) && (a == Private || !field.Private) {
			out = append(out, field)
		}
	}
	return out
}

// known reports whether a name that stands for no static field is no mistake: a pattern over dynamic fields, or the
// presence of an object.
func known(n Node, f FieldName) bool {
	if f.Pattern {
		return f.Reaches("tags") || f.Reaches("submission") || starsMeet(f.Name, referencePrefix+"*")
	}
	switch n := n.(type) {
	case Exists, Missing:
	case Wildcard:
		if n.Pattern != "*" {
			return false
		}
	default:
		return false
	}
	_, ok := Object(f.Name)
	return ok
}

// unknownField warns of a field that the catalogue does not have.
func unknownField(f FieldName) Warning {
	name := excerpt(f.Name, longestName)
	if f.Pattern {
		return Warning{Code: WarnUnknownField, Message: fmt.Sprintf("no field matches the pattern %q, so its clause finds nothing", name)}
	}
	message := fmt.Sprintf("there is no field %q, so its clause finds nothing", name)
	if object, ok := Object(f.Name); ok {
		message += fmt.Sprintf(": it is an object; name one of its members, such as %q", memberOf(object))
	} else if near := nearestField(f.Name); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	return Warning{Code: WarnUnknownField, Message: message}
}

// memberOf returns the first member of an object.
func memberOf(object string) string {
	for _, r := range loadCatalogue().rows {
		if strings.HasPrefix(r.Name, object+".") {
			return r.Name
		}
	}
	return object
}

// checkFit judges whether the construct n and its value fit the field.
func checkFit(n Node, f Field, patterns *Patterns) error {
	switch f.Type {
	case Keyword, Text:
		switch n.(type) {
		case Regexp, Wildcard:
			_, err := patterns.Compile(n)
			return err
		}
		return nil
	case Long, Double, Boolean, Date:
	}
	switch n := n.(type) {
	case Term, Phrase, Range:
		var err error
		if f.Type == Double {
			_, _, err = FloatSpan(n, f)
		} else {
			_, _, err = Span(n, f, time.UnixMilli(0))
		}
		return err
	case Wildcard:
		if n.Pattern != "*" {
			return wrongConstruct(n, f, "a wildcard")
		}
	case Fuzzy:
		return wrongConstruct(n, f, "a nearness sign")
	case Regexp:
		return wrongConstruct(n, f, "a regular expression")
	}
	return nil
}

// wrongConstruct is the error about a construct that compares words, on a field that has none.
func wrongConstruct(n Node, f Field, construct string) error {
	return ErrorAt(n, fmt.Sprintf("%s on the %s field %q", construct, typeNoun(f.Type), f.Name), "a value, a range, or * for any value")
}

// nearestField returns the name in the catalogue that needs the fewest edits to become name, "" when none is near:
// at most a third of its characters.
func nearestField(name string) string {
	if len(name) > longestName {
		return ""
	}
	best, edits := "", len([]rune(name))/3+1
	for _, candidate := range loadCatalogue().names {
		if candidate == AllField {
			continue
		}
		whole, tail := candidate, candidate[strings.LastIndexByte(candidate, '.')+1:]
		for _, s := range []string{whole, tail} {
			d := editDistance(name, s)
			if s == tail && s != whole {
				d++ // a member alone counts as one edit further than a whole name
			}
			if d < edits || d == edits && best != "" && len(candidate) < len(best) {
				best, edits = candidate, d
			}
		}
	}
	return best
}

// editDistance is the Levenshtein distance in characters.
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i, c := range s {
		diagonal := row[0]
		row[0] = i + 1
		for j, d := range t {
			cost := diagonal
			if c != d {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(t)]
}
