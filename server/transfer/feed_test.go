package transfer_test

import (
	"slices"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// changesAfter reads all changes after a position. It returns the position after them, and the ids, or nil if the position is lost.
func changesAfter(t *testing.T, l library.Feed, after library.Position) (next library.Position, ids []item.ID) {
	t.Helper()
	ids = []item.ID{}
	for {
		got, err := l.Changes(t.Context(), library.ChangesRead{Property: shop, After: after, Limit: 7})
		if err != nil {
			t.Fatal(err)
		}
		if got.Lost {
			return got.Next, nil
		}
		for _, it := range got.Items {
			ids = append(ids, it.ID)
		}
		if after = got.Next; !got.More {
			return after, ids
		}
	}
}

// TestFeedContinues checks that a copy continues positions after which nothing has changed in its source, and knows no others.
func TestFeedContinues(t *testing.T) {
	for _, kinds := range [][]string{{"engine", "opensearch", "engine"}, {"engine", "reference", "engine"}} {
		t.Run(kinds[1], func(t *testing.T) {
			t.Parallel()
			feedContinues(t, kinds)
		})
	}
}

func feedContinues(t *testing.T, names []string) {
	from := kinds[names[0]](t).library(t)
	fill(t, from, newSeed(t))
	text := `{"content":{"content_type":"image","text":"beach"}}`
	var sources []library.Position // the last positions of all sources so far
	for _, name := range names[1:] {
		old, _ := changesAfter(t, from, "")
		changed := write(t, from, shop, line(t, text))[0].ID
		last, ids := changesAfter(t, from, old)
		if !slices.Equal(ids, []item.ID{changed}) {
			t.Fatalf("the source has %v, want %d", ids, changed)
		}
		write(t, from, kiosk, line(t, text)) // moves the position of now on, but does not change the property

		at := kinds[name](t)
		if _, err := at.copyOf(t.Context(), t, from, unchanged); err != nil {
			t.Fatal(err)
		}
		now, ids := changesAfter(t, from, old)
		if !slices.Equal(ids, []item.ID{changed}) {
			t.Errorf("the frozen source has %v, want %d", ids, changed)
		}
		rules, err := from.Rules(shop)
		if err != nil {
			t.Fatal(err)
		}
		if err := from.Source().Thaw(t.Context()); err != nil {
			t.Fatal(err)
		}
		write(t, from, shop, line(t, text)) // only in the source, which is no longer in use
		foreign, _ := changesAfter(t, from, "")

		to := at.library(t)
		for what, p := range map[string]library.Position{"old": old, "later": foreign, "unknown": "x-1"} {
			if _, ids := changesAfter(t, to, p); ids != nil {
				t.Errorf("%s: the copy knows the %s position, and has %v", name, what, ids)
			}
		}
		for _, p := range sources {
			if _, ids := changesAfter(t, to, p); ids != nil {
				t.Errorf("%s: the copy knows a position of the source of its source", name)
			}
		}
		for _, p := range []library.Position{last, now} {
			if _, ids := changesAfter(t, to, p); ids == nil || len(ids) > 0 {
				t.Errorf("%s: after position %s, the copy has %v, want no changes", name, p, ids)
			}
		}
		added := write(t, to, shop, line(t, text))[0].ID
		for _, p := range []library.Position{last, now} {
			if _, ids := changesAfter(t, to, p); !slices.Equal(ids, []item.ID{added}) {
				t.Errorf("%s: after position %s, the copy has %v, want %d", name, p, ids, added)
			}
		}
		if is, err := to.Rules(shop); err != nil || is != rules {
			t.Errorf("%s: %v: the copy has the rules %+v, which reset all followers, want %+v", name, err, is, rules)
		}
		from, sources = to, append(sources, last, now)
	}
	if _, err := from.Remove(t.Context(), []library.Owner{property(shop).Owner}); err != nil {
		t.Fatal(err)
	}
	if err := from.Purge(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	apply(t, from, property(shop))
	for _, p := range sources {
		if _, ids := changesAfter(t, from, p); ids != nil {
			t.Error("after a purge, the copy knows a position of its source")
		}
	}
}
