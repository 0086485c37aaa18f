package opensearch

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// recordFormat is the version of the documents of all indices.
const recordFormat = 1

// metaRecord identifies the library. A copy and its source have the same tokens. Therefore, only one of them can be opened as a library:
// either the copy is used first, or the migration is cancelled first. A conditional write of the metaRecord decides.
type metaRecord struct {
	Format    int    `json:"format"`
	AuthorKey string `json:"author_key"`
	// Transfer is the freeze of the source while the library is an unfinished copy. It is empty if the library can be opened.
	Transfer transfer.Freeze `json:"transfer,omitempty"`
	// Copied is the freeze of the source if the library is a finished copy. Used is true if a copy was opened as a library since then.
	// Cancelled is true if the migration was cancelled before that. The source is then in use again, so the copy cannot be opened.
	Copied    transfer.Freeze `json:"copied,omitempty"`
	Used      bool            `json:"used,omitempty"`
	Cancelled bool            `json:"cancelled,omitempty"`
}

// newMetaRecord returns the record of a library with an author key.
func newMetaRecord(authorKey []byte, from transfer.Freeze) (record, error) {
	return metaRecord{Format: recordFormat, AuthorKey: base64.StdEncoding.EncodeToString(authorKey), Transfer: from}.record()
}

func (m metaRecord) record() (record, error) {
	value, err := json.Marshal(m)
	if err != nil {
		return record{}, fmt.Errorf("encode the key of a new library: %w", err)
	}
	return record{Type: recordMeta, Value: string(value)}, nil
}

// readMeta reads the keys of the library in the cluster, and the state of their document. It returns nil if there is no library.
func (r *records) readMeta(ctx context.Context) (*metaRecord, version, error) {
	var found gotDocument[record]
	err := r.cluster.do(ctx, http.MethodGet, "/"+r.names.definitions()+"/_doc/"+recordMeta, nil, &found)
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
func (r *records) changeMeta(ctx context.Context, change func(*metaRecord) (bool, error)) error {
	for range maxAttempts {
		meta, at, err := r.readMeta(ctx)
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
		op := operation{index: r.names.definitions(), id: recordMeta, doc: doc, at: &at}
		is := r.cluster.bulk(ctx, []operation{op}, refreshNow)[0]
		if is.err != nil || !is.conflict {
			return is.err
		}
	}
	return fmt.Errorf("change the keys of the library: %w: other processes change them", library.ErrUnavailable)
}

// use records that a copy is used as a library. It fails if the copy is unfinished, or if its migration was cancelled.
func (r *records) use(ctx context.Context) error {
	err := r.changeMeta(ctx, func(meta *metaRecord) (bool, error) {
		switch {
		case meta == nil:
			return false, errors.New("the library was deleted")
		case meta.Transfer != "":
			return false, fmt.Errorf("the indices %s-* are an unfinished copy of a library: run vitrine migrate again to finish it, or delete the indices", r.names.prefix)
		case meta.Cancelled:
			return false, fmt.Errorf("the indices %s-* are a copy whose migration was cancelled, so that the original library is in use: delete the indices. "+
				"To use this copy instead of the original, stop the server of the original, and run vitrine migrate --cancel with the --opensearch flags of the copy", r.names.prefix)
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
