package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Write changes items, see library.Library.
func (s *Store) Write(ctx context.Context, p library.PropertyID, muts []library.Mutation) ([]library.Outcome, error) {
	outcomes := make([]library.Outcome, len(muts))
	stage := func(c *change) error {
		if c.defs.Catalogue(p) == nil {
			return fmt.Errorf("write to property %s: %w", p, library.ErrNoProperty)
		}
		full := s.options.Pressure() >= library.Full
		for i, m := range muts {
			if full && !m.Delete {
				outcomes[i] = library.Outcome{ID: m.ID, Err: fmt.Errorf("%w: the process is short of memory", library.ErrUnavailable)}
				continue
			}
			outcomes[i] = c.mutate(p, m)
		}
		return nil
	}
	if err := s.do(ctx, request{shares: withItems, stage: stage, property: p, mutations: muts}); err != nil {
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
		return library.Outcome{ID: m.ID, Err: c.delete(p, m.ID)}
	case m.Tag != nil:
		return library.Outcome{Err: c.tag(p, *m.Tag, m.IDs)}
	case m.Untag != nil:
		return library.Outcome{Err: c.untag(p, *m.Untag, m.IDs)}
	}
	return library.Outcome{Err: errors.New("a mutation that changes nothing: set one of its members")}
}

func (c *change) delete(p library.PropertyID, id item.ID) error {
	before, err := c.present(p, id)
	if err != nil {
		return err
	}
	c.set(p, id, before, nil)
	return nil
}

// present returns an item as it will be. ErrNotFound.
func (c *change) present(p library.PropertyID, id item.ID) (*item.Item, error) {
	it, err := c.item(p, id)
	if err == nil && it == nil {
		err = library.UnknownItem(id)
	}
	return it, err
}

func (c *change) putItem(p library.PropertyID, m library.Mutation) library.Outcome {
	it := *m.Put
	refused := func(err error) library.Outcome { return library.Outcome{ID: it.ID, Err: err} }
	if it.ID < 0 || it.ID > item.MaxID {
		return library.Outcome{Err: &item.InvalidError{Member: "id", Reason: "must be a whole number from 1 to 2^53-1"}}
	}
	before, err := c.replaced(p, it.ID, m.Replace)
	if err != nil {
		return refused(err)
	}
	for _, id := range it.Units {
		if !c.hasUnit(p, id) && !slices.ContainsFunc(m.Units, func(u item.Unit) bool { return u.ID == id }) {
			return refused(unknownUnit(id))
		}
	}
	if it.ID == 0 {
		if c.sequence(p) >= item.MaxID {
			return library.Outcome{Err: fmt.Errorf("%w: the item ids of property %s are used up, because an item with id 2^53-1 was imported",
				library.ErrUnavailable, p)}
		}
		it.ID = c.sequence(p) + 1
	}
	if err := c.drawCode(p, &it, before); err != nil {
		return refused(err)
	}
	names, err := c.newNames(p, it.FieldNames())
	if err != nil {
		return refused(err)
	}
	if err := c.makeUnits(p, m.Units); err != nil {
		return refused(err)
	}
	c.set(p, it.ID, before, &it)
	c.takeNames(p, names)
	st := c.in(p)
	st.sequence = max(st.sequence, it.ID)
	if it.ShortCode != "" {
		c.codes[it.ShortCode] = true
	}
	for _, t := range it.Tags {
		c.makeTag(p, t)
	}
	return library.Outcome{ID: it.ID, Created: before == nil}
}

// replaced returns the item that a put replaces, nil where it makes a new one; ErrExists where it may not. An id of 0 is
// drawn above all others, and needs no look.
func (c *change) replaced(p library.PropertyID, id item.ID, replace bool) (*item.Item, error) {
	if id == 0 {
		return nil, nil
	}
	if replace {
		return c.item(p, id)
	}
	exists, err := c.exists(p, id)
	if err == nil && exists {
		err = fmt.Errorf("item %d: %w", id, library.ErrExists)
	}
	return nil, err
}

// drawCode gives an item another short code for as long as another item has it.
func (c *change) drawCode(p library.PropertyID, it, before *item.Item) error {
	for it.ShortCode != "" && (before == nil || before.ShortCode != it.ShortCode) {
		holders, err := c.codeHolders(it.ShortCode)
		if err != nil {
			return err
		}
		another := func(h place) bool { return h != place{p, it.ID} }
		if !c.codes[it.ShortCode] && !slices.ContainsFunc(holders, another) {
			return nil
		}
		if it.ShortCode, err = item.NewShortCode(c.s.options.Random); err != nil {
			return fmt.Errorf("draw a short link: %w", err)
		}
	}
	return nil
}

func (c *change) sequence(p library.PropertyID) item.ID {
	if st := c.properties[p]; st != nil {
		return st.sequence
	}
	if known := c.before.properties[p]; known != nil {
		return known.sequence
	}
	return 0
}

func (c *change) hasUnit(p library.PropertyID, id int64) bool {
	return c.defs.Catalogue(p).Unit(id) != nil || c.units[definitions.Source{Property: p, Kind: library.KindUnit, ID: id}] != nil
}

func unknownUnit(id int64) error {
	return &item.InvalidError{Member: "activate_units", Reason: fmt.Sprintf("there is no conversion unit with id %d: make it first, or send it whole", id)}
}

// makeUnits makes the units of an import line that the property does not have.
func (c *change) makeUnits(p library.PropertyID, units []item.Unit) error {
	made, err := definitions.NewUnits(p, units, func(id int64) bool { return c.hasUnit(p, id) }, c.s.Now())
	if err != nil {
		return err
	}
	maps.Copy(c.units, made)
	return nil
}

func (c *change) patch(p library.PropertyID, id item.ID, patch *item.Patch) error {
	before, err := c.present(p, id)
	if err != nil {
		return err
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
	var names []nameSum
	if !bytes.Equal(before.Submission, after.Submission) {
		if names, err = c.newNames(p, after.FieldNames()); err != nil {
			return err
		}
	}
	c.set(p, id, before, &after)
	c.takeNames(p, names)
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
	items, err := c.requireItems(p, ids)
	if err != nil {
		return err
	}
	names, err := c.newNames(p, (&item.Item{Tags: []item.Tag{t}}).FieldNames())
	if err != nil {
		return err
	}
	c.takeNames(p, names)
	c.makeTag(p, t)
	for _, before := range items {
		at, has := slices.BinarySearchFunc(before.Tags, t, item.CompareTags)
		if has {
			continue
		}
		after := *before
		after.Tags = slices.Insert(slices.Clone(before.Tags), at, t)
		c.set(p, before.ID, before, &after)
	}
	return nil
}

// untag takes one mapping from all items, or from none.
func (c *change) untag(p library.PropertyID, t item.Tag, ids []item.ID) error {
	items, err := c.requireItems(p, ids)
	if err != nil {
		return err
	}
	for _, it := range items {
		if _, has := slices.BinarySearchFunc(it.Tags, t, item.CompareTags); has {
			continue
		}
		if owner, held := c.s.index.TagOwner(p, t, it.ID); held {
			return &library.ManagedError{Owner: owner}
		}
		return fmt.Errorf("tag %s:%s on item %d: %w", t.Namespace, t.Key, it.ID, library.ErrNotFound)
	}
	for _, before := range items {
		after := *before
		after.Tags = slices.DeleteFunc(slices.Clone(after.Tags), func(own item.Tag) bool { return own == t })
		c.set(p, before.ID, before, &after)
	}
	return nil
}

// requireItems returns the items as they will be, each once, or says which of them are not there.
func (c *change) requireItems(p library.PropertyID, ids []item.ID) ([]*item.Item, error) {
	items := make([]*item.Item, 0, len(ids))
	var unknown []item.ID
	seen := make(map[item.ID]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		it, err := c.item(p, id)
		switch {
		case err != nil:
			return nil, err
		case it != nil:
			items = append(items, it)
		default:
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		return nil, &library.UnknownItemsError{IDs: unknown}
	}
	return items, nil
}
