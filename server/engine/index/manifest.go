package index

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// manifest lists the files of a property.
type manifest struct {
	// Version is the last batch up to which the files hold all data.
	Version uint64 `json:"version"`
	// Next is the highest file number so far.
	Next  uint64         `json:"next"`
	Files []manifestFile `json:"files"`
}

type manifestFile struct {
	Name string `json:"name"`
	Docs int    `json:"docs"`
}

const (
	spaceProperty = 'p'
	underKnown    = 'v'
	underManifest = 'm'
	underDead     = 'd'
	underJournal  = 'j'
)

func keyOf(p library.PropertyID, under byte) []byte {
	return append(append(append([]byte{spaceProperty}, p...), 0), under)
}

func (x *Index) journalKey(version uint64, id item.ID) []byte {
	key := binary.BigEndian.AppendUint64(keyOf(x.o.Property, underJournal), version)
	return binary.BigEndian.AppendUint64(key, uint64(id))
}

func (x *Index) deadKey(file string) []byte { return append(keyOf(x.o.Property, underDead), file...) }

// DropKeys deletes all keys of a property's index in the batch that purges the property. The index may be open or closed.
func DropKeys(p library.PropertyID, keys *store.IndexBatch) error {
	from := append(append([]byte{spaceProperty}, p...), 0)
	to := append(append([]byte{spaceProperty}, p...), 1)
	return keys.DeleteRange(from, to)
}

// Pass is used instead of Prepare while the index of a property is not open. It records that the index has seen a batch that changes only
// definitions of the property. Without this record, Open would rebuild the index.
func Pass(s *store.Store, p library.PropertyID, version uint64, keys *store.IndexBatch) error {
	known, err := readKnown(s, p)
	if err != nil || known != s.PropertyVersion(p) {
		return err // an earlier batch is not recorded, so the index will be rebuilt anyway
	}
	return setKnown(keys, p, version)
}

// setKnown records the last batch that the index of a property has seen.
func setKnown(keys *store.IndexBatch, p library.PropertyID, version uint64) error {
	return keys.Set(keyOf(p, underKnown), binary.BigEndian.AppendUint64(nil, version))
}

// readKnown returns the last batch that the index of a property has seen. It returns 0 if the index has seen none.
func readKnown(s *store.Store, p library.PropertyID) (uint64, error) {
	value, err := s.IndexValue(keyOf(p, underKnown))
	if err != nil || len(value) != 8 {
		return 0, err
	}
	return binary.BigEndian.Uint64(value), nil
}

// readManifest reads the manifest. It returns an empty manifest if the store has none, or if the property has since been written without
// its index.
func (x *Index) readManifest() (manifest, error) {
	var m manifest
	known, err := readKnown(x.o.Store, x.o.Property)
	if err != nil {
		return m, err
	}
	if written := x.o.Store.PropertyVersion(x.o.Property); known < written {
		if known > 0 {
			x.o.Logger.Warn("the store was written without its index; rebuilding the index", slog.Uint64("known", known), slog.Uint64("written", written))
		}
		return m, nil
	}
	value, err := x.o.Store.IndexValue(keyOf(x.o.Property, underManifest))
	if err != nil || value == nil {
		return m, err
	}
	if err := json.Unmarshal(value, &m); err != nil {
		return m, fmt.Errorf("decode the manifest: %w", err)
	}
	return m, nil
}

// readDead reads the bitmap of the deleted documents of a file. It returns nil if no document is deleted.
func (x *Index) readDead(file string, docs int) (*roaring.Bitmap, error) {
	value, err := x.o.Store.IndexValue(x.deadKey(file))
	if err != nil || value == nil {
		return nil, err
	}
	dead := roaring.New()
	if err := dead.UnmarshalBinary(value); err != nil {
		return nil, fmt.Errorf("decode the dead documents of %s: %w", file, err)
	}
	if !dead.IsEmpty() && int(dead.Maximum()) >= docs {
		return nil, fmt.Errorf("the dead documents of %s are out of range", file)
	}
	if dead.IsEmpty() {
		return nil, nil
	}
	return dead, nil
}

// readJournal lists the items that changed after the given batch, without duplicates. It sets x.journaled.
func (x *Index) readJournal(after uint64) ([]item.ID, error) {
	from := binary.BigEndian.AppendUint64(keyOf(x.o.Property, underJournal), after+1)
	to := keyOf(x.o.Property, underJournal+1)
	keys, err := x.o.Store.IndexKeys(from, to)
	if err != nil {
		return nil, err
	}
	x.journaled.Store(int64(len(keys)))
	seen := make(map[item.ID]bool, len(keys))
	var ids []item.ID
	for _, key := range keys {
		if len(key) < 16 {
			return nil, errors.New("a journal key is too short")
		}
		if id := item.ID(binary.BigEndian.Uint64(key[len(key)-8:])); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// writeManifest adds the manifest of a snapshot to a batch of the store. `covered` is the last batch up to which the files hold all data.
// writeManifest deletes the journal up to that batch.
func (x *Index) writeManifest(keys *store.IndexBatch, s *Snapshot, covered uint64) error {
	m := manifest{Version: covered, Next: x.nextFile.Load()}
	if err := keys.DeleteRange(keyOf(x.o.Property, underDead), keyOf(x.o.Property, underDead+1)); err != nil {
		return err
	}
	for _, e := range s.in(toFile) {
		m.Files = append(m.Files, manifestFile{Name: e.file, Docs: e.segment.Len()})
		if e.dead != nil {
			value, err := e.dead.ToBytes()
			if err != nil {
				return fmt.Errorf("encode the dead documents of %s: %w", e.file, err)
			}
			if err := keys.Set(x.deadKey(e.file), value); err != nil {
				return err
			}
		}
	}
	value, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	end := binary.BigEndian.AppendUint64(keyOf(x.o.Property, underJournal), covered+1)
	return errors.Join(
		// Pass may have recorded a later batch while this index was being opened
		setKnown(keys, x.o.Property, max(s.version, x.o.Store.PropertyVersion(x.o.Property))),
		keys.DeleteRange(keyOf(x.o.Property, underJournal), end),
		keys.Set(keyOf(x.o.Property, underManifest), value),
	)
}
