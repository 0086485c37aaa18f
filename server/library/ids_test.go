package library

import (
	"bytes"
	"crypto/rand"
	"io"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
)

// TestDerivedIDsNeverChange compares ids with values that are in use. If a derived id changes, URLs break.
func TestDerivedIDsNeverChange(t *testing.T) {
	uuid, id := FilterIDs("shop/default", KindFilter, "shop", "summer-wall")
	if want := "d84e43ba-b105-545a-b717-382de3960863"; uuid != want {
		t.Errorf("filter UUID %s, want %s", uuid, want)
	}
	if want := int64(4204282334485805); id != want {
		t.Errorf("filter id %d, want %d", id, want)
	}
	if got, want := UnitID("shop/default", "shop", "sandals"), int64(2582118650523114); got != want {
		t.Errorf("unit id %d, want %d", got, want)
	}
	if got, want := PlatformPageID("shop/default"), int64(6062765657669468); got != want {
		t.Errorf("platform page id %d, want %d", got, want)
	}
}

func TestIDsOfDifferentNamesDiffer(t *testing.T) {
	seen := map[string]string{}
	for name, args := range map[string][4]string{
		"itself":           {"shop/default", "ContentFilter", "shop", "a"},
		"another property": {"shop/other", "ContentFilter", "shop", "a"},
		"another name":     {"shop/default", "ContentFilter", "shop", "b"},
		"another place":    {"shop/default", "ContentFilter", "wall", "a"},
	} {
		uuid, id := FilterIDs(PropertyID(args[0]), KindFilter, args[2], args[3])
		if other, taken := seen[uuid]; taken {
			t.Errorf("%s has the UUID of %s", name, other)
		}
		seen[uuid] = name
		if id < 1 || id > item.MaxID {
			t.Errorf("%s: id %d is not between 1 and 2^53-1", name, id)
		}
		if id != IDFromUUID(uuid) {
			t.Errorf("%s: id %d does not come from the UUID", name, id)
		}
	}
	filter, _ := FilterIDs("shop/default", KindFilter, "shop", "a")
	if IDFromUUID(filter) == UnitID("shop/default", "shop", "a") {
		t.Error("a filter and a unit of one name share their id")
	}
}

func TestNewFilterIDs(t *testing.T) {
	a, idA, err := NewFilterIDs(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b, idB, err := NewFilterIDs(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if a == b || idA == idB {
		t.Errorf("two draws gave %s (%d) and %s (%d)", a, idA, b, idB)
	}
	if idA != IDFromUUID(a) {
		t.Errorf("id %d does not come from the UUID %s", idA, a)
	}
	if _, _, err := NewFilterIDs(io.LimitReader(bytes.NewReader(nil), 0)); err == nil {
		t.Error("a source without randomness gave ids")
	}
}
