package opensearch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/records"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// Target is the library that a transfer creates. Its indices cannot be opened as a library until Finish has succeeded.
type Target struct {
	library *Library
	from    transfer.Freeze // since Begin
}

var _ transfer.Target = (*Target)(nil)

// OpenTarget connects to a cluster. Options.Prefix names the new library. OpenTarget returns the same errors as Open. The caller must
// call Close.
func OpenTarget(ctx context.Context, o Options) (*Target, error) {
	l, err := newLibrary(o)
	if err != nil {
		return nil, err
	}
	if err := l.cluster.CheckVersion(ctx); err != nil {
		return nil, errors.Join(err, l.disconnect())
	}
	return &Target{library: l}, nil
}

// Close ends the connections to the cluster.
func (t *Target) Close() error { return t.library.disconnect() }

// Begin creates the indices and stores the facts. See transfer.Target.
func (t *Target) Begin(ctx context.Context, from transfer.Freeze, f *transfer.Facts) error {
	l := t.library
	t.from = from
	is, err := l.records.ReadMeta(ctx)
	if err != nil {
		return err
	}
	if is == nil {
		if is, err = t.claim(ctx, from, f.AuthorKey); err != nil {
			return err
		}
	}
	switch {
	case is.Transfer == "":
		return refused("the cluster contains a library with the index prefix %[1]s: choose another --opensearch-index-prefix, or delete the indices %[1]s-*", l.options.Prefix)
	case is.Transfer != from:
		return refused("the indices %s-* are an unfinished copy from another migration (of another library, or of this one at another time): delete them and start again", l.options.Prefix)
	}
	if err := l.createShared(ctx); err != nil {
		return err
	}
	for p := range f.Properties {
		if err := l.indices.CreateItems(ctx, p); err != nil {
			return err
		}
	}
	ops, err := l.records.Operations(f)
	if err != nil {
		return err
	}
	namer := mutations.NewNamer(f.AuthorKey)
	for id, p := range f.Properties {
		ops = append(ops, l.facts.Operations(id, p, namer)...)
	}
	for chunk := range slices.Chunk(ops, factsAtOnce) {
		if err := cluster.FirstError(l.cluster.Bulk(ctx, chunk, cluster.RefreshNow)); err != nil {
			return err
		}
	}
	return nil
}

// factsAtOnce is the maximum number of definitions and facts that Begin stores in one step, so that no step exceeds the timeout.
const factsAtOnce = 5000

func refused(format string, args ...any) error {
	return &transfer.RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// claim creates an unfinished copy in a cluster without a library, and then reads the keys from the cluster. If another process created a
// library at the same time, these keys are those of the other library.
func (t *Target) claim(ctx context.Context, from transfer.Freeze, authorKey []byte) (*records.Meta, error) {
	l := t.library
	if _, err := l.indices.CheckWhole(ctx); err != nil {
		return nil, err
	}
	if err := l.createShared(ctx); err != nil {
		return nil, err
	}
	if err := l.records.Create(ctx, authorKey, from); err != nil {
		return nil, err
	}
	is, err := l.records.ReadMeta(ctx)
	if err == nil && is == nil {
		err = fmt.Errorf("the index %s was deleted during the migration", l.names.Definitions())
	}
	return is, err
}

// Put stores items. See transfer.Target.
func (t *Target) Put(ctx context.Context, p library.PropertyID, lines []transfer.Line) error {
	l := t.library
	index, err := l.indices.Writable(ctx, p)
	if err != nil {
		return err
	}
	ops := make([]cluster.Operation, len(lines))
	for i, line := range lines {
		it, err := item.Unmarshal(line.Text)
		if err == nil && it.ID != line.ID {
			err = fmt.Errorf("its bytes are those of item %d", it.ID)
		}
		if err != nil {
			return &library.UnreadableItemError{ID: line.ID, Err: err}
		}
		ops[i] = cluster.Operation{
			Index: index.Writes(), ID: strconv.FormatInt(line.ID, 10), Over: true,
			Doc: l.indices.Schemas.Document(index.Schema, it, func() []byte { return line.Text }, schema.Trace{History: string(line.History)}),
		}
	}
	return cluster.FirstError(l.cluster.Bulk(ctx, ops, cluster.RefreshNone))
}

// Finish makes the indices a library. See transfer.Target.
func (t *Target) Finish(ctx context.Context, done map[library.PropertyID]transfer.Finished) error {
	l := t.library
	feed := transfer.Successions{}
	for p, is := range done {
		looked, err := l.journalOf(ctx, p)
		if err != nil {
			return err
		}
		feed[p] = transfer.Succession{End: is.End, Own: looked.journal.position(looked.journal.assigned)}
	}
	mark, err := feed.Mark()
	if err != nil {
		return err
	}
	ops, err := l.records.Operations(&transfer.Facts{Marks: map[string]string{transfer.MarkFeed: mark}})
	if err == nil {
		err = cluster.FirstError(l.cluster.Bulk(ctx, ops, cluster.RefreshNow))
	}
	if err != nil {
		return err
	}
	return l.records.FinishCopy(ctx, t.from)
}

// Facts reads the facts back from the cluster. See transfer.Reader.
func (t *Target) Facts(ctx context.Context) (*transfer.Facts, error) { return t.library.Facts(ctx) }

// Lines yields the items in the cluster. See transfer.Reader.
func (t *Target) Lines(ctx context.Context, p library.PropertyID) iter.Seq2[transfer.Line, error] {
	return t.library.Lines(ctx, p)
}

// CopyState is the state of a copy after its migration was cancelled.
type CopyState int

const (
	// CopyNone means that the cluster does not contain a finished copy from this migration.
	CopyNone CopyState = iota
	// CopyCancelled means that the copy can no longer be opened.
	CopyCancelled
	// CopyUsed means that the copy was opened as a library before, and can still be opened.
	CopyUsed
)

// withMeta connects to a cluster without opening its library, and calls do.
func withMeta(o Options, do func(*Library) error) error {
	l, err := newLibrary(o)
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.disconnect())
}

// CancelCopy makes sure that a copy of a source with this freeze cannot be opened as a library, unless it was opened before. Options.Prefix
// names the copy.
func CancelCopy(ctx context.Context, o Options, freeze transfer.Freeze) (state CopyState, err error) {
	err = withMeta(o, func(l *Library) error {
		return l.records.ChangeMeta(ctx, func(meta *records.Meta) (bool, error) {
			switch {
			case freeze == "" || meta == nil || meta.Copied != freeze:
				state = CopyNone
				return false, nil
			case meta.Used:
				state = CopyUsed
				return false, nil
			}
			state = CopyCancelled
			changed := !meta.Cancelled
			meta.Cancelled = true
			return changed, nil
		})
	})
	return state, err
}

// ReviveCopy makes it possible again to open a copy whose migration was cancelled. It returns false if there is no such copy.
func ReviveCopy(ctx context.Context, o Options) (revived bool, err error) {
	err = withMeta(o, func(l *Library) error {
		return l.records.ChangeMeta(ctx, func(meta *records.Meta) (bool, error) {
			if revived = meta != nil && meta.Cancelled; revived {
				meta.Cancelled, meta.Used = false, true
			}
			return revived, nil
		})
	})
	return revived, err
}
