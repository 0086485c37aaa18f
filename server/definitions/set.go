package definitions

import (
	"fmt"
	"slices"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Set contains all definitions of a library, and knows which of them are served. The zero value is not valid. Use NewSet.
type Set struct {
	entries    entries
	catalogues map[library.PropertyID]*Catalogue
}

// NewSet decides which of the entries in bySource are served. It fails if this version of Vitrine cannot parse the selector of a served
// rule.
func NewSet(bySource map[Source]*Entry) (Set, error) {
	all := arbitrate(bySource)
	catalogues, err := newCatalogues(all, nil)
	if err != nil {
		return Set{}, err
	}
	return Set{entries: all, catalogues: catalogues}, nil
}

// Len returns the number of definitions, served or not.
func (s Set) Len() int { return s.entries.of.len() }

// Entries returns all entries, keyed by source.
func (s Set) Entries() map[Source]*Entry {
	out := make(map[Source]*Entry, s.Len())
	for at, h := range s.entries.of.all() {
		out[at] = h.Entry
	}
	return out
}

// Entry returns the entry of a source, or nil if there is none.
func (s Set) Entry(from Source) *Entry { return s.entries.get(from).Entry }

// Catalogue returns the catalogue of a property, or nil if the property is not served.
func (s Set) Catalogue(p library.PropertyID) *Catalogue { return s.catalogues[p] }

// Catalogues returns the catalogues of all served properties. Callers must not modify the map.
func (s Set) Catalogues() map[library.PropertyID]*Catalogue { return s.catalogues }

// Owners lists the owners from one cluster, sorted. If install is "", it lists the owners from all clusters.
func (s Set) Owners(install string) []library.Owner {
	owners := []library.Owner{}
	for from := range s.entries.sources() {
		if !from.Owner.IsHTTP() && (install == "" || from.Owner.Install == install) {
			owners = append(owners, from.Owner)
		}
	}
	return owners
}

// Scoped lists the owners within a scope, sorted.
func (s Set) Scoped(scope library.Scope) []library.Owner {
	return slices.DeleteFunc(s.Owners(scope.Install), func(o library.Owner) bool { return !scope.Contains(o) })
}

// Definition returns the served version of an owner's definition, or the newest version if none is served. It fails with ErrNotFound.
func (s Set) Definition(owner library.Owner) (library.Definition, error) {
	h := s.entries.get(Source{Owner: owner})
	if h.Entry == nil || owner.IsHTTP() {
		return library.Definition{}, fmt.Errorf("%s: %w", owner, library.ErrNotFound)
	}
	if served := h.served(); served != nil {
		return *served, nil
	}
	return h.Latest, nil
}

// Tokens returns the served tokens that have a value, keyed by owner.
func (s Set) Tokens() map[library.Owner]library.TokenEvent {
	tokens := map[library.Owner]library.TokenEvent{}
	for from, h := range s.entries.of.all() {
		if d := h.served(); d != nil && d.Token != nil && len(d.Token.Values) > 0 {
			e := library.TokenEvent{Property: d.Property, Owner: from.Owner, Token: d.Token}
			if c := s.catalogues[d.Property]; c != nil {
				e.ReadOnlyQuery = c.Spec.ReadOnlyQuery
			}
			tokens[from.Owner] = e
		}
	}
	return tokens
}
