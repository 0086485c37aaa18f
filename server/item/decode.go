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

// decoder collects the first thing that is wrong while the members of a document are read one after the other.
type decoder struct {
	// stored is true for what was accepted before: limits and ranges are not looked at again.
	stored bool
	err    *InvalidError
}

// malformed notes what cannot be understood (HTTP 400). It comes before anything unacceptable.
func (d *decoder) malformed(member, format string, args ...any) {
	if d.err == nil || !d.err.Malformed {
		d.err = &InvalidError{Malformed: true, Member: member, Reason: fmt.Sprintf(format, args...)}
	}
}

// unacceptable notes what is well-formed yet cannot be taken (HTTP 422).
func (d *decoder) unacceptable(member, format string, args ...any) {
	if d.err == nil && !d.stored {
		d.err = &InvalidError{Member: member, Reason: fmt.Sprintf(format, args...)}
	}
}

// check notes what ValidNamespace or ValidKey says of a member, nothing for nil.
func (d *decoder) check(member string, err error) {
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		d.unacceptable(member, "%s", invalid.Reason)
	}
}

// failure returns what was noted, nil when nothing was.
func (d *decoder) failure() error {
	if d.err == nil {
		return nil
	}
	return d.err
}

// document decodes body, which has to be one JSON object.
func (d *decoder) document(body []byte) (object, error) {
	v, err := decodeValue(body)
	return d.root(v, err)
}

// root is the object that was decoded.
func (d *decoder) root(v value, err error) (object, error) {
	if err != nil {
		return object{}, err
	}
	if v.kind != structure {
		return object{}, &InvalidError{Malformed: true, Reason: "expected a JSON object, got " + v.kind.String()}
	}
	return object{decoder: d, value: v}, nil
}

// Nesting returns how deep arrays and objects are nested in a JSON text, 0 for a scalar.
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

// object is a JSON object being read. Its methods return the zero value for a member that is absent, null or of the
// wrong type; the last is noted in the decoder.
type object struct {
	*decoder
	path string
	value
}

// at returns the path of a member.
func (o object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// has reports whether the member is there and not null.
func (o object) has(name string) bool { return o.get(name).there() }

// wrongType notes that the member is not what was expected.
func (o object) wrongType(m member, expected string) {
	o.malformed(o.at(m.name), "expected %s, got %s", expected, m.kind)
}

// text reads a string of at most limit bytes.
func (o object) text(name string, limit int) string {
	return o.said(member{name, o.get(name)}, limit)
}

// said reads a member that is at hand as a string of at most limit bytes.
func (o object) said(m member, limit int) string {
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
func (o object) word(name string) string { return o.text(name, MaxString) }

// given is word with blanks alone counted as nothing.
func (o object) given(name string) string {
	s := o.word(name)
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

// oneOf reads a string that has to be one of the choices; "" when it is empty or absent.
func (o object) oneOf(name string, choices ...string) string {
	s := o.given(name)
	if s == "" {
		return ""
	}
	for _, c := range choices {
		if s == c {
			return s
		}
	}
	last := len(choices) - 1
	o.unacceptable(o.at(name), "must be %s or %s", strings.Join(choices[:last], ", "), choices[last])
	return s
}

// boolean reads true or false; false when the member is absent.
func (o object) boolean(name string) bool {
	v := o.get(name)
	if v.there() && v.kind != boolean {
		o.wrongType(member{name, v}, "true or false")
	}
	return v.kind == boolean && v.text == "true"
}

// id reads the member id of something of ours: a whole number from 1 to MaxID; 0 when it is absent.
func (o object) id() int64 {
	if !o.has("id") {
		return 0
	}
	return zero(o.wholeNumber(o.at("id"), o.get("id"), 1, MaxID))
}

// integer reads a whole number from 0 to most; nil when the member is absent.
func (o object) integer(name string, most int64) *int64 {
	if !o.has(name) {
		return nil
	}
	return o.wholeNumber(o.at(name), o.get(name), 0, most)
}

// wholeNumber reads a value that has to be a whole number from least to most.
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

// parseWhole reads a JSON number exactly: whole is false for a fraction, inRange for what no int64 holds. 1e3 and 1.50e1
// are whole numbers.
func parseWhole(num string) (n int64, whole, inRange bool) {
	digits, negative := strings.CutPrefix(num, "-")
	exponent := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		var err error
		// A number whose exponent has more than nine digits is beyond any range or next to nothing: clamping it
		// changes neither.
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
	// An int64 has 19 digits at most; the zeros are written out only where that can hold.
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

// coordinate reads a number from -limit to limit.
func (o object) coordinate(name string, limit float64) float64 {
	v := o.get(name)
	if v.kind != number {
		if v.there() {
			o.wrongType(member{name, v}, "a number")
		}
		return 0
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil || f < -limit || f > limit {
		o.unacceptable(o.at(name), "must be from -%g to %g", limit, limit)
		return 0
	}
	return f
}

// child reads an object; the members of one that is absent are all absent.
func (o object) child(name string) object {
	v := o.get(name)
	if v.kind != structure && v.there() {
		o.wrongType(member{name, v}, "an object")
	}
	return object{decoder: o.decoder, path: o.at(name), value: v}
}

// list reads an array.
func (o object) list(name string) []member { return o.listed(member{name, o.get(name)}) }

// listed reads a member that is at hand as an array.
func (o object) listed(m member) []member {
	if m.kind == array {
		return m.members
	}
	if m.there() {
		o.wrongType(m, "an array")
	}
	return nil
}

// raw reads any JSON, made compact with its members sorted; nil for null.
func (o object) raw(name string) json.RawMessage {
	v := o.get(name)
	if !v.there() {
		return nil
	}
	if !representable(v) {
		o.unacceptable(o.at(name), "holds a number that is beyond what clients can read (1.8e308)")
	}
	raw := appendValue(nil, v)
	if len(raw) > MaxRaw {
		o.unacceptable(o.at(name), "is %d bytes of JSON: at most %d are accepted", len(raw), MaxRaw)
	}
	return raw
}

// representable reports whether every number in a decoded value has a double: many JSON readers refuse the whole text for
// one that has none.
func representable(v value) bool {
	if v.kind == number {
		_, err := strconv.ParseFloat(v.text, 64)
		return err == nil
	}
	return !slices.ContainsFunc(v.members, func(m member) bool { return !representable(m.value) })
}

// timestamp reads a timestamp and normalises it, see normalTimestamp.
func (o object) timestamp(name string) string {
	s := o.given(name)
	if s == "" || o.stored {
		return s
	}
	normal, ok := normalTimestamp(s)
	if !ok {
		o.unacceptable(o.at(name), "must be an RFC 3339 timestamp such as 2026-11-20T08:00:00Z, or a date such as 2026-11-20, 2026-11 or 2026")
	}
	return normal
}

// link reads an address as other systems hold it: kept as given unless its scheme is one that a page should not follow.
func (o object) link(name string) string {
	s := o.word(name)
	if !harmless(s) {
		o.unacceptable(o.at(name), "must be an http or https URL")
	}
	return s
}

// harmless reports whether an address has no scheme, http, https, or is about:blank. A browser skips blanks before a
// scheme and control characters within.
func harmless(address string) bool {
	for i := range len(address) {
		if address[i] < ' ' || address[i] == 0x7f {
			return false
		}
	}
	address = strings.TrimSpace(address)
	i := strings.IndexAny(address, ":/?#")
	if i < 0 || address[i] != ':' {
		return true
	}
	switch strings.ToLower(address[:i]) {
	case "http", "https":
		return true
	}
	return address == blank
}

// absoluteURL reads an absolute http or https URL; "" when the member is empty or absent.
func (o object) absoluteURL(name string) string {
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
