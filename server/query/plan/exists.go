package plan

import "github.com/vitrine-dev/vitrine/server/query"

// exists builds a test for the presence of a field, of any field that a pattern matches, or of any field in an object. The score is 1.
func (b *builder) exists(n query.Node, name query.FieldName) (Node, error) {
	if name.Name == "" {
		return Exists{Field: query.Field{Name: query.AllField, Type: query.Text}}, b.count(n, 1)
	}
	fields := query.ResolveObject(name, b.Audience, b.Fields)
	if len(fields) == 0 {
		fields = query.Resolve(name, b.Audience, b.Fields)
	}
	dynamic := 0
	for _, f := range fields {
		if query.Dynamic(f.Name) {
			dynamic++
		}
	}
	further := max(0, dynamic-1)
	if err := b.count(n, max(1, len(fields)-further)); err != nil {
		return nil, err
	}
	if err := b.expand(n, further); err != nil {
		return nil, err
	}
	switch len(fields) {
	case 0:
		return None{}, nil
	case 1:
		return Exists{Field: fields[0]}, nil
	}
	group := Bool{Should: make([]Node, len(fields))}
	for i, f := range fields {
		group.Should[i] = Exists{Field: f}
	}
	return Const{Node: group, Score: 1}, nil
}

// missing builds a clause that matches the items that exists does not match. The score is 1. An unknown field is missing in every item.
func (b *builder) missing(n query.Missing) (Node, error) {
	there, err := b.exists(n, n.Field)
	if err != nil {
		return nil, err
	}
	if _, never := there.(None); never {
		return All{}, nil
	}
	return Bool{Must: []Node{All{}}, MustNot: []Node{there}}, nil
}
