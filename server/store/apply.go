package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// namedMissing is how many missing ids a Result names.
const namedMissing = 10

// Apply stores definitions, see library.Library.
func (s *Store) Apply(ctx context.Context, defs []library.Definition) ([]library.Result, error) {
	results := make([]library.Result, len(defs))
	err := s.do(ctx, request{alone: true, stage: func(c *change) error { return c.apply(defs, results) }})
	if err != nil {
		return nil, err
	}
	return results, nil
}

func (c *change) apply(defs []library.Definition, results []library.Result) error {
	before := c.entries
	changed := map[source]*entry{}
	for i, d := range defs {
		if results[i].Err = library.Check(d); results[i].Err != nil {
			continue
		}
		if d.Owner.IsHTTP() {
			if results[i].Err = c.checkHTTP(d); results[i].Err != nil {
				continue
			}
		}
		e, err := c.nextEntry(d)
		if err != nil {
			return err
		}
		if e != nil {
			changed[sourceOf(d)] = e
			results[i].Changed = true
		}
	}
	if len(changed) > 0 {
		if err := c.setSources(changed); err != nil {
			return err
		}
	}
	displaced := c.displaced(before)
	for i, d := range defs {
		if results[i].Err != nil {
			continue
		}
		s := sourceOf(d)
		results[i].Err = c.entries.verdicts[s].Err
		results[i].Displaced = displaced[d.Owner]
		if d.Tag != nil {
			if err := c.countMissing(d.Property, d.Tag.Items, &results[i]); err != nil {
				return err
			}
		}
		if d.Unit != nil {
			if err := c.countMissing(d.Property, d.Unit.Items, &results[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextEntry returns what replaces the present entry of a definition, nil when it says the same.
func (c *change) nextEntry(d library.Definition) (*entry, error) {
	s := sourceOf(d)
	present := c.entries.bySource[s]
	var good *library.Definition
	if present != nil {
		good = present.good
		if v := c.entries.verdicts[s]; v.Serve != nil && !v.Fallback {
			good = &present.latest
		}
	}
	e, err := newEntry(d, good, c.s.Now())
	if err != nil || present != nil && present.sum == e.sum {
		return nil, err
	}
	return e, nil
}

// checkHTTP refuses what is made over HTTP where a manifest or another filter stands in the way. Unlike a manifest's it
// is not kept to wait.
func (c *change) checkHTTP(d library.Definition) error {
	served := c.catalogues[d.Property]
	if served == nil {
		return fmt.Errorf("property %s: %w", d.Property, library.ErrNoProperty)
	}
	if d.Unit != nil {
		if s := sourceOf(d); c.entries.bySource[s] == nil && served.Unit(d.Unit.Unit.ID) != nil {
			return &library.IDTakenError{ID: d.Unit.Unit.ID, Holder: served.ownerOfUnit(d.Unit.Unit.ID)}
		}
		return nil
	}
	if f := served.byUUID[d.Filter.UUID]; f != nil && !f.Record.Owner.IsHTTP() {
		return &library.ManagedError{Owner: f.Record.Owner}
	}
	if f := served.byID[d.Filter.ID]; f != nil && f.Record.UUID != d.Filter.UUID {
		return &library.IDTakenError{ID: d.Filter.ID, Holder: f.Record.Owner}
	}
	if present := c.entries.bySource[sourceOf(d)]; present != nil && present.latest.Filter.ID != d.Filter.ID {
		return fmt.Errorf("%w: filter %s has id %d, which never changes", library.ErrInvalid, d.Filter.UUID, present.latest.Filter.ID)
	}
	return nil
}

// displaced finds, for each owner, those who lost a claim to it and held it before.
func (c *change) displaced(before entries) map[library.Owner][]library.Owner {
	lost := map[library.Owner][]library.Owner{}
	for s, v := range c.entries.verdicts {
		if v.Err == nil || before.verdicts[s].Err != nil || before.verdicts[s].Serve == nil {
			continue
		}
		if _, came := c.sources[s]; came {
			continue // its own change lost it the claim, nobody took it away
		}
		var conflict *library.ConflictError
		var taken *library.IDTakenError
		switch {
		case errors.As(v.Err, &conflict):
			lost[conflict.Holder] = append(lost[conflict.Holder], s.owner)
		case errors.As(v.Err, &taken):
			lost[taken.Holder] = append(lost[taken.Holder], s.owner)
		}
	}
	return lost
}

// countMissing looks all items up at once: a bulk load names many.
func (c *change) countMissing(p library.PropertyID, ids []item.ID, result *library.Result) error {
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
			there[i], err = f.has(itemKey(p, once[i]))
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

// Remove takes away what the owners brought, see library.Library.
func (s *Store) Remove(ctx context.Context, owners []library.Owner) (int, error) {
	n := 0
	err := s.do(ctx, request{alone: true, stage: func(c *change) (err error) {
		n, err = c.remove(owners)
		return err
	}})
	return n, err
}

func (c *change) remove(owners []library.Owner) (int, error) {
	gone := map[source]*entry{}
	for _, o := range owners {
		s := source{owner: o}
		if !o.IsHTTP() && c.entries.bySource[s] != nil {
			gone[s] = nil
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	return len(gone), c.setSources(gone)
}

// Sweep removes what keep does not name, see library.Library.
func (s *Store) Sweep(ctx context.Context, scope library.Scope, keep []library.Owner) (int, error) {
	n := 0
	err := s.do(ctx, request{alone: true, stage: func(c *change) error {
		gone, err := library.Swept(c.entries.owners(scope.Install), scope, keep)
		if err != nil {
			return err
		}
		n, err = c.remove(gone)
		return err
	}})
	return n, err
}

// RemoveFilter deletes an HTTP-made filter, see library.Library.
func (s *Store) RemoveFilter(ctx context.Context, p library.PropertyID, ref library.FilterRef) error {
	return s.do(ctx, request{alone: true, stage: func(c *change) error {
		if c.catalogues[p] == nil {
			return fmt.Errorf("property %s: %w", p, library.ErrNotFound)
		}
		f, err := c.catalogues[p].Filter(ref)
		if err != nil {
			return err
		}
		if !f.Record.Owner.IsHTTP() {
			return &library.ManagedError{Owner: f.Record.Owner}
		}
		return c.setSources(map[source]*entry{{property: p, kind: library.KindFilter, uuid: f.Record.UUID}: nil})
	}})
}

// Purge erases a property, see library.Library.
func (s *Store) Purge(ctx context.Context, p library.PropertyID) error {
	return s.do(ctx, request{alone: true, stage: func(c *change) error {
		for s, e := range c.entries.bySource {
			if e.latest.PropertySpec != nil && e.latest.Property == p {
				return &library.ManagedError{Owner: s.owner}
			}
		}
		if c.before.properties[p] == nil {
			return fmt.Errorf("property %s: %w", p, library.ErrNotFound)
		}
		gone := map[source]*entry{}
		for s := range c.entries.bySource {
			if s.owner.IsHTTP() && s.property == p {
				gone[s] = nil
			}
		}
		c.purged[p] = true
		return c.setSources(gone)
	}})
}

// SetMark keeps a small fact, see library.Library.
func (s *Store) SetMark(ctx context.Context, key, value string) error {
	return s.do(ctx, request{stage: setMark(key, value)})
}

func setMark(key, value string) func(*change) error {
	return func(c *change) error {
		if _, staged := c.marks[key]; staged || c.before.marks[key] != value {
			c.marks[key] = value
		}
		return nil
	}
}
