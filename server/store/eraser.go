package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// erasure lists the data that one batch deleted, and whose bytes files may still contain. It is the value of a key in spaceErase.
type erasure struct {
	// Items lists, for each property, the items that were deleted or whose earlier submission must be erased. Properties lists the purged
	// properties.
	Items      map[library.PropertyID][]item.ID `json:"items,omitempty"`
	Properties []library.PropertyID             `json:"properties,omitempty"`
}

func (e *erasure) empty() bool { return len(e.Items) == 0 && len(e.Properties) == 0 }

// note adds the items of pc whose earlier bytes must be erased.
func (e *erasure) note(pc PropertyChange) {
	for _, it := range pc.Items {
		if !it.Erase {
			continue
		}
		if e.Items == nil {
			e.Items = map[library.PropertyID][]item.ID{}
		}
		e.Items[pc.Property] = append(e.Items[pc.Property], it.ID)
	}
}

func (e *erasure) encode() ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("record what to erase: %w", err)
	}
	return text, nil
}

// eraser removes the bytes of deleted items, and of changed or removed submissions, from the files of the store within Options.EraseWithin.
// It is needed because Pebble, like any LSM tree, only hides deleted bytes until a compaction rewrites the tables that contain them. The
// store records pending erasures, so that they survive a restart.
type eraser struct {
	s *Store
	// wake has room for one signal, which means that data was deleted.
	wake chan struct{}
	// quit ends ctx, which ends run and the erasure in progress. run closes done when it ends.
	ctx  context.Context
	quit context.CancelFunc
	done chan struct{}
}

func newEraser(s *Store) *eraser {
	e := &eraser{s: s, wake: make(chan struct{}, 1), done: make(chan struct{})}
	e.ctx, e.quit = context.WithCancel(context.Background())
	return e
}

// wanted signals that data was deleted.
func (e *eraser) wanted() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// run waits for EraseWithin/2 after a deletion, and then erases the data of all deletions so far in one pass. The other half of EraseWithin
// is left for the pass itself.
func (e *eraser) run() {
	defer close(e.done)
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-e.wake:
		}
		timer := time.NewTimer(e.s.options.EraseWithin / 2)
		select {
		case <-e.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if err := e.erase(); err != nil && e.ctx.Err() == nil {
			e.s.options.Logger.Warn("cannot erase deleted items from the files of the store, will retry", slog.Any("error", err))
			e.wanted()
		}
	}
}

func (e *eraser) stop() {
	e.quit()
	<-e.done
}

// erase flushes the log, and rewrites every table that may contain deleted data. Then it calls Index.Erase.
func (e *eraser) erase() error {
	db, err := e.s.database()
	if err != nil {
		return err
	}
	upTo, ranges, err := e.pending()
	if err != nil || len(ranges) == 0 {
		return err
	}
	err = db.call(func() error {
		if err := db.pebble.Flush(); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
		for _, r := range ranges {
			if err := db.pebble.Compact(e.ctx, r.from, r.to, false); err != nil {
				return fmt.Errorf("compact: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := e.s.index.Erase(e.ctx); err != nil {
		return fmt.Errorf("erase deleted items from the index: %w", err)
	}
	return e.s.forget(upTo)
}

// forget deletes the records of completed erasures up to the given batch.
func (s *Store) forget(upTo uint64) error {
	return s.CommitIndex(func(keys *IndexBatch) (func(), error) {
		return nil, keys.batch.DeleteRange([]byte{spaceErase}, eraseKey(upTo+1), nil)
	})
}

// keyRange contains the keys in [from, to).
type keyRange struct{ from, to []byte }

// pending returns the key ranges that contain data to erase, and the number of the last batch that recorded an erasure.
func (e *eraser) pending() (upTo uint64, ranges []keyRange, err error) {
	type answer struct {
		upTo    uint64
		erasure erasure
	}
	found, err := ask(e.s, func(db *pebble.DB) (answer, error) {
		out := answer{erasure: erasure{Items: map[library.PropertyID][]item.ID{}}}
		err := scan(db, []byte{spaceErase}, []byte{spaceErase + 1}, func(key, value []byte) (_ []byte, err error) {
			var one erasure
			if err := json.Unmarshal(value, &one); err != nil {
				return nil, err
			}
			out.erasure.add(one)
			out.upTo, err = decodeNumber(key[1:])
			return nil, err
		})
		return out, err
	})
	return found.upTo, found.erasure.ranges(), err
}

func (e *erasure) add(o erasure) {
	e.Properties = append(e.Properties, o.Properties...)
	for p, ids := range o.Items {
		e.Items[p] = append(e.Items[p], ids...)
	}
}

// maxRanges is the maximum number of key ranges that are rewritten for one property. If a property has more deleted items, close ones are
// combined into one range, so that there are at most maxRanges. The ranges are separated at the widest gaps, so that as few other items as
// possible are rewritten.
const maxRanges = 64

// ranges lists the key ranges with data to erase.
func (e *erasure) ranges() []keyRange {
	var ranges []keyRange
	for _, p := range e.Properties {
		from, to := propertyBounds(p)
		ranges = append(ranges, keyRange{from, to})
	}
	for p, ids := range e.Items {
		for _, s := range stretches(ids, maxRanges) {
			ranges = append(ranges, keyRange{itemKey(p, s[0]), append(itemKey(p, s[1]), 0)}, keyRange{historyKey(p, s[0]), append(historyKey(p, s[1]), 0)})
		}
		ranges = append(ranges, keyRange{propertyKey(p, underCode), propertyKey(p, underCode+1)})
	}
	slices.SortFunc(ranges, func(a, b keyRange) int { return bytes.Compare(a.from, b.from) })
	return ranges
}

// stretches returns at most limit closed intervals that contain all ids. They are separated at the widest gaps.
func stretches(ids []item.ID, limit int) [][2]item.ID {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil
	}
	cuts := make([]int, 0, len(ids)-1) // a cut i separates ids[i-1] from ids[i]
	for i := 1; i < len(ids); i++ {
		cuts = append(cuts, i)
	}
	slices.SortFunc(cuts, func(a, b int) int {
		return int(min(max((ids[b]-ids[b-1])-(ids[a]-ids[a-1]), -1), 1))
	})
	cuts = cuts[:min(len(cuts), limit-1)]
	slices.Sort(cuts)
	var out [][2]item.ID
	from := 0
	for _, cut := range append(cuts, len(ids)) {
		out = append(out, [2]item.ID{ids[from], ids[cut-1]})
		from = cut
	}
	return out
}
