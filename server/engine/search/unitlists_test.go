package search

import (
	"math"
	"testing"
)

// TestNarrow checks that a list of numbers keeps them, and takes as few bytes as the highest number needs.
func TestNarrow(t *testing.T) {
	for highest, width := range map[int]int{
		0: 1, math.MaxUint8: 1, math.MaxUint8 + 1: 2, math.MaxUint16: 2, math.MaxUint16 + 1: 4, math.MaxUint32: 4,
	} {
		numbers := []uint32{0, uint32(highest), uint32(highest / 2), uint32(highest / 3)}
		n := newNarrow(numbers, highest)
		if n.len() != len(numbers) || len(n.bytes) != width*len(numbers) {
			t.Errorf("highest %d: %d numbers in %d bytes, want %d in %d", highest, n.len(), len(n.bytes), len(numbers), width*len(numbers))
		}
		for i, want := range numbers {
			if got := n.at(i); got != want {
				t.Errorf("highest %d: number %d is %d, want %d", highest, i, got, want)
			}
		}
	}
	if n := (narrow{}).len(); n != 0 {
		t.Errorf("the zero value has %d numbers", n)
	}
}
