package mutations

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Mutate stages one mutation. If it refuses the mutation, it stages nothing.
func (s *Stage) Mutate(m library.Mutation) library.Outcome {
	switch {
	case m.Put != nil:
		return s.putItem(m)
	case m.Patch != nil:
		return library.Outcome{ID: m.ID, Err: s.patch(m)}
	case m.Delete:
		return library.Outcome{ID: m.ID, Err: s.delete(m)}
	case m.Tag != nil:
		return library.Outcome{Err: s.tag(&m)}
	case m.Untag != nil:
		return library.Outcome{Err: s.untag(&m)}
	}
	return library.Outcome{Err: errors.New("empty mutation: set one of its members")}
}

func (s *Stage) delete(m library.Mutation) error {
	before, err := s.present(m)
	if err != nil {
		return err
	}
	s.set(&m, m.ID, before, nil)
	return nil
}

// present returns the staged or stored item that a mutation changes. It fails with ErrNotFound, or with ErrChanged if the item is not in
// the state that m.If requires.
func (s *Stage) present(m library.Mutation) (*item.Item, error) {
	it, err := s.item(m.ID)
	switch {
	case err != nil:
		return nil, err
	case it == nil:
		return nil, library.UnknownItem(m.ID)
	case m.If != nil && *m.If != it.Digest():
		return nil, fmt.Errorf("item %d: %w", m.ID, library.ErrChanged)
	}
	return it, nil
}

func (s *Stage) putItem(m library.Mutation) library.Outcome {
	it := *m.Put
	refused := func(err error) library.Outcome { return library.Outcome{ID: it.ID, Err: err} }
	if it.ID < 0 || it.ID > item.MaxID {
		return library.Outcome{Err: &item.InvalidError{Member: "id", Reason: "must be a whole number from 1 to 2^53-1"}}
	}
	before, err := s.replaced(it.ID, m.Replace)
	if err != nil {
		return refused(err)
	}
	for _, id := range it.Units {
		if !s.hasUnit(id) && !slices.ContainsFunc(m.Units, func(u item.Unit) bool { return u.ID == id }) {
			return refused(unknownUnit(id))
		}
	}
	if err := item.CheckTagNumbers(tagsOf(before), it.Tags); err != nil {
		return refused(err)
	}
	if it.ID == 0 {
		if s.Sequence >= item.MaxID {
			return library.Outcome{Err: noIDLeft()}
		}
		it.ID = s.Sequence + 1
	}
	if err := s.drawCode(&it, before); err != nil {
		return refused(err)
	}
	names, err := s.newNames(it.FieldNames())
	if err != nil {
		return refused(err)
	}
	if err := s.makeUnits(m.Units); err != nil {
		return refused(err)
	}
	s.set(&m, it.ID, before, &it)
	s.takeNames(names)
	s.Sequence = max(s.Sequence, it.ID)
	if it.ShortCode != "" {
		s.Codes[it.ShortCode] = true
	}
	for _, t := range it.Tags {
		s.MakeTag(t)
	}
	return library.Outcome{ID: it.ID, Created: before == nil}
}

// tagsOf returns the own tags of an item, or none if it is nil.
func tagsOf(it *item.Item) []item.Tag {
	if it == nil {
		return nil
	}
	return it.Tags
}

// noIDLeft returns the error for an item without an id if no id is left to assign. The server assigns only ids above the highest id that
// the property ever had, and an import can raise this highest id to item.MaxID.
func noIDLeft() error {
	return &item.InvalidError{Member: "id", Reason: fmt.Sprintf(
		"no id is left to assign: the server assigns only ids above the highest id that the property has ever had, and that is already %d, the highest possible id. Import the item with an explicit id", item.MaxID)}
}

// replaced returns the item that a put replaces, or nil if the put creates an item. It fails with ErrExists if the item exists and replace
// is false. An id of 0 needs no check, because the server then assigns an id that no item has.
func (s *Stage) replaced(id item.ID, replace bool) (*item.Item, error) {
	if id == 0 {
		return nil, nil
	}
	if replace {
		return s.item(id)
	}
	exists, err := s.exists(id)
	if err == nil && exists {
		err = fmt.Errorf("item %d: %w", id, library.ErrExists)
	}
	return nil, err
}

// drawCode gives an item a short code that no other item has: its own, that of before, or a new one. Without that of before, each import of a
// line whose code belongs to another item would break the short link of the item.
func (s *Stage) drawCode(it, before *item.Item) error {
	for it.ShortCode != "" && (before == nil || before.ShortCode != it.ShortCode) {
		held := s.Codes[it.ShortCode]
		var err error
		if !held {
			if held, err = s.Base.CodeHeld(it.ShortCode, it.ID); err != nil {
				return err
			}
		}
		if !held {
			return nil
		}
		if before != nil && before.ShortCode != "" {
			it.ShortCode = before.ShortCode
			return nil
		}
		if it.ShortCode, err = item.NewShortCode(s.Random); err != nil {
			return fmt.Errorf("generate a short link: %w", err)
		}
	}
	return nil
}

func (s *Stage) hasUnit(id int64) bool {
	return s.Base.Unit(id) || s.Units[definitions.Source{Property: s.Property, Kind: library.KindUnit, ID: id}] != nil
}

func unknownUnit(id int64) error {
	return &item.InvalidError{Member: "activate_units", Reason: fmt.Sprintf("there is no conversion unit with id %d: create it first, or send the whole unit", id)}
}

// makeUnits stages the units of an import line that the property does not have yet.
func (s *Stage) makeUnits(units []item.Unit) error {
	made, err := definitions.NewUnits(s.Property, units, s.hasUnit, s.Now)
	if err != nil {
		return err
	}
	maps.Copy(s.Units, made)
	return nil
}

func (s *Stage) patch(m library.Mutation) error {
	before, err := s.present(m)
	if err != nil {
		return err
	}
	if units, touched := m.Patch.Units(); touched {
		for _, u := range units {
			// A patch may keep a unit that the item already refers to, even if the manifest of the unit is missing.
			if !s.hasUnit(u) && !slices.Contains(before.Units, u) {
				return unknownUnit(u)
			}
		}
	}
	after := *before
	if err := m.Patch.Apply(&after); err != nil {
		return err
	}
	var names newNames
	if !bytes.Equal(before.Submission, after.Submission) {
		if names, err = s.newNames(after.FieldNames()); err != nil {
			return err
		}
	}
	s.set(&m, m.ID, before, &after)
	s.takeNames(names)
	return nil
}

// tag adds a tag to all of the items or, if it fails, to none.
func (s *Stage) tag(m *library.Mutation) error {
	t := *m.Tag
	if err := item.ValidNamespace(t.Namespace); err != nil {
		return err
	}
	if err := item.ValidKey(t.Namespace, t.Key); err != nil {
		return err
	}
	items, err := s.requireItems(m.IDs)
	if err != nil {
		return err
	}
	names, err := s.newNames((&item.Item{Tags: []item.Tag{t}}).FieldNames())
	if err != nil {
		return err
	}
	tagged := make([]*item.Item, len(items))
	for i, before := range items {
		at, has := slices.BinarySearchFunc(before.Tags, t, item.CompareTags)
		if has {
			continue
		}
		after := *before
		after.Tags = slices.Insert(slices.Clone(before.Tags), at, t)
		if err := item.CheckTagNumbers(before.Tags, after.Tags); err != nil {
			return aboutItem(before.ID, err)
		}
		tagged[i] = &after
	}
	s.takeNames(names)
	s.MakeTag(t)
	for i, after := range tagged {
		if after != nil {
			s.set(m, after.ID, items[i], after)
		}
	}
	return nil
}

// aboutItem adds the id of an item to the reason of an *item.InvalidError, because a mutation can change many items.
func aboutItem(id item.ID, err error) error {
	if invalid, ok := errors.AsType[*item.InvalidError](err); ok {
		return &item.InvalidError{Member: invalid.Member, Malformed: invalid.Malformed, Reason: fmt.Sprintf("item %d: %s", id, invalid.Reason)}
	}
	return err
}

// untag removes a tag from all of the items or, if it fails, from none.
func (s *Stage) untag(m *library.Mutation) error {
	t := *m.Untag
	items, err := s.requireItems(m.IDs)
	if err != nil {
		return err
	}
	for _, it := range items {
		if _, has := slices.BinarySearchFunc(it.Tags, t, item.CompareTags); has {
			continue
		}
		owner, held, err := s.Base.TagOwner(t, it.ID)
		if err != nil {
			return err
		}
		if held {
			return &library.ManagedError{Owner: owner}
		}
		return fmt.Errorf("tag %s:%s on item %d: %w", t.Namespace, t.Key, it.ID, library.ErrNotFound)
	}
	for _, before := range items {
		after := *before
		after.Tags = slices.DeleteFunc(slices.Clone(after.Tags), func(own item.Tag) bool { return own == t })
		s.set(m, before.ID, before, &after)
	}
	return nil
}

// requireItems returns the staged or stored items without duplicates. It fails with *UnknownItemsError, which lists all missing ids.
func (s *Stage) requireItems(ids []item.ID) ([]*item.Item, error) {
	items := make([]*item.Item, 0, len(ids))
	var unknown []item.ID
	seen := make(map[item.ID]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		it, err := s.item(id)
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
