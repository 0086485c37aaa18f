package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

func TestCompressed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, words := range []int{1, 3, blockWords - 1, blockWords, blockWords + 1, 4*blockWords + 17} {
		for _, share := range []float64{0, 0.0001, 0.01, 0.0624, 0.0626, 0.5, 1} {
			plain := make([]uint64, words)
			want := roaring.New()
			for doc := range uint32(64 * words) {
				// Every other block is empty.
				if doc>>16&1 == 0 && r.Float64() < share {
					want.Add(doc)
					plain[doc/64] |= 1 << (doc % 64)
				}
			}
			scratch := make([]uint64, words)
			got, err := compressed(scratch, func(block []uint64, from int) { copy(block, plain[from:]) })
			if err != nil {
				t.Fatal(err)
			}
			if !got.published().Equals(want) {
				t.Errorf("%d words, %v of them set: %d documents, want %d", words, share, got.published().GetCardinality(), want.GetCardinality())
			}
			if err := got.published().Validate(); err != nil && !want.IsEmpty() {
				t.Errorf("%d words, %v of them set: %v", words, share, err)
			}
		}
	}
}

// TestFrequentTerms checks that conjunctions evaluated on plain bits have the same results as conjunctions evaluated on bitmaps.
func TestFrequentTerms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	state, tag := query.Field{Name: "approval_status", Type: query.Keyword}, query.Field{Name: "tags.vibe.key", Type: query.Keyword}
	campaign, created := query.Field{Name: "campaign", Type: query.Long}, query.Field{Name: query.CreatedOn, Type: query.Date}
	latitude := query.Field{Name: "content.platform_data.geo_data.coordinates.latitude", Type: query.Double}
	docs := make([]segment.Doc, 1<<16+5000)
	for i := range docs {
		d := segment.Doc{ID: item.ID(i + 1), Created: int64(i)}
		add := func(f query.Field, v query.Value) { d.Values = append(d.Values, segment.Value{Field: f, Value: v}) }
		add(state, query.Value{Str: []string{"app", "app", "app", "pen", "rej"}[r.IntN(5)]})
		for range r.IntN(3) {
			add(tag, query.Value{Str: fmt.Sprintf("t%d", int(400*r.Float64()*r.Float64()*r.Float64()))})
		}
		if r.IntN(10) > 0 {
			add(campaign, query.Value{Int: 100 + int64(r.IntN(200))})
		}
		if i%7 > 0 {
			add(latitude, query.Value{Float: r.Float64()*180 - 90})
		}
		add(created, query.Value{Int: int64(i)})
		docs[i] = d
	}
	s, err := segment.Build(docs)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	leaf := func() plan.Node {
		switch r.IntN(10) {
		case 0, 1, 2:
			return plan.Term{Field: state, Text: []string{"app", "pen", "rej", "none"}[r.IntN(4)]}
		case 3:
			lo := int64(80 + r.IntN(220))
			return plan.IntRange{Field: campaign, Lo: lo, Hi: lo + int64(r.IntN(2)*r.IntN(100))}
		case 4:
			lo := r.Float64()*200 - 100
			return plan.FloatRange{Field: latitude, Lo: lo, Hi: lo + r.Float64()*100}
		case 5:
			return plan.IntRange{Field: created, Lo: int64(r.IntN(20000)), Hi: int64(30000 + r.IntN(40000))}
		}
		return plan.Term{Field: tag, Text: fmt.Sprintf("t%d", int(400*r.Float64()*r.Float64()*r.Float64()))}
	}
	list := func(n int) []plan.Node {
		nodes := make([]plan.Node, n)
		for i := range nodes {
			if nodes[i] = leaf(); r.IntN(3) == 0 {
				nodes[i] = plan.Bool{Should: []plan.Node{leaf(), leaf(), leaf()}[:2+r.IntN(2)]}
			}
		}
		return nodes
	}
	dead := roaring.New()
	for range 3000 {
		dead.Add(uint32(r.IntN(len(docs))))
	}
	part, frequent, counted, nothing := segment.Part{Segment: s}, 0, 0, NewCache(0)
	forget := func() { // in half of the calls, forget earlier uses, so that terms use pooled memory
		if r.IntN(2) == 0 {
			nothing.Shrink(0)
		}
	}
	for range 600 {
		root := plan.Bool{Must: list(1 + r.IntN(4)), MustNot: list(r.IntN(3))}
		match := func(cache *Cache) *roaring.Bitmap {
			q, err := Bind(t.Context(), root, &Corpus{Parts: []segment.Part{part}, Cache: cache})
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := q.match.(*conjunction); ok && cache != nil {
				forget()
				e := &evaluation{corpus: q.corpus, part: part}
				if f, err := c.frequent(t.Context(), e); f != nil && err == nil {
					frequent++
					found, err := f.find(cache)
					if got := slices.Collect(f.docs); err != nil || !slices.Equal(got, found.published().ToArray()) {
						t.Fatalf("%+v: docs yields %d documents; find returns %d; error %v", root, len(got), found.len(), err)
					}
				}
				e.release()
			}
			forget()
			v, err := q.Match(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			return v.Docs()
		}
		got, want := match(nothing), match(nil)
		if !got.Equals(want) {
			t.Fatalf("%+v: %d documents; with bitmaps %d", root, got.GetCardinality(), want.GetCardinality())
		}
		for _, part := range []segment.Part{part, {Segment: s, Dead: dead}} {
			q, err := Bind(t.Context(), root, &Corpus{Parts: []segment.Part{part}, Cache: nothing})
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := q.match.(counter); ok {
				e := &evaluation{corpus: q.corpus, part: part}
				if _, ok := c.count(t.Context(), e); ok {
					counted++
				}
				e.release()
			}
			forget()
			if counts, err := q.Counts(t.Context(), false); err != nil || counts[0] != part.LiveIn(want) {
				t.Fatalf("%+v: counted %d documents; with bitmaps %d; error %v", root, counts, part.LiveIn(want), err)
			}
		}
	}
	if frequent < 100 || counted < 100 {
		t.Errorf("only %d evaluations of 600 queries use plain bits; only %d count without finding the documents", frequent, counted)
	}

	// The cache must not contain plain bits of rare terms.
	if s, err = segment.Build(docs); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	everything := NewCache(1 << 30)
	part = segment.Part{Segment: s}
	for _, rare := range []string{"t399", "t398", "nowhere"} {
		root := plan.Bool{Must: []plan.Node{plan.Term{Field: tag, Text: rare}, plan.Term{Field: state, Text: "app"}, plan.Term{Field: state, Text: "pen"}}}
		q, err := Bind(t.Context(), root, &Corpus{Parts: []segment.Part{part}, Cache: everything})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Match(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	for key := range everything.of(s).views {
		if strings.HasPrefix(key, "bits ") && !strings.HasSuffix(key, "app") && !strings.HasSuffix(key, "pen") {
			t.Errorf("the cache has %q", key)
		}
	}
}

// TestPlainBitsAreKeptOnSecondUse uses the plain bits of a term repeatedly. The Cache must keep them from the second use on. After
// Shrink(0), the next use must again not keep them.
func TestPlainBitsAreKeptOnSecondUse(t *testing.T) {
	tag := query.Field{Name: "tags.vibe.key", Type: query.Keyword}
	docs := make([]segment.Doc, frequentDocs)
	for i := range docs {
		docs[i] = segment.Doc{ID: item.ID(i + 1), Created: int64(i)}
		if i%2 == 0 {
			docs[i].Values = []segment.Value{{Field: tag, Value: query.Value{Str: "calm"}}}
		}
	}
	s, err := segment.Build(docs)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cache := NewCache(1 << 20)
	use := func(kept int) {
		t.Helper()
		e := &evaluation{corpus: &Corpus{Cache: cache}, part: segment.Part{Segment: s}}
		defer e.release()
		field := s.Field(tag.Name)
		postings, _ := field.Term("calm")
		for range 2 { // the second call of an evaluation is not a second use
			words, err := e.termBits(t.Context(), field, "calm", postings)
			if got := ones(words); err != nil || got != frequentDocs/2 {
				t.Errorf("%d documents, want %d; error %v", got, frequentDocs/2, err)
			}
		}
		if views := cache.Stats().Views; views != kept {
			t.Errorf("the cache has %d views, want %d", views, kept)
		}
	}
	use(0)
	use(1)
	use(1)
	cache.Shrink(0)
	use(0)
	use(1)
}
