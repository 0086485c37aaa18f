package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
)

// served is the part of the store that is in memory: everything except items, short codes and the index's keys. Store.mu guards it, except
// for id and authorKey, which never change.
type served struct {
	// id is the identity of this store. Versions of pages contain it.
	id        string
	authorKey []byte
	// pageVersion is the last result of Store.PageVersion.
	pageVersion atomic.Pointer[pageVersion]
	version     uint64
	// journal is the identity of the journals (see doc.go).
	journal string
	// deleted is the number of items that were deleted so far.
	deleted int64
	marks   map[string]string
	set     definitions.Set
	// properties are all properties that are served or have stored data.
	properties map[library.PropertyID]*property
}

// pageVersion is a result of Store.PageVersion, with its parameters. Until the next write, all queries that are asked for the first time have
// the version of the newest batch.
type pageVersion struct {
	batch uint64
	until time.Time
	text  string
}

// property is the part of the data of one property that is in memory.
type property struct {
	// version is the number of the batch that last changed the property.
	version  uint64
	sequence item.ID
	// imported is mutations.Stage.Imported.
	imported bool
	items    int64
	// changes is the number of changes in all entries of the journal so far.
	changes uint64
	made    map[item.Tag]bool
	// names contains the hashed names of all dynamic fields that items have ever had. item.MaxFieldNames limits their number.
	names map[mutations.NameSum]bool
	// namespaces contains the namespaces of all tags that items have ever had themselves. item.MaxPropertyNamespaces limits their number.
	namespaces map[string]bool
}

func newProperty() *property {
	return &property{made: map[item.Tag]bool{}, names: map[mutations.NameSum]bool{}, namespaces: map[string]bool{}}
}

// property returns the data of a property. If s has no data of the property, it returns an empty value that is not a part of s.
func (s *served) property(p library.PropertyID) *property {
	if known := s.properties[p]; known != nil {
		return known
	}
	return newProperty()
}

// load reads the data that the store keeps in memory. load generates those keys that identity describes if they do not exist, or if they
// are in renew.
func load(db *pebble.DB, random io.Reader, renew ...string) (*served, error) {
	found, err := loadKeys(db)
	if err != nil {
		return nil, err
	}
	if err := found.identity(db, random, renew); err != nil {
		return nil, err
	}
	namer := mutations.NewNamer(found.authorKey)
	for _, p := range found.properties {
		p.namespaces = mutations.OwnNamespaces(namer, p.made, p.names)
	}
	return found, nil
}

// loadKeys reads everything that load reads, except the id and the author key.
func loadKeys(db *pebble.DB) (*served, error) {
	l := loader{
		db:       db,
		served:   &served{marks: map[string]string{}, properties: map[library.PropertyID]*property{}},
		bySource: map[definitions.Source]*definitions.Entry{},
	}
	err := scan(db, nil, nil, l.key)
	if err != nil {
		return nil, err
	}
	if l.set, err = definitions.NewSet(l.bySource); err != nil {
		return nil, err
	}
	for id := range l.set.Catalogues() {
		if l.properties[id] == nil {
			l.properties[id] = newProperty()
		}
	}
	return l.served, nil
}

type loader struct {
	*served
	db       *pebble.DB
	bySource map[definitions.Source]*definitions.Entry
}

// identity reads the id of the store, the id of its journals and the author key. It generates those that do not exist or are in renew. It
// also records that the database has a ledger.
func (s *served) identity(db *pebble.DB, random io.Reader, renew []string) error {
	b := db.NewBatch()
	var id, journal []byte
	for _, k := range []struct {
		key   string
		size  int
		value *[]byte
	}{{keyStore, storeID, &id}, {keyAuthorKey, authorKeySize, &s.authorKey}, {keyJournal, journalID, &journal}} {
		value, err := get(db, []byte(k.key))
		if err == nil && (value == nil || slices.Contains(renew, k.key)) {
			value, err = draw(b, k.key, k.size, random)
		}
		if err != nil {
			return errors.Join(err, b.Close())
		}
		*k.value = value
	}
	s.id, s.journal = hex.EncodeToString(id), hex.EncodeToString(journal)
	ledger, err := get(db, []byte(keyLedger))
	if err == nil && ledger == nil {
		err = b.Set([]byte(keyLedger), nil, nil)
	}
	if err != nil {
		return errors.Join(err, b.Close())
	}
	if b.Empty() {
		return b.Close()
	}
	return b.Commit(pebble.Sync)
}

// The sizes of the id of a store, of the id of its journals, and of the author key, in bytes.
const (
	storeID       = 16
	journalID     = 8
	authorKeySize = 32
)

// draw adds a new random value of a key to a batch.
func draw(b *pebble.Batch, key string, size int, random io.Reader) ([]byte, error) {
	drawn := make([]byte, size)
	if _, err := io.ReadFull(random, drawn); err != nil {
		return nil, fmt.Errorf("generate the keys of a new store: %w", err)
	}
	return drawn, b.Set([]byte(key), drawn, nil)
}

// key handles one key of the table in doc.go. It returns the key to continue with, or nil for the next key.
func (l *loader) key(key, value []byte) (skip []byte, err error) {
	switch key[0] {
	case spaceMeta:
		var n uint64
		switch string(key) {
		case keyVersion:
			l.version, err = decodeNumber(value)
		case keyDeleted:
			n, err = decodeNumber(value)
			l.deleted = int64(n)
		}
		return nil, err
	case spaceMark:
		l.marks[string(key[1:])] = string(value)
		return nil, nil
	case spaceOwned:
		return nil, l.entry(value)
	case spaceErase, spaceIndex:
		return []byte{key[0] + 1}, nil
	case spaceProperty:
		return l.propertyKey(key, value)
	}
	return nil, errors.New("unknown key")
}

func (l *loader) entry(value []byte) error {
	e, err := definitions.DecodeEntry(value)
	if err != nil {
		return err
	}
	l.bySource[definitions.SourceOf(e.Latest)] = e
	return nil
}

func (l *loader) propertyKey(key, value []byte) (skip []byte, err error) {
	id, under, rest, err := splitPropertyKey(key)
	if err != nil {
		return nil, err
	}
	p := l.properties[id]
	if p == nil {
		p = newProperty()
		l.properties[id] = p
	}
	var n uint64
	switch under {
	case underVersion:
		p.version, err = decodeNumber(value)
	case underSequence:
		n, err = decodeNumber(value)
		p.sequence = item.ID(n)
	case underImported:
		p.imported = true
	case underCount:
		n, err = decodeNumber(value)
		p.items = int64(n)
	case underTag:
		var t item.Tag
		t, err = splitTag(rest)
		p.made[t] = true
	case underName:
		n, err = decodeNumber(rest)
		p.names[mutations.NameSum(n)] = true
	case underJournal:
		_, newest, err := lastEntry(l.db, id)
		p.changes = newest.changes
		return propertyKey(id, under+1), err
	case underFloor:
		// Only reads of the journal need it.
	case underFilter, underUnit:
		err = l.entry(value)
	case underCode, underHistory, underItem:
		return propertyKey(id, under+1), nil
	default:
		err = errors.New("unknown key")
	}
	return nil, err
}

// get returns a copy of the value of a key, or nil if there is none.
func get(db *pebble.DB, key []byte) ([]byte, error) {
	value, closer, err := db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	copied := make([]byte, len(value))
	copy(copied, value)
	return copied, closer.Close()
}
