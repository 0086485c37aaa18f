package reference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema contains the members that the schemas of CRDs and of OpenAPI documents have in common, and the rules of CRDs.
type schema struct {
	Ref           string   `json:"$ref"`
	Type          string   `json:"type"`
	Format        string   `json:"format"`
	Description   string   `json:"description"`
	Enum          []any    `json:"enum"`
	Default       any      `json:"default"`
	Pattern       string   `json:"pattern"`
	Nullable      bool     `json:"nullable"`
	Minimum       *float64 `json:"minimum"`
	Maximum       *float64 `json:"maximum"`
	MinLength     *float64 `json:"minLength"`
	MaxLength     *float64 `json:"maxLength"`
	MinItems      *float64 `json:"minItems"`
	MaxItems      *float64 `json:"maxItems"`
	MaxProperties *float64 `json:"maxProperties"`
	Required      []string `json:"required"`
	Items         *schema
	Properties    map[string]*schema
	Rules         []struct{ Message string } `json:"x-kubernetes-validations"`
}

// last returns the name at the end of a reference; "" for "".
func last(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// kind returns the type of a value, such as `[]string`.
func (s *schema) kind() string {
	if s == nil {
		return "any"
	}
	if name := last(s.Ref); name != "" {
		return fmt.Sprintf("[%s](#%s)", name, anchor(name))
	}
	switch {
	case s.Type == "array":
		return "[]" + s.Items.kind()
	case s.Type == "":
		return "any"
	case s.Format != "" && s.Type == "string":
		return s.Format
	}
	return s.Type
}

// emptyString is the name of the empty string in sentences.
const emptyString = "the empty string"

// singular returns a unit such as " items", without the final s if n is 1.
func singular(n float64, unit string) string {
	if n == 1 {
		return strings.TrimSuffix(unit, "s")
	}
	return unit
}

// limits describes the limits of a value in sentences.
func (s *schema) limits() string {
	var sentences []string
	add := func(format string, args ...any) { sentences = append(sentences, fmt.Sprintf(format, args...)+".") }
	span := func(least, most *float64, unit string) {
		switch {
		case least != nil && most != nil && *least == *most:
			add("Exactly %.0f%s", *least, singular(*least, unit))
		case least != nil && most != nil:
			add("%.0f to %.0f%s", *least, *most, unit)
		case least != nil && *least == 1 && unit != "":
			add("Not empty")
		case least != nil && (*least > 0 || unit == ""):
			add("At least %.0f%s", *least, singular(*least, unit))
		case most != nil:
			add("At most %.0f%s", *most, singular(*most, unit))
		}
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, cmp.Or(code(fmt.Sprint(v)), emptyString))
		}
		add("One of %s", strings.Join(values, ", "))
	}
	span(s.Minimum, s.Maximum, "")
	span(s.MinLength, s.MaxLength, " characters")
	span(s.MinItems, s.MaxItems, " items")
	span(nil, s.MaxProperties, " members")
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
	for _, r := range s.Rules {
		add("Rule: %s", strings.TrimSuffix(prose(r.Message), "."))
	}
	return strings.Join(sentences, " ")
}

// rows returns a table row for each member of an object, at any depth. The row contains the path of the member.
func (s *schema) rows(path string) [][]string {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		member := s.Properties[name]
		text := []string{prose(member.Description)}
		if slices.Contains(s.Required, name) {
			text = append([]string{"**Required.**"}, text...)
		}
		inner := member
		for inner.Type == "array" && inner.Items != nil {
			inner = inner.Items
		}
		text = append(text, member.limits())
		if limits := inner.limits(); inner != member && limits != "" {
			text = append(text, "Each: "+limits)
		}
		rows = append(rows, []string{code(path + name), member.kind(), strings.Join(strings.Fields(strings.Join(text, " ")), " ")})
		suffix := strings.Repeat("[]", strings.Count(member.kind(), "[]"))
		rows = append(rows, inner.rows(path+name+suffix+".")...)
	}
	return rows
}
