package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
)

// damagedError reports that the content of a file does not match its checksum.
type damagedError struct {
	part  *part
	cause error
}

func (e *damagedError) Error() string { return e.cause.Error() }
func (e *damagedError) Unwrap() error { return e.cause }

// verify compares the items of a file with their checksum (see segment.Segment.Verify). It returns a *damagedError if they do not match.
func (p *part) verify(ctx context.Context, paused func(bytes int)) error {
	if p.file == "" {
		return nil
	}
	err := p.segment.Verify(ctx, paused)
	if corrupt := (*segment.CorruptError)(nil); errors.As(err, &corrupt) {
		return &damagedError{p, err}
	}
	return err
}

const (
	// scrubAfter is the delay before files are verified for the first time. scrubEvery is the delay between later verifications.
	scrubAfter = 5 * time.Minute
	scrubEvery = 24 * time.Hour
	// scrubRate is the maximum number of bytes that scrub reads per second, so that it does not slow down other reads.
	scrubRate = 32 << 20
)

// scrub verifies all files periodically until the index ends.
func (x *Index) scrub() {
	for wait := scrubAfter; ; wait = scrubEvery {
		if !x.pause(wait) {
			return
		}
		err := x.Verify(x.ctx, func(bytes int) { x.pause(time.Duration(bytes) * time.Second / scrubRate) })
		if err != nil && x.ctx.Err() == nil {
			x.o.Logger.Warn("some files of the index could not be verified", slog.Any("error", err))
		}
	}
}

// Verify reads all files, compares their items with their checksums, and rebuilds damaged files from the store. Reads and writes can
// continue during Verify. Verify calls paused after each chunk (see segment.Segment.Verify). paused may be nil.
func (x *Index) Verify(ctx context.Context, paused func(bytes int)) error {
	// Release each file as soon as it is verified or known to be obsolete. A held snapshot would keep all files open until the end, including
	// erased ones.
	s := x.Acquire()
	files := partsOf(s.in(toFile))
	for _, p := range files {
		p.refs.Add(1)
	}
	s.Release()
	var errs []error
	for _, p := range files {
		errs = append(errs, x.verifyPart(ctx, p, paused))
		p.release()
	}
	return errors.Join(errs...)
}

// verifyPart verifies one file. It stops when the file becomes obsolete.
func (x *Index) verifyPart(ctx context.Context, p *part, paused func(bytes int)) error {
	needed, stop := context.WithCancel(ctx)
	defer stop()
	err := p.verify(needed, func(bytes int) {
		if p.obsolete.Load() {
			stop()
		} else if paused != nil {
			paused(bytes)
		}
	})
	if damaged := (*damagedError)(nil); errors.As(err, &damaged) {
		return x.files.with(ctx, func() error { return x.restore(ctx, p, err) })
	}
	if p.obsolete.Load() && ctx.Err() == nil {
		return nil
	}
	return err
}

// restore replaces a damaged file with new files. The new files contain the items that have live documents in the damaged file, as read
// from the store. Reads and writes can continue during restore. The caller holds the task `files`.
func (x *Index) restore(ctx context.Context, p *part, cause error) error {
	before := x.Acquire()
	defer before.Release()
	damaged := before.entry(p)
	if damaged == nil {
		return nil // the file has been replaced
	}
	x.o.Logger.Error("a segment is damaged; rebuilding it from the store", slog.String("file", p.file), slog.Any("error", cause))
	ids := damaged.input().IDs()
	x.counters.rebuildLeft.Store(int64(len(ids)))
	defer x.counters.rebuildLeft.Store(0)
	var fresh []*part
	obsolete := true
	defer func() {
		for _, f := range fresh {
			f.obsolete.Store(obsolete)
			f.release()
		}
	}()
	for chunk := range slices.Chunk(ids, x.o.SealDocs) {
		made, err := x.read(ctx, chunk)
		if err != nil {
			return fmt.Errorf("rebuild segment %s: %w", p.file, err)
		}
		if made != nil {
			made.refs.Add(1)
			fresh = append(fresh, made)
		}
		x.counters.rebuildLeft.Add(-int64(len(chunk)))
	}
	err := x.commit(x.o.Store, toFile, coverage{through: before.version}, func() *Snapshot {
		next := x.current.Load().edit(x.current.Load().version)
		now := *next.entry(p)
		next.remove(p)
		for _, f := range fresh {
			dead := deadOf(f, now)
			next.add(f, dead, now.erase && dead != nil)
		}
		return next
	})
	obsolete = err != nil && !errors.Is(err, errUncertain)
	if err != nil {
		return fmt.Errorf("rebuild segment %s: %w", p.file, err)
	}
	p.obsolete.Store(true)
	x.counters.rebuilt.Add(1)
	x.files.wake()
	return nil
}

// read writes a file with the current state of items in the store. It returns nil if none of the items exists.
func (x *Index) read(ctx context.Context, ids []item.ID) (*part, error) {
	var inputs []segment.Part
	for chunk := range slices.Chunk(ids, replayChunk) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		items, err := x.o.Store.ItemsByID(x.o.Property, chunk)
		if err != nil {
			return nil, fmt.Errorf("read items: %w", err)
		}
		items = slices.DeleteFunc(items, func(it *item.Item) bool { return it == nil })
		if len(items) == 0 {
			continue
		}
		built, err := x.buildItems(items)
		if err != nil {
			return nil, err
		}
		for _, s := range built {
			inputs = append(inputs, segment.Part{Segment: s})
		}
	}
	made, _, err := x.merge(ctx, inputs, toFile)
	return made, err
}

// deadOf returns the documents of a rebuilt part whose items have no live document in the damaged part, because the item was deleted or
// has a newer version in another segment.
func deadOf(rebuilt *part, damaged entry) *roaring.Bitmap {
	if damaged.dead == nil {
		return nil
	}
	var dead *roaring.Bitmap
	for it := damaged.dead.Iterator(); it.HasNext(); {
		if doc, ok := rebuilt.segment.Find(damaged.segment.ID(it.Next())); ok {
			dead = with(dead, doc)
		}
	}
	return dead
}
