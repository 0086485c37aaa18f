package query

// And returns the query that every part has to match: compositions join trees, never strings, so that no part can
// break out of its place. nil parts are left out; a single part stands for itself; no part at all is nil.
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

// FieldTerm returns the query for one value of a field, which means what field:value does, whatever characters value
// holds.
func FieldTerm(field, value string) Node {
	if value == "" {
		return Phrase{Field: FieldName{Name: field}}
	}
	return Term{Field: FieldName{Name: field}, Text: value}
}

// Walk calls visit for n and everything below it, parents first. What is below a node is left out where visit returns
// false. Walk reports whether no call returned false.
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

// Names lists the fields and patterns that n names as written, each once, in the order of their first appearance.
// Clauses without a field name none.
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

// namesDate reports whether f is a date, or a pattern that covers one.
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

// FieldOf returns the field of a leaf as written, of Exists and Missing the one that they ask for; none for anything else.
func FieldOf(n Node) FieldName {
	switch n := n.(type) {
	case Term:
		return n.Field
	case Phrase:
		return n.Field
	case Wildcard:
		return n.Field
	case Fuzzy:
		return n.Field
	case Regexp:
		return n.Field
	case Range:
		return n.Field
	case Exists:
		return n.Field
	case Missing:
		return n.Field
	}
	return FieldName{}
}
