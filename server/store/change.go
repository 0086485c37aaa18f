package store

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/parallel"
)

// change collects the changes of one group of requests. Each request sees the changes that earlier requests of the group have staged.
type change struct {
	s *Store
	// before is the state that the store serves now. It does not change while requests are staged.
	before *served
	// defs contains the definitions after the change, and which of them were created, changed or deleted.
	defs       *definitions.Change
	properties map[library.PropertyID]*mutations.Stage
	marks      map[string]string
	purged     map[library.PropertyID]bool
	// codes are the short codes of new items.
	codes map[string]bool
	// deleted is the number of stored items that the change deletes, purged ones included. put computes it.
	deleted int64
	// journal is the new id of the journals if the change purges properties.
	journal string
	namer   *mutations.Namer
	// found contains the records that fetch has looked up for the whole group.
	found found
}

func newChange(s *Store) *change {
	return &change{
		s: s, before: s.served, namer: mutations.NewNamer(s.served.authorKey),
		defs:       definitions.NewChange(s.served.set),
		properties: map[library.PropertyID]*mutations.Stage{}, marks: map[string]string{},
		purged: map[library.PropertyID]bool{}, codes: map[string]bool{},
	}
}

// empty reports whether nothing is staged. It drops the stages of properties in which every mutation was refused.
func (c *change) empty() bool {
	maps.DeleteFunc(c.properties, func(_ library.PropertyID, st *mutations.Stage) bool { return st.Empty() })
	return len(c.defs.Changed) == 0 && len(c.properties) == 0 && len(c.marks) == 0 && len(c.purged) == 0
}

// in returns the stage of one property.
func (c *change) in(p library.PropertyID) *mutations.Stage {
	st := c.properties[p]
	if st == nil {
		b := base{change: c, property: p, known: c.before.property(p)}
		st = mutations.NewStage(p, b, c.codes)
		st.Namer, st.Random, st.Now, st.Sequence, st.Imported = c.namer, c.s.options.Random, c.s.Now(), b.known.sequence, b.known.imported
		if served := c.defs.Catalogue(p); served != nil {
			st.KeepHistory = served.Spec.KeptHistory()
		}
		c.properties[p] = st
	}
	return st
}

// prepare adds the change and the index's keys to a batch. It returns a function that makes the change visible. Readers see nothing of the
// change before that function is called.
func (c *change) prepare(b *pebble.Batch) (install func(), err error) {
	// Stage the units that came with items in one step, because each step judges definitions again.
	units := map[definitions.Source]*definitions.Entry{}
	for _, st := range c.properties {
		maps.Copy(units, st.Units)
	}
	if err := c.defs.Stage(units); err != nil {
		return nil, err
	}
	for id, served := range c.defs.Catalogues() {
		if served == c.before.set.Catalogue(id) {
			continue // the catalogue has not changed, so the tags of its rules already exist
		}
		for _, r := range served.TagRules {
			if !c.before.property(id).made[r.Tag] {
				c.in(id).MakeTag(r.Tag)
			}
		}
	}
	out := &Change{Version: c.before.version + 1, Purged: slices.Sorted(maps.Keys(c.purged))}
	for _, id := range c.touched() {
		pc := PropertyChange{Property: id, Before: c.before.set.Catalogue(id), After: c.defs.Catalogue(id)}
		if st := c.properties[id]; st != nil {
			pc.Items = changes(st)
		}
		out.Properties = append(out.Properties, pc)
	}
	erased, err := c.put(b, out)
	if err != nil {
		return nil, err
	}
	installIndex, err := c.s.index.Prepare(out, &IndexBatch{batch: b})
	if err != nil {
		return nil, err
	}
	return func() {
		installIndex()
		c.install(out)
		if c.defs.Tokens {
			c.s.tokens.Set(c.defs.Set.Tokens())
		}
		if erased {
			c.s.eraser.wanted()
		}
	}, nil
}

// touched lists the properties in which readers see a change, in the order of ids, without purged properties.
func (c *change) touched() []library.PropertyID {
	touched := map[library.PropertyID]bool{}
	for p := range c.properties {
		touched[p] = true
	}
	for s := range c.defs.Changed {
		if s.Owner.IsHTTP() {
			touched[s.Property] = true
		}
	}
	for p := range c.before.properties {
		if c.defs.Catalogue(p) != c.before.set.Catalogue(p) {
			touched[p] = true
		}
	}
	for p := range c.defs.Catalogues() {
		if c.defs.Catalogue(p) != c.before.set.Catalogue(p) {
			touched[p] = true
		}
	}
	for p := range c.purged {
		delete(touched, p)
	}
	return slices.Sorted(maps.Keys(touched))
}

// changes lists the changes of items, except items that the group both created and deleted.
func changes(st *mutations.Stage) []ItemChange {
	items := make([]ItemChange, 0, len(st.Items))
	for _, it := range st.Items {
		if it.Item != nil || it.Existed {
			items = append(items, ItemChange{ID: it.ID, Item: it.Item, Existed: it.Existed, Erase: it.Erase})
		}
	}
	return items
}

// grown returns the number of items by which a property grows. It is negative if the property shrinks.
func grown(st *mutations.Stage) int64 {
	n := int64(0)
	for _, it := range st.Items {
		switch {
		case it.Item != nil && !it.Existed:
			n++
		case it.Item == nil && it.Existed:
			n--
		}
	}
	return n
}

// deletes returns the number of stored items that the change deletes, purged ones included.
func (c *change) deletes() (n int64) {
	for p := range c.purged {
		n += c.before.property(p).items
	}
	for _, st := range c.properties {
		for _, it := range st.Items {
			if it.Item == nil && it.Existed {
				n++
			}
		}
	}
	return n
}

// put adds everything except the index's keys to the batch, and reports whether bytes of deleted data must be erased.
func (c *change) put(b *pebble.Batch, out *Change) (erased bool, err error) {
	if err := setNumber(b, []byte(keyVersion), out.Version); err != nil {
		return false, err
	}
	if c.deleted = c.deletes(); c.deleted > 0 {
		if err := setNumber(b, []byte(keyDeleted), uint64(c.before.deleted+c.deleted)); err != nil {
			return false, err
		}
	}
	if len(out.Purged) > 0 {
		drawn, err := draw(b, keyJournal, journalID, c.s.options.Random)
		if err != nil {
			return false, err
		}
		c.journal = hex.EncodeToString(drawn)
	}
	gone := erasure{}
	for _, id := range out.Purged {
		lower, upper := propertyBounds(id)
		if err := b.DeleteRange(lower, upper, nil); err != nil {
			return false, err
		}
		gone.Properties = append(gone.Properties, id)
	}
	if err := c.putDefinitions(b); err != nil {
		return false, err
	}
	for _, pc := range out.Properties {
		if err := c.putProperty(b, pc, out.Version); err != nil {
			return false, err
		}
		gone.note(pc)
	}
	if err := c.trimJournals(b); err != nil {
		return false, err
	}
	if gone.empty() {
		return false, nil
	}
	note, err := gone.encode()
	if err != nil {
		return false, err
	}
	return true, b.Set(eraseKey(out.Version), note, nil)
}

func (c *change) putDefinitions(b *pebble.Batch) error {
	for s, e := range c.defs.Changed {
		if e == nil {
			if err := b.Delete(sourceKey(s), nil); err != nil {
				return err
			}
			continue
		}
		value, err := e.Encode()
		if err != nil {
			return err
		}
		if err := b.Set(sourceKey(s), value, nil); err != nil {
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

// putProperty adds to the batch what changed in one property, except its definitions.
func (c *change) putProperty(b *pebble.Batch, pc PropertyChange, version uint64) error {
	p := pc.Property
	if err := setNumber(b, propertyKey(p, underVersion), version); err != nil {
		return err
	}
	st := c.properties[p]
	if st == nil {
		return nil
	}
	known := c.before.property(p)
	if st.Sequence != known.sequence {
		if err := setNumber(b, propertyKey(p, underSequence), uint64(st.Sequence)); err != nil {
			return err
		}
	}
	if n := grown(st); n != 0 {
		if err := setNumber(b, propertyKey(p, underCount), uint64(known.items+n)); err != nil {
			return err
		}
	}
	if err := setFlag(b, propertyKey(p, underImported), known.imported, st.Imported); err != nil {
		return err
	}
	for t := range st.Tags {
		if err := b.Set(tagKey(p, t), nil, nil); err != nil {
			return err
		}
	}
	for n := range st.Names {
		if err := b.Set(nameKey(p, n), nil, nil); err != nil {
			return err
		}
	}
	values := make([][]byte, len(pc.Items))
	parallel.Each(len(pc.Items), func(i int) {
		if it := pc.Items[i].Item; it != nil {
			values[i] = item.Encode(it)
		}
	})
	for i, it := range pc.Items {
		var err error
		if it.Item == nil {
			err = b.Delete(itemKey(p, it.ID), nil)
		} else {
			err = b.Set(itemKey(p, it.ID), values[i], nil)
		}
		if err != nil {
			return err
		}
	}
	for i := range st.Items {
		if err := c.putCode(b, p, &st.Items[i]); err != nil {
			return err
		}
	}
	if err := putEntry(b, st, version, known.changes); err != nil {
		return err
	}
	return c.putHistories(b, p, st)
}

// setFlag adds a key without a value to the batch if a flag becomes true, and deletes it if the flag becomes false.
func setFlag(b *pebble.Batch, key []byte, was, is bool) error {
	switch {
	case is && !was:
		return b.Set(key, nil, nil)
	case was && !is:
		return b.Delete(key, nil)
	}
	return nil
}

// putCode updates the key of an item's short code if the code has changed.
func (c *change) putCode(b *pebble.Batch, p library.PropertyID, st *mutations.Item) error {
	code := ""
	if st.Item != nil {
		code = st.Item.ShortCode
	}
	if st.Code == code {
		return nil
	}
	if st.Code != "" {
		if err := b.Delete(codeKey(p, st.Code), nil); err != nil {
			return err
		}
	}
	if code == "" {
		return nil
	}
	return b.Set(codeKey(p, code), encodeNumber(uint64(st.ID)), nil)
}

// putHistories adds the changed histories of items to the batch.
func (c *change) putHistories(b *pebble.Batch, p library.PropertyID, st *mutations.Stage) error {
	values, err := c.storedHistories(p, st.Items)
	if err != nil {
		return err
	}
	errs := make([]error, len(values))
	parallel.Each(len(values), func(i int) {
		if it := &st.Items[i]; len(it.History) > 0 {
			values[i], errs[i] = mutations.AddHistory(values[i], it.History, st.KeepHistory)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, it := range st.Items {
		var err error
		switch {
		case len(it.History) > 0:
			err = b.Set(historyKey(p, it.ID), values[i], nil)
		case it.Existed && (it.NewHistory || st.KeepHistory == 0):
			err = b.Delete(historyKey(p, it.ID), nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// storedHistories returns the stored histories of those items that get further entries. The other elements are nil.
func (c *change) storedHistories(p library.PropertyID, items []mutations.Item) ([][]byte, error) {
	var wanted []int
	for i, it := range items {
		if it.Existed && !it.NewHistory && len(it.History) > 0 {
			wanted = append(wanted, i)
		}
	}
	if len(wanted) == 0 {
		return make([][]byte, len(items)), nil
	}
	values, err := ask(c.s, func(db *pebble.DB) ([][]byte, error) {
		values := make([][]byte, len(items))
		err := findAll(db, len(wanted), func(f finder, i int) error {
			at := wanted[i]
			value, _, err := f.find(historyKey(p, items[at].ID))
			values[at] = bytes.Clone(value)
			return err
		})
		return values, err
	})
	if err != nil {
		return nil, unavailable(err)
	}
	return values, nil
}

// install makes the change visible, and then wakes the calls of Changes.
func (c *change) install(out *Change) {
	var changed []library.PropertyID
	defer func() { c.s.waiters.wake(changed...) }()
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	now := c.before
	now.version = out.Version
	now.deleted += c.deleted
	now.journal = cmp.Or(c.journal, now.journal)
	now.set = c.defs.Set
	maps.Copy(now.marks, c.marks)
	for _, id := range out.Purged {
		delete(now.properties, id)
	}
	for _, pc := range out.Properties {
		p := now.properties[pc.Property]
		if p == nil {
			p = newProperty()
			now.properties[pc.Property] = p
		}
		p.version = out.Version
		if len(pc.Items) > 0 || pc.After == nil {
			changed = append(changed, pc.Property)
		}
		if st := c.properties[pc.Property]; st != nil {
			p.sequence, p.imported = st.Sequence, st.Imported
			p.items += grown(st)
			p.changes += journaled(st)
			maps.Copy(p.made, st.Tags)
			maps.Copy(p.names, st.Names)
			maps.Copy(p.namespaces, st.Namespaces)
		}
	}
}
