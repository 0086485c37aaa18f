package segment

import (
	"runtime"

	"github.com/RoaringBitmap/roaring/v2"
)

// WriteBits copies a bitmap into plain bits, one bit for each document. The bits must be 0 before the call. If the bitmap is damaged,
// WriteBits either sets no bits and returns false, or it sets the bits of wrong documents.
//
// WriteBits does not call Bitmap.Validate. Validate compares each run of a block with all other runs of the block, so for a frequent term,
// it takes much longer than copying the bitmap.
func WriteBits(b *roaring.Bitmap, words []uint64) (ok bool) {
	defer func() {
		switch damage := recover().(type) {
		case nil:
		case runtime.Error:
			clear(words)
		default:
			panic(damage)
		}
	}()
	b.WriteDenseTo(words) // panics if a document is out of range
	return true
}
