package store

import (
	"slices"
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

// TestAPinIsTakenUpAgain: a cursor that outlived its minute, as nothing had changed, holds for another one when something
// changes then.
func TestAPinIsTakenUpAgain(t *testing.T) {
	p := &Pins{}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	before, after := []item.ID{1, 2, 3, 4, 5}, []item.ID{5, 4, 3, 2, 1}
	_, next, err := p.Page(now, "before", before, nil, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * PinTime)
	if _, next, err = p.Page(now, "before", before, next, 0, 1); err != nil {
		t.Fatal(err)
	}
	got, next, err := p.Page(now.Add(PinTime-1), "after", after, next, 0, 1)
	if err != nil || !slices.Equal(got, []item.ID{3}) {
		t.Errorf("items %v, error %v; want the third as it was", got, err)
	}
	if _, _, err = p.Page(now.Add(PinTime), "after", after, next, 0, 1); err == nil {
		t.Error("the listing is kept after its minute")
	}
}
