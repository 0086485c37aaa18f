package segment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// openColumn writes a column of numbers and opens it.
func openColumn(t testing.TB, all []int64) *numbers {
	t.Helper()
	out, n := &checksumWriter{}, &numbers{}
	c := writeColumn(out, nil, all)
	if !n.open(&Segment{data: out.buf}, c, len(all)) {
		t.Fatalf("the column %+v of %d numbers cannot be opened", c, len(all))
	}
	return n
}

// TestScans writes columns of every width, with several lengths, bases and scales, with and without a table. It compares the numbers that
// the columns return with those that were written, and the result of scanRange with a check of each number.
func TestScans(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	near := func(v int64) int64 { return v + int64(r.IntN(5)) - 2 }
	widths, tables, scales := map[int]bool{}, 0, 0
	for _, count := range []int{0, 1, 7, 63, 64, 65, 200, 2000, sliceFrom + 7} {
		for _, steps := range []uint64{0, 1, 200, 60_000, 1 << 30, 1 << 50, math.MaxUint64} {
			for _, scale := range []uint64{1, 1000, 1 << 33} {
				for _, distinct := range []int{3, tableMost, count} {
					base := []int64{0, -300, 1 << 40, math.MinInt64}[r.IntN(4)]
					steps := min(steps, (math.MaxInt64-uint64(base))/scale)
					some := make([]int64, distinct+1)
					for i := range some {
						some[i] = int64(uint64(base) + scale*(r.Uint64()%(steps+min(1, math.MaxUint64-steps))))
					}
					all := make([]int64, count)
					for i := range all {
						all[i] = some[r.IntN(len(some))]
					}
					n := openColumn(t, all)
					widths[n.Width] = true
					tables += min(1, n.Table)
					scales += int(min(1, n.Scale-1))
					for i, want := range all {
						if got := n.at(i); got != want {
							t.Fatalf("number %d of %d in %+v is %d, want %d", i, count, n.column, got, want)
						}
					}
					bounds := []int64{math.MinInt64, math.MaxInt64, base, near(base)}
					for range min(3, count) {
						bounds = append(bounds, all[r.IntN(count)], near(all[r.IntN(count)]))
					}
					for _, lo := range bounds {
						for _, hi := range bounds {
							check(t, fmt.Sprintf("%+v, %d to %d", n.column, lo, hi), n, count, n.scanRange(count, lo, hi),
								func(v int64) bool { return lo <= v && v <= hi })
						}
					}
				}
			}
		}
	}
	if len(widths) != 5 || tables == 0 || scales == 0 {
		t.Errorf("columns of the widths %v, %d of them with a table and %d with a scale", widths, tables, scales)
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
	var all []int64
	for _, v := range values {
		all = append(all, int64(math.Float64bits(v)))
	}
	for _, all := range [][]int64{all, slices.Repeat(all, 3)} { // without and with a table
		n := openColumn(t, all)
		for _, lo := range append(values, math.NaN()) {
			for _, hi := range append(values, math.NaN()) {
				check(t, fmt.Sprintf("%+v, %v to %v", n.column, lo, hi), n, len(all), n.scanFloats(len(all), lo, hi), func(v int64) bool {
					f := math.Float64frombits(uint64(v))
					return lo <= f && f <= hi
				})
			}
		}
	}
}

func BenchmarkScan(b *testing.B) {
	const count = 1 << 20
	r := rand.New(rand.NewPCG(5, 6))
	for _, width := range []int{1, 2, 4, 8} {
		n := numbers{column: column{Width: width, Scale: 1}, b: make([]byte, count*width)}
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
