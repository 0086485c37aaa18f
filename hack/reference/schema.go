package reference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// kind returns the type of a value, such as `[]string`.
func kind(s *openapi3.SchemaRef) string {
	if s == nil {
		return "any"
	}
	if name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]; name != "" {
		return fmt.Sprintf("[%s](#%s)", name, anchor(name))
	}
	switch {
	case s.Value.Type.Is("array"):
		return "[]" + kind(s.Value.Items)
	case s.Value.Type == nil:
		return "any"
	case s.Value.Format != "" && s.Value.Type.Is("string"):
		return s.Value.Format
	}
	return s.Value.Type.Slice()[0]
}

// emptyString is the name of the empty string in sentences.
const emptyString = "the empty string"

// span describes the limits of a number of units such as " items", or of a number if the unit is empty.
func span(least, most *float64, unit string) string {
	singular := func(n float64) string {
		if n == 1 {
			return strings.TrimSuffix(unit, "s")
		}
		return unit
	}
	switch {
	case least != nil && most != nil && *least == *most:
		return fmt.Sprintf("Exactly %.0f%s", *least, singular(*least))
	case least != nil && most != nil:
		return fmt.Sprintf("%.0f to %.0f%s", *least, *most, unit)
	case least != nil && *least == 1 && unit != "":
		return "Not empty"
	case least != nil:
		return fmt.Sprintf("At least %.0f%s", *least, singular(*least))
	case most != nil:
		return fmt.Sprintf("At most %.0f%s", *most, singular(*most))
	}
	return ""
}

// count returns span for numbers without a sign, of which 0 means that there is no lower limit.
func count(least uint64, most *uint64, unit string) string {
	var from, to *float64
	if least > 0 {
		from = new(float64(least))
	}
	if most != nil {
		to = new(float64(*most))
	}
	return span(from, to, unit)
}

// limits describes the limits of a value in sentences.
func limits(s *openapi3.Schema) string {
	var sentences []string
	add := func(format string, args ...any) {
		if sentence := fmt.Sprintf(format, args...); sentence != "" {
			sentences = append(sentences, sentence+".")
		}
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, cmp.Or(code(fmt.Sprint(v)), emptyString))
		}
		add("One of %s", strings.Join(values, ", "))
	}
	add("%s", span(s.Min, s.Max, ""))
	add("%s", count(s.MinLength, s.MaxLength, " characters"))
	add("%s", count(s.MinItems, s.MaxItems, " items"))
	add("%s", count(0, s.MaxProps, " members"))
	if s.Pattern != "" {
		add("Pattern: %s", code(s.Pattern))
	}
	switch s.Default {
	case nil:
	case "":
		add("Default: %s", emptyString)
	default:
		add("Default: %s", code(fmt.Sprint(s.Default)))
	}
	if s.Nullable {
		add("Can be null")
	}
	for _, rule := range rules(s) {
		add("Rule: %s", rule)
	}
	return strings.Join(sentences, " ")
}

// rules returns the messages of the CEL rules of a schema, without a full stop.
func rules(s *openapi3.Schema) (messages []string) {
	list, _ := s.Extensions["x-kubernetes-validations"].([]any)
	for _, rule := range list {
		messages = append(messages, strings.TrimSuffix(prose(fmt.Sprint(rule.(map[string]any)["message"])), "."))
	}
	return messages
}

// rows returns a table row for each member of an object, at any depth. The row contains the path of the member.
func rows(s *openapi3.Schema, path string) [][]string {
	var list [][]string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		member := s.Properties[name]
		var text []string
		if slices.Contains(s.Required, name) {
			text = []string{"**Required.**"}
		}
		if member.Ref == "" { // the schema of a reference has its own section
			text = append(text, prose(member.Value.Description), limits(member.Value))
		}
		inner := member
		for inner.Ref == "" && inner.Value.Type.Is("array") && inner.Value.Items != nil {
			inner = inner.Value.Items
		}
		own := &openapi3.Schema{}
		if inner.Ref == "" {
			own = inner.Value
		}
		if inner != member && limits(own) != "" {
			text = append(text, "Each: "+limits(own))
		}
		list = append(list, []string{code(path + name), kind(member), strings.Join(strings.Fields(strings.Join(text, " ")), " ")})
		suffix := strings.Repeat("[]", strings.Count(kind(member), "[]"))
		list = append(list, rows(own, path+name+suffix+".")...)
	}
	return list
}
