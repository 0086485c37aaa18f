package store

import (
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
)

func TestPinsAreBounded(t *testing.T) {
	p := &Pins{}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for i := range MaxPins + 10 {
		p.keep(time.Duration(i).String(), make([]item.ID, 3), now.Add(time.Duration(i)*time.Millisecond))
	}
	if len(p.byName) != MaxPins {
		t.Errorf("%d listings are kept, want %d", len(p.byName), MaxPins)
	}
	if p.byName["0s"] != nil {
		t.Error("the one that ends first was kept")
	}
	p.keep("large", make([]item.ID, MaxPinnedItems), now.Add(time.Second))
	if len(p.byName) != 1 || p.byName["large"] == nil {
		t.Errorf("%d listings beside one of the largest size", len(p.byName)-1)
	}
	p.expire(now.Add(time.Hour))
	if len(p.byName) != 0 {
		t.Errorf("%d listings are kept after their minute", len(p.byName))
	}
}
