package records

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// operation returns the operation that stores the keys of the library, unless there are keys.
func (r *Records) operation(m Meta) (cluster.Operation, error) {
	value, err := json.Marshal(m)
	if err != nil {
		return cluster.Operation{}, fmt.Errorf("encode the keys of the library: %w", err)
	}
	return cluster.Operation{Index: r.names.Definitions(), ID: typeMeta, Doc: record{Type: typeMeta, Value: string(value)}}, nil
}

// Create stores the keys of a library, or of an unfinished copy of the source with the given freeze. If there is a library, it keeps its
// keys.
func (r *Records) Create(ctx context.Context, authorKey []byte, from transfer.Freeze) error {
	op, err := r.operation(Meta{Format: format, AuthorKey: base64.StdEncoding.EncodeToString(authorKey), Transfer: from})
	if err != nil {
		return err
	}
	return cluster.FirstError(r.cluster.Bulk(ctx, []cluster.Operation{op}, cluster.RefreshNow))
}

// FinishCopy records that the copy of the source with the given freeze is complete.
func (r *Records) FinishCopy(ctx context.Context, from transfer.Freeze) error {
	op, err := r.operation(Meta{Format: format, AuthorKey: base64.StdEncoding.EncodeToString(r.Now().AuthorKey), Copied: from})
	if err != nil {
		return err
	}
	op.Over = true
	return cluster.FirstError(r.cluster.Bulk(ctx, []cluster.Operation{op}, cluster.RefreshNow))
}

// ReadMeta reads the keys of the library in the cluster. It returns nil if there is no library.
func (r *Records) ReadMeta(ctx context.Context) (*Meta, error) {
	meta, _, err := r.readMeta(ctx)
	return meta, err
}

// readMeta is like ReadMeta. It also returns the state of the document.
func (r *Records) readMeta(ctx context.Context) (*Meta, cluster.Version, error) {
	var found cluster.GotDocument[record]
	err := r.cluster.Do(ctx, http.MethodGet, "/"+r.names.Definitions()+"/_doc/"+typeMeta, nil, &found)
	if cluster.IsAbsent(err) || cluster.IsIndexMissing(err) {
		return nil, cluster.Version{}, nil
	}
	if err != nil {
		return nil, cluster.Version{}, fmt.Errorf("find a library in the cluster: %w", err)
	}
	meta := &Meta{}
	if err := json.Unmarshal([]byte(found.Source.Value), meta); err != nil {
		return nil, cluster.Version{}, fmt.Errorf("read the keys of the library: %w", err)
	}
	return meta, found.Version, nil
}

// ChangeMeta changes the keys of the library. It calls change with the current keys, again if another process has changed them first.
// change returns false if it changes nothing. The keys are nil if there is no library.
func (r *Records) ChangeMeta(ctx context.Context, change func(*Meta) (bool, error)) error {
	for range cluster.MaxAttempts {
		meta, at, err := r.readMeta(ctx)
		if err != nil {
			return err
		}
		if changed, err := change(meta); err != nil || !changed {
			return err
		}
		op, err := r.operation(*meta)
		if err != nil {
			return err
		}
		op.At = &at
		is := r.cluster.Bulk(ctx, []cluster.Operation{op}, cluster.RefreshNow)[0]
		if is.Err != nil || !is.Conflict {
			return is.Err
		}
	}
	return fmt.Errorf("change the keys of the library: %w: other processes change them", library.ErrUnavailable)
}

// use records that a copy is used as a library. It fails if the copy is unfinished, or if its migration was cancelled.
func (r *Records) use(ctx context.Context) error {
	err := r.ChangeMeta(ctx, func(meta *Meta) (bool, error) {
		switch {
		case meta == nil:
			return false, errors.New("the library was deleted")
		case meta.Transfer != "":
			return false, fmt.Errorf("the indices %s-* are an unfinished copy of a library: run vitrine migrate again to finish it, or delete the indices", r.names.Prefix)
		case meta.Cancelled:
			return false, fmt.Errorf("the indices %s-* are a copy whose migration was cancelled, so that the original library is in use: delete the indices. "+
				"To use this copy instead of the original, stop the server of the original, and run vitrine migrate --cancel with the --opensearch flags of the copy", r.names.Prefix)
		}
		changed := meta.Copied != "" && !meta.Used
		meta.Used = true
		return changed, nil
	})
	if cluster.IsBlocked(err) {
		return nil // an index that rejects writes can be read; the next start records the use
	}
	return err
}
