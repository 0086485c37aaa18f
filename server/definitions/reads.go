package definitions

import (
	"fmt"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Reads returns the definitions that a library serves now, or ErrClosed. It implements the methods of library.Base that need only these
// definitions. A library embeds Reads to get these methods.
type Reads func() (Set, error)

// Served returns the catalogue of a property. It fails with ErrNotFound if the property is not served, or with ErrClosed.
func (r Reads) Served(p library.PropertyID) (*Catalogue, error) {
	set, err := r()
	if err != nil {
		return nil, err
	}
	c := set.Catalogue(p)
	if c == nil {
		return nil, library.UnknownProperty(p)
	}
	return c, nil
}

// Definitions lists the served definitions of one kind (see library.Base).
func (r Reads) Definitions(p library.PropertyID, kind library.Kind) ([]library.Definition, error) {
	set, err := r()
	if err != nil {
		return nil, err
	}
	c := set.Catalogue(p)
	if c == nil {
		return nil, library.UnknownProperty(p)
	}
	found := []library.Definition{}
	for from := range c.parts.all() {
		if d := set.entries.get(from).served(); d != nil && d.Kind() == kind {
			found = append(found, *d)
		}
	}
	return found, nil
}

// Property returns the settings of a property (see library.Base).
func (r Reads) Property(p library.PropertyID) (library.Property, error) {
	c, err := r.Served(p)
	if err != nil {
		return library.Property{}, err
	}
	return c.Spec, nil
}

// Rules returns the rules of library.Feed for a property, or ErrNotFound.
func (r Reads) Rules(p library.PropertyID) (library.FeedRules, error) {
	c, err := r.Served(p)
	if err != nil {
		return library.FeedRules{}, err
	}
	return c.FeedRules(), nil
}

// Filter returns one filter (see library.Base).
func (r Reads) Filter(p library.PropertyID, ref library.FilterRef) (library.FilterRecord, error) {
	c, err := r.Served(p)
	if err != nil {
		return library.FilterRecord{}, err
	}
	f, err := c.Filter(ref)
	if err != nil {
		return library.FilterRecord{}, err
	}
	return f.Record, nil
}

// Filters lists the filters of a property (see library.Base).
func (r Reads) Filters(p library.PropertyID, offset, limit int) ([]library.FilterRecord, int, error) {
	c, err := r.Served(p)
	if err != nil {
		return nil, 0, err
	}
	found, total := c.Filters(offset, limit)
	return found, total, nil
}

// FiltersAfter lists the filters that follow a place in the order of Filters (see library.Base).
func (r Reads) FiltersAfter(p library.PropertyID, after library.FilterPlace, limit int) ([]library.FilterRecord, int, error) {
	c, err := r.Served(p)
	if err != nil {
		return nil, 0, err
	}
	found, total := c.FiltersAfter(after, limit)
	return found, total, nil
}

// Unit returns one conversion unit (see library.Base).
func (r Reads) Unit(p library.PropertyID, id int64) (item.Unit, error) {
	c, err := r.Served(p)
	if err != nil {
		return item.Unit{}, err
	}
	u := c.Unit(id)
	if u == nil {
		return item.Unit{}, fmt.Errorf("unit %d of property %s: %w", id, p, library.ErrNotFound)
	}
	return u.Unit, nil
}

// Units lists all units of a property by ID (see library.Base).
func (r Reads) Units(p library.PropertyID) ([]item.Unit, error) {
	c, err := r.Served(p)
	if err != nil {
		return nil, err
	}
	units := make([]item.Unit, len(c.Units))
	for i, u := range c.Units {
		units[i] = u.Unit
	}
	return units, nil
}
