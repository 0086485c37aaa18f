package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// place is where an item is.
type place struct {
	property library.PropertyID
	id       item.ID
}

// found is what a group of requests asks of the database, looked up at once and by all processors. What is not in it is
// looked up one by one.
type found struct {
	items map[place]*lookup
	// holders are the items that have a short code, in all properties.
	holders map[string][]place
}

// lookup is one item or one short code to be looked up, and what was found.
type lookup struct {
	place place
	// decode is whether the item itself is wanted, or only whether it is there.
	decode bool
	exists bool
	item   *item.Item
	err    error // the item cannot be read

	code    string
	holders []place
}

// fetch looks up what the mutations of a group need. The error says that the database cannot be read.
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

// withItems lists the properties that may have short codes.
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

// holders lists the items that have a short code.
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
			return nil, fmt.Errorf("a short code of property %s: %w", p, err)
		}
		places = append(places, place{p, item.ID(id)})
	}
	return places, nil
}

// decodeItem reads a stored item.
func decodeItem(id item.ID, value []byte) (*item.Item, error) {
	it, err := item.Unmarshal(value)
	if err == nil && it.ID != id {
		err = fmt.Errorf("it says that it is item %d", it.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("read item %d: %w", id, err)
	}
	return it, nil
}

// item returns an item as it will be, nil when it is not there.
func (c *change) item(p library.PropertyID, id item.ID) (*item.Item, error) {
	if st := c.properties[p]; st != nil {
		if i, staged := st.at[id]; staged {
			return st.items[i].Item, nil
		}
	}
	l := c.found.items[place{p, id}]
	if l == nil || l.exists && !l.decode {
		l = &lookup{place: place{p, id}, decode: true}
		if err := c.look(l); err != nil {
			return nil, err
		}
	}
	return l.item, l.err
}

// exists reports whether an item will be there.
func (c *change) exists(p library.PropertyID, id item.ID) (bool, error) {
	if st := c.properties[p]; st != nil {
		if i, staged := st.at[id]; staged {
			return st.items[i].Item != nil, nil
		}
	}
	if l := c.found.items[place{p, id}]; l != nil {
		return l.exists, nil
	}
	l := &lookup{place: place{p, id}}
	err := c.look(l)
	return l.exists, err
}

// look looks one thing up.
func (c *change) look(l *lookup) error {
	answer, err := ask(c.s, func(db *pebble.DB) (lookup, error) {
		one := *l
		err := findAll(db, 1, func(f finder, _ int) error { return one.run(f, nil) })
		return one, err
	})
	if err != nil {
		return unavailable(err)
	}
	*l = answer
	return nil
}

// codeHolders lists the items that have a short code, as far as it was known before this group.
func (c *change) codeHolders(code string) ([]place, error) {
	if known, looked := c.found.holders[code]; looked {
		return known, nil
	}
	properties := c.withItems()
	places, err := ask(c.s, func(db *pebble.DB) (places []place, err error) {
		err = findAll(db, 1, func(f finder, _ int) error {
			places, err = holders(f, properties, code)
			return err
		})
		return places, err
	})
	if err != nil {
		return nil, unavailable(err)
	}
	return places, nil
}
