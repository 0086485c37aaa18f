package item

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// decoder records the first error in a document while its members are read one after the other.
type decoder struct {
	// stored is true for a document that was accepted before. For such a document, the decoder does not check limits and ranges again.
	stored bool
	err    *InvalidError
}

// malformed records an error for input that cannot be understood (HTTP 400). It takes precedence over an error of unacceptable.
func (d *decoder) malformed(member, format string, args ...any) {
	if d.err == nil || !d.err.Malformed {
		d.err = &InvalidError{Malformed: true, Member: member, Reason: fmt.Sprintf(format, args...)}
	}
}

// unacceptable records an error for input that is well-formed but not accepted (HTTP 422).
func (d *decoder) unacceptable(member, format string, args ...any) {
	if d.err == nil && !d.stored {
		d.err = &InvalidError{Member: member, Reason: fmt.Sprintf(format, args...)}
	}
}

// check records an error of ValidNamespace or ValidKey for a member. It ignores nil.
func (d *decoder) check(member string, err error) {
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		d.unacceptable(member, "%s", invalid.Reason)
	}
}

// failure returns the recorded error, or nil if there is none.
func (d *decoder) failure() error {
	if d.err == nil {
		return nil
	}
	return d.err
}

// document decodes body, which must be one JSON object.
func (d *decoder) document(body []byte) (object, error) {
	v, err := decodeValue(body)
	return d.root(v, err)
}

// root returns the decoded value as an object.
func (d *decoder) root(v value, err error) (object, error) {
	if err != nil {
		return object{}, err
	}
	if v.kind != structure {
		return object{}, &InvalidError{Malformed: true, Reason: "expected a JSON object, got " + v.kind.String()}
	}
	return object{decoder: d, value: v}, nil
}

// Nesting returns the nesting depth of arrays and objects in a JSON text. The depth of a scalar is 0.
func Nesting(text []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		case '"':
			i = closingQuote(text, i)
		}
	}
	return deepest
}

// object is a JSON object that is being read. For a member that is absent, null or of the wrong type, its methods return the zero value.
// They also record a wrong type in the decoder.
type object struct {
	*decoder
	path string
	value
}

// at returns the path of a member.
func (o *object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// has reports whether the member is present and not null.
func (o *object) has(name string) bool { return o.get(name).there() }

// wrongType records that the member does not have the expected type.
func (o *object) wrongType(m member, expected string) {
	o.malformed(o.at(m.name), "expected %s, got %s", expected, m.kind)
}

// text reads a string of at most limit bytes.
func (o *object) text(name string, limit int) string {
	return o.said(member{name, o.get(name)}, limit)
}

// said returns the string in a member that has already been looked up. The string must have at most limit bytes.
func (o *object) said(m member, limit int) string {
	if m.kind != text {
		if m.there() {
			o.wrongType(m, "a string")
		}
		return ""
	}
	if len(m.text) > limit {
		o.unacceptable(o.at(m.name), "is %d bytes long: at most %d are accepted", len(m.text), limit)
	}
	return m.text
}

// word reads a string of at most MaxString bytes.
func (o *object) word(name string) string { return o.text(name, MaxString) }

// given is like word, but returns "" for a blank string.
func (o *object) given(name string) string {
	s := o.word(name)
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

// boolean reads true or false. It returns false if the member is absent.
func (o *object) boolean(name string) bool {
	v := o.get(name)
	if v.there() && v.kind != boolean {
		o.wrongType(member{name, v}, "true or false")
	}
	return v.kind == boolean && v.text == "true"
}

// wholeNumber reads a value that must be an integer from least to most.
func (d *decoder) wholeNumber(member string, v value, least, most int64) *int64 {
	if v.kind != number {
		d.malformed(member, "expected a whole number, got %s", v.kind)
		return nil
	}
	n, whole, inRange := parseWhole(v.text)
	if !whole {
		d.malformed(member, "expected a whole number, got a fraction")
		return nil
	}
	if !inRange || n < least || n > most {
		d.unacceptable(member, "must be from %d to %d", least, most)
		return nil
	}
	return &n
}

// parseWhole parses a JSON number exactly. whole is false for a fraction, and inRange is false for a number that does not fit in an int64.
// 1e3 and 1.50e1 are whole numbers.
func parseWhole(num string) (n int64, whole, inRange bool) {
	digits, negative := strings.CutPrefix(num, "-")
	exponent := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		var err error
		// A number with an exponent beyond ±1e9 is either out of range or almost 0, and remains so with the exponent clamped to ±1e9.
		if exponent, err = strconv.Atoi(strings.TrimPrefix(digits[i+1:], "+")); err != nil || exponent > 1e9 || exponent < -1e9 {
			exponent = 1e9
			if digits[i+1] == '-' {
				exponent = -1e9
			}
		}
		digits = digits[:i]
	}
	integer, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(integer+fraction, "0")
	exponent -= len(fraction)
	if digits == "" {
		return 0, true, true
	}
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	if exponent < 0 {
		return 0, false, false
	}
	// An int64 has at most 19 digits. Do not expand the zeros of longer numbers.
	if len(trimmed)+exponent > 19 {
		return 0, true, false
	}
	text := trimmed + strings.Repeat("0", exponent)
	if negative {
		text = "-" + text
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, true, err == nil
}

// child reads a member that is an object. If the member is absent, all of its members are absent too.
func (o *object) child(name string) object {
	return o.inside(name, o.at(name))
}

// inside is like child, for a path that is known.
func (o *object) inside(name, path string) object {
	v := o.get(name)
	if v.kind != structure && v.there() {
		o.wrongType(member{name, v}, "an object")
	}
	return object{decoder: o.decoder, path: path, value: v}
}

// list reads a member that is an array.
func (o *object) list(name string) []member { return o.listed(member{name, o.get(name)}) }

// listed reads a member that has already been looked up as an array.
func (o *object) listed(m member) []member {
	if m.kind == array {
		return m.members
	}
	if m.there() {
		o.wrongType(m, "an array")
	}
	return nil
}

// raw reads any JSON as compact text with sorted members. It returns nil for null.
func (o *object) raw(name string) json.RawMessage {
	v := o.get(name)
	if !v.there() {
		return nil
	}
	if !representable(v) {
		o.unacceptable(o.at(name), "contains a number that is too large for most clients (beyond ±1.8e308)")
	}
	raw := appendValue(nil, v)
	if len(raw) > MaxRaw {
		o.unacceptable(o.at(name), "is %d bytes of JSON: at most %d are accepted", len(raw), MaxRaw)
	}
	return raw
}

// representable reports whether every number in a decoded value fits in a double. Many JSON parsers refuse a whole text if a number in it
// does not fit.
func representable(v value) bool {
	if v.kind == number {
		_, err := strconv.ParseFloat(v.text, 64)
		return err == nil
	}
	return !slices.ContainsFunc(v.members, func(m member) bool { return !representable(m.value) })
}

// absoluteURL reads an absolute http or https URL. It returns "" if the member is blank or absent.
func (o *object) absoluteURL(name string) string {
	s := o.given(name)
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		o.unacceptable(o.at(name), "must be an absolute http or https URL")
	}
	return s
}
