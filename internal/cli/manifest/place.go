package manifest

import (
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Place is a place in a file.
type Place struct {
	File string
	// Line and Column count from 1, columns in characters.
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

// Key says where the name of a member stands; path is such as spec.items[0]. What is not there is nearest where its parent
// is.
func (o Object) Key(path string) Place {
	at := o.find(steps(path))
	n := at.key
	if n == nil {
		n = at.value
	}
	return o.file.place(n.Line, n.Column)
}

// Value says where the value of a member stands; that of one that is not there is where its parent's name is.
func (o Object) Value(path string) Place {
	at := o.find(steps(path))
	if !at.whole {
		return o.Key(path)
	}
	return o.file.place(at.value.Line, at.value.Column)
}

// Character says where a character of a text member stands, counted from 0; the one behind the last is where the text
// ends. Escapes, folded lines and blocks are looked through. false where the text cannot be followed; the place is that
// of the value then.
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

// found is how far a path leads.
type found struct {
	// key is the name of the last member that is there, nil for a list's or for the object itself.
	key, value *yaml.Node
	// whole is true when the path leads to its end.
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

// steps cuts a path: spec.items[0] into spec, items and [0]. A key in brackets may hold dots.
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

// follow walks along the source of a scalar and its value at once, up to the character at index.
//
// Between two characters that are no blanks the source may hold what the value does not: folded line ends, indentation,
// quotes, backslashes. So a character that is no blank is looked for behind any blanks, and one that is a blank takes at
// most one of them.
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

// source is a place in a text of lines that moves forward.
type source struct {
	lines        []string
	line, column int
	quote        rune // 0 for none
	// runes are the characters of the line with the number decoded, 0 for none.
	runes   []rune
	decoded int
}

// at returns the character at the place; a line ends with \n.
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

// escapes are the lengths of the escapes of double quotes that name a character by its number.
var escapes = map[rune]int{'x': 2, 'u': 4, 'U': 8}

// next moves behind the next character of the value, which is r, and returns where it stood.
func (s *source) next(r rune) (line, column int, ok bool) {
	for s.quote == '"' && s.at() == '\\' {
		line, column = s.line, s.column
		s.advance()
		if s.at() == '\n' { // a line that is joined to the next without a space
			s.skipBlanks()
			continue
		}
		digits := escapes[s.at()]
		if digits == 4 && r > 0xffff {
			digits += len(`\uXXXX`) // JSON writes such a character as two escapes
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
