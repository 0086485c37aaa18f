package reference

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Owners lists the owners that the library knows, see library.Library.
func (l *Library) Owners(_ context.Context, install string) ([]library.Owner, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return nil, library.ErrClosed
	}
	return l.memory.entries.owners(install), nil
}

// owners lists the owners of one install, "" for all, sorted.
func (all entries) owners(install string) []library.Owner {
	var sources []source
	for s := range all.bySource {
		if !s.owner.IsHTTP() && (install == "" || s.owner.Install == install) {
			sources = append(sources, s)
		}
	}
	slices.SortFunc(sources, compareSources)
	owners := make([]library.Owner, len(sources))
	for i, s := range sources {
		owners[i] = s.owner
	}
	return owners
}

// Definition returns what owner brought: the version that is served, else the newest one.
func (l *Library) Definition(_ context.Context, owner library.Owner) (library.Definition, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return library.Definition{}, library.ErrClosed
	}
	s := source{owner: owner}
	e := l.memory.entries.bySource[s]
	if e == nil || owner.IsHTTP() {
		return library.Definition{}, fmt.Errorf("%s: %w", owner, library.ErrNotFound)
	}
	if served := l.memory.entries.verdicts[s].Serve; served != nil {
		return *served, nil
	}
	return e.latest, nil
}

// Property returns a property's settings, see library.Library.
func (l *Library) Property(p library.PropertyID) (library.Property, error) {
	c, unlock, err := l.catalogue(p)
	defer unlock()
	if err != nil {
		return library.Property{}, err
	}
	return c.spec, nil
}

// catalogue returns what a property serves, and what ends the look at it.
func (l *Library) catalogue(p library.PropertyID) (*catalogue, func(), error) {
	l.mu.RLock()
	if l.closed {
		return nil, l.mu.RUnlock, library.ErrClosed
	}
	c := l.memory.catalogues[p]
	if c == nil {
		return nil, l.mu.RUnlock, fmt.Errorf("property %s: %w", p, library.ErrNotFound)
	}
	return c, l.mu.RUnlock, nil
}

// Properties lists all properties that are served, see library.Library.
func (l *Library) Properties() []library.PropertyID {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Sorted(maps.Keys(l.memory.catalogues))
}

// Filter returns one filter, see library.Library.
func (l *Library) Filter(p library.PropertyID, ref library.FilterRef) (library.FilterRecord, error) {
	c, unlock, err := l.catalogue(p)
	defer unlock()
	if err != nil {
		return library.FilterRecord{}, err
	}
	f, err := c.filter(p, ref)
	if err != nil {
		return library.FilterRecord{}, err
	}
	return f.record, nil
}

// Filters lists the filters of a property, see library.Library.
func (l *Library) Filters(p library.PropertyID, offset, limit int) ([]library.FilterRecord, int, error) {
	c, unlock, err := l.catalogue(p)
	defer unlock()
	if err != nil {
		return nil, 0, err
	}
	total := len(c.filters)
	start := min(max(offset, 0), total)
	end := total
	if limit > 0 {
		end = min(start+limit, total)
	}
	records := make([]library.FilterRecord, 0, end-start)
	for _, f := range c.filters[start:end] {
		records = append(records, f.record)
	}
	return records, total, nil
}

// Unit returns one conversion unit, see library.Library.
func (l *Library) Unit(p library.PropertyID, id int64) (item.Unit, error) {
	c, unlock, err := l.catalogue(p)
	defer unlock()
	if err != nil {
		return item.Unit{}, err
	}
	u := c.units[id]
	if u == nil {
		return item.Unit{}, fmt.Errorf("unit %d of property %s: %w", id, p, library.ErrNotFound)
	}
	return u.Unit, nil
}

// Units lists all units of a property by id, see library.Library.
func (l *Library) Units(p library.PropertyID) ([]item.Unit, error) {
	c, unlock, err := l.catalogue(p)
	defer unlock()
	if err != nil {
		return nil, err
	}
	units := make([]item.Unit, 0, len(c.units))
	for _, id := range slices.Sorted(maps.Keys(c.units)) {
		units = append(units, c.units[id].Unit)
	}
	return units, nil
}

// HasTag reports whether a tag was ever made, see library.Library.
func (l *Library) HasTag(p library.PropertyID, t item.Tag) (bool, error) {
	_, unlock, err := l.catalogue(p)
	defer unlock()
	if err != nil {
		return false, err
	}
	return l.memory.properties[p].made[t], nil
}

// ItemTags lists the tags of one item, see library.Library.
func (l *Library) ItemTags(_ context.Context, p library.PropertyID, id item.ID) ([]item.Tag, error) {
	var tags []item.Tag
	err := l.view(p, l.now(), func(p *property) error {
		rec := p.records[id]
		if rec == nil {
			return unknownItem(id)
		}
		tags = slices.Clone(rec.tags)
		return nil
	})
	return tags, err
}

// Tokens yields all tokens and then their changes, see library.Library.
func (l *Library) Tokens(ctx context.Context) iter.Seq2[library.TokenEvent, error] {
	return l.tokens.listen(ctx)
}

// ShortLink returns where a short link leads, see library.Library.
func (l *Library) ShortLink(_ context.Context, code string) (library.PropertyID, string, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return "", "", library.ErrClosed
	}
	notFound := fmt.Errorf("short link: %w", library.ErrNotFound)
	at, known := l.memory.codes[code]
	if !known || l.memory.catalogues[at.property] == nil {
		return "", "", notFound
	}
	it := l.memory.properties[at.property].records[at.id].item
	original := it.Content.OriginalURL
	if original == "" && it.Content.Media != nil {
		original = it.Content.Media.OriginalURL
	}
	u, err := url.Parse(original)
	if err != nil || it.ApprovalStatus != item.Approved || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", "", notFound
	}
	return at.property, original, nil
}

// AuthorKey is the key of author references, see library.Library.
func (l *Library) AuthorKey() []byte {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return bytes.Clone(l.memory.authorKey)
}

// Stored lists all properties that have anything stored, see library.Library.
func (l *Library) Stored(context.Context) (map[library.PropertyID]int64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return nil, library.ErrClosed
	}
	stored := make(map[library.PropertyID]int64, len(l.memory.properties))
	for id, p := range l.memory.properties {
		stored[id] = int64(len(p.records))
	}
	return stored, nil
}

// Mark returns a small fact of the operator, see library.Library.
func (l *Library) Mark(key string) (string, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return "", library.ErrClosed
	}
	return l.memory.marks[key], nil
}
