package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/store"
)

const (
	// scrubAfter is when files are read for the first time, and scrubEvery how often after that.
	scrubAfter = 5 * time.Minute
	scrubEvery = 24 * time.Hour
	// scrubRate is how many bytes a second are read at most, so that nobody else notices.
	scrubRate = 32 << 20
)

// scrub holds the files against their checksums, now and then, until the index ends.
func (x *Index) scrub() {
	wait := scrubAfter
	for {
		timer := time.NewTimer(wait)
		select {
		case <-x.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		wait = scrubEvery
		err := x.Verify(x.ctx, func(bytes int) {
			select {
			case <-x.ctx.Done():
			case <-time.After(time.Duration(bytes) * time.Second / scrubRate):
			}
		})
		if err != nil && x.ctx.Err() == nil {
			x.o.Logger.Warn("the files of the index could not all be checked", slog.Any("error", err))
		}
	}
}

// Verify reads all files and makes those anew that are damaged. paused is called after each piece, see segment.Verify.
func (x *Index) Verify(ctx context.Context, paused func(bytes int)) error {
	s := x.Acquire()
	defer s.Release()
	for _, p := range s.holders {
		err := p.segment.Verify(ctx, paused)
		if !errors.As(err, new(*segment.CorruptError)) {
			if err != nil {
				return err
			}
			continue
		}
		x.merging.Lock()
		err = x.remake(ctx, p, err)
		x.merging.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// remake takes the living items of a damaged file from the store, while it goes on being read; merging is held. When it is
// done, nothing lives in the file any more, and it is merged away.
func (x *Index) remake(ctx context.Context, p *part, damage error) error {
	x.o.Logger.Error("a segment is damaged and is made anew from the store", slog.String("file", p.file), slog.Any("error", damage))
	ids := make([]item.ID, 0, p.segment.Len())
	for doc := range uint32(p.segment.Len()) {
		ids = append(ids, p.segment.ID(doc))
	}
	for chunk := range slices.Chunk(ids, replayChunk) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.remakeItems(p, chunk); err != nil {
			return fmt.Errorf("make segment %s anew: %w", p.file, err)
		}
	}
	x.counters.rebuilt.Add(1)
	x.wake()
	return nil
}

// remakeItems takes some items in anew that live in a part. The journal names them, as what is in memory now is in no file.
func (x *Index) remakeItems(p *part, ids []item.ID) error {
	return x.o.Store.CommitIndex(func(keys *store.IndexBatch) (func(), error) {
		s := x.current.Load()
		at := slices.Index(s.holders, p)
		if at < 0 {
			return nil, nil // it was merged away meanwhile
		}
		living := slices.DeleteFunc(slices.Clone(ids), func(id item.ID) bool {
			doc, ok := p.segment.Find(id)
			return !ok || s.parts[at].Dead != nil && s.parts[at].Dead.Contains(doc)
		})
		items, err := x.o.Store.ItemsByID(x.o.Property, living)
		if err != nil {
			return nil, err
		}
		changes := make([]change, len(living))
		for i, id := range living {
			if err := keys.Set(x.journalKey(s.version, id), nil); err != nil {
				return nil, err
			}
			changes[i] = change{id: id, item: items[i], existed: true}
		}
		next, err := x.apply(s, s.version, s.version, changes)
		if err != nil {
			return nil, err
		}
		return func() { x.publish(next) }, nil
	})
}
