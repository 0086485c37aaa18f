package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// now is the time of the queries in these tests.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// world holds random items in segments with a random overlay, and the same items in the reference.
type world struct {
	*rand.Rand
	items     map[item.ID]*item.Item // the live items
	corpus    *search.Corpus
	reference *eval.Corpus
	// at maps an item to its live document.
	at map[item.ID]search.Hit
	// units maps an item to the IDs of the units that it shows.
	units map[item.ID][]int64
}

// words is a short list, so that texts share words. Some words are one or two edits apart, and some are not in Latin script.
var words = strings.Fields("beach beech beaches bench sun sunny son city citys a the summer sumer simmer café cafe пляж пляжи " +
	"東京 京都 海 ปลา 😀 x1 2024 strand night light")

var (
	namespaces = []string{"vibe", "hashtags", "marketer_tags"}
	tagKeys    = []string{"summer", "sumer", "beach", "beech", "quiet", "loud", "a"}
)

func (w *world) word() string { return words[min(w.IntN(len(words)), w.IntN(len(words)))] }

// text returns up to n words with some punctuation.
func (w *world) text(n int) string {
	var b strings.Builder
	count := w.IntN(n + 1)
	if count == 0 {
		return w.choice("", "!", "...") // an empty text, or a text without words
	}
	for range count {
		b.WriteString(w.word())
		b.WriteString(w.choice(" ", " ", " ", ", ", "-", "! ", " #"))
	}
	return strings.TrimSpace(b.String())
}

func (w *world) choice(choices ...string) string { return choices[w.IntN(len(choices))] }
func (w *world) chance(n int) bool               { return w.IntN(n) == 0 }

func (w *world) date() string {
	if w.chance(6) {
		return w.choice("", "2024", "2025-06", "2026-11-20", "1999-12-31")
	}
	return now.Add(time.Duration(w.IntN(400)-380) * 24 * time.Hour / 10).Format(time.RFC3339)
}

func (w *world) tag() item.Tag {
	return item.Tag{Namespace: w.choice(namespaces...), Key: w.choice(tagKeys...)}
}

func (w *world) item(id item.ID) *item.Item {
	it := &item.Item{
		ID: id, ApprovalStatus: w.choice("app", "rej", "pen"), CreatedOn: w.date(), LastModified: w.date(), Featured: w.chance(3), Claimed: w.chance(2),
		Content: item.Content{
			Text: w.text(14), ContentType: w.choice("image", "video", "text"), SocialPlatform: w.choice("instagram", "Twitter", ""),
			SocialPlatformCreatedOn: w.date(), PlatformRef: w.choice("", "100", "1001", "sun"),
		},
	}
	if w.chance(2) {
		n := int64(w.IntN(5))
		it.Campaign = &n
	}
	if w.chance(2) {
		it.Content.Author = &item.Author{Username: w.choice(words...) + w.choice("", "_1", " 2"), ProfileName: w.text(3)}
	}
	if w.chance(3) {
		it.Content.Location = &item.Location{Name: w.text(2), FullName: w.text(3), Country: w.choice("España", "Japan", "")}
	}
	if w.chance(3) {
		it.Content.Geo = &item.Geo{Latitude: float64(w.IntN(40)-20) / 4, Longitude: w.Float64()*360 - 180}
	}
	if w.chance(4) {
		it.Submission = json.RawMessage(fmt.Sprintf(`{"email":%q,"age":%q}`, w.choice(words...)+"@example.org", w.choice("7", "70")))
	}
	for range w.IntN(4) {
		it.Tags = append(it.Tags, w.tag())
	}
	slices.SortFunc(it.Tags, item.CompareTags)
	it.Tags = slices.Compact(it.Tags)
	if w.chance(4) {
		for range 1 + w.IntN(3) {
			if u := int64(1 + w.IntN(8)); !slices.Contains(it.Units, u) {
				it.Units = append(it.Units, u)
			}
		}
	}
	return it
}

func (w *world) unit(id int64) item.Unit {
	u := item.Unit{ID: id, Name: w.text(4), Archived: w.chance(2), Managed: w.chance(2), CreatedOn: w.date(), LastModified: w.date()}
	u.ImageURL = w.choice("", "https://a.example/Beach.png", "https://b.example/2.png")
	u.ExternalID = w.choice("", w.word())
	if w.chance(3) {
		u.CatalogItem = json.RawMessage(w.choice(`"sun"`, `{"a":1}`, `[]`))
	}
	return u
}

// options returns the options for planning queries.
func options(fields []string) plan.Options {
	return plan.Options{Audience: query.Private, Now: now, Fields: fields}
}

// build parses a query and returns its plan.
func build(t testing.TB, text string, fields []string) plan.Node {
	t.Helper()
	q, err := query.ParseFor(text, query.Private)
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	p, err := plan.Build(q.Root, options(fields))
	if err != nil {
		t.Fatalf("build %s: %v", text, err)
	}
	return p.Root
}

func (w *world) rule(name, selector string, t testing.TB) search.Rule {
	r := search.Rule{Name: name}
	for range w.IntN(6) {
		r.IDs = append(r.IDs, item.ID(1+w.IntN(200)))
	}
	if w.chance(3) {
		r.IDs = nil
	}
	if selector != "" {
		r.Selector = build(t, selector, nil)
	}
	return r
}

func (w *world) overlay(t testing.TB) *search.Overlay {
	if w.chance(6) {
		return nil
	}
	o := &search.Overlay{}
	for i := range w.IntN(5) {
		selector := w.choice("", "beach", "beech~ OR featured:true", "content_type:image", "s*", "created_on:[now-5d TO now]", "bea~")
		tag := w.tag()
		if w.chance(5) {
			tag = item.Tag{Namespace: "fresh", Key: "new"}
		}
		o.Tags = append(o.Tags, search.TagRule{Tag: tag, Rule: w.rule(fmt.Sprintf("tag %d", i), selector, t)})
	}
	for id := range int64(7) {
		if w.chance(3) {
			continue
		}
		r := search.UnitRule{Unit: w.unit(id + 1)}
		if !w.chance(3) {
			selector := w.choice("", "tags.vibe:summer", "sun OR tags.hashtags:s*", "tags.vibe:sumer~", "_missing_:tags.vibe", "city")
			r.Rule = w.rule(fmt.Sprintf("unit %d", id), selector, t)
		}
		o.Units = append(o.Units, r)
	}
	w.Shuffle(len(o.Units), func(i, j int) { o.Units[i], o.Units[j] = o.Units[j], o.Units[i] })
	if !w.chance(3) {
		u := w.unit(99)
		o.Default = &u
	}
	return o
}

// newWorld returns a world with up to n items. It writes some of the items several times.
func newWorld(t testing.TB, seed uint64, n int) *world {
	t.Helper()
	w := &world{
		Rand: rand.New(rand.NewPCG(seed, 5)), items: map[item.ID]*item.Item{}, at: map[item.ID]search.Hit{}, units: map[item.ID][]int64{},
	}
	w.corpus = &search.Corpus{Overlay: w.overlay(t)}
	if w.chance(2) {
		w.corpus.Cache = search.NewCache(int64(w.IntN(2)) << 30) // a limit of 0 or of 1 GiB
	}
	for range 1 + w.IntN(6) {
		fresh := map[item.ID]*item.Item{}
		for range w.IntN(n/2 + 2) {
			id := item.ID(1 + w.IntN(n))
			fresh[id] = w.item(id)
		}
		w.write(t, fresh)
		for id := range item.ID(n) {
			if w.chance(12) {
				w.kill(id)
			}
		}
	}
	w.updateReference(t)
	return w
}

// write writes items to a new segment and deletes their older versions.
func (w *world) write(t testing.TB, fresh map[item.ID]*item.Item) {
	t.Helper()
	if len(fresh) == 0 {
		return
	}
	var docs []segment.Doc
	for _, id := range slices.Sorted(maps.Keys(fresh)) {
		docs = append(docs, segment.NewDoc(fresh[id]))
	}
	s, err := segment.Build(docs)
	if err != nil {
		t.Fatalf("build a segment: %v", err)
	}
	at := len(w.corpus.Parts)
	w.corpus.Parts = append(w.corpus.Parts, segment.Part{Segment: s})
	for id, it := range fresh {
		w.kill(id)
		doc, ok := s.Find(id)
		if !ok {
			t.Fatalf("the segment does not find item %d", id)
		}
		w.at[id], w.items[id] = search.Hit{Part: at, Doc: doc}, it
	}
}

// add calls change with each of n random items, and writes the items.
func (w *world) add(t testing.TB, n int, change func(*item.Item)) {
	t.Helper()
	fresh := map[item.ID]*item.Item{}
	for id := range item.ID(n) {
		fresh[id+1] = w.item(id + 1)
		change(fresh[id+1])
	}
	w.write(t, fresh)
}

// kill marks an item as deleted. It replaces the bitmap of tombstones with a new one.
func (w *world) kill(id item.ID) {
	at, there := w.at[id]
	if !there {
		return
	}
	p := &w.corpus.Parts[at.Part]
	dead := roaring.New()
	if p.Dead != nil {
		dead = p.Dead.Clone()
	}
	dead.Add(at.Doc)
	p.Dead = dead
	delete(w.at, id)
	delete(w.items, id)
}

// updateReference creates the documents of the reference in three stages: without tags from rules, with these tags, and with these tags
// and units.
func (w *world) updateReference(t testing.TB) {
	t.Helper()
	w.units = map[item.ID][]int64{}
	overlay := w.corpus.Overlay
	if overlay == nil {
		overlay = &search.Overlay{}
	}
	tags := map[item.ID][]item.Tag{}
	for id, it := range w.items {
		tags[id] = it.Tags
	}
	stage := w.documents(nil, nil, tags)
	more := map[item.ID][]item.Tag{}
	for i := range overlay.Tags {
		for _, id := range w.members(t, stage, &overlay.Tags[i].Rule) {
			more[id] = append(more[id], overlay.Tags[i].Tag)
		}
	}
	for id := range tags {
		tags[id] = append(slices.Clone(tags[id]), more[id]...)
		slices.SortFunc(tags[id], item.CompareTags)
		tags[id] = slices.Compact(tags[id])
	}
	stage = w.documents(nil, nil, tags)
	units := map[int64]item.Unit{}
	for _, r := range overlay.Units {
		units[r.Unit.ID] = r.Unit
	}
	for id, it := range w.items {
		for _, u := range it.Units {
			if _, ok := units[u]; ok {
				w.units[id] = append(w.units[id], u)
			}
		}
	}
	byUnit := slices.SortedFunc(slices.Values(overlay.Units), func(a, b search.UnitRule) int { return int(a.Unit.ID - b.Unit.ID) })
	for i := range byUnit {
		for _, id := range w.members(t, stage, &byUnit[i].Rule) {
			if u := byUnit[i].Unit.ID; !slices.Contains(w.units[id], u) {
				w.units[id] = append(w.units[id], u)
			}
		}
	}
	w.reference = w.documents(units, overlay.Default, tags)
}

func (w *world) members(t testing.TB, c *eval.Corpus, r *search.Rule) []item.ID {
	t.Helper()
	selected := func(item.ID) bool { return false }
	if r.Selector != nil {
		m, err := c.Compile(t.Context(), r.Selector)
		if err != nil {
			t.Fatal(err)
		}
		selected = func(id item.ID) bool {
			_, ok := m.Match(c.Doc(id))
			return ok
		}
	}
	var ids []item.ID
	for id := range w.items {
		if slices.Contains(r.IDs, id) || selected(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (w *world) documents(units map[int64]item.Unit, byDefault *item.Unit, tags map[item.ID][]item.Tag) *eval.Corpus {
	c := eval.NewCorpus()
	for id, it := range w.items {
		var shown []item.Unit
		if units != nil {
			for _, u := range w.units[id] {
				shown = append(shown, units[u])
			}
		}
		created := int64(math.MinInt64)
		if ms, ok := item.Millis(it.CreatedOn); ok {
			created = ms
		}
		c.Put(eval.NewDoc(id, created, it.Values(shown, byDefault, tags[id])))
	}
	return c
}

// id returns the ID of a hit's item.
func (w *world) id(h search.Hit) item.ID { return w.corpus.Parts[h.Part].Segment.ID(h.Doc) }

// fields returns the dynamic fields.
func (w *world) fields(t testing.TB) []string {
	t.Helper()
	fields, err := w.corpus.DynamicFields(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return fields
}
