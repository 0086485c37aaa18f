package search_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// TestRandomQueries runs random queries and plans on random items, and compares matches, scores and ranking with the reference.
func TestRandomQueries(t *testing.T) {
	for seed := range uint64(60) {
		w := newWorld(t, seed, 10+int(seed)*3)
		fields := w.fields(t)
		for range 40 {
			text := w.queryText(2)
			q, err := query.ParseFor(text, query.Private)
			if err != nil {
				continue
			}
			p, err := plan.Build(q.Root, options(fields))
			if err != nil {
				continue
			}
			w.compare(t, fmt.Sprintf("seed %d, %s", seed, text), p.Root)
		}
		for range 40 {
			n := w.node(3)
			w.compare(t, fmt.Sprintf("seed %d, %#v", seed, n), n)
		}
		if t.Failed() {
			return
		}
	}
}

// TestTerms is like TestRandomQueries, for combinations of single terms, which are counted without views. Overlays add some of the terms.
func TestTerms(t *testing.T) {
	for seed := range uint64(30) {
		w := newWorld(t, seed, 10+int(seed)*3)
		terms := func(n int) []plan.Node {
			nodes := make([]plan.Node, n)
			for i := range nodes {
				nodes[i] = w.choiceOf(
					plan.Term{Field: field("content.text"), Text: w.word()},
					plan.Term{Field: field("approval_status"), Text: w.choice("app", "pen", "rej", "none")},
					plan.Term{Field: field("tags.vibe.key"), Text: w.choice(tagKeys...)},
					plan.Term{Field: field("activate_units.name"), Text: w.word()},
				)
			}
			return nodes
		}
		for range 40 {
			n := plan.Bool{MustNot: terms(w.IntN(3))}
			if w.chance(2) {
				n.Should = terms(2 + w.IntN(2))
			} else {
				n.Must = terms(1 + w.IntN(3))
			}
			w.compare(t, fmt.Sprintf("seed %d, %#v", seed, n), n)
		}
		if t.Failed() {
			return
		}
	}
}

// TestLargeSegments compares queries with the reference in a segment of several blocks. It uses frequent terms and patterns of many
// terms.
func TestLargeSegments(t *testing.T) {
	w := newWorld(t, 2, 2000)
	w.add(t, 10_000, func(it *item.Item) {
		it.Content.PlatformRef = fmt.Sprint("ref", it.ID)
		it.Content.ContentState = fmt.Sprint("p", it.ID%90)
		if w.chance(50) {
			it.Content.Text += strings.Repeat(" the beach", 10)
		}
	})
	for id := range item.ID(500) {
		w.kill(id * 7)
	}
	w.updateReference(t)
	fields := w.fields(t)
	tests := []string{
		"beach", "sun beach city", "beach sun city son the a", "+beach -sun city^2", `"beach sun"`, `"sun beach"~3 the`, "beech~ beach", "b* AND sun",
		"author:b* OR sun", "*:*", "activate_units.name:beach sun", "(+sun beach) (+city -the)", "-sun", "text:beach _all:sun", `"the a" AND id:[1 TO 50]`,
		"id:77 sun the", `"sun sun"`, `"the sun the"~4`, `+approval_status:app +"beach sun"`, `+campaign:[1 TO 3] +"the beach"`, "+id:[77 TO 79] sun the", "content.platform_ref:ref* AND sun", "content.content_state:p* OR -sun", "tags.vibe:sumer~ sun", `tags.\*:beach`, "author:[b TO t] sun", "campaign:[1 TO 3] +featured:true the",
	}
	for _, text := range tests {
		w.compare(t, text, build(t, text, fields))
	}
	largest := 0
	for _, p := range w.corpus.Parts {
		largest = max(largest, p.Segment.Len())
	}
	if largest < 5000 {
		t.Errorf("the largest segment has %d documents", largest)
	}
}

// FuzzPlans searches for plans and random items for which the reference has a different result.
func FuzzPlans(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, int(seed)*16)
	}
	f.Fuzz(func(t *testing.T, seed uint64, n int) {
		w := newWorld(t, seed, 1+(n&127))
		for range 10 {
			node := w.node(4)
			w.compare(t, fmt.Sprintf("%#v", node), node)
		}
	})
}

// found is an item with the bits of its score, so that only bit-identical scores compare as equal.
type found struct {
	ID    item.ID
	Score uint32
}

// compare compares the matches, counts, ranking and best hits of a plan with the reference.
func (w *world) compare(t *testing.T, about string, n plan.Node) {
	t.Helper()
	m, err := w.reference.Compile(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	hits, err := m.Search(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sorter, err := eval.NewSorter(query.Order{{Field: query.ScoreKey, Desc: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sorter.Sort(hits)
	var want []found
	for _, h := range hits {
		want = append(want, found{h.Doc.ID(), math.Float32bits(h.Score)})
	}

	q, err := search.Bind(t.Context(), n, w.corpus)
	if err != nil {
		t.Fatal(err)
	}
	var got, ranked, top []found
	for i, p := range w.corpus.Parts {
		matches, err := q.Match(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range matches.Docs().ToArray() {
			if p.Dead == nil || !p.Dead.Contains(doc) {
				got = append(got, found{ID: w.id(search.Hit{Part: i, Doc: doc})})
			}
		}
	}
	if diff := gocmp.Diff(ids(want), ids(got)); diff != "" {
		t.Errorf("%s: matches (-reference +search):\n%s", about, diff)
		return
	}
	for _, listed := range []bool{false, true} {
		fresh, err := search.Bind(t.Context(), n, w.corpus)
		if err != nil {
			t.Fatal(err)
		}
		if counts, err := fresh.Counts(t.Context(), listed); err != nil || search.Sum(counts) != len(want) {
			t.Errorf("%s: counts %v, want %d in total; listed %t, error %v", about, counts, len(want), listed, err)
		}
	}
	ranking, err := q.Ranking(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range ranking {
		ranked = append(ranked, found{w.id(h), math.Float32bits(h.Score)})
		if w.IntN(len(ranking)) > 2 {
			continue
		}
		alone, matches, err := q.Score(t.Context(), h.Part, h.Doc)
		if err != nil {
			t.Fatal(err)
		}
		if !matches || math.Float32bits(alone) != math.Float32bits(h.Score) {
			t.Errorf("%s: item %d alone scores %v, matches %t; among all it scores %v", about, w.id(h), alone, matches, h.Score)
		}
	}
	if diff := gocmp.Diff(want, ranked); diff != "" {
		t.Errorf("%s: ranking (-reference +search):\n%s", about, diff)
		return
	}
	k := w.IntN(12)
	best, counts, err := q.Top(t.Context(), k, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range best {
		top = append(top, found{w.id(h), math.Float32bits(h.Score)})
	}
	if diff := gocmp.Diff(want[:min(k, len(want))], top); diff != "" && k > 0 && len(want) > 0 || search.Sum(counts) != len(want) {
		t.Errorf("%s: the first %d of %d, got %d (-reference +search):\n%s", about, k, len(want), search.Sum(counts), diff)
	}
}

func ids(list []found) []item.ID {
	ids := make([]item.ID, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	slices.Sort(ids)
	return ids
}

// TestOrder compares random orders, and the places of cursors, with the reference.
func TestOrder(t *testing.T) {
	sortable := []string{query.ScoreKey}
	for _, f := range query.Fields() {
		if f.Sortable {
			sortable = append(sortable, f.Name)
		}
	}
	random := func(id item.ID) int64 { return id * 7919 % 101 }
	for seed := range uint64(60) {
		w := newWorld(t, seed, 10+int(seed)*2)
		for range 12 {
			var order query.Order
			for range w.IntN(4) {
				order = append(order, query.Key{Field: w.choice(sortable...), Desc: w.chance(2)})
			}
			if w.chance(6) {
				order = query.Order{{Field: query.RandomKey}}
			}
			if w.chance(6) {
				order = query.Order{{Field: "created_on", Desc: true}}
			}
			w.compareOrder(t, fmt.Sprintf("seed %d, %s", seed, order), order, random)
		}
	}
}

func (w *world) compareOrder(t *testing.T, about string, order query.Order, random func(item.ID) int64) {
	t.Helper()
	n := w.node(1)
	m, err := w.reference.Compile(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	hits, err := m.Search(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sorter, err := eval.NewSorter(order, random)
	if err != nil {
		t.Fatal(err)
	}
	sorter.Sort(hits)
	var want []eval.Place
	for _, h := range hits {
		want = append(want, sorter.Place(h))
	}

	q, err := search.Bind(t.Context(), n, w.corpus)
	if err != nil {
		t.Fatal(err)
	}
	o, err := w.corpus.Order(t.Context(), order, random)
	if err != nil {
		t.Fatal(err)
	}
	var sorted []search.Hit
	if order.Scored() {
		if sorted, err = q.Ordered(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	} else {
		for i, p := range w.corpus.Parts {
			matches, err := q.Match(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			docs, err := o.Documents(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			if docs == nil {
				for doc := range p.Segment.Len() {
					docs = append(docs, uint32(doc))
				}
			}
			var run []search.Hit
			for _, doc := range docs {
				if matches.Docs().Contains(doc) && (p.Dead == nil || !p.Dead.Contains(doc)) {
					run = append(run, search.Hit{Part: i, Doc: doc})
				}
			}
			if !slices.IsSortedFunc(run, o.Compare) {
				t.Errorf("%s: the documents of part %d are not in order", about, i)
			}
			sorted = append(sorted, run...)
		}
		slices.SortFunc(sorted, o.Compare)
	}
	var got []eval.Place
	for i, h := range sorted {
		got = append(got, o.Place(h))
		if i < len(want) && o.ComparePlace(h, want[i]) != 0 {
			t.Errorf("%s: item %d is not at its own place", about, w.id(h))
		}
		if i > 0 && o.ComparePlace(h, want[i-1]) <= 0 {
			t.Errorf("%s: item %d does not come after the item before it", about, w.id(h))
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s: order (-reference +search):\n%s", about, diff)
	}
}

// TestStatistics compares total counts, document frequencies and similar terms with the reference.
func TestStatistics(t *testing.T) {
	fields := []string{
		"_all", "content.text", "content.author.username", "featured", "tags.vibe.key", "tags.fresh.key", "activate_units.name",
		"activate_units.image_url", "activate_units.archived", "default_activate_unit.name", "content.author.profile.name",
	}
	terms := slices.Concat(words, tagKeys, []string{"true", "false", "new", "https://a.example/beach.png"})
	for seed := range uint64(60) {
		w := newWorld(t, seed, 10+int(seed)*3)
		for _, name := range fields {
			type stats struct {
				Total    rank.Field
				DocFreqs []int64
				Similar  map[string]int64
			}
			gather := func(s rank.Statistics) stats {
				total, docFreqs, err := s.Field(t.Context(), name, terms)
				if err != nil {
					t.Fatal(err)
				}
				out := stats{total, docFreqs, map[string]int64{}}
				choice := rank.NewExpansions("beach", 2, 1000)
				if f := field(name); f.Type != query.Boolean {
					if err := s.Similar(t.Context(), plan.Fuzzy{Field: f, Text: "beach", Edits: 2, MaxExpansions: 1000}, choice.Offer); err != nil {
						t.Fatal(err)
					}
				}
				for _, e := range choice.Terms() {
					out.Similar[e.Term] = e.DocFreq
				}
				return out
			}
			if diff := gocmp.Diff(gather(w.reference), gather(w.corpus.Statistics())); diff != "" {
				t.Errorf("seed %d, %s (-reference +search):\n%s", seed, name, diff)
			}
		}
	}
}

// TestUnits compares the units that items show, and the dynamic fields, with the reference.
func TestUnits(t *testing.T) {
	for seed := range uint64(40) {
		w := newWorld(t, seed, 60)
		for id, at := range w.at {
			units, err := w.corpus.Units(t.Context(), w.corpus.Parts[at.Part], at.Doc)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(units, w.units[id]) {
				t.Errorf("seed %d, item %d shows units %v, want %v", seed, id, units, w.units[id])
			}
		}
		names := map[string]bool{}
		for d := range w.reference.Docs() {
			for name := range d.Names() {
				if f := field(name); f.Name == name && query.Dynamic(name) {
					names[name] = true
				}
			}
		}
		fields := w.fields(t)
		if len(fields) != len(names) || !slices.IsSorted(fields) || slices.ContainsFunc(fields, func(f string) bool { return !names[f] }) {
			t.Errorf("seed %d: dynamic fields %v, want %v", seed, fields, names)
		}
	}
}

// TestBoundary checks that the matches do not change before the boundary. For queries of a single range, it also checks that the matches
// change at the boundary.
func TestBoundary(t *testing.T) {
	queries := []string{
		"created_on:[now-3d TO now+3d]", "created_on:[* TO now}", "created_on:{now-1d/d TO *]", "activate_units.created_on:[now-10d TO now]",
		"default_activate_unit.created_on:<now-1d", "(beach^2 OR +sun -created_on:>now) OR created_on:[now-2w TO now-1d]", `content.social_platform_created_on:"now/d"`, "beach",
	}
	changes := 0
	for seed := range uint64(40) {
		w := newWorld(t, seed, 40)
		for i, text := range queries {
			q, err := query.ParseFor(text, query.Private)
			if err != nil {
				t.Fatal(err)
			}
			at := func(at time.Time) (plan.Node, error) {
				p, err := plan.Build(q.Root, plan.Options{Audience: query.Private, Now: at})
				if err != nil {
					return nil, err
				}
				return p.Root, nil
			}
			boundary, err := w.corpus.Boundary(t.Context(), now, at)
			if err != nil {
				t.Fatal(err)
			}
			matches := func(when time.Time) []item.ID {
				n, err := at(when)
				if err != nil {
					t.Fatal(err)
				}
				m, err := w.reference.Compile(t.Context(), n)
				if err != nil {
					t.Fatal(err)
				}
				hits, err := m.Search(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				list := make([]item.ID, len(hits))
				for i, h := range hits {
					list[i] = h.Doc.ID()
				}
				slices.Sort(list)
				return list
			}
			last := boundary.Add(-time.Millisecond)
			if boundary.IsZero() {
				last = now.AddDate(30, 0, 0)
			}
			if !slices.Equal(matches(now), matches(last)) {
				t.Errorf("seed %d, %s: other matches at %v, before the boundary %v", seed, text, last, boundary)
			}
			if !boundary.IsZero() && !boundary.After(now) {
				t.Errorf("seed %d, %s: boundary %v is not in the future", seed, text, boundary)
			}
			if !boundary.IsZero() && i < 3 {
				if slices.Equal(matches(now), matches(boundary)) {
					t.Errorf("seed %d, %s: the same matches at the boundary %v", seed, text, boundary)
				}
				changes++
			}
		}
	}
	if changes == 0 {
		t.Error("no boundary was found")
	}
}

// TestKey checks that queries have the same key if they match the same documents, and different keys otherwise.
func TestKey(t *testing.T) {
	w := newWorld(t, 3, 40)
	key := func(text string) string {
		q, err := search.Bind(t.Context(), build(t, text, nil), w.corpus)
		if err != nil {
			t.Fatal(err)
		}
		return q.Key()
	}
	same := map[string][2]string{
		"order":  {"beach AND content_type:image", "content_type:image AND beach"},
		"twice":  {"sun sun city", "city sun"},
		"boosts": {"sun^2 OR city", "sun OR city^3"},
		"nested": {"(sun city) beach", "beach (city OR sun)"},
		"ranked": {"+sun city", "sun"},
		"a case": {"CONTENT:x author:Sun", "content:x author:sun"},
	}
	for name, pair := range same {
		if a, b := key(pair[0]), key(pair[1]); a != b {
			t.Errorf("%s: %s has the key %s, and %s has %s", name, pair[0], a, pair[1], b)
		}
	}
	different := []string{
		"beach", "text:beach", `"sun city"`, `"city sun"`, `"sun city"~2`, "sun city", "+sun +city", "sun -city", "author:a*", `author:/a\*/`,
		`author:\/a*\/`, `author:/a*/`, "author:[a TO b]", "author:[a TO b}", "author:{a TO b]", "author:[a TO *]", "author:[* TO a]", "campaign:1", "campaign:2",
		"campaign:[1 TO 2]", "_exists_:campaign", "_missing_:campaign", "author:x", "author:y", `author:"x,y"`, "author:(x,y)", "*:*", "tags.vibe:beach",
		"tags.hashtags:beach", "activate_units.id:1", "default_activate_unit.id:1", "(sun OR city) AND beach", "sun OR (+city +beach)",
		`author:"x\",\"y"`,
	}
	keys := map[string]string{}
	for _, text := range different {
		k := key(text)
		if other, ok := keys[k]; ok {
			t.Errorf("%s and %s have the same key: %s", text, other, k)
		}
		keys[k] = text
	}
}

// TestKeyOfRules checks that the key depends on the versions of the rules that the query uses. It must not depend on those of other
// rules.
func TestKeyOfRules(t *testing.T) {
	s := newWorld(t, 4, 40).corpus.Parts
	overlay := func(tag, unit string) *search.Overlay {
		return &search.Overlay{
			Tags: []search.TagRule{
				{Tag: item.Tag{Namespace: "vibe", Key: "summer"}, Rule: search.Rule{Name: tag, IDs: []item.ID{1}}},
				{Tag: item.Tag{Namespace: "vibe", Key: "loud"}, Rule: search.Rule{Name: "other", IDs: []item.ID{2}}},
			},
			Units: []search.UnitRule{{Unit: item.Unit{ID: 1, Name: unit}, Rule: search.Rule{Name: "u", Selector: build(t, "tags.vibe:summer", nil)}}},
		}
	}
	key := func(o *search.Overlay, text string) string {
		q, err := search.Bind(t.Context(), build(t, text, []string{"tags.vibe.key"}), &search.Corpus{Parts: s, Overlay: o})
		if err != nil {
			t.Fatal(err)
		}
		return q.Key()
	}
	tests := map[string]struct{ tag, unit bool }{
		"beach":                    {},
		"tags.vibe:quiet":          {},
		"tags.vibe:loud":           {},
		"tags.vibe:summer":         {tag: true},
		"tags.vibe:s*":             {tag: true},
		`tags.\*:[s TO t]`:         {tag: true},
		"_exists_:tags.vibe":       {tag: true},
		"activate_units.name:x":    {tag: true, unit: true},
		"_missing_:activate_units": {tag: true, unit: true},
	}
	for text, want := range tests {
		before := key(overlay("v1", "sun"), text)
		if got := before != key(overlay("v2", "sun"), text); got != want.tag {
			t.Errorf("%s: another key for another version of the tag: %v, want %v", text, got, want.tag)
		}
		if got := before != key(overlay("v1", "city"), text); got != want.unit {
			t.Errorf("%s: another key for another unit: %v, want %v", text, got, want.unit)
		}
	}
}

// TestReadOnly checks that the bitmaps of cached views never change.
func TestReadOnly(t *testing.T) {
	w := newWorld(t, 7, 120)
	w.corpus.Cache = search.NewCache(1 << 30)
	for range 50 {
		w.compare(t, "first", w.node(2))
	}
	kept := w.corpus.Cache.Kept()
	before := map[*search.View][]uint32{}
	for v, docs := range kept {
		before[v] = docs.ToArray()
	}
	for range 200 {
		w.compare(t, "then", w.node(3))
	}
	for v, docs := range before {
		if !slices.Equal(docs, kept[v].ToArray()) {
			t.Errorf("a view of %d documents has changed", len(docs))
		}
	}
	if len(before) == 0 {
		t.Error("no views were kept")
	}
}

// TestTies checks that hits with equal scores are sorted by date, then by ID, across segments.
func TestTies(t *testing.T) {
	w := newWorld(t, 9, 150)
	q, err := search.Bind(t.Context(), plan.All{}, w.corpus)
	if err != nil {
		t.Fatal(err)
	}
	hits, counts, err := q.Top(t.Context(), 1000, nil)
	if err != nil {
		t.Fatal(err)
	}
	if search.Sum(counts) != len(w.items) || len(hits) != len(w.items) {
		t.Fatalf("%d hits and a total of %d for %d items", len(hits), search.Sum(counts), len(w.items))
	}
	for i := 1; i < len(hits); i++ {
		a, b := w.reference.Doc(w.id(hits[i-1])), w.reference.Doc(w.id(hits[i]))
		if cmp.Or(cmp.Compare(b.Created(), a.Created()), cmp.Compare(b.ID(), a.ID())) > 0 {
			t.Fatalf("item %d comes before %d", a.ID(), b.ID())
		}
	}
}
