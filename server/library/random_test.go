package library

import (
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
)

// TestRandomPlaceNeverChanges compares sort values with constants. The values must not change, because cursors of older versions contain
// them.
func TestRandomPlaceNeverChanges(t *testing.T) {
	for name, c := range map[string]struct {
		seed string
		id   item.ID
		want int64
	}{
		"no seed":   {"", 1, 2242788737073956826},
		"a word":    {"monday", 1, 7583562020723153725},
		"the next":  {"monday", 2, 3485193921879357740},
		"the last":  {"monday", item.MaxID, 1439861960192936117},
		"long seed": {strings.Repeat("x", 200), 1, 3490561144037387785},
	} {
		if got := RandomPlace(c.seed, c.id); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestRandomPlacesAreUniform checks that about the same number of items falls into each tenth of the range.
func TestRandomPlacesAreUniform(t *testing.T) {
	const items, tenth = 10_000, (1<<63 - 1) / 10
	for _, seed := range []string{"", "monday", "tuesday"} {
		var counts [11]int
		for id := range item.ID(items) {
			place := RandomPlace(seed, id+1)
			if place < 0 {
				t.Fatalf("item %d stands at %d", id+1, place)
			}
			counts[place/tenth]++
		}
		for i, n := range counts[:10] {
			if n < items/10*8/10 || n > items/10*12/10 {
				t.Errorf("seed %q: %d items in tenth %d", seed, n, i)
			}
		}
	}
	if n := testing.AllocsPerRun(10, func() { RandomPlace("monday", 7) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
