package store

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
)

// formatVersion is the format version (see doc.go) that this code writes: the format of the items in the store, plus the number of other
// changes of the stored data. formatNeeds is the oldest version of Vitrine that can read this format.
const (
	formatVersion = item.Format + otherChanges
	formatNeeds   = "0.1.0"

	otherChanges = 0
)

// format is the stamp of a store, the value of keyFormat.
type format struct {
	Version int    `json:"version"`
	Needs   string `json:"needs"`
}

// upgrade adds to a batch the changes that bring a store to the next format version. Its key in a map of upgrades is the version
// before the upgrade. A version whose successor only has another form of items needs no upgrade, because item.Decode must then read both forms.
type upgrade func(db *pebble.DB, b *pebble.Batch) error

// NewerFormatError reports that a newer version of Vitrine wrote the store.
type NewerFormatError struct {
	Dir     string
	Version int
	// Needs is the oldest version of Vitrine that can read the store.
	Needs string
}

func (e *NewerFormatError) Error() string {
	cure := fmt.Sprintf("use Vitrine %s or newer, or restore an older backup", e.Needs)
	if e.Needs == formatNeeds { // a later format needs a later version
		cure = "a development build before version " + formatNeeds + " wrote the store; export its items with that build, and import them into an empty store"
	}
	return fmt.Sprintf("store at %s has format %d, but this version of Vitrine reads only formats up to %d: %s", e.Dir, e.Version, formatVersion, cure)
}

// checkFormat checks the format version of a store. It stamps a new store, rejects what requireFormat rejects, and upgrades a store with an
// older format step by step. Each step is one durable batch, which includes the new stamp.
func checkFormat(db *pebble.DB, dir string, current format, upgrades map[int]upgrade) error {
	found, err := requireFormat(db, dir, current.Version)
	if err != nil {
		return err
	}
	if found.Version == 0 {
		return stampFormat(db.NewBatch(), current)
	}
	for v := found.Version; v < current.Version; v++ {
		b := db.NewBatch()
		if upgrade := upgrades[v]; upgrade != nil {
			if err := upgrade(db, b); err != nil {
				return errors.Join(fmt.Errorf("upgrade the store at %s from format %d: %w", dir, v, err), b.Close())
			}
		}
		if err := stampFormat(b, format{Version: v + 1, Needs: current.Needs}); err != nil {
			return fmt.Errorf("upgrade the store at %s from format %d: %w", dir, v, err)
		}
	}
	return nil
}

// requireFormat reads the format of a store. It rejects a format that is newer than version, an unfinished copy, and a database that is not
// a store. The version of an empty database is 0.
func requireFormat(db *pebble.DB, dir string, version int) (format, error) {
	found, err := readFormat(db)
	if err != nil {
		return format{}, fmt.Errorf("read the format of the store at %s: %w", dir, err)
	}
	if found.Version > version {
		return format{}, &NewerFormatError{Dir: dir, Version: found.Version, Needs: found.Needs}
	}
	if found.Version > 0 {
		return found, nil
	}
	unfinished, err := get(db, []byte(keyTransfer))
	if err == nil && unfinished != nil {
		err = &UnfinishedError{Dir: dir}
	}
	if err != nil {
		return format{}, err
	}
	if err := requireEmpty(db); err != nil {
		return format{}, fmt.Errorf("store at %s: %w", dir, err)
	}
	return found, nil
}

// upgrades returns the steps to formatVersion.
func upgrades() map[int]upgrade { return nil }

func stampFormat(b *pebble.Batch, f format) error {
	if err := setFormat(b, f); err != nil {
		return err
	}
	return b.Commit(pebble.Sync)
}

func setFormat(b *pebble.Batch, f format) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return b.Set([]byte(keyFormat), text, nil)
}

// readFormat reads the stamp of a store. If there is none, the returned version is 0.
func readFormat(db *pebble.DB) (format, error) {
	value, closer, err := db.Get([]byte(keyFormat))
	if errors.Is(err, pebble.ErrNotFound) {
		return format{}, nil
	}
	if err != nil {
		return format{}, err
	}
	var f format
	err = json.Unmarshal(value, &f)
	if err == nil && f.Version < 1 {
		err = fmt.Errorf("unknown version %d", f.Version)
	}
	return f, errors.Join(err, closer.Close())
}

// requireEmpty rejects a database that has keys but no stamp, because Vitrine did not create it.
func requireEmpty(db *pebble.DB) error {
	it, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	if it.First() {
		err = fmt.Errorf("the database contains keys, but no format version: it was not created by Vitrine")
	}
	return errors.Join(err, it.Error(), it.Close())
}
