package segment

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// FuzzSketch checks that sketch.near returns true for the sketches of any two terms within the edit distance.
func FuzzSketch(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		word := []rune(strings.Repeat("beach東é😀\xff", 1+rng.IntN(8)))
		rng.Shuffle(len(word), func(i, j int) { word[i], word[j] = word[j], word[i] })
		word = word[:rng.IntN(len(word)+1)]
		other := append([]rune{}, word...)
		for range rng.IntN(3) {
			at := rng.IntN(len(other) + 1)
			switch left := len(other) - at; {
			case rng.IntN(3) == 0:
				other = append(other[:at:at], append([]rune{'x'}, other[at:]...)...)
			case left > 1 && rng.IntN(2) == 0:
				other[at], other[at+1] = other[at+1], other[at]
			case left > 0 && rng.IntN(2) == 0:
				other[at] = 'y'
			case left > 0:
				other = append(other[:at], other[at+1:]...)
			}
		}
		f.Add(string(word), string(other))
	}
	f.Fuzz(func(t *testing.T, word, other string) {
		for edits := range 3 {
			if automaton.Distance(word, other, edits) <= edits && !sketchOf([]byte(word)).near(sketchOf([]byte(other)), edits) {
				t.Errorf("%q and %q are within %d edits, but their sketches are not near", word, other, edits)
			}
		}
	})
}
