package item

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
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
	if err != nil {
		return object{}, err
	}
	members, ok := v.(map[string]any)
	if !ok {
		return object{}, &InvalidError{Malformed: true, Reason: "expected a JSON object, got " + kindOf(v)}
	}
	return object{decoder: d, members: members}, nil
}

// decodeValue decodes one JSON value and nothing after it. Numbers stay as written, of two members of one name the last
// one counts, invalid UTF-8 becomes U+FFFD. Errors are *InvalidError.
func decodeValue(body []byte) (any, error) {
	// A byte order mark is what some editors put before the first line of a file.
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, &InvalidError{Malformed: true, Reason: "expected a JSON object, got nothing"}
	}
	if err := scan(body); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, notJSON(err, len(body))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &InvalidError{Malformed: true, Reason: fmt.Sprintf("not JSON: more text after the value, at byte %d", dec.InputOffset())}
	}
	return v, nil
}

// notJSON words an error of encoding/json. Its own words name one character of the text at most.
func notJSON(err error, length int) *InvalidError {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &InvalidError{Malformed: true, Reason: fmt.Sprintf("not JSON: %s, at byte %d", syntax, syntax.Offset)}
	}
	return &InvalidError{Malformed: true, Reason: fmt.Sprintf("not JSON: the text ends too early, at byte %d", length)}
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

// scan looks for what encoding/json would take and we do not: bytes that are no UTF-8, for which it would put other
// characters, nesting that serves no item, and halves of surrogate pairs, which are no characters and cannot be written
// back.
func scan(body []byte) error {
	if !utf8.Valid(body) {
		return &InvalidError{Malformed: true, Reason: fmt.Sprintf("not UTF-8, at byte %d", invalidAt(body))}
	}
	depth := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			if depth++; depth > MaxDepth {
				return &InvalidError{Malformed: true, Reason: fmt.Sprintf("nested deeper than %d arrays and objects, at byte %d", MaxDepth, i)}
			}
		case '}', ']':
			depth--
		case '"':
			end := closingQuote(body, i)
			if at := loneSurrogate(body[i+1 : min(end, len(body))]); at >= 0 {
				return &InvalidError{Malformed: true, Reason: fmt.Sprintf("half of a surrogate pair, at byte %d: send the whole character", i+1+at)}
			}
			i = end
		}
	}
	return nil
}

// invalidAt returns where a text stops being UTF-8.
func invalidAt(body []byte) int {
	i := 0
	for i < len(body) {
		r, n := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

// loneSurrogate returns where the inside of a JSON string escapes half of a surrogate pair, -1 when nowhere.
func loneSurrogate(inside []byte) int {
	for i := 0; i < len(inside); i++ {
		if inside[i] != '\\' {
			continue
		}
		r, ok := escapedUnit(inside[i:])
		if !ok {
			i++
			continue
		}
		if utf16.IsSurrogate(r) {
			low, ok := escapedUnit(inside[i+6:])
			if !ok || utf16.DecodeRune(r, low) == '\uFFFD' {
				return i
			}
			i += 6
		}
		i += 5
	}
	return -1
}

// escapedUnit reads the \uXXXX that s begins with.
func escapedUnit(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}

// kindOf names the JSON type of a decoded value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "an array"
	}
	return "an object"
}

// object is a JSON object being read. Its methods return the zero value for a member that is absent, null or of the
// wrong type; the last is noted in the decoder.
type object struct {
	*decoder
	path    string
	members map[string]any
}

// at returns the path of a member.
func (o object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// has reports whether the member is there and not null.
func (o object) has(name string) bool { return o.members[name] != nil }

// wrongType notes that the member is not what was expected.
func (o object) wrongType(name, expected string) {
	o.malformed(o.at(name), "expected %s, got %s", expected, kindOf(o.members[name]))
}

// text reads a string of at most limit bytes.
func (o object) text(name string, limit int) string {
	v := o.members[name]
	s, ok := v.(string)
	if !ok && v != nil {
		o.wrongType(name, "a string")
	}
	if len(s) > limit {
		o.unacceptable(o.at(name), "is %d bytes long: at most %d are accepted", len(s), limit)
	}
	return s
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
	v := o.members[name]
	if v == nil {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		o.wrongType(name, "true or false")
	}
	return b
}

// id reads the member id of something of ours: a whole number from 1 to MaxID; 0 when it is absent.
func (o object) id() int64 {
	if !o.has("id") {
		return 0
	}
	return zero(o.wholeNumber(o.at("id"), o.members["id"], 1, MaxID))
}

// integer reads a whole number from 0 to most; nil when the member is absent.
func (o object) integer(name string, most int64) *int64 {
	if !o.has(name) {
		return nil
	}
	return o.wholeNumber(o.at(name), o.members[name], 0, most)
}

// wholeNumber reads a value that has to be a whole number from least to most.
func (d *decoder) wholeNumber(member string, v any, least, most int64) *int64 {
	num, ok := v.(json.Number)
	if !ok {
		d.malformed(member, "expected a whole number, got %s", kindOf(v))
		return nil
	}
	n, whole, inRange := parseWhole(num.String())
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
	v := o.members[name]
	num, ok := v.(json.Number)
	if !ok {
		if v != nil {
			o.wrongType(name, "a number")
		}
		return 0
	}
	f, err := num.Float64()
	if err != nil || f < -limit || f > limit {
		o.unacceptable(o.at(name), "must be from -%g to %g", limit, limit)
		return 0
	}
	return f
}

// child reads an object; the members of one that is absent are all absent.
func (o object) child(name string) object {
	v := o.members[name]
	members, ok := v.(map[string]any)
	if !ok && v != nil {
		o.wrongType(name, "an object")
	}
	return object{decoder: o.decoder, path: o.at(name), members: members}
}

// list reads an array.
func (o object) list(name string) []any {
	v := o.members[name]
	list, ok := v.([]any)
	if !ok && v != nil {
		o.wrongType(name, "an array")
	}
	return list
}

// raw reads any JSON, made compact with its members sorted; nil for null.
func (o object) raw(name string) json.RawMessage {
	v := o.members[name]
	if v == nil {
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
func representable(v any) bool {
	switch v := v.(type) {
	case json.Number:
		_, err := v.Float64()
		return err == nil
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !representable(e) })
	case map[string]any:
		for _, e := range v {
			if !representable(e) {
				return false
			}
		}
	}
	return true
}

// timestamp reads a timestamp and normalises it, see normalTimestamp.
func (o object) timestamp(name string) string {
	s := o.given(name)
	if s == "" || o.stored {
		return s
	}
	normal, ok := normalTimestamp(s)
	if !ok {
		o.unacceptable(o.at(name), "must be an RFC 3339 timestamp such as 2026-11-20T08:00:00Z, a date or a year")
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
	if strings.ContainsFunc(address, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return false
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
