package search

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCountNumbersInPasses counts many distinct numbers in passes that each have room for only a few.
func TestCountNumbersInPasses(t *testing.T) {
	const room = 64
	different := make([]int64, 5000)
	for i := range different {
		different[i] = int64(i) - 1000
	}
	shuffled := slices.Clone(different)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	descending := slices.Clone(different)
	slices.Reverse(descending)
	few := make([]int64, 5000)
	for i := range few {
		few[i] = int64(i % room)
	}
	// Most documents have the same number. A sample therefore does not show that the other documents have many distinct numbers.
	hidden := append(slices.Repeat([]int64{7}, 5000), different[:1000]...)
	for name, c := range map[string]struct {
		numbers            []int64
		passes, mostPasses int
	}{
		"none":       {nil, 1, 1},
		"one":        {[]int64{-3}, 1, 1},
		"few":        {few, 1, 1},
		"dense":      {append([]int64{-1000, -600}, different[:7*room]...), 3, 3},
		"ascending":  {different, len(different) / room, 200},
		"descending": {descending, len(different) / room, 200},
		"shuffled":   {shuffled, len(different) / room, 200},
		"hidden":     {hidden, 1000 / room, 100},
		"extremes":   {append([]int64{math.MinInt64, math.MaxInt64}, different...), len(different) / room, 200},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[int64]int64{}
			for _, n := range c.numbers {
				want[n]++
			}
			got, passes := map[int64]int64{}, 0
			each := func(use func(n, count int64)) error {
				passes++
				for _, n := range c.numbers {
					use(n, 1)
				}
				return nil
			}
			err := countNumbers(each, int64(len(c.numbers)), room, func(n, count int64) {
				if got[n] > 0 {
					t.Errorf("%d is added twice", n)
				}
				got[n] = count
			})
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("%d numbers are added, want %d, error %v", len(got), len(want), err)
			}
			if passes < c.passes || passes > c.mostPasses {
				t.Errorf("%d passes, want %d to %d", passes, c.passes, c.mostPasses)
			}
		})
	}
}
