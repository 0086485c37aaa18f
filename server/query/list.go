package query

import "strings"

// values parses one value, or a list such as field:a,b. A list matches if any of its values matches.
func (p *parser) values(in scope) (Node, error) {
	one := p.value
	if in.presence() {
		one = p.presence
	}
	p.skipSpace()
	starts := []int{p.pos}
	n, err := one(in)
	if err != nil || !in.list() {
		return n, err
	}
	values := []Node{n}
	for p.comma(in) {
		if in.parenthesized {
			p.skipSpace()
		}
		if p.pos == len(p.src) || isSpace(p.src[p.pos]) {
			return nil, p.errorAt(p.pos, "nothing right after the comma", `a value; write a list with spaces as field:(a, b), and a literal comma as \,`)
		}
		starts = append(starts, p.pos)
		if n, err = one(in); err != nil {
			return nil, err
		}
		values = append(values, n)
	}
	if len(values) == 1 {
		return n, nil
	}
	for i, v := range values {
		switch v.(type) {
		case Boost:
			return nil, p.errorAt(starts[i], "a boost within a list of values", "the boost after the parentheses, as in field:(a,b)^2, or OR between the values")
		case All: // in *:(a,*), the star is a value of the list and does not mean *:*
			values[i] = Wildcard{Leaf: Leaf{Field: in.field}, Pattern: "*"}
		}
	}
	if in.presence() {
		return anyOf(values), nil
	}
	return Any{Values: values}, nil
}

// anyOf returns the disjunction of the nodes.
func anyOf(nodes []Node) Node {
	b := Bool{Clauses: make([]Clause, len(nodes))}
	for i, n := range nodes {
		b.Clauses[i] = Clause{Occur: Should, Node: n}
	}
	return b
}

// comma consumes the comma before a further value of a list. It reports whether there is such a comma.
func (p *parser) comma(in scope) bool {
	i := p.pos
	for in.parenthesized && i < len(p.src) && isSpace(p.src[i]) {
		i++
	}
	if i < len(p.src) && p.src[i] == ',' {
		p.pos = i + 1
		return true
	}
	return false
}

// String returns field:(a,b).
func (n Any) String() string {
	var b strings.Builder
	for i, v := range n.Values {
		s, field := splitField(v)
		if i == 0 {
			field.write(&b)
			b.WriteByte('(')
		} else {
			b.WriteByte(',')
		}
		b.WriteString(s)
	}
	b.WriteByte(')')
	return b.String()
}

// splitField returns the text of a value without its field, and the field.
func splitField(v Node) (string, FieldName) {
	f := FieldOf(v)
	var b strings.Builder
	f.write(&b)
	return strings.TrimPrefix(v.String(), b.String()), f
}
