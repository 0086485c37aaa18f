package manifest

import (
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Place is a position in a file.
type Place struct {
	File string
	// Line and Column start at 1. Columns are counted in characters, not in bytes.
	Line, Column int
	// Text is the whole line.
	Text string
}

func (f *file) place(line, column int) Place {
	p := Place{File: f.path, Line: line, Column: column}
	if line >= 1 && line <= len(f.lines) {
		p.Text = strings.TrimRight(f.lines[line-1], "\r")
	}
	return p
}

// Key returns the place of a member's name. path has a form such as spec.items[0]. If the member does not exist, Key returns the place of
// the nearest parent that exists.
func (o Object) Key(path string) Place {
	at := o.find(steps(path))
	n := at.key
	if n == nil {
		n = at.value
	}
	return o.file.place(n.Line, n.Column)
}

// Value returns the place of a member's value. If the member does not exist, Value returns the place of the name of the nearest parent that
// exists.
func (o Object) Value(path string) Place {
	at := o.find(steps(path))
	if !at.whole {
		return o.Key(path)
	}
	return o.file.place(at.value.Line, at.value.Column)
}

// Character returns the place of the character at index (from 0) in the text of a member. An index after the last character means the end
// of the text. Character takes escapes, folded lines and block styles into account. If it cannot find the character, it returns the place
// of the value, and false.
func (o Object) Character(path string, index int) (Place, bool) {
	at := o.find(steps(path))
	if !at.whole || at.value.Kind != yaml.ScalarNode {
		return o.Value(path), false
	}
	line, column, ok := follow(o.file.lines, at.value, index)
	if !ok {
		return o.Value(path), false
	}
	return o.file.place(line, column), true
}

// found is the last member of a path that exists.
type found struct {
	// key is the node of the member's name, and value is the node of its value. key is nil for an element of a list and for the object
	// itself.
	key, value *yaml.Node
	// whole is true if all members of the path exist.
	whole bool
}

func (o Object) find(path []string) found {
	at := found{value: o.node}
	for _, step := range path {
		next, ok := descend(at.value, step)
		if !ok {
			return at
		}
		at = next
	}
	at.whole = true
	return at
}

func descend(n *yaml.Node, step string) (found, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	name, indexed := strings.CutPrefix(step, "[")
	name = strings.TrimSuffix(name, "]")
	switch n.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(name); indexed && err == nil && i >= 0 && i < len(n.Content) {
			return found{value: n.Content[i]}, true
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				return found{key: n.Content[i], value: n.Content[i+1]}, true
			}
		}
	}
	return found{}, false
}

// steps splits a path: spec.items[0] into spec, items and [0]. A key in brackets may contain dots.
func steps(path string) []string {
	var out []string
	for path != "" && path != "<nil>" {
		switch end := strings.IndexAny(path, ".["); {
		case path[0] == '[':
			i := strings.IndexByte(path, ']')
			if i < 0 {
				return append(out, path)
			}
			out, path = append(out, path[:i+1]), path[i+1:]
		case path[0] == '.':
			path = path[1:]
		case end < 0:
			out, path = append(out, path), ""
		default:
			out, path = append(out, path[:end]), path[end:]
		}
	}
	return out
}

// follow returns the position, in the source of a scalar, of the character at index in the value. It reads the source and the value in
// parallel.
//
// Between two non-blank characters, the source may contain characters that the value does not contain: folded line ends, indentation,
// quotes, backslashes. Therefore, follow skips all blanks of the source before a non-blank character of the value, and at most one blank of
// the source for a blank of the value.
func follow(lines []string, n *yaml.Node, index int) (line, column int, ok bool) {
	s := &source{lines: lines, line: n.Line, column: n.Column}
	switch n.Style &^ yaml.TaggedStyle {
	case yaml.LiteralStyle, yaml.FoldedStyle:
		s.line, s.column = s.line+1, 1
		s.skipBlanks()
	case yaml.SingleQuotedStyle:
		s.quote = '\''
		s.column++
	case yaml.DoubleQuotedStyle:
		s.quote = '"'
		s.column++
	}
	for i, r := range []rune(n.Value) {
		line, column, ok = s.next(r)
		if !ok || i == index {
			return line, column, ok
		}
	}
	return s.line, s.column, true
}

// source reads the characters of lines of text, forward from a position.
type source struct {
	lines        []string
	line, column int
	quote        rune // 0 means none
	// runes contains the characters of the line whose number is decoded. If decoded is 0, runes is not set.
	runes   []rune
	decoded int
}

// at returns the character at the current position. At the end of a line, it returns \n.
func (s *source) at() rune {
	if s.line > len(s.lines) {
		return 0
	}
	if s.decoded != s.line {
		s.runes, s.decoded = []rune(s.lines[s.line-1]), s.line
	}
	if s.column > len(s.runes) {
		return '\n'
	}
	return s.runes[s.column-1]
}

func (s *source) advance() {
	if s.at() == '\n' {
		s.line, s.column = s.line+1, 1
		return
	}
	s.column++
}

func (s *source) skipBlanks() {
	for s.line <= len(s.lines) && unicode.IsSpace(s.at()) {
		s.advance()
	}
}

// escapes maps the letter of each escape that contains a character code, such as \u00e4 in a double-quoted scalar, to its number of digits.
var escapes = map[rune]int{'x': 2, 'u': 4, 'U': 8}

// next moves past r, the next character of the value, and returns the place of r.
func (s *source) next(r rune) (line, column int, ok bool) {
	for s.quote == '"' && s.at() == '\\' {
		line, column = s.line, s.column
		s.advance()
		if s.at() == '\n' { // an escaped line end joins two lines without a space
			s.skipBlanks()
			continue
		}
		digits := escapes[s.at()]
		if digits == 4 && r > 0xffff {
			digits += len(`\uXXXX`) // JSON writes a character beyond U+FFFF as two escapes
		}
		s.advance()
		for range digits {
			s.advance()
		}
		return line, column, true
	}
	if unicode.IsSpace(r) {
		line, column = s.line, s.column
		if unicode.IsSpace(s.at()) {
			s.advance()
		}
		return line, column, true
	}
	s.skipBlanks()
	if s.quote == '"' && s.at() == '\\' {
		return s.next(r)
	}
	line, column = s.line, s.column
	if s.at() != r {
		return line, column, false
	}
	s.advance()
	if r == '\'' && s.quote == '\'' {
		s.advance()
	}
	return line, column, true
}
