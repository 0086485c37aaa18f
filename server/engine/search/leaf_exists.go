package search

import (
	"context"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// present is a test that passes if a document has a value in the field.
type present struct{}

func (present) find(_ context.Context, _ *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	return borrowed(f.Present()), nil
}

func (present) holds(string) bool           { return true }
func (present) appendKey(key []byte) []byte { return append(key, '?') }
func (present) price() int                  { return 1 }
