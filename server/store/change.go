package store

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// change gathers what the requests of one group change. Those that come later see what those before them staged.
type change struct {
	s *Store
	// before is what is served now; nobody changes it while a change is staged.
	before *served
	// defs are the definitions that will be served, and those that came, changed or went.
	defs       *definitions.Change
	properties map[library.PropertyID]*staged
	marks      map[string]string
	purged     map[library.PropertyID]bool
	// codes are those of new items.
	codes map[string]bool
	// units are those that came with items. They become sources all at once, when the change is prepared.
	units map[definitions.Source]*definitions.Entry
	namer namer
	// found is what was looked up for the whole group.
	found found
}

// staged is what changes in the items of one property.
type staged struct {
	items []stagedItem
	// at is where an item is among items.
	at       map[item.ID]int
	made     map[item.Tag]bool
	names    map[nameSum]bool // those that the property has not had before
	sequence item.ID
}

// stagedItem is an item as it will be, and what it was.
type stagedItem struct {
	ItemChange
	// code is the short code that it had.
	code string
}

func newChange(s *Store) *change {
	return &change{
		s: s, before: s.served, namer: newNamer(s.served.authorKey),
		defs:       definitions.NewChange(s.served.set),
		properties: map[library.PropertyID]*staged{}, marks: map[string]string{},
		purged: map[library.PropertyID]bool{}, codes: map[string]bool{}, units: map[definitions.Source]*definitions.Entry{},
	}
}

func (c *change) empty() bool {
	return len(c.defs.Changed) == 0 && len(c.units) == 0 && len(c.properties) == 0 && len(c.marks) == 0 && len(c.purged) == 0
}

// in returns the change of one property.
func (c *change) in(p library.PropertyID) *staged {
	st := c.properties[p]
	if st == nil {
		st = &staged{at: map[item.ID]int{}, made: map[item.Tag]bool{}, names: map[nameSum]bool{}}
		if known := c.before.properties[p]; known != nil {
			st.sequence = known.sequence
		}
		c.properties[p] = st
	}
	return st
}

// set stages an item as it will be, nil for none. before is what item returned for it.
func (c *change) set(p library.PropertyID, id item.ID, before, after *item.Item) {
	st := c.in(p)
	erase := before != nil && (after == nil || before.Submission != nil && !bytes.Equal(before.Submission, after.Submission))
	if i, staged := st.at[id]; staged {
		st.items[i].Item = after
		st.items[i].Erase = st.items[i].Erase || erase
		return
	}
	st.at[id] = len(st.items)
	next := stagedItem{ItemChange: ItemChange{ID: id, Item: after, Existed: before != nil, Erase: erase}}
	if before != nil {
		next.code = before.ShortCode
	}
	st.items = append(st.items, next)
}

// makeTag notes that a tag was made, once.
func (c *change) makeTag(p library.PropertyID, t item.Tag) {
	if known := c.before.properties[p]; known == nil || !known.made[t] {
		// The tag stays for ever, and should not keep the text of the item that it came in.
		c.in(p).made[item.Tag{Namespace: strings.Clone(t.Namespace), Key: strings.Clone(t.Key)}] = true
	}
}

// prepare puts the change into a batch, the index's part of it too, and returns what makes it visible. It changes nothing
// that readers see.
func (c *change) prepare(b *pebble.Batch) (install func(), err error) {
	if err := c.defs.Stage(c.units); err != nil {
		return nil, err
	}
	for id, served := range c.defs.Catalogues() {
		if served == c.before.set.Catalogue(id) {
			continue // its tags were made when it came
		}
		for _, r := range served.TagRules {
			c.makeTag(id, r.Tag)
		}
	}
	out := &Change{Version: c.before.version + 1, Purged: slices.Sorted(maps.Keys(c.purged))}
	for _, id := range c.touched() {
		pc := PropertyChange{Property: id, Before: c.before.set.Catalogue(id), After: c.defs.Catalogue(id)}
		if st := c.properties[id]; st != nil {
			pc.Items = st.changes()
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

// touched lists the properties of which readers see something change, by id.
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

// changes lists what becomes of the items: not those that came and went within the group.
func (st *staged) changes() []ItemChange {
	items := make([]ItemChange, 0, len(st.items))
	for i := range st.items {
		if it := &st.items[i]; it.Item != nil || it.Existed {
			items = append(items, it.ItemChange)
		}
	}
	return items
}

// grown returns how many items more a property has.
func (st *staged) grown() int64 {
	n := int64(0)
	for i := range st.items {
		switch it := &st.items[i]; {
		case it.Item != nil && !it.Existed:
			n++
		case it.Item == nil && it.Existed:
			n--
		}
	}
	return n
}

// put puts everything but the index's part into the batch, and reports whether something is to be erased.
func (c *change) put(b *pebble.Batch, out *Change) (erased bool, err error) {
	if err := setNumber(b, []byte(keyVersion), out.Version); err != nil {
		return false, err
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

// putProperty puts the items of a property into the batch, and what is counted of them.
func (c *change) putProperty(b *pebble.Batch, pc PropertyChange, version uint64) error {
	p := pc.Property
	if err := setNumber(b, propertyKey(p, underVersion), version); err != nil {
		return err
	}
	st := c.properties[p]
	if st == nil {
		return nil
	}
	known := c.before.properties[p]
	if known == nil {
		known = newProperty()
	}
	if st.sequence != known.sequence {
		if err := setNumber(b, propertyKey(p, underSequence), uint64(st.sequence)); err != nil {
			return err
		}
	}
	if n := st.grown(); n != 0 {
		if err := setNumber(b, propertyKey(p, underCount), uint64(known.items+n)); err != nil {
			return err
		}
	}
	for t := range st.made {
		if err := b.Set(tagKey(p, t), nil, nil); err != nil {
			return err
		}
	}
	for n := range st.names {
		if err := b.Set(nameKey(p, n), nil, nil); err != nil {
			return err
		}
	}
	lines := make([][]byte, len(pc.Items))
	parallel(len(pc.Items), func(i int) {
		if it := pc.Items[i].Item; it != nil {
			lines[i] = item.Marshal(it, nil)
		}
	})
	for i, it := range pc.Items {
		var err error
		if it.Item == nil {
			err = b.Delete(itemKey(p, it.ID), nil)
		} else {
			err = b.Set(itemKey(p, it.ID), lines[i], nil)
		}
		if err != nil {
			return err
		}
	}
	for i := range st.items {
		if err := c.putCode(b, p, &st.items[i]); err != nil {
			return err
		}
	}
	return nil
}

// putCode keeps the short code of an item.
func (c *change) putCode(b *pebble.Batch, p library.PropertyID, st *stagedItem) error {
	code := ""
	if st.Item != nil {
		code = st.Item.ShortCode
	}
	if st.code == code {
		return nil
	}
	if st.code != "" {
		// Another item may have it: a store of format 1 could hold two with one code.
		holder, err := get(c.s.db.pebble, codeKey(p, st.code))
		if err != nil {
			return err
		}
		if string(holder) == string(encodeNumber(uint64(st.ID))) {
			if err := b.Delete(codeKey(p, st.code), nil); err != nil {
				return err
			}
		}
	}
	if code == "" {
		return nil
	}
	return b.Set(codeKey(p, code), encodeNumber(uint64(st.ID)), nil)
}

// install makes the change visible.
func (c *change) install(out *Change) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	now := c.before
	now.version = out.Version
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
		if st := c.properties[pc.Property]; st != nil {
			p.sequence = st.sequence
			p.items += st.grown()
			maps.Copy(p.made, st.made)
			maps.Copy(p.names, st.names)
		}
	}
}
