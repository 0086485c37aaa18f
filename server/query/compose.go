package query

// And returns the conjunction of the nodes. It joins trees, not strings, so that no part can affect the parsing of another. And ignores nil
// nodes. It returns a single node unchanged, and nil if there are no nodes.
func And(nodes ...Node) Node {
	var parts []Clause
	for _, n := range nodes {
		if n != nil {
			parts = append(parts, Clause{Occur: Must, Node: n})
		}
	}
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0].Node
	}
	return Bool{Clauses: parts}
}

// Not returns a query that matches the items that n does not match. The query has as many leaves as n, and its score is 0. As a part of a
// conjunction, Not(n) or Not(Not(n)) therefore restricts the matches without affecting the order by relevance.
func Not(n Node) Node {
	return Bool{Clauses: []Clause{{Occur: MustNot, Node: n}}}
}

// FieldTerm returns the query field:value. The value is never parsed, so it can contain any characters.
func FieldTerm(field, value string) Node {
	if value == "" {
		return Phrase{Leaf: Leaf{Field: FieldName{Name: field}}}
	}
	return Term{Leaf: Leaf{Field: FieldName{Name: field}}, Text: value}
}

// Walk calls visit for n and for all nodes below it, each node before the nodes below it. If visit returns false for a node, Walk skips the
// nodes below that node. Walk reports whether all calls returned true.
func Walk(n Node, visit func(Node) bool) bool {
	if n == nil {
		return true
	}
	if !visit(n) {
		return false
	}
	whole := true
	switch n := n.(type) {
	case Bool:
		for _, c := range n.Clauses {
			whole = Walk(c.Node, visit) && whole
		}
	case Any:
		for _, v := range n.Values {
			whole = Walk(v, visit) && whole
		}
	case Boost:
		whole = Walk(n.Node, visit)
	}
	return whole
}

// Names lists the names and patterns of fields in n, as written, without duplicates, in order of their first appearance. It ignores clauses
// without a field.
func Names(n Node) []FieldName {
	var out []FieldName
	seen := map[FieldName]bool{}
	Walk(n, func(n Node) bool {
		if f := FieldOf(n); f.Name != "" && !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
		return true
	})
	return out
}

// namesDate reports whether f is the name of a date field, or a pattern that matches one.
func namesDate(f FieldName) bool {
	if !f.Pattern {
		field, ok := Lookup(f.Name)
		return ok && field.Type == Date
	}
	for _, field := range Fields() {
		if field.Type == Date && f.Matches(field.Name) {
			return true
		}
	}
	return false
}

// FieldOf returns the field of a leaf. For other nodes, it returns the zero FieldName.
func FieldOf(n Node) FieldName {
	if l, ok := n.(leaf); ok {
		return l.header().Field
	}
	return FieldName{}
}
