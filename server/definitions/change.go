package definitions

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Change stages changes of a Set. Each method call sees the changes that earlier calls have staged. A call that returns an error stages
// nothing.
type Change struct {
	// Set is the Set with all staged changes.
	Set
	// Changed maps sources to their new entries, for the store to write. nil deletes an entry.
	Changed map[Source]*Entry
	// Tokens is true if a token may have changed.
	Tokens bool
}

// NewChange starts a change of a Set.
func NewChange(s Set) *Change { return &Change{Set: s, Changed: map[Source]*Entry{}} }

// Apply stages definitions that the library received at the time now. It sets Err, Changed and Displaced of results[i] for defs[i], as
// library.Library.Apply specifies.
func (c *Change) Apply(defs []library.Definition, now time.Time, results []library.Result) error {
	before := c.entries
	changed := map[Source]*Entry{}
	for i, d := range defs {
		if results[i].Err = library.Check(d); results[i].Err != nil {
			continue
		}
		if d.Owner.IsHTTP() {
			if results[i].Err = c.checkHTTP(d); results[i].Err != nil {
				continue
			}
		}
		e, err := c.nextEntry(d, now)
		if err != nil {
			return err
		}
		if e != nil {
			changed[SourceOf(d)] = e
			results[i].Changed = true
		}
	}
	displaced := map[library.Owner][]library.Owner{}
	if len(changed) > 0 {
		judged, whole, err := c.stage(changed)
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
			results[i].Err = c.entries.get(SourceOf(d)).verdict.Err
			results[i].Displaced = displaced[d.Owner]
		}
	}
	return nil
}

// nextEntry returns the entry that replaces the stored entry of a definition, or nil if the definition has not changed.
func (c *Change) nextEntry(d library.Definition, now time.Time) (*Entry, error) {
	present := c.entries.get(SourceOf(d))
	var good *library.Definition
	if present.Entry != nil {
		d = keepReplaced(d, present)
		good = present.Good
		if v := present.verdict; v.Serve != nil && !v.Fallback {
			good = &present.Latest
		}
	}
	e, err := NewEntry(d, good, now)
	if err != nil || present.Entry != nil && present.sum == e.sum {
		return nil, err
	}
	return e, nil
}

// keepReplaced returns the definition d, which replaces present, with the token values that the library must remember. A value that d no
// longer contains stays claimed, and a value that d contains again keeps its first Since. If present was refused because of a conflict,
// keepReplaced does not remember the values of its newest version, because the token may never have owned them. In their place, it takes
// the values of the version that was being served.
func keepReplaced(d library.Definition, present held) library.Definition {
	if d.Token == nil || present.Latest.Token == nil {
		return d
	}
	var before []library.TokenValue // newest first
	var conflict *library.ConflictError
	if !errors.As(present.verdict.Err, &conflict) {
		before = present.Latest.Token.Values
	} else if served := present.served(); served != nil {
		before = served.Token.Values
	}
	before = slices.Concat(before, present.Latest.Token.Replaced)
	next := *d.Token
	next.Values, next.Replaced = slices.Clone(next.Values), nil
	for _, v := range before {
		same := func(other library.TokenValue) bool { return other.Digest == v.Digest }
		if i := slices.IndexFunc(next.Values, same); i >= 0 {
			if v.Since.Before(next.Values[i].Since) {
				next.Values[i].Since = v.Since
			}
		} else if len(next.Replaced) < library.MaxReplacedValues && !slices.ContainsFunc(next.Replaced, same) {
			next.Replaced = append(next.Replaced, library.TokenValue{Digest: v.Digest, Since: v.Since})
		}
	}
	d.Token = &next
	return d
}

// checkHTTP refuses a definition created over HTTP if its property is not served, if a manifest owns its UUID, if its ID is taken, or if
// its ID would change. The library does not store such a refused definition, unlike a refused definition of a manifest.
func (c *Change) checkHTTP(d library.Definition) error {
	served := c.catalogues[d.Property]
	if served == nil {
		return fmt.Errorf("property %s: %w", d.Property, library.ErrNoProperty)
	}
	if d.Unit != nil {
		if c.Entry(SourceOf(d)) == nil && served.Unit(d.Unit.Unit.ID) != nil {
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
	if present := c.Entry(SourceOf(d)); present != nil && present.Latest.Filter.ID != d.Filter.ID {
		return fmt.Errorf("%w: filter %s has id %d, which cannot change", library.ErrInvalid, d.Filter.UUID, present.Latest.Filter.ID)
	}
	return nil
}

// displaced returns, for each owner that gained a claim, the owners that lost this claim. It considers only the judged sources.
func (c *Change) displaced(before entries, judged []Source, changed map[Source]*Entry) map[library.Owner][]library.Owner {
	lost := map[library.Owner][]library.Owner{}
	for _, s := range judged {
		v, was := c.entries.get(s).verdict, before.get(s).verdict
		if v.Err == nil || was.Err != nil || was.Serve == nil {
			continue
		}
		if _, came := changed[s]; came {
			continue // this source lost the claim by its own change, so nothing displaced it
		}
		var conflict *library.ConflictError
		var taken *library.IDTakenError
		switch {
		case errors.As(v.Err, &conflict):
			by := c.displacer(conflict.Holder, changed)
			lost[by] = append(lost[by], s.Owner)
		case errors.As(v.Err, &taken):
			lost[taken.Holder] = append(lost[taken.Holder], s.Owner)
		}
	}
	return lost
}

// displacer returns the owner whose change gave holder its claim. This is holder itself or, if holder did not change, the owner of its
// Property.
func (c *Change) displacer(holder library.Owner, changed map[Source]*Entry) library.Owner {
	s := Source{Owner: holder}
	if _, came := changed[s]; came || c.Entry(s) == nil {
		return holder
	}
	p, _ := c.entries.property(c.Entry(s).Latest.Property)
	return p.Owner
}

// Remove stages the removal of all definitions of the owners, and returns their number.
func (c *Change) Remove(owners []library.Owner) (int, error) {
	gone := map[Source]*Entry{}
	for _, o := range owners {
		s := Source{Owner: o}
		if !o.IsHTTP() && c.Entry(s) != nil {
			gone[s] = nil
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	_, _, err := c.stage(gone)
	return len(gone), err
}

// Sweep stages the removals of a sweep (see library.Base).
func (c *Change) Sweep(scope library.Scope, keep []library.Owner) (int, error) {
	gone, err := library.Swept(c.Owners(scope.Install), scope, keep)
	if err != nil {
		return 0, err
	}
	return c.Remove(gone)
}

// EditFilter stages the change of a filter that was created over HTTP (see library.Base).
func (c *Change) EditFilter(p library.PropertyID, ref library.FilterRef, now time.Time, edit library.FilterEdit) (library.FilterRecord, error) {
	var none library.FilterRecord
	if c.catalogues[p] == nil {
		return none, library.UnknownProperty(p)
	}
	f, err := c.catalogues[p].Filter(ref)
	if err != nil {
		return none, err
	}
	if !f.Record.Owner.IsHTTP() {
		return none, &library.ManagedError{Owner: f.Record.Owner}
	}
	next, err := edit(f.Record)
	if err != nil {
		return none, err
	}
	if next == nil {
		_, _, err = c.stage(map[Source]*Entry{{Property: p, Kind: library.KindFilter, UUID: f.Record.UUID}: nil})
		return none, err
	}
	results := make([]library.Result, 1)
	if err := c.Apply([]library.Definition{{Property: p, Filter: next}}, now, results); err != nil {
		return none, err
	}
	if results[0].Err != nil {
		return none, results[0].Err
	}
	f, err = c.catalogues[p].Filter(ref)
	if err != nil {
		return none, err
	}
	return f.Record, nil
}

// Purge stages the removal of the definitions that were created over HTTP in property p. It fails with *library.ManagedError if a manifest
// declares the property.
func (c *Change) Purge(p library.PropertyID) error {
	gone := map[Source]*Entry{}
	for s, h := range c.entries.of.all() {
		if h.Latest.PropertySpec != nil && h.Latest.Property == p {
			return &library.ManagedError{Owner: s.Owner}
		}
		if s.Owner.IsHTTP() && s.Property == p {
			gone[s] = nil
		}
	}
	_, _, err := c.stage(gone)
	return err
}

// NewUnits returns entries for those units of an import line that property p does not have yet (see library.Mutation.Units). The callback
// has reports whether the property has a unit. NewUnits fails with *item.InvalidError if a unit is invalid.
func NewUnits(p library.PropertyID, units []item.Unit, has func(id int64) bool, now time.Time) (map[Source]*Entry, error) {
	made := map[Source]*Entry{}
	now = now.UTC()
	for _, u := range units {
		if u.Reference() || has(u.ID) {
			continue
		}
		if u.CreatedOn == "" {
			u.CreatedOn = now.Format(time.RFC3339)
		}
		d := library.Definition{Property: p, Unit: &library.UnitRule{Unit: u}}
		if err := library.Check(d); err != nil {
			return nil, &item.InvalidError{Member: "activate_units", Reason: err.Error()}
		}
		e, err := NewEntry(d, nil, now)
		if err != nil {
			return nil, err
		}
		made[SourceOf(d)] = e
	}
	return made, nil
}

// Stage replaces entries and decides again which definitions are served. A nil entry removes the entry of its source. A store calls Stage
// with entries that are already valid, such as the changes made by another replica.
func (c *Change) Stage(changed map[Source]*Entry) error {
	if len(changed) == 0 {
		return nil
	}
	_, _, err := c.stage(changed)
	return err
}

// stage implements Stage. The result judged lists the sources whose verdicts may have changed. If whole is true, the verdicts of all
// sources may have changed, and judged is nil.
func (c *Change) stage(changed map[Source]*Entry) (judged []Source, whole bool, err error) {
	before := c.entries
	all, judged, whole := before.with(changed)
	changed = maps.Clone(changed)
	settle := func(s Source, h held) {
		if h.Entry != nil && h.Good != nil && h.verdict.Err == nil {
			// The newest version is now served, so the entry no longer needs the earlier good version.
			all = all.settled(s)
			changed[s] = all.get(s).Entry
		}
	}
	if whole {
		for s, h := range all.of.all() {
			settle(s, h)
		}
	} else {
		for _, s := range judged {
			settle(s, all.get(s))
		}
	}
	var catalogues map[library.PropertyID]*Catalogue
	if whole {
		catalogues, err = newCatalogues(all, c.catalogues)
	} else {
		catalogues, err = followCatalogues(all, before, judged, c.catalogues)
	}
	if err != nil {
		return nil, false, err
	}
	c.Tokens = c.Tokens || whole || slices.ContainsFunc(judged, func(s Source) bool { return s.Owner.Kind == library.KindToken })
	c.entries, c.catalogues = all, catalogues
	maps.Copy(c.Changed, changed)
	return judged, whole, nil
}
