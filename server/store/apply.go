package store

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// namedMissing is the maximum number of ids in Result.MissingFirst.
const namedMissing = 10

// Apply stores definitions (see library.Library).
func (s *Store) Apply(ctx context.Context, defs []library.Definition) ([]library.Result, error) {
	results := make([]library.Result, len(defs))
	err := s.do(ctx, request{shares: withDefinitions, stage: func(c *change) error { return c.apply(defs, results) }})
	if err != nil {
		return nil, err
	}
	return results, nil
}

func (c *change) apply(defs []library.Definition, results []library.Result) error {
	// Count the missing items before staging anything, because a request that fails must not have staged anything.
	for i, d := range defs {
		results[i] = library.Result{}
		if err := c.countMissing(d, &results[i]); err != nil {
			return err
		}
	}
	return c.defs.Apply(defs, c.s.Now(), results)
}

// countMissing counts the ids in a definition that no item has. It looks up all ids together, because the definitions of a bulk load
// contain many.
func (c *change) countMissing(d library.Definition, result *library.Result) error {
	var ids []item.ID
	switch {
	case d.Tag != nil:
		ids = d.Tag.Items
	case d.Unit != nil:
		ids = d.Unit.Items
	}
	once := make([]item.ID, 0, len(ids))
	counted := make(map[item.ID]bool, len(ids))
	for _, id := range ids {
		if !counted[id] {
			counted[id] = true
			once = append(once, id)
		}
	}
	if len(once) == 0 {
		return nil
	}
	there, err := ask(c.s, func(db *pebble.DB) ([]bool, error) {
		there := make([]bool, len(once))
		err := findAll(db, len(once), func(f finder, i int) (err error) {
			there[i], err = f.has(itemKey(d.Property, once[i]))
			return err
		})
		return there, err
	})
	if err != nil {
		return unavailable(err)
	}
	for i, id := range once {
		if there[i] {
			continue
		}
		result.MissingItems++
		if len(result.MissingFirst) < namedMissing {
			result.MissingFirst = append(result.MissingFirst, id)
		}
	}
	return nil
}

// Remove removes the definitions of the owners (see library.Library).
func (s *Store) Remove(ctx context.Context, owners []library.Owner) (int, error) {
	n := 0
	err := s.do(ctx, request{shares: withDefinitions, stage: func(c *change) (err error) {
		n, err = c.defs.Remove(owners)
		return err
	}})
	return n, err
}

// Sweep removes the definitions of the owners within scope that are not in keep (see library.Library).
func (s *Store) Sweep(ctx context.Context, scope library.Scope, keep []library.Owner) (int, error) {
	n := 0
	err := s.do(ctx, request{shares: withDefinitions, stage: func(c *change) (err error) {
		n, err = c.defs.Sweep(scope, keep)
		return err
	}})
	return n, err
}

// EditFilter replaces or deletes a filter created over HTTP (see library.Library).
func (s *Store) EditFilter(ctx context.Context, p library.PropertyID, ref library.FilterRef, edit library.FilterEdit) (stored library.FilterRecord, err error) {
	err = s.do(ctx, request{shares: withDefinitions, stage: func(c *change) (err error) {
		stored, err = c.defs.EditFilter(p, ref, c.s.Now(), edit)
		return err
	}})
	return stored, err
}

// Purge erases a property (see library.Library).
func (s *Store) Purge(ctx context.Context, p library.PropertyID) error {
	return s.do(ctx, request{shares: withNothing, stage: func(c *change) error {
		if err := c.defs.Purge(p); err != nil {
			return err
		}
		if c.before.properties[p] == nil {
			return library.UnknownProperty(p)
		}
		c.purged[p] = true
		return nil
	}})
}

// SetMark stores a mark (see library.Library).
func (s *Store) SetMark(ctx context.Context, key, value string) error {
	return s.do(ctx, request{shares: withItems, stage: setMark(key, value)})
}

func setMark(key, value string) func(*change) error {
	return func(c *change) error {
		if _, staged := c.marks[key]; staged || c.before.marks[key] != value {
			c.marks[key] = value
		}
		return nil
	}
}
