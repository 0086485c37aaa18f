package search

import (
	"fmt"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// TestCountUnited checks that the total of a pattern, a range of terms and a fuzzy word first needs no bitmap of the matches, and that the
// query makes a view when it is counted again with other tombstones.
func TestCountUnited(t *testing.T) {
	text := query.Field{Name: "content.text", Type: query.Text}
	docs := make([]segment.Doc, 9000)
	for i := range docs {
		docs[i].ID = item.ID(i + 1)
		for n, word := range []string{"beach", fmt.Sprint("beac", i%90), fmt.Sprint("beac", i%5000)} {
			if n > 0 || i%3 == 0 {
				docs[i].Values = append(docs[i].Values, segment.Value{Field: text, Value: query.Value{Str: word}})
			}
		}
	}
	s, err := segment.Build(docs)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	few, many := roaring.BitmapOf(3, 4, 8999), roaring.New()
	many.AddRange(1000, 7000)
	for name, node := range map[string]plan.Node{
		"a rare prefix":    plan.Pattern{Field: text, Automaton: automaton.Prefix("beac499"), Source: "beac499*"},
		"a common prefix":  plan.Pattern{Field: text, Automaton: automaton.Prefix("bea"), Source: "bea*"},
		"a range of terms": plan.TermRange{Field: text, Lo: "beac2", Hi: "beac40", LoIncl: true},
		"a fuzzy word":     plan.Fuzzy{Field: text, Text: "beac8", Edits: 1, MaxExpansions: 50},
		"no such field":    plan.Pattern{Field: query.Field{Name: "nowhere", Type: query.Text}, Automaton: automaton.Prefix("b"), Source: "b*"},
	} {
		cache := NewCache(1 << 20)
		for i, dead := range []*roaring.Bitmap{nil, few, many} {
			part := segment.Part{Segment: s, Dead: dead}
			q, err := Bind(t.Context(), node, &Corpus{Parts: []segment.Part{part}, Cache: cache})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				counts, err := q.Counts(t.Context(), false)
				if err != nil {
					t.Fatal(err)
				}
				found, err := q.match.find(t.Context(), &evaluation{corpus: q.corpus, part: part}, nil)
				if want := part.LiveIn(found.bitmap); err != nil || counts[0] != want {
					t.Errorf("%s, tombstones %d: %d documents, want %d; error %v", name, i, counts, want, err)
				}
				if kept := len(cache.Kept()); i == 0 && kept != 0 || kept > 1 {
					t.Errorf("%s, tombstones %d: the cache keeps %d bitmaps", name, i, kept)
				}
			}
		}
	}
}

// TestCountUnitedDamaged counts a union whose bitmaps are damaged, and therefore empty.
func TestCountUnitedDamaged(t *testing.T) {
	u := newUnion(1000, NewCache(0))
	u.large = append(u.large, set{})
	if n := u.count(nil); n != 0 {
		t.Errorf("%d documents", n)
	}
}

// TestCountOfKeptView checks that the total of a prefix comes from a view that the cache already has.
func TestCountOfKeptView(t *testing.T) {
	text := query.Field{Name: "content.text", Type: query.Text}
	s, err := segment.Build([]segment.Doc{{ID: 1, Values: []segment.Value{{Field: text, Value: query.Value{Str: "beach"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cache := NewCache(1 << 20)
	node := plan.Pattern{Field: text, Automaton: automaton.Prefix("bea"), Source: "bea*"}
	q, err := Bind(t.Context(), node, &Corpus{Parts: []segment.Part{{Segment: s}}, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range []bool{true, false} {
		if counts, err := q.Counts(t.Context(), listed); err != nil || counts[0] != 1 {
			t.Errorf("listed %t: %v, error %v", listed, counts, err)
		}
	}
	if misses := cache.Stats().Misses; misses != 1 {
		t.Errorf("%d views were made", misses)
	}
}

// TestCountWithoutView checks that Counts counts the hits of simple queries without making a view, with and without tombstones.
func TestCountWithoutView(t *testing.T) {
	text, state := query.Field{Name: "content.text", Type: query.Text}, query.Field{Name: "approval_status"}
	docs := make([]segment.Doc, 300)
	for i := range docs {
		value := func(f query.Field, s string) segment.Value {
			return segment.Value{Field: f, Value: query.Value{Str: s}}
		}
		docs[i] = segment.Doc{ID: item.ID(i + 1), Values: []segment.Value{value(text, "beach"), value(state, "app")}}
		if i < 3 {
			docs[i].Values = append(docs[i].Values, value(state, "rare"))
		}
	}
	s, err := segment.Build(docs)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dead := roaring.New() // documents are numbered by descending ID
	dead.AddRange(290, 300)
	beach, app, rare := plan.Term{Field: text, Text: "beach"}, plan.Term{Field: state, Text: "app"}, plan.Term{Field: state, Text: "rare"}
	for name, tc := range map[string]struct {
		node       plan.Node
		all, alive int64
	}{
		"everything":    {plan.All{}, 300, 290},
		"nothing":       {plan.None{}, 0, 0},
		"a keyword":     {app, 300, 290},
		"dead alone":    {rare, 3, 0},
		"absent":        {plan.Term{Field: state, Text: "pen"}, 0, 0},
		"no such field": {plan.Term{Field: query.Field{Name: "nowhere"}, Text: "x"}, 0, 0},
		"a word":        {beach, 300, 290},
		"all terms":     {plan.Bool{Must: []plan.Node{beach, app, rare}}, 3, 0},
		"one of two":    {plan.Bool{Should: []plan.Node{beach, rare}}, 300, 290},
		"not a term":    {plan.Bool{Must: []plan.Node{app, beach}, MustNot: []plan.Node{rare}}, 297, 290},
		"a fuzzy word":  {plan.Fuzzy{Field: text, Text: "beech", Edits: 1, MaxExpansions: 50}, 300, 290},
	} {
		for _, tombs := range []*roaring.Bitmap{nil, dead} {
			cache := NewCache(1 << 20)
			q, err := Bind(t.Context(), tc.node, &Corpus{Parts: []segment.Part{{Segment: s, Dead: tombs}}, Cache: cache})
			if err != nil {
				t.Fatal(err)
			}
			want := tc.all
			if tombs != nil {
				want = tc.alive
			}
			if counts, err := q.Counts(t.Context(), false); err != nil || counts[0] != want {
				t.Errorf("%s: %d documents, want %d; error %v", name, counts, want, err)
			}
			if stats := cache.Stats(); stats.Misses != 0 {
				t.Errorf("%s: %d views were made", name, stats.Misses)
			}
		}
	}
}
