package query

import "slices"

// Equal reports whether two trees are the same, ignoring positions in a query. Two nil nodes are equal.
func Equal(a, b Node) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case Bool:
		b, ok := b.(Bool)
		return ok && a.Equal(b)
	case Any:
		b, ok := b.(Any)
		return ok && a.Equal(b)
	case Boost:
		b, ok := b.(Boost)
		return ok && a.Equal(b)
	case Term:
		b, ok := b.(Term)
		return ok && a.Equal(b)
	case Phrase:
		b, ok := b.(Phrase)
		return ok && a.Equal(b)
	case Wildcard:
		b, ok := b.(Wildcard)
		return ok && a.Equal(b)
	case Fuzzy:
		b, ok := b.(Fuzzy)
		return ok && a.Equal(b)
	case Regexp:
		b, ok := b.(Regexp)
		return ok && a.Equal(b)
	case Range:
		b, ok := b.(Range)
		return ok && a.Equal(b)
	case Exists:
		b, ok := b.(Exists)
		return ok && a.Equal(b)
	case Missing:
		b, ok := b.(Missing)
		return ok && a.Equal(b)
	default: // All and None have no content.
		return a == b
	}
}

// Equal compares the clauses in order.
func (n Bool) Equal(o Bool) bool {
	return slices.EqualFunc(n.Clauses, o.Clauses, func(a, b Clause) bool {
		return a.Occur == b.Occur && Equal(a.Node, b.Node)
	})
}

// Equal compares the values in order.
func (n Any) Equal(o Any) bool { return slices.EqualFunc(n.Values, o.Values, Equal) }

// Equal compares node and factor.
func (n Boost) Equal(o Boost) bool { return n.Factor == o.Factor && Equal(n.Node, o.Node) }

// Equal compares everything except the position in the query.
func (n Term) Equal(o Term) bool { n.at, o.at = place{}, place{}; return n == o }

// Equal compares everything except the position in the query.
func (n Phrase) Equal(o Phrase) bool { n.at, o.at = place{}, place{}; return n == o }

// Equal compares everything except the position in the query.
func (n Wildcard) Equal(o Wildcard) bool { n.at, o.at = place{}, place{}; return n == o }

// Equal compares everything except the position in the query.
func (n Fuzzy) Equal(o Fuzzy) bool { n.at, o.at = place{}, place{}; return n == o }

// Equal compares everything except the position in the query.
func (n Regexp) Equal(o Regexp) bool { n.at, o.at = place{}, place{}; return n == o }

// Equal compares everything except the position in the query.
func (n Range) Equal(o Range) bool {
	return n.Field == o.Field && n.From.Equal(o.From) && n.To.Equal(o.To)
}

// Equal compares everything except the position in the query.
func (n Exists) Equal(o Exists) bool { return n.Field == o.Field }

// Equal compares everything except the position in the query.
func (n Missing) Equal(o Missing) bool { return n.Field == o.Field }

// Equal compares everything except the position in the query.
func (b Bound) Equal(o Bound) bool { b.at, o.at = place{}, place{}; return b == o }
