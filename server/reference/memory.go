package reference

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// memory is all that readers see: a function of what the database holds, and of the time at which volatile rules were
// last evaluated.
type memory struct {
	// storeID tells this store from any other in versions and cursors.
	storeID    string
	authorKey  []byte
	version    uint64
	marks      map[string]string
	entries    entries
	catalogues map[library.PropertyID]*catalogue
	// properties are all that have anything stored, served or not.
	properties map[library.PropertyID]*property
	codes      map[string]place
}

// place is where an item is.
type place struct {
	property library.PropertyID
	id       item.ID
}

// load reads everything that the database holds. A store without keys of its own gets them.
func load(db *pebble.DB, random io.Reader, now time.Time) (*memory, error) {
	l := loader{
		memory: &memory{
			marks: map[string]string{}, properties: map[library.PropertyID]*property{}, codes: map[string]place{},
		},
		bySource: map[source]*entry{},
		items:    map[library.PropertyID][]*storedItem{},
	}
	if err := l.identity(db, random); err != nil {
		return nil, err
	}
	it, err := db.NewIter(nil)
	if err != nil {
		return nil, err
	}
	for it.First(); it.Valid(); it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			err = l.key(it.Key(), value)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("key %q: %w", it.Key(), err), it.Close())
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return nil, err
	}
	return l.memory, l.finish(now)
}

type loader struct {
	*memory
	bySource map[source]*entry
	items    map[library.PropertyID][]*storedItem
}

// storedItem is an item on its way from the database.
type storedItem struct {
	id    item.ID // of its key
	value []byte
	item  *item.Item
	err   error
}

// identity reads the keys of the store, and draws them when it is new.
func (l *loader) identity(db *pebble.DB, random io.Reader) error {
	b := db.NewBatch()
	id, err := readOrDraw(db, b, keyStore, 16, random)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	if l.authorKey, err = readOrDraw(db, b, keyAuthorKey, 32, random); err != nil {
		return errors.Join(err, b.Close())
	}
	l.storeID = hex.EncodeToString(id)
	if b.Empty() {
		return b.Close()
	}
	return b.Commit(pebble.Sync)
}

func readOrDraw(db *pebble.DB, b *pebble.Batch, key string, size int, random io.Reader) ([]byte, error) {
	value, closer, err := db.Get([]byte(key))
	if errors.Is(err, pebble.ErrNotFound) {
		drawn := make([]byte, size)
		if _, err := io.ReadFull(random, drawn); err != nil {
			return nil, fmt.Errorf("draw the keys of a new store: %w", err)
		}
		return drawn, b.Set([]byte(key), drawn, nil)
	}
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), value...), closer.Close()
}

// key takes in one key of the table in doc.go.
func (l *loader) key(key, value []byte) error {
	switch key[0] {
	case spaceMeta:
		if string(key) == keyVersion {
			n, err := decodeNumber(value)
			l.version = n
			return err
		}
		return nil
	case spaceMark:
		l.marks[string(key[1:])] = string(value)
		return nil
	case spaceOwned:
		return l.entry(value)
	case spaceProperty:
		return l.propertyKey(key, value)
	}
	return errors.New("unknown key")
}

func (l *loader) entry(value []byte) error {
	e, err := decodeEntry(value)
	if err != nil {
		return err
	}
	l.bySource[sourceOf(e.latest)] = e
	return nil
}

func (l *loader) propertyKey(key, value []byte) error {
	id, under, rest, err := splitPropertyKey(key)
	if err != nil {
		return err
	}
	p := l.properties[id]
	if p == nil {
		p = newProperty(id)
		l.properties[id] = p
	}
	switch under {
	case underVersion:
		p.version, err = decodeNumber(value)
	case underSequence:
		var n uint64
		n, err = decodeNumber(value)
		p.sequence = int64(n)
	case underTag:
		var t item.Tag
		t, err = splitTag(rest)
		p.made[t] = true
	case underFilter, underUnit:
		err = l.entry(value)
	case underItem:
		var n uint64
		n, err = decodeNumber(rest)
		l.items[id] = append(l.items[id], &storedItem{id: int64(n), value: bytes.Clone(value)})
	default:
		err = errors.New("unknown key")
	}
	return err
}

// finish makes what follows from what was read.
func (l *loader) finish(now time.Time) error {
	l.entries = arbitrate(l.bySource)
	var err error
	if l.catalogues, err = newCatalogues(l.entries, nil); err != nil {
		return err
	}
	for id := range l.catalogues {
		if l.properties[id] == nil {
			l.properties[id] = newProperty(id)
		}
	}
	for id, p := range l.properties {
		r := newRefresh(p, l.catalogues[id], now)
		parallel(l.items[id], func(s *storedItem) {
			if s.item, s.err = item.Unmarshal(s.value); s.err == nil && s.item.ID != s.id {
				s.err = fmt.Errorf("it says that it is item %d", s.item.ID)
			}
			s.value = nil
		})
		for _, s := range l.items[id] {
			if s.err != nil {
				return fmt.Errorf("property %s: read item %d: %w", id, s.id, s.err)
			}
			r.put(s.item.ID, s.item)
		}
		delete(l.items, id)
		if err := r.run(); err != nil {
			return fmt.Errorf("property %s: %w", id, err)
		}
		r.install()
		for _, rec := range p.records {
			l.addCode(id, rec.item)
		}
	}
	return nil
}

// addCode and removeCode keep the short codes. Of two items with one code (an import can bring that) the first one has it.
func (m *memory) addCode(p library.PropertyID, it *item.Item) {
	if _, taken := m.codes[it.ShortCode]; !taken && it.ShortCode != "" {
		m.codes[it.ShortCode] = place{p, it.ID}
	}
}

func (m *memory) removeCode(p library.PropertyID, it *item.Item) {
	if m.codes[it.ShortCode] == (place{p, it.ID}) {
		delete(m.codes, it.ShortCode)
	}
}
