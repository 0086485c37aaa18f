package reference

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// VerifyCopy opens the copy that Checkpoint made in dir and decodes every item of it. The error says what cannot be read.
func (l *Library) VerifyCopy(ctx context.Context, dir string) error {
	return l.Store.VerifyCopy(ctx, dir, func(library.PropertyID, []*item.Item) error { return nil })
}
