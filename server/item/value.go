package item

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// kind is the JSON type of a value. The zero kind means that the member is absent.
type kind uint8

const (
	absent kind = iota
	null
	boolean
	number
	text
	array
	structure // a JSON object; the type object reads its members
)

// String returns the name of the kind for error messages.
func (k kind) String() string {
	switch k {
	case boolean:
		return "a boolean"
	case number:
		return "a number"
	case text:
		return "a string"
	case array:
		return "an array"
	case structure:
		return "an object"
	}
	return "null"
}

// value is one decoded JSON value. It shares the memory of the text that it was decoded from.
type value struct {
	kind kind
	// text is a decoded string, or the text of a number or boolean as written.
	text string
	// members holds the members of an object in document order, or the elements of an array, which have no names.
	members []member
}

type member struct {
	name string
	value
}

// there reports whether the value is present and not null.
func (v value) there() bool { return v.kind > null }

// get returns a member of an object.
func (v *value) get(name string) value {
	if v.kind != structure {
		return value{}
	}
	for i := range v.members {
		if v.members[i].name == name {
			return v.members[i].value
		}
	}
	return value{}
}

// sorted returns the members of an object by name, or nil for other values. Callers must not modify the result, because it is not a copy if
// the members are already in order, as this package writes them.
func (v value) sorted() []member {
	if v.kind != structure {
		return nil
	}
	inOrder := true
	for i := 1; i < len(v.members) && inOrder; i++ {
		inOrder = v.members[i-1].name < v.members[i].name
	}
	if inOrder {
		return v.members
	}
	members := slices.Clone(v.members)
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return members
}

// CheckJSON returns an *InvalidError if a text is not JSON in UTF-8, nests deeper than MaxDepth, contains an unpaired surrogate, or has an
// object with two members of the same name. Bodies and lines that other functions of this package parse obey the same rules.
func CheckJSON(text []byte) error {
	_, err := decodeValue(text)
	return err
}

// decodeValue decodes exactly one JSON value. It keeps numbers as written. Errors are *InvalidError.
func decodeValue(body []byte) (value, error) {
	return decodeInto(&scratch{stack: make([]member, 0, 32), arena: make([]member, 0, len(body)/24+8)}, body)
}

// decodeInto is like decodeValue, but uses the memory of a scratch.
func decodeInto(s *scratch, body []byte) (value, error) {
	// Some editors write a byte order mark at the start of a file.
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	if utf8.Valid(body) {
		r := reader{text: string(body), scratch: s}
		v, ok := r.document()
		if ok {
			return v, nil
		}
		if r.repeated != nil {
			return value{}, r.repeated
		}
	}
	return value{}, complaint(body)
}

// scratch is memory for the members of a document that is being read.
type scratch struct {
	// stack holds the members of open containers. When a container closes, its members move to arena.
	stack, arena []member
}

// scratches is a pool, because an import has millions of lines, and the members of a line take more memory than its text.
var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxScratch is the maximum capacity, in members, of a scratch that is reused.
const maxScratch = 512

// release returns a scratch to the pool. The caller must no longer use the members in it.
func (s *scratch) release() {
	if cap(s.stack) > maxScratch || cap(s.arena) > maxScratch {
		return
	}
	clear(s.stack[:cap(s.stack)])
	clear(s.arena)
	s.stack, s.arena = s.stack[:0], s.arena[:0]
	scratches.Put(s)
}

// reader parses UTF-8 text as JSON (RFC 8259) in one pass with one copy of the text. The standard library builds a map for every object and
// an interface for every value, which would take most of the time of an import. reader does not describe errors. The function complaint
// does.
type reader struct {
	text  string
	at    int
	depth int
	// repeated is set if an object has two members with the same name. RFC 8259 leaves open which of them counts.
	repeated *InvalidError
	*scratch
}

func (r *reader) document() (value, bool) {
	r.blank()
	v, ok := r.value()
	r.blank()
	return v, ok && r.at == len(r.text)
}

func (r *reader) blank() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// next consumes the next character if it is c.
func (r *reader) next(c byte) bool {
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *reader) value() (value, bool) {
	if r.at == len(r.text) {
		return value{}, false
	}
	switch c := r.text[r.at]; c {
	case '{', '[':
		r.at++
		return r.container(c == '{')
	case '"':
		s, ok := r.string()
		return value{kind: text, text: s}, ok
	case 't':
		return r.literal("true", boolean)
	case 'f':
		return r.literal("false", boolean)
	case 'n':
		return r.literal("null", null)
	}
	return r.number()
}

func (r *reader) literal(word string, k kind) (value, bool) {
	if !strings.HasPrefix(r.text[r.at:], word) {
		return value{}, false
	}
	r.at += len(word)
	return value{kind: k, text: word}, true
}

// container reads an object or an array after its opening bracket.
func (r *reader) container(named bool) (value, bool) {
	v, closing := value{kind: array}, byte(']')
	if named {
		v.kind, closing = structure, '}'
	}
	if r.depth++; r.depth > MaxDepth {
		return value{}, false
	}
	defer func() { r.depth-- }()
	r.blank()
	if r.next(closing) {
		return v, true
	}
	first := len(r.stack)
	var names map[string]bool
	for {
		var m member
		var ok bool
		if named {
			at := r.at
			if m.name, ok = r.string(); !ok {
				return value{}, false
			}
			if names, ok = unique(m.name, r.stack[first:], names); !ok {
				r.repeated = &InvalidError{Malformed: true, Reason: fmt.Sprintf(
					"an object has two members with the name %q, at byte %d: send only one of them", strings.ToValidUTF8(m.name[:min(len(m.name), 100)], ""), at)}
				return value{}, false
			}
			if r.blank(); !r.next(':') {
				return value{}, false
			}
			r.blank()
		}
		if m.value, ok = r.value(); !ok {
			return value{}, false
		}
		r.stack = append(r.stack, m)
		r.blank()
		if r.next(closing) {
			break
		}
		if !r.next(',') {
			return value{}, false
		}
		r.blank()
	}
	v.members = r.keep(r.stack[first:])
	r.stack = r.stack[:first]
	return v, true
}

// fewMembers is the number of members up to which comparing a name with all others is faster than a map.
const fewMembers = 16

// unique reports whether the name of the next member of an object differs from those of the members before it. names is the result of the
// previous call for the same object: the names of an object with many members, otherwise nil.
func unique(name string, before []member, names map[string]bool) (map[string]bool, bool) {
	if len(before) < fewMembers {
		for i := range before {
			if before[i].name == name {
				return nil, false
			}
		}
		return nil, true
	}
	if names == nil {
		names = make(map[string]bool, 2*fewMembers)
		for i := range before {
			names[before[i].name] = true
		}
	}
	known := names[name]
	names[name] = true
	return names, !known
}

// keep copies members from the stack to the arena. If they do not fit, it allocates a new arena. Members in the old arena stay valid.
func (r *reader) keep(members []member) []member {
	if cap(r.arena)-len(r.arena) < len(members) {
		r.arena = make([]member, 0, max(len(members), 2*cap(r.arena), 32))
	}
	from := len(r.arena)
	r.arena = append(r.arena, members...)
	return r.arena[from:len(r.arena):len(r.arena)]
}

// string reads a string.
func (r *reader) string() (string, bool) {
	if !r.next('"') {
		return "", false
	}
	for i := r.at; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '"':
			s := r.text[r.at:i]
			r.at = i + 1
			return s, true
		case c == '\\':
			return r.escaped(i)
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

// escaped reads the rest of a string whose first escape is at i.
func (r *reader) escaped(i int) (string, bool) {
	var b strings.Builder
	for from := r.at; i < len(r.text); {
		switch c := r.text[i]; {
		case c == '"':
			b.WriteString(r.text[from:i])
			r.at = i + 1
			return b.String(), true
		case c == '\\':
			b.WriteString(r.text[from:i])
			n, ok := unescape(&b, r.text[i:])
			if !ok {
				return "", false
			}
			i += n
			from = i
		case c < ' ':
			return "", false
		default:
			i++
		}
	}
	return "", false
}

// escapes maps the letter of a short escape to the character that it stands for.
var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape decodes the escape at the start of s, and returns its length. It refuses unpaired surrogates.
func unescape(b *strings.Builder, s string) (n int, ok bool) {
	if len(s) < 2 {
		return 0, false
	}
	if c, ok := escapes[s[1]]; ok {
		b.WriteByte(c)
		return 2, true
	}
	unit, ok := escapedUnit(s)
	if !ok {
		return 0, false
	}
	if !utf16.IsSurrogate(unit) {
		b.WriteRune(unit)
		return 6, true
	}
	low, ok := escapedUnit(s[6:])
	whole := utf16.DecodeRune(unit, low)
	if !ok || whole == utf8.RuneError {
		return 0, false
	}
	b.WriteRune(whole)
	return 12, true
}

// escapedUnit decodes the \u escape at the start of s, which has four hexadecimal digits.
func escapedUnit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

// number reads a number as written.
func (r *reader) number() (value, bool) {
	from := r.at
	r.next('-')
	if !r.next('0') && !r.digits() {
		return value{}, false
	}
	if r.next('.') && !r.digits() {
		return value{}, false
	}
	if r.next('e') || r.next('E') {
		if !r.next('+') {
			r.next('-')
		}
		if !r.digits() {
			return value{}, false
		}
	}
	return value{kind: number, text: r.text[from:r.at]}, true
}

// digits consumes digits and reports whether there was at least one.
func (r *reader) digits() bool {
	from := r.at
	for r.at < len(r.text) && '0' <= r.text[r.at] && r.text[r.at] <= '9' {
		r.at++
	}
	return r.at > from
}

// complaint describes why reader refused a text. The reasons are invalid UTF-8, nesting beyond MaxDepth, unpaired surrogates (which are not
// characters and cannot be written back), and everything that encoding/json refuses.
func complaint(body []byte) *InvalidError {
	malformed := func(format string, args ...any) *InvalidError {
		return &InvalidError{Malformed: true, Reason: fmt.Sprintf(format, args...)}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return malformed("expected a JSON object, got nothing")
	}
	if !utf8.Valid(body) {
		return malformed("not UTF-8, at byte %d", invalidAt(body))
	}
	depth := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			if depth++; depth > MaxDepth {
				return malformed("nested deeper than %d arrays and objects, at byte %d", MaxDepth, i)
			}
		case '}', ']':
			depth--
		case '"':
			end := closingQuote(body, i)
			if at := loneSurrogate(string(body[i+1 : min(end, len(body))])); at >= 0 {
				return malformed("unpaired surrogate, at byte %d: send both surrogates of the character", i+1+at)
			}
			i = end
		}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		// The message of encoding/json quotes at most one character of the text.
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return malformed("not JSON: %s, at byte %d", syntax, syntax.Offset)
		}
		return malformed("not JSON: unexpected end, at byte %d", len(body))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return malformed("not JSON: more text after the value, at byte %d", dec.InputOffset())
	}
	return malformed("not JSON")
}

// invalidAt returns the position of the first byte that is not valid UTF-8.
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

// loneSurrogate returns the position of the first escaped unpaired surrogate between the quotes of a JSON string, or -1.
func loneSurrogate(inside string) int {
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
