package search

import (
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// TestBlocksOfDamagedBitmap iterates over bitmaps with documents that the segment does not have, as in a damaged file.
func TestBlocksOfDamagedBitmap(t *testing.T) {
	const docs = 2*blockDocs + 100
	few, many := roaring.BitmapOf(7, docs-1, docs, 3*blockDocs+5), roaring.New()
	many.AddRange(docs-200, docs+200)
	beyond := roaring.New()
	beyond.AddRange(0, 5*blockDocs)
	for name, test := range map[string]struct {
		set  *roaring.Bitmap
		want int64
	}{
		"few documents":           {few, 2},
		"to the end of the block": {many, 200},
		"beyond the last block":   {beyond, 0},
	} {
		for _, dead := range [][]uint64{nil, make([]uint64, (docs+63)/64)} {
			s := newBlocks(test.set, dead, docs, nil)
			var found []uint32
			for s.next() {
				s.each(new(sums), func(h Hit) { found = append(found, h.Doc) })
			}
			s.close(nil)
			if s.total != test.want || int64(len(found)) != test.want || slices.ContainsFunc(found, func(doc uint32) bool { return doc >= docs }) {
				t.Errorf("%s: a total of %d, and the documents %d; want %d documents below %d", name, s.total, found, test.want, docs)
			}
		}
	}
}
