package search_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// TestStatisticsFollowTombstones checks that cached statistics count the live documents of each corpus, even if two corpora share
// segments.
func TestStatisticsFollowTombstones(t *testing.T) {
	w := newWorld(t, 11, 200)
	w.corpus.Cache = search.NewCache(1 << 30)
	n := build(t, "beach sun city~ featured:true author:sun~ activate_units.name:sun tags.vibe:summer~", []string{"tags.vibe.key"})
	w.compare(t, "before", n)
	before := *w
	ids := make([]item.ID, 0, len(w.items))
	for id := range w.items {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	w.corpus = &search.Corpus{
		Parts: slices.Clone(w.corpus.Parts), Overlay: w.corpus.Overlay, Cache: w.corpus.Cache,
	}
	old := before.at
	before.at, before.items = map[item.ID]search.Hit{}, map[item.ID]*item.Item{}
	for id, at := range old {
		before.at[id], before.items[id] = at, w.items[id]
	}
	for _, id := range ids[:len(ids)/3] {
		w.kill(id)
	}
	w.updateReference(t)
	w.compare(t, "after", n)
	before.compare(t, "before, repeated", n)
	for i, p := range w.corpus.Parts {
		if w.corpus.Cache.MemoBytes(p.Segment) == 0 {
			t.Errorf("the statistics of segment %d take no memory", i)
		}
		if err := p.Segment.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.corpus.Cache.Stats(); got.Bytes != 0 || got.Views != 0 {
		t.Errorf("the cache keeps %d views with %d bytes of closed segments", got.Views, got.Bytes)
	}
}

// TestConcurrentReaders checks that any number of readers can use a new corpus at the same time.
func TestConcurrentReaders(t *testing.T) {
	w := newWorld(t, 12, 300)
	w.corpus.Cache = search.NewCache(1 << 30)
	fields := w.fields(t)
	var nodes []plan.Node
	for range 30 {
		nodes = append(nodes, w.node(3))
	}
	nodes = append(nodes, build(t, "activate_units.name:sun tags.vibe:s* beach~", fields))
	type answer struct {
		hits  []search.Hit
		total int
	}
	answers := make([][]answer, 4)
	var readers sync.WaitGroup
	for i := range answers {
		readers.Go(func() {
			for _, n := range nodes {
				q, err := search.Bind(t.Context(), n, w.corpus)
				if err != nil {
					t.Error(err)
					return
				}
				hits, counts, err := q.Top(t.Context(), 20, nil)
				if err != nil {
					t.Error(err)
					return
				}
				answers[i] = append(answers[i], answer{hits, search.Sum(counts)})
			}
		})
	}
	readers.Wait()
	for i := range answers {
		if diff := gocmp.Diff(answers[0], answers[i], gocmp.AllowUnexported(answer{})); diff != "" {
			t.Errorf("reader %d and the first differ:\n%s", i, diff)
		}
	}
}

// TestInterruption checks that slow operations return the cause of their context after the context has ended.
func TestInterruption(t *testing.T) {
	w := newWorld(t, 13, 100)
	n := build(t, "beach sun", nil)
	o, err := w.corpus.Order(t.Context(), query.Order{{Field: "campaign"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := search.Bind(t.Context(), n, w.corpus)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("the reader went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	fresh := &search.Corpus{Parts: w.corpus.Parts, Overlay: w.corpus.Overlay}
	tests := map[string]func() error{
		"match": func() error {
			_, err := q.Match(ctx, fresh.Parts[0])
			return err
		},
		"top": func() error {
			_, _, err := q.Top(ctx, 3, nil)
			return err
		},
		"ranking": func() error {
			_, err := q.Ranking(ctx)
			return err
		},
		"statistics": func() error {
			_, _, err := fresh.Statistics().Field(ctx, "_all", nil)
			return err
		},
		"documents in order": func() error {
			_, err := o.Documents(ctx, 0)
			return err
		},
		"boundary": func() error {
			_, err := fresh.Boundary(ctx, now, func(at time.Time) (plan.Node, error) {
				return plan.IntRange{Field: field("created_on"), Lo: 0, Hi: at.UnixMilli()}, nil
			})
			return err
		},
	}
	for name, run := range tests {
		if err := run(); !errors.Is(err, cause) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// foreign is a node of an unknown type.
type foreign struct{ plan.Node }

// TestErrors checks that queries, rules and orders that cannot be evaluated result in errors.
func TestErrors(t *testing.T) {
	w := newWorld(t, 14, 20)
	unknown := foreign{}
	rule := search.Rule{Name: "v1", Selector: unknown}
	overlay := &search.Overlay{
		Tags:  []search.TagRule{{Tag: item.Tag{Namespace: "vibe", Key: "summer"}, Rule: rule}},
		Units: []search.UnitRule{{Unit: item.Unit{ID: 1}, Rule: rule}},
	}
	bind := func(n plan.Node, o *search.Overlay) error {
		_, err := search.Bind(t.Context(), n, &search.Corpus{Parts: w.corpus.Parts, Overlay: o})
		return err
	}
	order := func(o query.Order) error {
		_, err := w.corpus.Order(t.Context(), o, nil)
		return err
	}
	tests := map[string]error{
		"node":             bind(unknown, nil),
		"must":             bind(plan.Bool{Must: []plan.Node{unknown}}, nil),
		"should":           bind(plan.Bool{Should: []plan.Node{unknown}}, nil),
		"not":              bind(plan.Bool{Must: []plan.Node{plan.All{}}, MustNot: []plan.Node{unknown}}, nil),
		"best":             bind(plan.DisMax{Nodes: []plan.Node{unknown}}, nil),
		"boost":            bind(plan.Boost{Node: unknown}, nil),
		"selector of tag":  bind(plan.Exists{Field: field("tags.vibe.key")}, overlay),
		"selector of unit": bind(plan.Exists{Field: field("activate_units.id")}, overlay),
		"sort key":         order(query.Order{{Field: "nowhere"}}),
		"random":           order(query.Order{{Field: query.RandomKey}}),
		"boundary": func() error {
			_, err := w.corpus.Boundary(t.Context(), now, func(time.Time) (plan.Node, error) { return nil, errors.New("no plan") })
			return err
		}(),
	}
	for name, err := range tests {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := bind(plan.Exists{Field: field("campaign")}, overlay); err != nil {
		t.Errorf("a rule that the query does not use: %v", err)
	}
}

// TestOrderKey checks that different orders have different keys and that the default order has no key. The key of an order by units must
// depend on the units.
func TestOrderKey(t *testing.T) {
	w := newWorld(t, 15, 50)
	corpus := func(unit string) *search.Corpus {
		return &search.Corpus{Parts: w.corpus.Parts, Overlay: &search.Overlay{Units: []search.UnitRule{{Unit: item.Unit{ID: 1, Name: unit}}}}}
	}
	key := func(c *search.Corpus, order string) string {
		parsed, err := query.ParseOrder(order)
		if err != nil {
			t.Fatal(err)
		}
		o, err := c.Order(t.Context(), parsed, func(id item.ID) int64 { return id })
		if err != nil {
			t.Fatal(err)
		}
		return o.Key()
	}
	one, other := corpus("one"), corpus("other")
	if got := key(one, "created_on:desc"); got != "" {
		t.Errorf("the default order has the key %q", got)
	}
	seen := map[string]string{}
	for _, order := range []string{"created_on:asc", "id:asc", "id:desc", "id:asc,campaign:desc", "random", "default_activate_unit.id:asc"} {
		k := key(one, order)
		if earlier, ok := seen[k]; ok || k == "" {
			t.Errorf("%s and %q have the key %q", order, earlier, k)
		}
		seen[k] = order
		if same, want := k == key(other, order), order != "default_activate_unit.id:asc"; same != want {
			t.Errorf("%s: the same key for other units: %v, want %v", order, same, want)
		}
	}
}

// TestUnitListsAndCarries compares the results of UnitLists with those of Units, and the results of Carries with the reference.
func TestUnitListsAndCarries(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, 60)
		key, err := w.corpus.UnitsKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if none := w.corpus.Overlay == nil || len(w.corpus.Overlay.Units) == 0; none != (key == "") {
			t.Errorf("seed %d: units have the key %q, no units: %v", seed, key, none)
		}
		for _, p := range w.corpus.Parts {
			lists, err := w.corpus.UnitLists(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			for doc := range uint32(p.Segment.Len()) {
				units, err := w.corpus.Units(t.Context(), p, doc)
				if err != nil {
					t.Fatal(err)
				}
				if l := lists.List(doc); l >= lists.Len() || !slices.Equal(units, lists.Units(l)) {
					t.Errorf("seed %d: document %d shows list %d of %d, want %v", seed, doc, l, lists.Len(), units)
				}
			}
		}
		if w.corpus.Overlay == nil {
			continue
		}
		for i, r := range w.corpus.Overlay.Tags {
			for id, at := range w.at {
				carries, err := w.corpus.Carries(t.Context(), i, w.corpus.Parts[at.Part], at.Doc)
				if err != nil {
					t.Fatal(err)
				}
				if own := slices.Contains(w.items[id].Tags, r.Tag); !own && carries != w.reference.Doc(id).Has("tags."+r.Tag.Namespace+".key") && carries {
					t.Errorf("seed %d: item %d carries %v of rule %d alone, but the reference has no tag", seed, id, r.Tag, i)
				}
				if slices.Contains(r.IDs, id) && !carries {
					t.Errorf("seed %d: item %d is in the IDs of rule %d and does not carry its tag", seed, id, i)
				}
			}
		}
	}
}

// TestUnitsKey checks that every field of a unit affects the key.
func TestUnitsKey(t *testing.T) {
	members := reflect.TypeFor[item.Unit]()
	key := func(u item.Unit) string {
		c := &search.Corpus{Overlay: &search.Overlay{Units: []search.UnitRule{{Unit: u}}}}
		k, err := c.UnitsKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	seen := map[string]string{key(item.Unit{}): "nothing"}
	for i := range members.NumField() {
		var u item.Unit
		switch v := reflect.ValueOf(&u).Elem().Field(i); v.Kind() {
		case reflect.Int64:
			v.SetInt(7)
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			v.SetString("7")
		default:
			v.SetBytes([]byte("7"))
		}
		k := key(u)
		if other, ok := seen[k]; ok {
			t.Errorf("a unit with %s alone has the key of one with %s alone", members.Field(i).Name, other)
		}
		seen[k] = members.Field(i).Name
	}
}

// TestManyLists compares queries by units with the reference. The segment has more than fewLists lists.
func TestManyLists(t *testing.T) {
	w := newWorld(t, 16, 1)
	var overlay search.Overlay
	for id := range int64(12) {
		overlay.Units = append(overlay.Units, search.UnitRule{Unit: item.Unit{ID: id + 1, Name: []string{"sun", "city"}[id%2]}})
	}
	w.items, w.at = map[item.ID]*item.Item{}, map[item.ID]search.Hit{}
	w.corpus = &search.Corpus{Overlay: &overlay}
	w.add(t, 400, func(it *item.Item) {
		for id := range int64(12) {
			if w.chance(3) {
				it.Units = append(it.Units, id+1)
			}
		}
		it.Units = slices.Compact(slices.Sorted(slices.Values(it.Units)))
	})
	w.updateReference(t)
	for _, text := range []string{"activate_units.name:sun", "activate_units.id:[3 TO 5]", "_missing_:activate_units", "activate_units.name:city~ sun", "default_activate_unit.id:1"} {
		w.compare(t, text, build(t, text, nil))
	}
	lists, err := w.corpus.UnitLists(t.Context(), w.corpus.Parts[0])
	if err != nil {
		t.Fatal(err)
	}
	if lists.Len() < 100 {
		t.Errorf("only %d lists, want at least 100", lists.Len())
	}
}

// TestTombstonesAreReadOnly checks that evaluation does not change tombstones.
func TestTombstonesAreReadOnly(t *testing.T) {
	w := newWorld(t, 17, 200)
	var dead []*roaring.Bitmap
	var before [][]uint32
	for _, p := range w.corpus.Parts {
		if p.Dead != nil {
			dead = append(dead, p.Dead)
			before = append(before, p.Dead.ToArray())
		}
	}
	for i := range 60 {
		w.compare(t, fmt.Sprint(i), w.node(3))
	}
	for i := range dead {
		if !slices.Equal(before[i], dead[i].ToArray()) {
			t.Errorf("the dead documents of part %d have changed", i)
		}
	}
}
