package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
)

// load creates the first snapshot.
func (x *Index) load(ctx context.Context) error {
	m, err := x.readManifest()
	if err != nil {
		return err
	}
	x.nextFile.Store(m.Next)
	x.loaded = x.o.Store.Version()
	s := newSnapshot(x.loaded)
	lost := m.Version == 0
	// A restored backup has no files of the index.
	restored := len(m.Files) > 0 && !x.hasFiles()
	if restored && !x.o.Sound {
		x.o.Logger.Info("found no segment files (for example, after a restore); rebuilding all segments from the store")
	}
	for _, f := range m.Files {
		opened, err := x.openFile(f.Name)
		if err == nil && opened.Len() != f.Docs {
			err = &segment.CorruptError{Path: f.Name, Section: "directory", Reason: fmt.Sprintf("it contains %d documents, but the manifest says %d", opened.Len(), f.Docs)}
			_ = opened.Close()
		}
		var dead *roaring.Bitmap
		if err == nil {
			if dead, err = x.readDead(f.Name, f.Docs); err != nil {
				_ = opened.Close()
			}
		}
		if err != nil && !isLost(err) {
			// The error may be temporary and the file undamaged, so the file must not be discarded.
			s.Release()
			return fmt.Errorf("open segment %s: %w", f.Name, err)
		}
		if err != nil {
			if lost = true; !restored && !x.o.Sound {
				x.o.Logger.Error("cannot use a segment; rebuilding it from the store", slog.String("file", f.Name), slog.Any("error", err))
			}
			continue
		}
		// It is unknown which dead documents belong to deleted items and which were only replaced, so the bytes of all of them must be erased.
		s.add(newPart(x, opened, f.Name, 0), dead, dead != nil)
	}
	if lost && x.o.Sound {
		s.Release()
		return ErrRebuild
	}
	x.unsaved.Store(lost)
	x.removeOrphans(s)
	x.current.Store(s)
	if lost {
		return x.rebuildLost(ctx, m)
	}
	changed, err := x.readJournal(m.Version)
	if err != nil {
		return err
	}
	return x.replay(ctx, changed, len(changed), min(m.Version+1, x.loaded), "read the last changes again")
}

// isLost reports whether an error of opening a file means that the file is missing or damaged.
func isLost(err error) bool {
	var corrupt *segment.CorruptError
	return errors.As(err, &corrupt) || errors.Is(err, fs.ErrNotExist)
}

// rebuildLost indexes each item that has no live document in a segment, and each item that changed after the manifest was written.
func (x *Index) rebuildLost(ctx context.Context, m manifest) error {
	s := x.current.Load()
	changed, err := x.readJournal(m.Version)
	if err != nil {
		return err
	}
	known := make(map[item.ID]bool, len(changed))
	for _, id := range changed {
		known[id] = true
	}
	indexed := len(changed)
	for id, err := range x.o.Store.ItemIDs(ctx, x.o.Property, 1) {
		if err != nil {
			return fmt.Errorf("list the items: %w", err)
		}
		if !known[id] && !s.has(id) {
			changed = append(changed, id)
		}
	}
	if len(changed) > 0 {
		x.counters.rebuilt.Add(1)
	}
	return x.replay(ctx, changed, indexed, min(m.Version+1, x.loaded), "rebuild the index from the store")
}

const (
	// replayChunk is the number of items that replay reads and indexes at a time.
	replayChunk = 2048
	// sayEvery is the interval between two progress messages of a long replay.
	sayEvery = 5 * time.Second
)

// replay indexes the current state of items in the store. The segments may contain the first `indexed` of them, and contain no live version
// of the others. It seals segments when memory is full. since is the first batch that the manifest does not cover. `what` is the text of
// the log message.
func (x *Index) replay(ctx context.Context, ids []item.ID, indexed int, since uint64, what string) error {
	began := time.Now()
	said := began
	done := 0
	for chunk := range slices.Chunk(ids, replayChunk) {
		if err := ctx.Err(); err != nil {
			return err
		}
		items, err := x.o.Store.ItemsByID(x.o.Property, chunk)
		if err != nil {
			return fmt.Errorf("read items: %w", err)
		}
		changes := make([]change, len(chunk))
		for i, id := range chunk {
			// It is unknown whether the earlier versions in the segments must be erased, so all of them are erased. The other items have only
			// dead versions, and load has already marked the files of these versions for erasing. Searching all segments for these items too
			// would take time that grows with the square of the number of items, because no files are merged during a load.
			changes[i] = change{id: id, item: items[i], existed: done+i < indexed, erase: true}
		}
		next, err := x.apply(x.current.Load(), x.o.Store.Version(), since, changes)
		if err != nil {
			return err
		}
		x.publish(next)
		if err := x.sealLoaded(ctx); err != nil {
			return err
		}
		done += len(chunk)
		x.o.OnReplay(done, len(ids))
		if time.Since(said) >= sayEvery {
			said = time.Now()
			x.o.Logger.Info(what, slog.Int("items", done), slog.Int("of", len(ids)), slog.Duration("since", time.Since(began).Round(time.Second)))
		}
	}
	return nil
}

// sealLoaded limits memory while replay reads the store. At that time, no background task runs. sealLoaded does not write the manifest,
// so a restart before the end of the load begins the load again.
func (x *Index) sealLoaded(ctx context.Context) error {
	s := x.current.Load()
	if docs, bytes := s.inMemory(); docs < x.o.SealDocs && bytes < x.o.SealBytes {
		return nil
	}
	x.unsaved.Store(true)
	return x.mergeParts(ctx, partsOf(s.in(inMemory)), toFile, nil)
}
