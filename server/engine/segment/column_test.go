package segment

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestScans compares the result of scanRange with a check of each number, for columns of every width and of several lengths and bases.
func TestScans(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	near := func(v int64) int64 { return v + int64(r.IntN(5)) - 2 }
	for _, width := range []int{0, 1, 2, 4, 8} {
		for _, count := range []int{0, 1, 7, 63, 64, 65, 200, sliceFrom + 7} {
			for _, base := range []int64{0, -300, 1 << 40, math.MinInt64, math.MaxInt64 - 255} {
				n := numbers{column: column{Width: width, Base: base}, b: make([]byte, count*width)}
				for i := range n.b {
					n.b[i] = byte([]int{0, 1, 127, 128, 129, 254, 255, r.IntN(256)}[r.IntN(8)])
				}
				if width == 8 && base > math.MinInt64 { // base + number must not overflow
					for i := range count {
						binary.LittleEndian.PutUint64(n.b[8*i:], r.Uint64N(uint64(math.MaxInt64)-uint64(base)+1))
					}
				} else if base > 0 && width < 8 && base > math.MaxInt64-1<<32 {
					n.Base = math.MaxInt64 - (1<<(8*width) - 1)
				}
				bounds := []int64{math.MinInt64, math.MaxInt64, n.Base, near(n.Base), near(n.Base + 1<<(8*width&63) - 1)}
				for range 2 {
					if count > 0 {
						bounds = append(bounds, n.at(r.IntN(count)), near(n.at(r.IntN(count))))
					}
				}
				for _, lo := range bounds {
					for _, hi := range bounds {
						check(t, fmt.Sprintf("%d bytes from %d, %d to %d", width, n.Base, lo, hi), &n, count, n.scanRange(count, lo, hi),
							func(v int64) bool { return lo <= v && v <= hi })
					}
				}
			}
		}
	}
}

func check(t *testing.T, what string, n *numbers, count int, words []uint64, in func(int64) bool) {
	t.Helper()
	if len(words) != (count+63)/64 {
		t.Fatalf("%s: %d words for %d numbers", what, len(words), count)
	}
	for i := range 64 * len(words) {
		if got, want := words[i/64]>>(i%64)&1 == 1, i < count && in(n.at(i)); got != want {
			t.Fatalf("%s: position %d of %d: found %t", what, i, count, got)
		}
	}
}

func TestScansOfFloats(t *testing.T) {
	zero := math.Copysign(0, -1)
	values := []float64{0, zero, 1, -1, 0.5, -0.5, 19.07, -118.24, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64,
		-math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1)}
	n := numbers{column: column{Width: 8, Base: math.MinInt64}}
	for _, v := range values {
		n.b = binary.LittleEndian.AppendUint64(n.b, math.Float64bits(v)-1<<63)
	}
	for _, lo := range append(values, math.NaN()) {
		for _, hi := range append(values, math.NaN()) {
			check(t, fmt.Sprintf("%v to %v", lo, hi), &n, len(values), n.scanFloats(len(values), lo, hi), func(v int64) bool {
				f := math.Float64frombits(uint64(v))
				return lo <= f && f <= hi
			})
		}
	}
}

func BenchmarkScan(b *testing.B) {
	const count = 1 << 20
	r := rand.New(rand.NewPCG(5, 6))
	for _, width := range []int{1, 2, 4, 8} {
		n := numbers{column: column{Width: width}, b: make([]byte, count*width)}
		for i := range n.b {
			n.b[i] = byte(r.Uint32())
		}
		b.Run(fmt.Sprintf("%d bytes", width), func(b *testing.B) {
			for b.Loop() {
				n.scanRange(count, 1<<(8*width-3), 1<<(8*width-2))
			}
		})
	}
}
