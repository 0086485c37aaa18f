package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// namedMissing is how many missing ids a Result names.
const namedMissing = 10

// Apply stores definitions, see library.Library.
func (s *Store) Apply(ctx context.Context, defs []library.Definition) ([]library.Result, error) {
	results := make([]library.Result, len(defs))
	err := s.do(ctx, request{shares: withDefinitions, stage: func(c *change) error { return c.apply(defs, results) }})
	if err != nil {
		return nil, err
	}
	return results, nil
}

func (c *change) apply(defs []library.Definition, results []library.Result) error {
	before := c.entries
	// What is missing is counted first: it can fail, and must not leave anything staged then.
	for i, d := range defs {
		results[i] = library.Result{}
		if err := c.countMissing(d, &results[i]); err != nil {
			return err
		}
	}
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
	displaced := map[library.Owner][]library.Owner{}
	if len(changed) > 0 {
		judged, whole, err := c.setSources(changed)
		if err != nil {
			return err
		}
		if whole {
			judged = slices.Collect(c.entries.sources())
		}
		displaced = c.displaced(before, judged, changed)
	}
	for i, d := range defs {
		if results[i].Err == nil {
			results[i].Err = c.entries.get(sourceOf(d)).verdict.Err
			results[i].Displaced = displaced[d.Owner]
		}
	}
	return nil
}

// nextEntry returns what replaces the present entry of a definition, nil when it says the same.
func (c *change) nextEntry(d library.Definition) (*entry, error) {
	s := sourceOf(d)
	present := c.entries.get(s)
	var good *library.Definition
	if present.entry != nil {
		good = present.good
		if v := present.verdict; v.Serve != nil && !v.Fallback {
			good = &present.latest
		}
	}
	e, err := newEntry(d, good, c.s.Now())
	if err != nil || present.entry != nil && present.sum == e.sum {
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
		if s := sourceOf(d); c.entries.get(s).entry == nil && served.Unit(d.Unit.Unit.ID) != nil {
			return &library.IDTakenError{ID: d.Unit.Unit.ID, Holder: served.ownerOfUnit(d.Unit.Unit.ID)}
		}
		return nil
	}
	if f := served.byUUID.get(d.Filter.UUID); f != nil && !f.Record.Owner.IsHTTP() {
		return &library.ManagedError{Owner: f.Record.Owner}
	}
	if f := served.byID.get(d.Filter.ID); f != nil && f.Record.UUID != d.Filter.UUID {
		return &library.IDTakenError{ID: d.Filter.ID, Holder: f.Record.Owner}
	}
	if present := c.entries.get(sourceOf(d)); present.entry != nil && present.latest.Filter.ID != d.Filter.ID {
		return fmt.Errorf("%w: filter %s has id %d, which never changes", library.ErrInvalid, d.Filter.UUID, present.latest.Filter.ID)
	}
	return nil
}

// displaced finds, for each owner, those who lost a claim to it and held it before, among the sources that were judged.
func (c *change) displaced(before entries, judged []source, changed map[source]*entry) map[library.Owner][]library.Owner {
	lost := map[library.Owner][]library.Owner{}
	for _, s := range judged {
		v, was := c.entries.get(s).verdict, before.get(s).verdict
		if v.Err == nil || was.Err != nil || was.Serve == nil {
			continue
		}
		if _, came := changed[s]; came {
			continue // its own change lost it the claim, nobody took it away
		}
		var conflict *library.ConflictError
		var taken *library.IDTakenError
		switch {
		case errors.As(v.Err, &conflict):
			by := c.displacer(conflict.Holder, changed)
			lost[by] = append(lost[by], s.owner)
		case errors.As(v.Err, &taken):
			lost[taken.Holder] = append(lost[taken.Holder], s.owner)
		}
	}
	return lost
}

// displacer returns whose change gave a holder its claim: its own, or that of its Property, which has to be served first.
func (c *change) displacer(holder library.Owner, changed map[source]*entry) library.Owner {
	s := source{owner: holder}
	if _, came := changed[s]; came || c.entries.get(s).entry == nil {
		return holder
	}
	p, _ := c.entries.property(c.entries.get(s).latest.Property)
	return p.owner
}

// countMissing counts the items that a definition names and that are not there. It looks all of them up at once: a bulk
// load names many.
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

// Remove takes away what the owners brought, see library.Library.
func (s *Store) Remove(ctx context.Context, owners []library.Owner) (int, error) {
	n := 0
	err := s.do(ctx, request{shares: withDefinitions, stage: func(c *change) (err error) {
		n, err = c.remove(owners)
		return err
	}})
	return n, err
}

func (c *change) remove(owners []library.Owner) (int, error) {
	gone := map[source]*entry{}
	for _, o := range owners {
		s := source{owner: o}
		if !o.IsHTTP() && c.entries.get(s).entry != nil {
			gone[s] = nil
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	_, _, err := c.setSources(gone)
	return len(gone), err
}

// Sweep removes what keep does not name, see library.Library.
func (s *Store) Sweep(ctx context.Context, scope library.Scope, keep []library.Owner) (int, error) {
	n := 0
	err := s.do(ctx, request{shares: withDefinitions, stage: func(c *change) error {
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
	return s.do(ctx, request{shares: withDefinitions, stage: func(c *change) error {
		if c.catalogues[p] == nil {
			return library.UnknownProperty(p)
		}
		f, err := c.catalogues[p].Filter(ref)
		if err != nil {
			return err
		}
		if !f.Record.Owner.IsHTTP() {
			return &library.ManagedError{Owner: f.Record.Owner}
		}
		_, _, err = c.setSources(map[source]*entry{{property: p, kind: library.KindFilter, uuid: f.Record.UUID}: nil})
		return err
	}})
}

// Purge erases a property, see library.Library.
func (s *Store) Purge(ctx context.Context, p library.PropertyID) error {
	return s.do(ctx, request{shares: withNothing, stage: func(c *change) error {
		for s, e := range c.entries.of.all() {
			if e.latest.PropertySpec != nil && e.latest.Property == p {
				return &library.ManagedError{Owner: s.owner}
			}
		}
		if c.before.properties[p] == nil {
			return library.UnknownProperty(p)
		}
		gone := map[source]*entry{}
		for s := range c.entries.sources() {
			if s.owner.IsHTTP() && s.property == p {
				gone[s] = nil
			}
		}
		c.purged[p] = true
		_, _, err := c.setSources(gone)
		return err
	}})
}

// SetMark keeps a small fact, see library.Library.
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
