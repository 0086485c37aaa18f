package store

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/parallel"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

var _ transfer.Noted = (*Store)(nil)

// Source returns the store as the source of a transfer.
func (s *Store) Source() transfer.Source { return s }

// Freeze makes every later change fail (see transfer.Source). Requests that change nothing still succeed.
func (s *Store) Freeze(ctx context.Context) (freeze transfer.Freeze, err error) {
	err = s.do(ctx, request{shares: withNothing, thaws: true, stage: func(c *change) error {
		if freeze = c.before.frozen(); freeze == "" {
			freeze = transfer.NewFreeze(s.Now())
			c.marks[transfer.MarkFrozen] = string(freeze)
		}
		return nil
	}})
	return freeze, err
}

// Thaw makes the store accept changes again.
func (s *Store) Thaw(ctx context.Context) error {
	return s.do(ctx, request{shares: withNothing, thaws: true, stage: setMark(transfer.MarkFrozen, "")})
}

// Frozen returns the current freeze, or "" if there is none.
func (s *Store) Frozen(context.Context) (transfer.Freeze, error) {
	mark, err := s.Mark(transfer.MarkFrozen)
	return transfer.Freeze(mark), err
}

// Note records where the store is copied to (see transfer.Noted).
func (s *Store) Note(ctx context.Context, target string) error {
	return s.do(ctx, request{shares: withNothing, thaws: true, stage: setMark(transfer.MarkTarget, target)})
}

// Noted returns the last note (see transfer.Noted).
func (s *Store) Noted(context.Context) (string, error) { return s.Mark(transfer.MarkTarget) }

// frozen returns the current freeze, or "" if there is none.
func (s *served) frozen() transfer.Freeze { return transfer.Freeze(s.marks[transfer.MarkFrozen]) }

// serveFrozen replies to a group of requests while the store is frozen. Only requests that change nothing succeed, such as a request to
// apply a definition that is already stored.
func (s *Store) serveFrozen(group []request) {
	frozen := s.served.frozen().Err()
	for _, r := range group {
		c, err := newChange(s), r.ctx.Err()
		if err == nil && r.mutations != nil {
			err = frozen
		}
		if err == nil {
			err = r.stage(c)
		}
		if err == nil && !c.empty() {
			err = frozen
		}
		r.done <- err
	}
}

// Facts returns all data of the library except the items (see transfer.Reader).
func (s *Store) Facts(context.Context) (*transfer.Facts, error) {
	if _, err := s.database(); err != nil {
		return nil, err
	}
	return peek(s, factsOf), nil
}

// factsOf returns a copy of the facts in memory, which later changes do not affect.
func factsOf(now *served) *transfer.Facts {
	f := &transfer.Facts{
		AuthorKey: bytes.Clone(now.authorKey), Marks: maps.Clone(now.marks), Definitions: now.set.Entries(),
		Properties: map[library.PropertyID]transfer.Property{},
	}
	maps.DeleteFunc(f.Marks, func(key, value string) bool {
		return key == transfer.MarkFrozen || key == transfer.MarkTarget || key == transfer.MarkFeed || value == ""
	})
	for id, p := range now.properties {
		f.Properties[id] = transfer.Property{Items: p.items, Sequence: p.sequence, Names: maps.Clone(p.names), Tags: maps.Clone(p.made)}
	}
	return f
}

// Lines yields the stored items of a property (see transfer.Reader).
func (s *Store) Lines(ctx context.Context, p library.PropertyID) iter.Seq2[transfer.Line, error] {
	return lines(ctx, p, func(from item.ID) ([]transfer.Line, error) {
		return ask(s, func(db *pebble.DB) ([]transfer.Line, error) { return linesFrom(db, p, from) })
	})
}

// lines yields the items of a property. The callback read returns at most readChunk items in the order of ids, beginning with the id from.
func lines(ctx context.Context, p library.PropertyID, read func(from item.ID) ([]transfer.Line, error)) iter.Seq2[transfer.Line, error] {
	return func(yield func(transfer.Line, error) bool) {
		for next := item.ID(0); ; {
			chunk, err := read(next)
			if err == nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(transfer.Line{}, fmt.Errorf("property %s: %w", p, err))
				return
			}
			for _, l := range chunk {
				if !yield(l, nil) {
					return
				}
				next = l.ID + 1
			}
			if len(chunk) < readChunk {
				return
			}
		}
	}
}

// linesFrom reads at most readChunk stored items of a property, beginning with the id from.
func linesFrom(db *pebble.DB, p library.PropertyID, from item.ID) ([]transfer.Line, error) {
	items, err := itemsFrom(db, p, from)
	if err != nil {
		return nil, err
	}
	chunk := make([]transfer.Line, len(items))
	parallel.Each(len(items), func(i int) { chunk[i] = transfer.Line{ID: items[i].ID, Text: item.Marshal(items[i], nil)} })
	return chunk, findAll(db, len(items), func(f finder, i int) error {
		value, _, err := f.find(historyKey(p, items[i].ID))
		chunk[i].History = bytes.Clone(value)
		return err
	})
}
