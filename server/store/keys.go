package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
)

// The first byte of a key is its space (see the table in doc.go).
const (
	spaceMeta     = 'm'
	spaceMark     = 'k'
	spaceOwned    = 'd'
	spaceErase    = 'e'
	spaceProperty = 'p'
	spaceIndex    = 'x'
)

// In a key of a property, one of these bytes follows the name of the property and a NUL.
const (
	underCode     = 'c'
	underName     = 'd'
	underFilter   = 'f'
	underHistory  = 'h'
	underItem     = 'i'
	underJournal  = 'j'
	underFloor    = 'k'
	underImported = 'm'
	underCount    = 'n'
	underSequence = 's'
	underTag      = 't'
	underUnit     = 'u'
	underVersion  = 'v'
)

const (
	keyFormat    = "mformat"
	keyStore     = "mstore"
	keyAuthorKey = "mauthor-key"
	keyTransfer  = "mtransfer"
	keyVersion   = "mversion"
	keyDeleted   = "mdeleted"
	keyJournal   = "mjournal"
	// keyLedger exists if the database has had a ledger (see package synced) since it was created or copied.
	keyLedger = "mledger"
)

func markKey(mark string) []byte { return append([]byte{spaceMark}, mark...) }

func ownedKey(o library.Owner) []byte {
	key := append([]byte{spaceOwned}, o.Install...)
	key = append(key, 0, byte(o.Kind))
	key = append(key, o.Namespace...)
	key = append(key, 0)
	return append(key, o.Name...)
}

func propertyKey(p library.PropertyID, under byte) []byte {
	key := append([]byte{spaceProperty}, p...)
	return append(key, 0, under)
}

func tagKey(p library.PropertyID, t item.Tag) []byte {
	key := append(propertyKey(p, underTag), t.Namespace...)
	key = append(key, 0)
	return append(key, t.Key...)
}

func nameKey(p library.PropertyID, n mutations.NameSum) []byte {
	return binary.BigEndian.AppendUint64(propertyKey(p, underName), uint64(n))
}

func filterKey(p library.PropertyID, uuid string) []byte {
	return append(propertyKey(p, underFilter), uuid...)
}

func unitKey(p library.PropertyID, id int64) []byte {
	return binary.BigEndian.AppendUint64(propertyKey(p, underUnit), uint64(id))
}

func itemKey(p library.PropertyID, id item.ID) []byte {
	return binary.BigEndian.AppendUint64(propertyKey(p, underItem), uint64(id))
}

func historyKey(p library.PropertyID, id item.ID) []byte {
	return binary.BigEndian.AppendUint64(propertyKey(p, underHistory), uint64(id))
}

func journalKey(p library.PropertyID, batch uint64) []byte {
	return binary.BigEndian.AppendUint64(propertyKey(p, underJournal), batch)
}

func codeKey(p library.PropertyID, code string) []byte {
	return append(propertyKey(p, underCode), code...)
}

func eraseKey(batch uint64) []byte { return binary.BigEndian.AppendUint64([]byte{spaceErase}, batch) }

// propertyBounds returns the first possible key of a property, and a key that follows all keys of the property.
func propertyBounds(p library.PropertyID) (lower, upper []byte) {
	lower = append([]byte{spaceProperty}, p...)
	upper = append(bytes.Clone(lower), 1)
	return append(lower, 0), upper
}

// stretchEnd divides the keys into ranges, so that no table contains keys of two ranges. It returns the end of the range that contains a
// key, or nil if that range has no end. The items of a property are a range of their own, and so are their histories: an import
// appends both in the order of their ids, but it inserts short codes, whose keys sort before theirs, at any place.
func stretchEnd(key []byte) []byte {
	if len(key) == 0 || key[0] < spaceProperty {
		return []byte{spaceProperty}
	}
	if key[0] > spaceProperty {
		return nil
	}
	p, under, _, err := splitPropertyKey(key)
	switch {
	case err != nil:
		return nil
	case under < underHistory:
		return propertyKey(p, underHistory)
	case under <= underItem: // histories or items
		return propertyKey(p, under+1)
	}
	_, upper := propertyBounds(p)
	return upper
}

// splitPropertyKey splits a key in spaceProperty.
func splitPropertyKey(key []byte) (p library.PropertyID, under byte, rest []byte, err error) {
	name, tail, ok := bytes.Cut(key[1:], []byte{0})
	if !ok || len(tail) == 0 {
		return "", 0, nil, fmt.Errorf("unknown key %q", key)
	}
	return library.PropertyID(name), tail[0], tail[1:], nil
}

func splitTag(rest []byte) (item.Tag, error) {
	namespace, key, ok := bytes.Cut(rest, []byte{0})
	if !ok {
		return item.Tag{}, fmt.Errorf("a tag has no key: %q", rest)
	}
	return item.Tag{Namespace: string(namespace), Key: string(key)}, nil
}

func encodeNumber(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func decodeNumber(value []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("a number has %d bytes instead of 8", len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

func sourceKey(s definitions.Source) []byte {
	switch {
	case !s.Owner.IsHTTP():
		return ownedKey(s.Owner)
	case s.Kind == library.KindFilter:
		return filterKey(s.Property, s.UUID)
	default:
		return unitKey(s.Property, s.ID)
	}
}
