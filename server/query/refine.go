package query

import (
	"fmt"
	"slices"
	"strings"
)

// Part is a clause of a query, with its place in the text.
type Part struct {
	// Clause is the clause. Its Occur is Must for the only optional clause of a query without required clauses, because such a clause must
	// match.
	Clause
	// Start and End delimit the clause in the text, in characters from 0, without the sign or operator before it.
	Start, End int
}

// Parts returns the clauses of the query that are not in parentheses, in their order. It returns a query that only offers values of one
// field, such as campaign:1 OR campaign:2, as one Part. A blank query has no parts.
func (q Query) Parts() []Part {
	out := slices.Clone(q.parts)
	optional := func(p Part) bool { return p.Occur == Should }
	first := slices.IndexFunc(out, optional)
	if first < 0 || requires(out) {
		return out
	}
	if !slices.ContainsFunc(out[first+1:], optional) {
		out[first].Occur = Must
		return out
	}
	if _, ok := ChoiceOf(q.Root); ok {
		return []Part{{Clause{Must, q.Root}, out[0].Start, out[len(out)-1].End}}
	}
	return out
}

// requires reports whether one of the parts is a required clause.
func requires(parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return p.Occur == Must })
}

// Choice is what a clause means if it offers values of one field.
type Choice struct {
	// Field is the field. For tags, its name is AllTags, and the values have the form namespace:key, so that one choice can offer tags of
	// several namespaces.
	Field Field
	// Values contains the values, without escapes. It is empty if the choice is a range.
	Values []string
	// From and To are the bounds of a range, which contains them.
	From, To Bound
}

// ChoiceOf returns what n means as a choice. It returns false if n is anything else: a clause without a field, with a boost, a pattern, a
// range without one of its bounds, or values of several fields.
func ChoiceOf(n Node) (Choice, bool) {
	var c Choice
	switch n := n.(type) {
	case Range:
		f, ok := choosable(n.Field)
		_, tag := TagNamespace(f.Name)
		return Choice{Field: f, From: n.From, To: n.To}, ok && !tag && closed(n.From) && closed(n.To)
	case Term:
		return c.with(n.Field, n.Text)
	case Phrase:
		if n.Slop != 0 {
			return c, false
		}
		return c.with(n.Field, n.Text)
	case Any:
		for _, v := range n.Values {
			if ok := c.merge(v); !ok {
				return Choice{}, false
			}
		}
		return c, true
	case Bool:
		for _, clause := range n.Clauses {
			if ok := clause.Occur == Should && c.merge(clause.Node); !ok {
				return Choice{}, false
			}
		}
		return c, true
	}
	return c, false
}

// closed reports whether a range contains its bound, or has no bound.
func closed(b Bound) bool { return b.Inclusive || b.Open }

// choosable returns the field of a choice for the field of a leaf.
func choosable(name FieldName) (Field, bool) {
	if name.Name == "" || name.Pattern {
		return Field{}, false
	}
	f, ok := Lookup(name.Name)
	return f, ok
}

// with adds a value of a field.
func (c Choice) with(name FieldName, value string) (Choice, bool) {
	f, ok := choosable(name)
	if !ok {
		return Choice{}, false
	}
	if namespace, ok := TagNamespace(f.Name); ok {
		f, value = Field{Name: AllTags}, namespace+":"+value
	}
	c.Field = f
	c.Values = append(c.Values, value)
	return c, true
}

// merge adds the values of a node. It returns false if they are values of another field, or no values.
func (c *Choice) merge(n Node) bool {
	more, ok := ChoiceOf(n)
	if !ok || len(more.Values) == 0 || len(c.Values) > 0 && more.Field != c.Field {
		return false
	}
	c.Field = more.Field
	c.Values = append(c.Values, more.Values...)
	return true
}

// Node returns the clause that means the choice. It uses the shortest name of the field, and quotes where a word would need escapes.
func (c Choice) Node() Node {
	if len(c.Values) == 0 {
		return Range{Leaf: Leaf{Field: FieldName{Name: shortest(c.Field.Name)}}, From: c.From, To: c.To}
	}
	var values []Node
	one := true // whether all values have the same field
	for _, value := range c.Values {
		v := c.value(value)
		one = one && (len(values) == 0 || FieldOf(v) == FieldOf(values[0]))
		values = append(values, v)
	}
	switch {
	case len(values) == 1:
		return values[0]
	case one:
		return Any{Values: values}
	}
	return anyOf(values)
}

// value returns the clause for one value.
func (c Choice) value(value string) Node {
	name := shortest(c.Field.Name)
	if c.Field.Name == AllTags {
		// A namespace can contain a colon, but a key cannot.
		at := strings.LastIndexByte(value, ':')
		name, value = TagFieldName(value[:max(at, 0)]), value[at+1:]
	}
	leaf := Leaf{Field: FieldName{Name: name}}
	if WordText(value) == value {
		return Term{Leaf: leaf, Text: value}
	}
	return Phrase{Leaf: leaf, Text: value}
}

// shortest returns the shortest name of a field.
func shortest(canonical string) string {
	names := append(Aliases(canonical), canonical)
	return slices.MinFunc(names, func(a, b string) int { return len(a) - len(b) })
}

// piece is a clause of a query that Refine composes.
type piece struct {
	occur Occur
	node  Node
	text  string
}

// Refine returns a query in which one clause of q has changed. All other clauses keep their meaning and, as far as possible, their text. at
// is the index of a clause in Query.Parts, or -1 for a further clause. The new clause is required, or prohibited if occur is MustNot. In
// the place of an optional clause, it is optional or prohibited. If node is nil, Refine removes the clause. The result is blank if no
// clause is left. The error is a *SyntaxError if q or the result is invalid.
func Refine(q string, at int, occur Occur, node Node) (string, error) {
	parsed, err := Parse(q)
	if err != nil {
		return "", err
	}
	src, parts := []rune(q), parsed.Parts()
	if at >= len(parts) {
		return "", &SyntaxError{Reason: fmt.Sprintf("the query has no clause %d", at), Position: len(src), Expected: fmt.Sprintf("at most %d", len(parts)-1)}
	}
	if at >= 0 && occur == Must && parts[at].Occur == Should {
		occur = Should
	}
	var pieces []piece
	for i, p := range parts {
		text := string(src[p.Start:p.End])
		if len(parts) < len(parsed.parts) {
			text = "(" + text + ")"
		}
		if i == at {
			if node == nil {
				continue
			}
			pieces = append(pieces, piece{occur, node, nested(node)})
			continue
		}
		// *:* restricts nothing. It is not needed beside a required clause.
		if _, all := p.Node.(All); all && p.Occur == Must && node != nil && occur == Must {
			continue
		}
		pieces = append(pieces, piece{p.Occur, p.Node, text})
	}
	if at < 0 && node != nil {
		pieces = append(pieces, piece{occur, node, nested(node)})
	}
	was := requires(parts)
	is := slices.ContainsFunc(pieces, func(p piece) bool { return p.occur == Must })
	switch {
	case was && !is && slices.ContainsFunc(pieces, func(p piece) bool { return p.occur == Should }):
		// The optional clauses only affected the ranking, and must not become the condition.
		pieces = slices.Insert(pieces, 0, piece{Must, All{}, All{}.String()})
	case !was && is:
		pieces = grouped(pieces)
	}
	if at >= 0 && node != nil && occur == parts[at].Occur {
		out := string(src[:parts[at].Start]) + nested(node) + string(src[parts[at].End:])
		if means(out, pieces) {
			return out, nil
		}
	}
	if !slices.ContainsFunc(parsed.parts, func(p Part) bool { return p.Start > 0 && src[p.Start-1] == '+' }) {
		if out := joined(pieces); means(out, pieces) {
			return out, nil
		}
	}
	out := signed(pieces)
	_, err = Parse(out)
	return out, err
}

// grouped joins the optional clauses to one required clause.
func grouped(pieces []piece) []piece {
	var out []piece
	var b Bool
	var texts []string
	at := -1
	for _, p := range pieces {
		if p.occur != Should {
			out = append(out, p)
			continue
		}
		if at < 0 {
			at = len(out)
			out = append(out, piece{occur: Must})
		}
		b.Clauses = append(b.Clauses, Clause{Should, p.node})
		texts = append(texts, p.text)
	}
	if at >= 0 {
		out[at].node, out[at].text = b, "("+strings.Join(texts, " OR ")+")"
	}
	return out
}

// joined returns a query with AND and NOT between the clauses.
func joined(pieces []piece) string {
	var texts []string
	for _, p := range pieces {
		if p.occur == MustNot {
			p.text = "NOT " + p.text
		}
		texts = append(texts, p.text)
	}
	return strings.Join(texts, " AND ")
}

// signed returns a query with a sign before each clause that is not optional.
func signed(pieces []piece) string {
	var texts []string
	for _, p := range pieces {
		texts = append(texts, [...]string{Should: "", Must: "+", MustNot: "-"}[p.occur]+p.text)
	}
	return strings.Join(texts, " ")
}

// means reports whether a query has exactly the given clauses.
func means(q string, pieces []piece) bool {
	parsed, err := Parse(q)
	if err != nil {
		return false
	}
	return slices.EqualFunc(parsed.Parts(), pieces, func(p Part, want piece) bool {
		return p.Occur == want.occur && p.Node.String() == want.node.String()
	})
}
