package query

import (
	"fmt"
	"strings"
)

// Pseudo-fields that test the presence of a field.
const (
	existsName  = "_exists_"
	missingName = "_missing_"
)

// presence reports whether clauses in this scope test the presence of a field.
func (s scope) presence() bool { return s.field.Name == existsName || s.field.Name == missingName }

// TestsPresence reports whether f is one of the pseudo-fields _exists_ and _missing_, whose values are names of fields.
func TestsPresence(f FieldName) bool { return scope{field: f}.presence() }

// presence parses the name or pattern of a field after _exists_: or _missing_:.
func (p *parser) presence(in scope) (Node, error) {
	tok, err := p.peek(true)
	if err != nil {
		return nil, err
	}
	if err := p.leaf(tok.start); err != nil {
		return nil, err
	}
	start, end := tok.start, tok.end
	switch tok.kind {
	case tokQuoted:
		start, end = start+1, end-1
	case tokTerm, tokPrefix, tokWildcard, tokStar:
	default:
		end = start
	}
	if end == start {
		return nil, p.errorAt(tok.start, fmt.Sprintf("no field after %s:", in.field.Name), fmt.Sprintf("a field name, as in %s:content.text", in.field.Name))
	}
	name, err := p.unescape(start, end, false)
	if err != nil {
		return nil, err
	}
	p.pos = tok.end
	f := FieldName{Name: name, Pattern: strings.Contains(name, "*")}
	p.named(f, stretch{start, end})
	if in.field.Name == existsName {
		return p.boosted(Exists{Leaf: Leaf{f, p.at(tok.start)}}, in)
	}
	return p.boosted(Missing{Leaf: Leaf{f, p.at(tok.start)}}, in)
}

// String returns _exists_:field.
func (n Exists) String() string { return presenceString(existsName, n.Field) }

// String returns _missing_:field.
func (n Missing) String() string { return presenceString(missingName, n.Field) }

func (Exists) presence() bool  { return true }
func (Missing) presence() bool { return true }

// AsksPresence reports whether n is a leaf that only tests whether its field has a value: Exists, Missing, or the pattern *.
func AsksPresence(n Node) bool {
	l, ok := n.(leaf)
	return ok && l.presence()
}

func presenceString(sign string, f FieldName) string {
	var b strings.Builder
	b.WriteString(sign + ":")
	writeWord(&b, f.Name, true)
	return b.String()
}
