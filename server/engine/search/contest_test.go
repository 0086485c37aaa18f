package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// TestTop checks that skipping documents does not change the result of Top. The hits must equal the first hits of the complete ranking,
// with bit-identical scores, both with and without outlines of frequent terms.
func TestTop(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	text, state := query.Field{Name: "content.text", Type: query.Text}, query.Field{Name: "approval_status", Type: query.Keyword}
	word := func() string { return fmt.Sprintf("w%d", int(300*r.Float64()*r.Float64()*r.Float64())) }
	corpus, nothing := &Corpus{}, NewCache(0)
	id := 0
	for _, n := range []int{9000, 31000, 700} {
		docs := make([]segment.Doc, n)
		for i := range docs {
			id++
			words := make([]string, 1+r.IntN(20)*r.IntN(3))
			for j := range words {
				if words[j] = word(); r.IntN(8) == 0 {
					words[j] = "w0" // a text often contains w0 several times
				}
			}
			d := segment.Doc{ID: item.ID(id), Created: int64(r.IntN(5000))}
			d.Values = append(d.Values, segment.Value{Field: text, Value: query.Value{Str: strings.Join(words, " ")}})
			d.Values = append(d.Values, segment.Value{Field: state, Value: query.Value{Str: []string{"app", "app", "pen"}[r.IntN(3)]}})
			docs[i] = d
		}
		s, err := segment.Build(docs)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		dead := roaring.New()
		for range n / 30 {
			dead.Add(r.Uint32N(uint32(n)))
		}
		corpus.Parts = append(corpus.Parts, segment.Part{Segment: s, Dead: dead})
		nothing.of(s) // the first Cache of a segment is its Cache for good
	}
	leaf := func() plan.Node {
		switch r.IntN(12) {
		case 0:
			return plan.Const{Node: plan.Term{Field: state, Text: "app"}, Score: r.Float32()}
		case 1:
			return plan.Phrase{Field: text, Words: []plan.Word{{Text: word()}, {Text: word(), Position: 1}}}
		case 2:
			return plan.Fuzzy{Field: text, Text: word(), Edits: 1, MaxExpansions: 50}
		case 3:
			return plan.DisMax{Nodes: []plan.Node{plan.Term{Field: text, Text: word()}, plan.Term{Field: text, Text: word()}}}
		case 4:
			// These boosts differ so much that the order of addition affects the sum.
			return plan.Boost{Node: plan.Term{Field: text, Text: word()}, Factor: []float32{1e-9, 1e9, 1e30, 0}[r.IntN(4)]}
		}
		return plan.Boost{Node: plan.Term{Field: text, Text: word()}, Factor: 1 + float32(r.IntN(3))}
	}
	list := func(n int) []plan.Node {
		nodes := make([]plan.Node, n)
		for i := range nodes {
			if nodes[i] = leaf(); r.IntN(6) == 0 {
				nodes[i] = plan.Bool{Must: []plan.Node{leaf()}, Should: []plan.Node{leaf()}}
			}
		}
		return nodes
	}
	narrowed := 0
	for range 80 {
		root := plan.Bool{Should: list(1 + r.IntN(4))}
		switch r.IntN(6) {
		case 0:
			root.Must = list(1 + r.IntN(2))
		case 1, 2:
			root.Must = []plan.Node{plan.Term{Field: state, Text: "app"}}
		case 3:
			root.MustNot = list(1)
		}
		if r.IntN(2) == 0 {
			nothing.Shrink(0) // forget earlier uses, so that terms use pooled memory
		}
		bind := func(c *Cache) *Query {
			q, err := Bind(t.Context(), root, &Corpus{Parts: corpus.Parts, Cache: c})
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		want, err := bind(nil).Ranking(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		byScore, err := corpus.Order(t.Context(), query.Order{{Field: query.ScoreKey, Desc: true}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if len(want) == 0 {
				break
			}
			at, k := r.IntN(len(want)), 1+r.IntN(60)
			after := byScore.Place(want[at])
			switch r.IntN(4) {
			case 0: // the result may be the place of an item that does not exist
				after.ID += int64(r.IntN(3) - 1)
			case 1: // a score that probably no item has
				after.Values[0].Float *= eval.Number(0.99 + r.Float64()/50)
			}
			from := slices.IndexFunc(want, func(h Hit) bool { return byScore.ComparePlace(h, after) > 0 })
			if from < 0 {
				from = len(want)
			}
			rest := want[from:min(from+k, len(want))]
			got, counts, err := bind(nothing).Top(t.Context(), k, &after)
			if err != nil || Sum(counts) != len(want) || !slices.Equal(got, rest) {
				t.Fatalf("%+v: the %d after %+v: %v of %d; want %v of %d, error %v", root, k, after, got, Sum(counts), rest, len(want), err)
			}
			one, matches, err := bind(nothing).Score(t.Context(), want[at].Part, want[at].Doc)
			if err != nil || !matches || one != want[at].Score {
				t.Fatalf("%+v: a document alone scores %v, matches %t; want %v, error %v", root, one, matches, want[at].Score, err)
			}
		}
		for _, c := range []*Cache{nil, nothing} {
			if all, err := bind(c).Ranking(t.Context()); err != nil || !slices.Equal(all, want) {
				t.Fatalf("%+v: all hits with a cache %v differ: %v", root, c != nil, err)
			}
			for _, k := range []int{0, 1, 20, 500} {
				got, counts, err := bind(c).Top(t.Context(), k, nil)
				if err != nil {
					t.Fatal(err)
				}
				if k := min(k, len(want)); Sum(counts) != len(want) || !slices.Equal(got, want[:k]) {
					for i := range got {
						if got[i] != want[i] {
							t.Errorf("%d: %+v; want %+v", i, got[i], want[i])
							break
						}
					}
					t.Fatalf("%+v: the best %d of %d (of %d) with a cache %v", root, k, Sum(counts), len(want), c != nil)
				}
			}
		}
		if len(want) > 5000 {
			narrowed++
		}
	}
	if narrowed < 20 {
		t.Errorf("%d of 80 queries have so many hits that Top can skip most of them", narrowed)
	}
}

// TestUpperBoundIsRounded checks that the upper bound of a fuzzy word's scores is rounded in the same way as the scores. Otherwise, Top
// would skip a part whose hits have the same score as the weakest hit.
func TestUpperBoundIsRounded(t *testing.T) {
	text := query.Field{Name: "content.text", Type: query.Text}
	part := func(n, first int, created int64) segment.Part {
		docs := make([]segment.Doc, n)
		for i := range docs {
			words := "alpha beach beech"
			if i%2 == 1 {
				words = []string{"omega", "omega delta"}[i/2%2] + fmt.Sprintf(" z%d", i%50)
			}
			docs[i] = segment.Doc{ID: item.ID(first + i), Created: created, Values: []segment.Value{{Field: text, Value: query.Value{Str: words}}}}
		}
		s, err := segment.Build(docs)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return segment.Part{Segment: s}
	}
	parts := []segment.Part{part(20000, 1, 1000), part(9000, 30000, 2000)}
	for i := range 200 {
		q, err := Bind(t.Context(), plan.Bool{Should: []plan.Node{
			plan.Boost{Node: plan.DisMax{Nodes: []plan.Node{plan.Term{Field: text, Text: "alpha"}}}, Factor: 1 + float32(i)/128},
			plan.Boost{Node: plan.Fuzzy{Field: text, Text: "beach", Edits: 1, MaxExpansions: 50}, Factor: 1.1 + float32(i)/100},
		}}, &Corpus{Parts: parts, Cache: NewCache(0)})
		if err != nil {
			t.Fatal(err)
		}
		want, err := q.Ranking(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := q.Top(t.Context(), 20, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want[:20]) {
			t.Fatalf("%d: %+v; want %+v", i, got[0], want[0])
		}
	}
}

// TestPhraseAmongMatches checks that an optional phrase is searched only in the documents that match the required word, although these are
// read from plain bits.
func TestPhraseAmongMatches(t *testing.T) {
	text := query.Field{Name: "content.text", Type: query.Text}
	docs := make([]segment.Doc, 2*frequentDocs)
	for i := range docs {
		words := "beach sunset"
		if i%50 == 0 {
			words += " waves"
		}
		docs[i] = segment.Doc{ID: item.ID(i + 1), Values: []segment.Value{{Field: text, Value: query.Value{Str: words}}}}
	}
	part, err := segment.Build(docs)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	q, err := Bind(t.Context(), plan.Bool{
		Must:   []plan.Node{plan.Term{Field: text, Text: "waves"}},
		Should: []plan.Node{plan.Phrase{Field: text, Words: []plan.Word{{Text: "beach"}, {Text: "sunset", Position: 1}}}},
	}, &Corpus{Parts: []segment.Part{{Segment: part}}, Cache: NewCache(1 << 20)})
	if err != nil {
		t.Fatal(err)
	}
	s := q.scoring(0)
	defer s.close()
	found, err := q.blocks(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer found.close(q.corpus.Cache)
	root, err := q.rankedRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := root.open(t.Context(), s, true)
	if err != nil {
		t.Fatal(err)
	}
	if s.matched == nil {
		t.Error("the matches were not read from plain bits")
	}
	if got := len(r.(*groupRunner).should[0].(*phraseRunner).docs); int64(got) != found.total {
		t.Errorf("the phrase was found in %d documents, want %d", got, found.total)
	}
}
