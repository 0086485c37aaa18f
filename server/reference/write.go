package reference

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Write changes items, see library.Library.
func (l *Library) Write(ctx context.Context, p library.PropertyID, muts []library.Mutation) ([]library.Outcome, error) {
	outcomes := make([]library.Outcome, len(muts))
	err := l.do(ctx, false, func(c *change) error {
		if c.catalogues[p] == nil {
			return fmt.Errorf("write to property %s: %w", p, library.ErrNoProperty)
		}
		for i, m := range muts {
			outcomes[i] = c.mutate(p, m)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// mutate stages one mutation, or nothing.
func (c *change) mutate(p library.PropertyID, m library.Mutation) library.Outcome {
	switch {
	case m.Put != nil:
		return c.putItem(p, m)
	case m.Patch != nil:
		return library.Outcome{ID: m.ID, Err: c.patch(p, m.ID, m.Patch)}
	case m.Delete:
		if c.item(p, m.ID) == nil {
			return library.Outcome{ID: m.ID, Err: unknownItem(m.ID)}
		}
		c.in(p).items[m.ID] = nil
		return library.Outcome{ID: m.ID}
	case m.Tag != nil:
		return library.Outcome{Err: c.tag(p, *m.Tag, m.IDs)}
	case m.Untag != nil:
		return library.Outcome{Err: c.untag(p, *m.Untag, m.IDs)}
	}
	return library.Outcome{Err: errors.New("a mutation that changes nothing: set one of its members")}
}

func unknownItem(id item.ID) error { return fmt.Errorf("item %d: %w", id, library.ErrNotFound) }

func (c *change) putItem(p library.PropertyID, m library.Mutation) library.Outcome {
	it := *m.Put
	if it.ID < 0 || it.ID > item.MaxID {
		return library.Outcome{Err: &item.InvalidError{Member: "id", Reason: "must be a whole number from 1 to 2^53-1"}}
	}
	exists := it.ID != 0 && c.item(p, it.ID) != nil
	if exists && !m.Replace {
		return library.Outcome{ID: it.ID, Err: fmt.Errorf("item %d: %w", it.ID, library.ErrExists)}
	}
	for _, id := range it.Units {
		if !c.hasUnit(p, id) && !slices.ContainsFunc(m.Units, func(u item.Unit) bool { return u.ID == id }) {
			return library.Outcome{ID: it.ID, Err: unknownUnit(id)}
		}
	}
	if it.ID == 0 {
		if c.sequence(p) >= item.MaxID {
			return library.Outcome{Err: fmt.Errorf("%w: the item ids of property %s are used up, because an item with id 2^53-1 was imported",
				library.ErrUnavailable, p)}
		}
		it.ID = c.sequence(p) + 1
	}
	for c.codeTaken(p, it) {
		code, err := item.NewShortCode(c.l.options.random)
		if err != nil {
			return library.Outcome{ID: it.ID, Err: fmt.Errorf("draw a short link: %w", err)}
		}
		it.ShortCode = code
	}
	if err := c.makeUnits(p, m.Units); err != nil {
		return library.Outcome{ID: it.ID, Err: err}
	}
	pc := c.in(p)
	pc.items[it.ID] = &it
	pc.sequence = max(pc.sequence, it.ID)
	if it.ShortCode != "" {
		c.codes[it.ShortCode] = true
	}
	for _, t := range it.Tags {
		c.makeTag(p, t)
	}
	return library.Outcome{ID: it.ID, Created: !exists}
}

func (c *change) sequence(p library.PropertyID) item.ID {
	if pc := c.properties[p]; pc != nil {
		return pc.sequence
	}
	if known := c.m.properties[p]; known != nil {
		return known.sequence
	}
	return 0
}

// codeTaken reports whether another item has the short code of it.
func (c *change) codeTaken(p library.PropertyID, it item.Item) bool {
	if it.ShortCode == "" {
		return false
	}
	holder, taken := c.m.codes[it.ShortCode]
	if before := c.item(p, it.ID); before != nil && before.ShortCode == it.ShortCode {
		return false
	}
	return taken && holder != (place{p, it.ID}) || c.codes[it.ShortCode]
}

func (c *change) hasUnit(p library.PropertyID, id int64) bool {
	return c.catalogues[p].units[id] != nil || c.units[source{property: p, kind: library.KindUnit, id: id}] != nil
}

func unknownUnit(id int64) error {
	return &item.InvalidError{Member: "activate_units", Reason: fmt.Sprintf("there is no conversion unit with id %d: make it first, or send it whole", id)}
}

// makeUnits makes the units of an import line that the property does not have. Those that a manifest is to bring are
// left to it.
func (c *change) makeUnits(p library.PropertyID, units []item.Unit) error {
	made := map[source]*entry{}
	now := c.l.now().UTC()
	for _, u := range units {
		if u.Managed || c.hasUnit(p, u.ID) {
			continue
		}
		if u.CreatedOn == "" {
			u.CreatedOn = now.Format(time.RFC3339)
		}
		d := library.Definition{Property: p, Unit: &library.UnitRule{Unit: u}}
		if err := library.Check(d); err != nil {
			return &item.InvalidError{Member: "activate_units", Reason: err.Error()}
		}
		e, err := newEntry(d, nil, now)
		if err != nil {
			return err
		}
		made[sourceOf(d)] = e
	}
	maps.Copy(c.units, made)
	return nil
}

func (c *change) patch(p library.PropertyID, id item.ID, patch *item.Patch) error {
	before := c.item(p, id)
	if before == nil {
		return unknownItem(id)
	}
	if units, touched := patch.Units(); touched {
		for _, u := range units {
			// A unit that the item already refers to may stay, even while its manifest is away.
			if !c.hasUnit(p, u) && !slices.Contains(before.Units, u) {
				return unknownUnit(u)
			}
		}
	}
	after := *before
	if err := patch.Apply(&after); err != nil {
		return err
	}
	c.in(p).items[id] = &after
	return nil
}

// tag adds one mapping to all items, or to none.
func (c *change) tag(p library.PropertyID, t item.Tag, ids []item.ID) error {
	if err := item.ValidNamespace(t.Namespace); err != nil {
		return err
	}
	if err := item.ValidKey(t.Namespace, t.Key); err != nil {
		return err
	}
	if err := c.requireItems(p, ids); err != nil {
		return err
	}
	c.makeTag(p, t)
	for _, id := range ids {
		before := c.item(p, id)
		at, has := slices.BinarySearchFunc(before.Tags, t, item.CompareTags)
		if has {
			continue
		}
		after := *before
		after.Tags = slices.Insert(slices.Clone(before.Tags), at, t)
		c.in(p).items[id] = &after
	}
	return nil
}

// untag takes one mapping from all items, or from none.
func (c *change) untag(p library.PropertyID, t item.Tag, ids []item.ID) error {
	if err := c.requireItems(p, ids); err != nil {
		return err
	}
	for _, id := range ids {
		if _, has := slices.BinarySearchFunc(c.item(p, id).Tags, t, item.CompareTags); has {
			continue
		}
		if owner, held := c.tagHolder(p, t, id); held {
			return &library.ManagedError{Owner: owner}
		}
		return fmt.Errorf("tag %s:%s on item %d: %w", t.Namespace, t.Key, id, library.ErrNotFound)
	}
	for _, id := range ids {
		after := *c.item(p, id)
		after.Tags = slices.DeleteFunc(slices.Clone(after.Tags), func(own item.Tag) bool { return own == t })
		c.in(p).items[id] = &after
	}
	return nil
}

// tagHolder returns the manifest by which an item carries a tag, as far as it was known before this group.
func (c *change) tagHolder(p library.PropertyID, t item.Tag, id item.ID) (library.Owner, bool) {
	known := c.m.properties[p]
	if known == nil {
		return library.Owner{}, false
	}
	for _, r := range c.catalogues[p].tagRules {
		if r.tag == t && known.members[r][id] {
			return r.owner, true
		}
	}
	return library.Owner{}, false
}

func (c *change) requireItems(p library.PropertyID, ids []item.ID) error {
	var unknown []item.ID
	for _, id := range ids {
		if c.item(p, id) == nil && !slices.Contains(unknown, id) {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		return &library.UnknownItemsError{IDs: unknown}
	}
	return nil
}
