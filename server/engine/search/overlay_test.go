package search

import (
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
)

// TestFixedRulesAreBoundOnce checks that corpora share the bound rules of an overlay if and only if the overlay is fixed.
func TestFixedRulesAreBoundOnce(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		o := &Overlay{Units: []UnitRule{{Unit: item.Unit{ID: 1}}}, Fixed: fixed}
		var bound [2]*unitOverlay
		for i := range bound {
			var err error
			if bound[i], err = (&Corpus{Overlay: o}).unitOverlay(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if (bound[0] == bound[1]) != fixed {
			t.Errorf("fixed %t: the corpora share their rules: %t", fixed, bound[0] == bound[1])
		}
	}
}
