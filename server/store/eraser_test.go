package store

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

func TestStretches(t *testing.T) {
	for name, c := range map[string]struct {
		ids   []item.ID
		limit int
		want  [][2]item.ID
	}{
		"none":             {nil, 3, nil},
		"one":              {[]item.ID{7}, 3, [][2]item.ID{{7, 7}}},
		"each by itself":   {[]item.ID{9, 1, 5, 1}, 3, [][2]item.ID{{1, 1}, {5, 5}, {9, 9}}},
		"widest gaps":      {[]item.ID{1, 2, 3, 50, 52, 1000, 1001}, 3, [][2]item.ID{{1, 3}, {50, 52}, {1000, 1001}}},
		"one for all":      {[]item.ID{4, 2, item.MaxID}, 1, [][2]item.ID{{2, item.MaxID}}},
		"as many as cuts":  {[]item.ID{1, 2}, 2, [][2]item.ID{{1, 1}, {2, 2}}},
		"the largest gaps": {[]item.ID{1, item.MaxID - 1, item.MaxID}, 2, [][2]item.ID{{1, 1}, {item.MaxID - 1, item.MaxID}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, stretches(c.ids, c.limit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestErasureIsRemembered checks that the store records a pending erasure in the same batch as the deletion, and deletes the record only
// after both the store and the index have erased the data.
func TestErasureIsRemembered(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Options{Dir: dir})
	write(t, l, put(1, "one", ""), put(2, "two", ""))
	pending := func() int {
		t.Helper()
		_, ranges, err := l.eraser.pending()
		if err != nil {
			t.Fatal(err)
		}
		return len(ranges)
	}
	if n := pending(); n != 0 {
		t.Errorf("%d ranges are to be erased before any deletion", n)
	}
	write(t, l, library.Mutation{Delete: true, ID: 1})
	if n := pending(); n != 3 {
		t.Errorf("%d ranges are to be erased, want the item's, that of its history and that of the short codes", n)
	}
	l.items.eraseError = errors.New("busy")
	if err := l.eraser.erase(); !errors.Is(err, l.items.eraseError) || pending() != 3 {
		t.Errorf("an index that cannot erase: %v, %d ranges are left", err, pending())
	}
	l.items.eraseError = nil
	if err := l.eraser.erase(); err != nil || pending() != 0 || l.items.erasures != 2 {
		t.Errorf("erased: %v, %d ranges are left, the index was asked %d times", err, pending(), l.items.erasures)
	}
	if err := l.eraser.erase(); err != nil || l.items.erasures != 2 {
		t.Errorf("nothing to erase: %v, the index was asked %d times", err, l.items.erasures)
	}
	if _, err := l.Remove(t.Context(), []library.Owner{shopProperty().Owner}); err != nil {
		t.Fatal(err)
	}
	if err := l.Purge(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	if n := pending(); n != 1 {
		t.Errorf("%d ranges are to be erased after a purge, want the property's", n)
	}
}
