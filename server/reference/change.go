package reference

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// change gathers what the requests of one group change. Those that come later see what those before them staged.
type change struct {
	l *Library
	m *memory
	// sources are definitions that came, changed or went (nil).
	sources map[source]*entry
	// entries and catalogues are what will be served; as before while sources is empty.
	entries    entries
	catalogues map[library.PropertyID]*catalogue
	properties map[library.PropertyID]*propertyChange
	marks      map[string]string
	purged     map[library.PropertyID]bool
	// codes are those of new items.
	codes map[string]bool
	// units are those that came with items. They become sources all at once: every one of them alone would have
	// everything arbitrated anew.
	units map[source]*entry
}

// propertyChange is what changes in the items of one property.
type propertyChange struct {
	items    map[item.ID]*item.Item // nil: deleted
	made     map[item.Tag]bool
	sequence item.ID
}

func newChange(l *Library) *change {
	return &change{
		l: l, m: l.memory,
		sources: map[source]*entry{}, entries: l.memory.entries, catalogues: l.memory.catalogues,
		properties: map[library.PropertyID]*propertyChange{}, marks: map[string]string{},
		purged: map[library.PropertyID]bool{}, codes: map[string]bool{}, units: map[source]*entry{},
	}
}

func (c *change) empty() bool {
	return len(c.sources) == 0 && len(c.units) == 0 && len(c.properties) == 0 && len(c.marks) == 0 && len(c.purged) == 0
}

// in returns the change of one property.
func (c *change) in(p library.PropertyID) *propertyChange {
	pc := c.properties[p]
	if pc == nil {
		pc = &propertyChange{items: map[item.ID]*item.Item{}, made: map[item.Tag]bool{}}
		if known := c.m.properties[p]; known != nil {
			pc.sequence = known.sequence
		}
		c.properties[p] = pc
	}
	return pc
}

// item returns an item as it will be, nil when it is not there.
func (c *change) item(p library.PropertyID, id item.ID) *item.Item {
	if pc := c.properties[p]; pc != nil {
		if it, changed := pc.items[id]; changed {
			return it
		}
	}
	if known := c.m.properties[p]; known != nil {
		if rec := known.records[id]; rec != nil {
			return rec.item
		}
	}
	return nil
}

// makeTag notes that a tag was made, once.
func (c *change) makeTag(p library.PropertyID, t item.Tag) {
	if known := c.m.properties[p]; known == nil || !known.made[t] {
		c.in(p).made[t] = true
	}
}

// setSources brings definitions in and decides anew what is served. Nothing is staged when it fails.
func (c *change) setSources(changed map[source]*entry) error {
	bySource := maps.Clone(c.entries.bySource)
	for s, e := range changed {
		if e == nil {
			delete(bySource, s)
		} else {
			bySource[s] = e
		}
	}
	all := arbitrate(bySource)
	changed = maps.Clone(changed)
	for s, e := range bySource {
		if e.good != nil && all.verdicts[s].Err == nil {
			// The newest version is served: what was good before it no longer counts.
			bySource[s] = &entry{latest: e.latest, changed: e.changed, sum: e.sum}
			changed[s] = bySource[s]
		}
	}
	catalogues, err := newCatalogues(all, c.catalogues)
	if err != nil {
		return err
	}
	c.entries, c.catalogues = all, catalogues
	maps.Copy(c.sources, changed)
	return nil
}

// prepare puts the change into a batch and returns what makes it visible. It changes nothing that readers see.
func (c *change) prepare(b *pebble.Batch) (install func(), err error) {
	if len(c.units) > 0 {
		if err := c.setSources(c.units); err != nil {
			return nil, err
		}
	}
	next := c.m.version + 1
	if err := setNumber(b, []byte(keyVersion), next); err != nil {
		return nil, err
	}
	if err := c.put(b); err != nil {
		return nil, err
	}
	for id, served := range c.catalogues {
		for _, r := range served.tagRules {
			c.makeTag(id, r.tag)
		}
	}
	touched := map[library.PropertyID]bool{}
	for p := range c.properties {
		touched[p] = true
	}
	for s := range c.sources {
		if s.owner.IsHTTP() {
			touched[s.property] = true
		}
	}
	for p := range c.m.properties {
		touched[p] = touched[p] || c.catalogues[p] != c.m.catalogues[p]
	}
	for p := range c.catalogues {
		touched[p] = touched[p] || c.catalogues[p] != c.m.catalogues[p]
	}
	var refreshes []*refresh
	for _, id := range slices.Sorted(maps.Keys(touched)) {
		if !touched[id] || c.purged[id] {
			continue
		}
		r, err := c.refresh(b, id, next)
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", id, err)
		}
		refreshes = append(refreshes, r)
	}
	return func() { c.install(next, refreshes) }, nil
}

// put puts everything but items into the batch.
func (c *change) put(b *pebble.Batch) error {
	for id := range c.purged {
		lower, upper := propertyBounds(id)
		if err := b.DeleteRange(lower, upper, nil); err != nil {
			return err
		}
	}
	for s, e := range c.sources {
		if e == nil {
			if err := b.Delete(s.key(), nil); err != nil {
				return err
			}
			continue
		}
		value, err := e.encode()
		if err != nil {
			return err
		}
		if err := b.Set(s.key(), value, nil); err != nil {
			return err
		}
	}
	for key, value := range c.marks {
		if err := b.Set(markKey(key), []byte(value), nil); err != nil {
			return err
		}
	}
	return nil
}

// refresh puts the items of one property into the batch and works out what they look like.
func (c *change) refresh(b *pebble.Batch, id library.PropertyID, next uint64) (*refresh, error) {
	if err := setNumber(b, propertyKey(id, underVersion), next); err != nil {
		return nil, err
	}
	p := c.m.properties[id]
	if p == nil {
		p = newProperty(id)
	}
	r := newRefresh(p, c.catalogues[id], c.l.now())
	r.version = next
	r.sequence = p.sequence
	if pc := c.properties[id]; pc != nil {
		if pc.sequence != p.sequence {
			r.sequence = pc.sequence
			if err := setNumber(b, propertyKey(id, underSequence), uint64(pc.sequence)); err != nil {
				return nil, err
			}
		}
		for t := range pc.made {
			if err := b.Set(tagKey(id, t), nil, nil); err != nil {
				return nil, err
			}
		}
		r.made = pc.made
		for itemID, it := range pc.items {
			r.put(itemID, it)
			var err error
			if it == nil {
				err = b.Delete(itemKey(id, itemID), nil)
			} else {
				err = b.Set(itemKey(id, itemID), item.Marshal(it, nil), nil)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	err := r.run()
	for _, problem := range r.problems {
		c.l.options.Logger.Warn("a selector matches nothing", slog.Any("error", problem))
	}
	return r, err
}

// install makes the change visible. The caller holds the lock of all readers.
func (c *change) install(next uint64, refreshes []*refresh) {
	m := c.m
	m.version = next
	m.entries, m.catalogues = c.entries, c.catalogues
	maps.Copy(m.marks, c.marks)
	for id := range c.purged {
		if p := m.properties[id]; p != nil {
			for _, rec := range p.records {
				m.removeCode(id, rec.item)
			}
		}
		delete(m.properties, id)
	}
	for _, r := range refreshes {
		for id := range r.changed {
			if old := r.p.records[id]; old != nil {
				m.removeCode(r.p.id, old.item)
			}
		}
		r.install()
		m.properties[r.p.id] = r.p
		for _, it := range r.changed {
			if it != nil {
				m.addCode(r.p.id, it)
			}
		}
	}
}

// announce tells those who listen, once everything is visible.
func (c *change) announce() {
	if len(c.sources) > 0 {
		c.l.tokens.set(tokensOf(c.entries))
	}
	for _, pc := range c.properties {
		for _, it := range pc.items {
			if it == nil {
				c.l.eraser.wanted()
				return
			}
		}
	}
	if len(c.purged) > 0 {
		c.l.eraser.wanted()
	}
}
