package rank_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// TestPairs compares the frequencies of phrases of two words with the results of a naive algorithm.
func TestPairs(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 2))
	list := func() []uint32 {
		n := d.IntN(6)
		set := map[uint32]bool{}
		for range n {
			set[d.Uint32N(12)] = true
		}
		var l []uint32
		for pos := range set {
			l = append(l, pos)
		}
		slices.Sort(l)
		return l
	}
	found := 0
	for range 20_000 {
		a, b, distance := list(), list(), d.IntN(4)
		want := 0
		for _, pos := range a {
			if slices.Contains(b, pos+uint32(distance)) {
				want++
			}
		}
		p := rank.NewPhrase([]string{"a", "b"}, []int{3, 3 + distance}, 0)
		if got := p.Freq([][]uint32{a, b}); got != float32(want) {
			t.Fatalf("positions %v and %v at distance %d: frequency %v, expected %d", a, b, distance, got, want)
		}
		found += want
	}
	if found == 0 {
		t.Fatal("no phrase occurred")
	}
}
