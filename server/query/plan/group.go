package plan

import "github.com/vitrine-dev/vitrine/server/query"

// group builds a Bool, or a single node if that is equivalent. It omits clauses without words. If only prohibited clauses remain, the group
// matches all items that these clauses do not match, with score 0, as in OpenSearch.
func (b *builder) group(n query.Bool) (Node, error) {
	var out Bool
	for _, c := range n.Clauses {
		node, err := b.build(c.Node)
		if err != nil {
			return nil, err
		}
		if node == nil {
			continue
		}
		switch c.Occur {
		case query.Must:
			out.Must = append(out.Must, node)
		case query.MustNot:
			out.MustNot = append(out.MustNot, node)
		case query.Should:
			out.Should = append(out.Should, node)
		}
	}
	switch {
	case len(out.Must)+len(out.Should)+len(out.MustNot) == 0:
		return nil, nil
	case len(out.Must)+len(out.Should) == 0:
		out.Must = []Node{Const{Node: All{}, Score: 0}}
	case len(out.Should) == 1 && len(out.Must)+len(out.MustNot) == 0:
		return out.Should[0], nil
	case len(out.Must) == 1 && len(out.Should)+len(out.MustNot) == 0:
		return out.Must[0], nil
	}
	return out, nil
}

// any builds a list of values, such as field:a,b, as the OR of its values.
func (b *builder) any(n query.Any) (Node, error) {
	group := query.Bool{Clauses: make([]query.Clause, len(n.Values))}
	for i, v := range n.Values {
		group.Clauses[i].Node = v
	}
	return b.group(group)
}
