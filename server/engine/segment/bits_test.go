package segment

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// TestWriteBitsDamaged copies bitmaps whose bytes are damaged. The format is that of RoaringFormatSpec.
func TestWriteBitsDamaged(t *testing.T) {
	const docs, block = 3 << 16, 2 << 16
	list := roaring.BitmapOf(block+1, block+2, block+4)
	runs := roaring.New()
	runs.AddRange(block+10, block+20)
	runs.RunOptimize()
	full := roaring.New()
	for doc := uint32(block); doc < docs; doc += 2 {
		full.Add(doc)
	}
	for name, test := range map[string]struct {
		bitmap *roaring.Bitmap
		// at is the place of two bytes in the serialized form that value replaces.
		at    func(serialized []byte) int
		value uint16
	}{
		"block of a list":        {list, func([]byte) int { return 8 }, 4},
		"block of bits":          {full, func([]byte) int { return 8 }, 4},
		"block of runs":          {runs, func([]byte) int { return 5 }, 4},
		"length of the last run": {runs, func(b []byte) int { return len(b) - 2 }, 1<<16 - 1},
	} {
		serialized, err := test.bitmap.ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []uint16{binary.LittleEndian.Uint16(serialized[test.at(serialized):]), test.value} {
			sound := value != test.value
			binary.LittleEndian.PutUint16(serialized[test.at(serialized):], value)
			b := roaring.New()
			if _, err := b.FromBuffer(serialized); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			words := make([]uint64, docs/64)
			if ok := WriteBits(b, words); ok != sound {
				t.Errorf("%s, sound %t: %t", name, sound, ok)
			}
			if some := slices.ContainsFunc(words, func(w uint64) bool { return w != 0 }); some != sound {
				t.Errorf("%s, sound %t: bits are set: %t", name, sound, some)
			}
		}
	}
}
