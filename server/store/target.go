package store

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/parallel"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// UnfinishedError says that a directory contains an unfinished copy of a library.
type UnfinishedError struct{ Dir string }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("%s contains an unfinished copy of a library: run vitrine migrate again to finish it, or delete the directory", e.Dir)
}

// Target is a new store to which a transfer copies a library. It has no format stamp until Finish adds the stamp, so no version of Vitrine
// opens an unfinished copy. Target writes no index: a library builds its index when it first opens the store.
type Target struct {
	options Options
	db      *database
	lock    io.Closer
}

var _ transfer.Target = (*Target)(nil)

// OpenTarget opens the directory for a new store, or with an unfinished copy. It fails with *LockedError if another process uses the
// directory, and with *transfer.RefusedError if the directory already contains a complete store. The caller must call Close.
func OpenTarget(o Options) (*Target, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := o.FS.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of the store: %w", err)
	}
	t := &Target{options: o}
	if t.lock, err = lockDir(o.FS, o.Dir, o.Clock()); err != nil {
		return nil, err
	}
	if t.db, err = openDatabase(o, o.FS.PathJoin(o.Dir, databaseName), false); err != nil {
		return nil, errors.Join(fmt.Errorf("open store at %s: %w", o.Dir, err), t.lock.Close())
	}
	err = t.db.read(func() error {
		stamp, err := readFormat(t.db.pebble)
		if err != nil {
			return err
		}
		if stamp.Version > 0 {
			return &transfer.RefusedError{Reason: o.Dir + " contains a store: choose a new data directory"}
		}
		unfinished, err := get(t.db.pebble, []byte(keyTransfer))
		if err != nil || unfinished != nil {
			return err
		}
		return requireEmpty(t.db.pebble)
	})
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Close releases the directory. It can be called again.
func (t *Target) Close() error { return errors.Join(t.db.close(), t.lock.Close()) }

// Begin stores the facts (see transfer.Target).
func (t *Target) Begin(_ context.Context, from transfer.Freeze, f *transfer.Facts) error {
	var is []byte
	err := t.db.read(func() (err error) {
		is, err = get(t.db.pebble, []byte(keyTransfer))
		return err
	})
	if err != nil {
		return err
	}
	if is != nil && string(is) != string(from) {
		return &transfer.RefusedError{Reason: t.options.Dir + " contains an unfinished copy from another migration (of another library, or of this one at another time): delete the directory and start again"}
	}
	return t.commit(func(b *pebble.Batch) error {
		if err := errors.Join(b.Set([]byte(keyTransfer), []byte(from), nil), b.Set([]byte(keyAuthorKey), f.AuthorKey, nil)); err != nil {
			return err
		}
		for key, value := range f.Marks {
			if err := b.Set(markKey(key), []byte(value), nil); err != nil {
				return err
			}
		}
		for s, e := range f.Definitions {
			value, err := e.Encode()
			if err != nil {
				return err
			}
			if err := b.Set(sourceKey(s), value, nil); err != nil {
				return err
			}
		}
		for id, p := range f.Properties {
			if err := putFacts(b, id, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// firstVersion is the version of a completed store and of its properties: the whole copy counts as batch 1.
const firstVersion = 1

func putFacts(b *pebble.Batch, id library.PropertyID, p transfer.Property) error {
	err := errors.Join(setNumber(b, propertyKey(id, underVersion), firstVersion), setNumber(b, propertyKey(id, underSequence), uint64(p.Sequence)))
	for n := range p.Names {
		err = errors.Join(err, b.Set(nameKey(id, n), nil, nil))
	}
	for tag := range p.Tags {
		err = errors.Join(err, b.Set(tagKey(id, tag), nil, nil))
	}
	return err
}

// commit commits a batch durably.
func (t *Target) commit(add func(*pebble.Batch) error) error {
	b := t.db.pebble.NewBatch()
	if err := add(b); err != nil {
		return errors.Join(err, b.Close())
	}
	return t.db.commit(b)
}

// Put stores items (see transfer.Target). If several items have the same short code, the item with the lowest id keeps it.
func (t *Target) Put(_ context.Context, p library.PropertyID, lines []transfer.Line) error {
	codes, values := make([]string, len(lines)), make([][]byte, len(lines))
	errs := make([]error, len(lines))
	parallel.Each(len(lines), func(i int) {
		it, err := item.Unmarshal(lines[i].Text)
		it, err = withID(lines[i].ID, it, err)
		if errs[i] = err; err == nil {
			codes[i], values[i] = it.ShortCode, item.Encode(it)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return t.commit(func(b *pebble.Batch) error {
		given := map[string]bool{}
		for i, l := range lines {
			err := b.Set(itemKey(p, l.ID), values[i], nil)
			if len(l.History) > 0 {
				err = errors.Join(err, b.Set(historyKey(p, l.ID), l.History, nil))
			}
			if err != nil {
				return err
			}
			if codes[i] == "" || given[codes[i]] {
				continue
			}
			given[codes[i]] = true
			holder, err := get(t.db.pebble, codeKey(p, codes[i]))
			if err != nil {
				return err
			}
			if holder != nil && binary.BigEndian.Uint64(holder) < uint64(l.ID) {
				continue
			}
			if err := b.Set(codeKey(p, codes[i]), encodeNumber(uint64(l.ID)), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// Finish stamps the store (see transfer.Target). The store gets a new id. Page.Version contains this id, so a version from another store
// never matches.
func (t *Target) Finish(_ context.Context, done map[library.PropertyID]transfer.Finished) error {
	return t.commit(func(b *pebble.Batch) error {
		_, err := draw(b, keyStore, storeID, t.options.Random)
		if err != nil {
			return err
		}
		journal, err := draw(b, keyJournal, journalID, t.options.Random)
		if err != nil {
			return err
		}
		own := position{journal: hex.EncodeToString(journal), batch: firstVersion}.text()
		feed := transfer.Successions{}
		for id, p := range done {
			if err := setNumber(b, propertyKey(id, underCount), uint64(p.Items)); err != nil {
				return err
			}
			feed[id] = transfer.Succession{End: p.End, Own: own}
		}
		mark, err := feed.Mark()
		if err != nil {
			return err
		}
		err = errors.Join(b.Set(markKey(transfer.MarkFeed), []byte(mark), nil), setNumber(b, []byte(keyVersion), firstVersion), b.Delete([]byte(keyTransfer), nil))
		return errors.Join(err, setFormat(b, format{Version: formatVersion, Needs: formatNeeds}))
	})
}

// Facts reads the facts from the copy (see transfer.Reader).
func (t *Target) Facts(context.Context) (f *transfer.Facts, err error) {
	err = t.db.read(func() error {
		key, err := get(t.db.pebble, []byte(keyAuthorKey))
		if err != nil {
			return err
		}
		found, err := loadKeys(t.db.pebble)
		if err == nil {
			found.authorKey = key
			f = factsOf(found)
		}
		return err
	})
	return f, err
}

// Lines yields the items in the copy (see transfer.Reader).
func (t *Target) Lines(ctx context.Context, p library.PropertyID) iter.Seq2[transfer.Line, error] {
	return lines(ctx, p, func(from item.ID) (chunk []transfer.Line, err error) {
		err = t.db.read(func() error {
			chunk, err = linesFrom(t.db.pebble, p, from)
			return err
		})
		return chunk, err
	})
}
