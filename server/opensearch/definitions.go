package opensearch

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/records"
)

// Apply stores definitions. See library.Library. The batch is not atomic for other replicas: its definitions become visible to them
// one after the other, up to some seconds apart if there are thousands.
func (l *Library) Apply(ctx context.Context, defs []library.Definition) ([]library.Result, error) {
	return l.apply(ctx, records.Anyone, defs)
}

func (l *Library) apply(ctx context.Context, term string, defs []library.Definition) ([]library.Result, error) {
	end, err := l.writing(ctx, len(defs))
	if err != nil {
		return nil, err
	}
	defer end()
	results := make([]library.Result, len(defs))
	if err := l.countMissing(ctx, defs, results); err != nil {
		return nil, err
	}
	changed := make([]bool, len(defs))
	err = l.records.Change(ctx, term, func(c *definitions.Change) error {
		for i := range results {
			results[i].Err, results[i].Changed, results[i].Displaced = nil, false, nil
		}
		err := c.Apply(defs, l.now(), results)
		for i := range results {
			// If an earlier attempt stored a definition, a later attempt reports it as unchanged, so the flag is kept.
			changed[i] = changed[i] || results[i].Changed
			results[i].Changed = changed[i]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// namedMissing is the maximum number of missing ids that a Result names.
const namedMissing = 10

// countMissing counts the items that definitions name but that do not exist.
func (l *Library) countMissing(ctx context.Context, defs []library.Definition, results []library.Result) error {
	named := map[library.PropertyID][]item.ID{}
	idsOf := func(d library.Definition) []item.ID {
		switch {
		case d.Tag != nil:
			return d.Tag.Items
		case d.Unit != nil:
			return d.Unit.Items
		}
		return nil
	}
	for _, d := range defs {
		if ids := idsOf(d); len(ids) > 0 {
			named[d.Property] = append(named[d.Property], ids...)
		}
	}
	for p, ids := range named {
		slices.Sort(ids)
		there, err := l.indices.Load(ctx, l.names.Items(p), slices.Compact(ids))
		if err != nil && !cluster.IsIndexMissing(err) { // if there is no index, the property is new
			return err
		}
		for i, d := range defs {
			if d.Property != p {
				continue
			}
			counted := map[item.ID]bool{}
			for _, id := range idsOf(d) {
				if there[id] != nil || counted[id] {
					continue
				}
				counted[id] = true
				results[i].MissingItems++
				if len(results[i].MissingFirst) < namedMissing {
					results[i].MissingFirst = append(results[i].MissingFirst, id)
				}
			}
		}
	}
	return nil
}

// Remove removes the definitions of the owners. See library.Library.
func (l *Library) Remove(ctx context.Context, owners []library.Owner) (int, error) {
	return l.remove(ctx, records.Anyone, owners)
}

func (l *Library) remove(ctx context.Context, term string, owners []library.Owner) (n int, err error) {
	if err := l.alive(ctx); err != nil {
		return 0, err
	}
	err = l.records.Change(ctx, term, func(c *definitions.Change) (err error) {
		n, err = c.Remove(owners)
		return err
	})
	return n, err
}

// Sweep removes the definitions in scope whose owner is not in keep. See library.Library.
func (l *Library) Sweep(ctx context.Context, scope library.Scope, keep []library.Owner) (int, error) {
	return l.sweep(ctx, records.Anyone, scope, keep)
}

func (l *Library) sweep(ctx context.Context, term string, scope library.Scope, keep []library.Owner) (n int, err error) {
	if err := l.alive(ctx); err != nil {
		return 0, err
	}
	err = l.records.Change(ctx, term, func(c *definitions.Change) (err error) {
		n, err = c.Sweep(scope, keep)
		return err
	})
	return n, err
}

// EditFilter replaces or deletes a filter that was created over HTTP. See library.Library.
func (l *Library) EditFilter(ctx context.Context, p library.PropertyID, ref library.FilterRef, edit library.FilterEdit) (stored library.FilterRecord, err error) {
	end, err := l.writing(ctx, 1)
	if err != nil {
		return library.FilterRecord{}, err
	}
	defer end()
	err = l.records.Change(ctx, records.Anyone, func(c *definitions.Change) (err error) {
		stored, err = c.EditFilter(p, ref, l.now(), edit)
		return err
	})
	return stored, err
}

// Owners lists the owners in a scope. See library.Library.
func (l *Library) Owners(ctx context.Context, scope library.Scope) ([]library.Owner, error) {
	if err := l.alive(ctx); err != nil {
		return nil, err
	}
	return l.records.Now().Set.Scoped(scope), nil
}

// Definition returns the definition of an owner. See library.Library.
func (l *Library) Definition(ctx context.Context, owner library.Owner) (library.Definition, error) {
	if err := l.alive(ctx); err != nil {
		return library.Definition{}, err
	}
	return l.records.Now().Set.Definition(owner)
}

// Properties lists all served properties. See library.Library.
func (l *Library) Properties() []library.PropertyID {
	return slices.Sorted(maps.Keys(l.records.Now().Set.Catalogues()))
}

// Tokens yields all tokens, and after that their changes. See library.Library.
func (l *Library) Tokens(ctx context.Context) iter.Seq2[library.TokenEvent, error] {
	return l.records.Tokens(ctx)
}

// SetMark stores a small value for the operator under a key. See library.Library.
func (l *Library) SetMark(ctx context.Context, key, value string) error {
	return l.setMark(ctx, records.Anyone, key, value)
}

func (l *Library) setMark(ctx context.Context, term, key, value string) error {
	if err := l.alive(ctx); err != nil {
		return err
	}
	return l.records.SetMark(ctx, term, key, value)
}

// Mark returns the value that SetMark stored under a key. See library.Library.
func (l *Library) Mark(key string) (string, error) {
	if l.closed.Load() {
		return "", library.ErrClosed
	}
	return l.records.Now().Marks[key], nil
}

// Purge erases a property. See library.Library.
func (l *Library) Purge(ctx context.Context, p library.PropertyID) error {
	if err := l.alive(ctx); err != nil {
		return err
	}
	if err := l.records.Change(ctx, records.Anyone, func(c *definitions.Change) error { return c.Purge(p) }); err != nil {
		return err
	}
	if err := l.records.Frozen().Err(); err != nil {
		return err
	}
	erased := false
	for {
		// A rebuild may create a copy at the same time. The next lookup finds this copy, or the rebuilder deletes it.
		g, err := l.indices.GenerationsOf(ctx, p)
		if err != nil {
			return fmt.Errorf("purge property %s: %w", p, err)
		}
		if len(g.All()) == 0 {
			break
		}
		if err := l.indices.Drop(ctx, g.All()...); err != nil {
			return fmt.Errorf("purge property %s: %w", p, err)
		}
		erased = true
	}
	l.indices.Forget(p)
	// An interrupted purge can leave facts of a property that has no index.
	forgotten, err := l.facts.Erase(ctx, p)
	if err != nil {
		return err
	}
	if !erased && !forgotten {
		return library.UnknownProperty(p)
	}
	return nil
}
