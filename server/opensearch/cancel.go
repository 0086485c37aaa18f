package opensearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// A copy and its source have the same tokens. Therefore, only one of them can be opened as a library: either the copy is used first, or the
// migration is cancelled first. A conditional write of the metaRecord decides.

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

// readMeta reads the keys of the library in the cluster, and the state of their document. It returns nil if there is no library.
func (l *Library) readMeta(ctx context.Context) (*metaRecord, version, error) {
	var found gotDocument[record]
	err := l.cluster.do(ctx, http.MethodGet, "/"+l.names.definitions()+"/_doc/"+recordMeta, nil, &found)
	if isAbsent(err) || isIndexMissing(err) {
		return nil, version{}, nil
	}
	if err != nil {
		return nil, version{}, fmt.Errorf("find a library in the cluster: %w", err)
	}
	meta := &metaRecord{}
	if err := json.Unmarshal([]byte(found.Source.Value), meta); err != nil {
		return nil, version{}, fmt.Errorf("read the keys of the library: %w", err)
	}
	return meta, found.version, nil
}

// changeMeta changes the keys of the library. It calls change with the current keys, again if another process has changed them first.
// change returns false if it changes nothing. The keys are nil if there is no library.
func (l *Library) changeMeta(ctx context.Context, change func(*metaRecord) (bool, error)) error {
	for range maxAttempts {
		meta, at, err := l.readMeta(ctx)
		if err != nil {
			return err
		}
		if changed, err := change(meta); err != nil || !changed {
			return err
		}
		doc, err := meta.record()
		if err != nil {
			return err
		}
		op := operation{index: l.names.definitions(), id: recordMeta, doc: doc, at: &at}
		is := l.cluster.bulk(ctx, []operation{op}, refreshNow)[0]
		if is.err != nil || !is.conflict {
			return is.err
		}
	}
	return fmt.Errorf("change the keys of the library: %w: other processes change them", library.ErrUnavailable)
}

// use records that a copy is used as a library. It fails if the copy is unfinished, or if its migration was cancelled.
func (l *Library) use(ctx context.Context) error {
	err := l.changeMeta(ctx, func(meta *metaRecord) (bool, error) {
		switch {
		case meta == nil:
			return false, errors.New("the library was deleted")
		case meta.Transfer != "":
			return false, fmt.Errorf("the indices %s-* are an unfinished copy of a library: run vitrine migrate again to finish it, or delete the indices", l.options.Prefix)
		case meta.Cancelled:
			return false, fmt.Errorf("the indices %s-* are a copy whose migration was cancelled, so that the original library is in use: delete the indices. "+
				"To use this copy instead of the original, stop the server of the original, and run vitrine migrate --cancel with the --opensearch flags of the copy", l.options.Prefix)
		}
		changed := meta.Copied != "" && !meta.Used
		meta.Used = true
		return changed, nil
	})
	if isBlocked(err) {
		return nil // an index that rejects writes can be read; the next start records the use
	}
	return err
}

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
		return l.changeMeta(ctx, func(meta *metaRecord) (bool, error) {
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
		return l.changeMeta(ctx, func(meta *metaRecord) (bool, error) {
			if revived = meta != nil && meta.Cancelled; revived {
				meta.Cancelled, meta.Used = false, true
			}
			return revived, nil
		})
	})
	return revived, err
}
