package store

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
)

// place identifies an item of a property.
type place struct {
	property library.PropertyID
	id       item.ID
}

// found contains records from the database that a group of requests needs. fetch looks them up together, on all processors. A record that
// found does not contain is looked up individually.
type found struct {
	items map[place]*lookup
	// holders lists the items that have a given short code, in all properties.
	holders map[string][]place
}

// lookup is a request for one item or one short code, together with its result.
type lookup struct {
	place place
	// decode is true if the caller needs the item itself, not only whether it exists.
	decode bool
	exists bool
	item   *item.Item
	err    error // set if the stored item cannot be decoded

	code    string
	holders []place
}

// fetch looks up the records that the mutations of a group need. It fails if the database cannot be read.
func (c *change) fetch(group []request) error {
	var wanted []*lookup
	want := func(p library.PropertyID, id item.ID, decode bool) {
		if item.ValidID(id) {
			wanted = append(wanted, &lookup{place: place{p, id}, decode: decode})
		}
	}
	for _, r := range group {
		for _, m := range r.mutations {
			switch {
			case m.Put != nil:
				want(r.property, m.Put.ID, m.Replace)
				if m.Put.ShortCode != "" {
					wanted = append(wanted, &lookup{code: m.Put.ShortCode})
				}
			case m.Patch != nil || m.Delete:
				want(r.property, m.ID, true)
			case m.Tag != nil || m.Untag != nil:
				for _, id := range m.IDs {
					want(r.property, id, true)
				}
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	properties := c.withItems()
	answer, err := ask(c.s, func(db *pebble.DB) (found, error) {
		err := findAll(db, len(wanted), func(f finder, i int) error { return wanted[i].run(f, properties) })
		if err != nil {
			return found{}, err
		}
		f := found{items: make(map[place]*lookup, len(wanted)), holders: map[string][]place{}}
		for _, w := range wanted {
			if w.code != "" {
				f.holders[w.code] = w.holders
			} else if known := f.items[w.place]; known == nil || w.decode {
				f.items[w.place] = w
			}
		}
		return f, nil
	})
	c.found = answer
	return err
}

// withItems lists the properties that have items, because only these can have short codes.
func (c *change) withItems() []library.PropertyID {
	properties := make([]library.PropertyID, 0, len(c.before.properties))
	for id, p := range c.before.properties {
		if p.items > 0 {
			properties = append(properties, id)
		}
	}
	return properties
}

func (l *lookup) run(f finder, properties []library.PropertyID) (err error) {
	switch {
	case l.code != "":
		l.holders, err = holders(f, properties, l.code)
	case l.decode:
		var value []byte
		if value, l.exists, err = f.find(itemKey(l.place.property, l.place.id)); l.exists {
			l.item, l.err = decodeItem(l.place.id, value)
		}
	default:
		l.exists, err = f.has(itemKey(l.place.property, l.place.id))
	}
	return err
}

// holders lists the items in the given properties that have a short code.
func holders(f finder, properties []library.PropertyID, code string) ([]place, error) {
	var places []place
	for _, p := range properties {
		value, there, err := f.find(codeKey(p, code))
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		id, err := decodeNumber(value)
		if err != nil {
			return nil, fmt.Errorf("decode a short code of property %s: %w", p, err)
		}
		places = append(places, place{p, item.ID(id)})
	}
	return places, nil
}

// decodeItem decodes a stored item. The error is a *library.UnreadableItemError.
func decodeItem(id item.ID, value []byte) (*item.Item, error) {
	it, err := item.Decode(value)
	return withID(id, it, err)
}

// withID returns a decoded item if it has the given id. The error is a *library.UnreadableItemError.
func withID(id item.ID, it *item.Item, err error) (*item.Item, error) {
	if err == nil && it.ID != id {
		err = fmt.Errorf("the stored item has the id %d", it.ID)
	}
	if err != nil {
		return nil, &library.UnreadableItemError{ID: id, Err: err}
	}
	return it, nil
}

// base is the state of a property before a change.
type base struct {
	*change
	property library.PropertyID
	known    *property
}

var _ mutations.Base = base{}

// Item returns a stored item, or nil if it does not exist.
func (b base) Item(id item.ID) (*item.Item, error) {
	l := b.found.items[place{b.property, id}]
	if l == nil || l.exists && !l.decode {
		l = &lookup{place: place{b.property, id}, decode: true}
		if err := b.look(l); err != nil {
			return nil, err
		}
	}
	return l.item, l.err
}

// Exists reports whether an item is stored.
func (b base) Exists(id item.ID) (bool, error) {
	if l := b.found.items[place{b.property, id}]; l != nil {
		return l.exists, nil
	}
	l := &lookup{place: place{b.property, id}}
	err := b.look(l)
	return l.exists, err
}

// Unit reports whether the property serves a unit.
func (b base) Unit(id int64) bool { return b.defs.Catalogue(b.property).Unit(id) != nil }

// CodeHeld reports whether an item other than id has the short code.
func (b base) CodeHeld(code string, id item.ID) (bool, error) {
	holders, err := b.codeHolders(code)
	return slices.ContainsFunc(holders, func(h place) bool { return h != place{b.property, id} }), err
}

// TagMade reports whether a tag has ever been created.
func (b base) TagMade(t item.Tag) bool { return b.known.made[t] }

// NameKnown reports whether any item has ever had a field with this name.
func (b base) NameKnown(n mutations.NameSum) bool { return b.known.names[n] }

// Names returns the number of field names that items have ever had.
func (b base) Names() int { return len(b.known.names) }

// Namespaces returns the number of namespaces of tags that items have ever had themselves.
func (b base) Namespaces() int { return len(b.known.namespaces) }

// TagOwner returns a manifest whose rule assigns the tag to the item, and true if there is one.
func (b base) TagOwner(t item.Tag, id item.ID) (library.Owner, bool, error) {
	return b.s.index.TagOwner(b.property, t, id)
}

// look runs a lookup that was not part of fetch.
func (c *change) look(l *lookup) error {
	answer, err := lookUp(c.s, func(f finder) (lookup, error) {
		one := *l
		err := one.run(f, nil)
		return one, err
	})
	if err != nil {
		return unavailable(err)
	}
	*l = answer
	return nil
}

// codeHolders lists the stored items that have the short code, without the changes of this group.
func (c *change) codeHolders(code string) ([]place, error) {
	if known, looked := c.found.holders[code]; looked {
		return known, nil
	}
	properties := c.withItems()
	places, err := lookUp(c.s, func(f finder) ([]place, error) { return holders(f, properties, code) })
	if err != nil {
		return nil, unavailable(err)
	}
	return places, nil
}
