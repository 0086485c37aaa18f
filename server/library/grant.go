package library

import "slices"

// Grant lets manifests in other namespaces belong to a property.
type Grant struct {
	// Namespaces are the namespaces of the manifests.
	Namespaces []string
	// Kinds are the names of the kinds of the manifests.
	Kinds []string
	// ReadOnly and ReadWrite are the classes of tokens that the grant permits.
	ReadOnly  bool `json:",omitempty"`
	ReadWrite bool `json:",omitempty"`
	// Filters, if not empty, limits the grant to tokens whose FilterNames are all in this list.
	Filters []string `json:",omitempty"`
}

// Admits reports whether a definition may belong to the property: if its manifest is in the namespace of the Property, if a grant permits it,
// or if it was created over HTTP.
func (p *Property) Admits(d Definition) bool {
	if d.Owner.IsHTTP() || d.Owner.Namespace == d.Property.Namespace() {
		return true
	}
	if d.Filter != nil && d.Filter.Adopt {
		return false // the filter belongs to callers of the property, who could no longer change it
	}
	return slices.ContainsFunc(p.Grants, func(g Grant) bool {
		return slices.Contains(g.Namespaces, d.Owner.Namespace) && slices.Contains(g.Kinds, d.Kind().String()) && (d.Token == nil || g.permits(d.Token))
	})
}

// permits reports whether the grant permits a token.
func (g Grant) permits(t *Token) bool {
	if t.ReadWrite && !g.ReadWrite || !t.ReadWrite && !g.ReadOnly {
		return false
	}
	if len(g.Filters) == 0 {
		return true
	}
	return t.Filters != nil && len(t.FilterNames) > 0 &&
		!slices.ContainsFunc(t.FilterNames, func(name string) bool { return !slices.Contains(g.Filters, name) })
}
