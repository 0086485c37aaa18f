package opensearch

import (
	"context"
	"errors"

	"github.com/vitrine-dev/vitrine/server/opensearch/records"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

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
