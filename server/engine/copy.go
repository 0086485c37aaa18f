package engine

import (
	"context"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// Checkpoint copies the store to dir. See store.Store.Checkpoint.
func (l *Library) Checkpoint(ctx context.Context, dir string) (store.Census, error) {
	return l.store.Checkpoint(ctx, dir)
}

// Census describes the current state of the store. See store.Store.Census.
func (l *Library) Census() store.Census { return l.store.Census() }

// VerifyCopy verifies the copy that Checkpoint made in dir. It opens the copy, indexes all items as if the index were empty, and discards
// the segments. VerifyCopy takes about as long as a rebuild of all indexes on one processor. It needs the memory of a segment with a few
// thousand items. The error names the property that cannot be read or indexed.
func (l *Library) VerifyCopy(ctx context.Context, dir string) error {
	builder, scratch := segment.NewBuilder(), new(segment.Scratch)
	return l.store.VerifyCopy(ctx, dir, func(_ library.PropertyID, items []*item.Item) error {
		defer scratch.Reset()
		docs := make([]segment.Doc, len(items))
		for i, it := range items {
			docs[i] = scratch.NewDoc(it)
		}
		if _, err := builder.Build(docs); err != nil {
			return fmt.Errorf("index items %d to %d: %w", items[0].ID, items[len(items)-1].ID, err)
		}
		return nil
	})
}
