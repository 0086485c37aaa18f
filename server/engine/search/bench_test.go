package search_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// The corpus of the benchmarks has benchDocs documents of 8 to 30 words in benchParts segments. About 1/50 of the documents are deleted.
// Nearly every text contains the word w0. The word w<n> is about n times rarer than w0.
const (
	benchDocs  = 200_000
	benchParts = 4
)

var benchCorpus = sync.OnceValues(func() (*search.Corpus, error) {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 30_000)
	text, everything := field("content.text"), field(query.AllField)
	contentType, username, created, featured := field("content.content_type"), field("content.author.username"), field("created_on"), field("featured")
	latitude := field("content.platform_data.geo_data.coordinates.latitude")
	c := &search.Corpus{Cache: search.NewCache(1 << 30), Overlay: &search.Overlay{}}
	var items []item.ID
	for part := range benchParts {
		docs := make([]segment.Doc, benchDocs/benchParts)
		for i := range docs {
			id := item.ID(part*len(docs) + i + 1)
			items = append(items, id)
			words := make([]string, 8+r.IntN(23))
			for j := range words {
				words[j] = fmt.Sprintf("w%d", zipf.Uint64())
			}
			at := now.UnixMilli() - r.Int64N(1e11)
			d := segment.Doc{ID: id, Created: at}
			add := func(f query.Field, v query.Value) { d.Values = append(d.Values, segment.Value{Field: f, Value: v}) }
			add(text, query.Value{Str: strings.Join(words, " ")})
			add(everything, query.Value{Str: strings.Join(words, " ")})
			add(contentType, query.Value{Str: []string{"image", "video", "text"}[r.IntN(3)]})
			add(username, query.Value{Str: fmt.Sprintf("user%d", r.IntN(20_000))})
			add(created, query.Value{Int: at})
			add(featured, query.Value{Int: int64(r.IntN(2))})
			add(latitude, query.Value{Float: r.Float64()*180 - 90})
			docs[i] = d
		}
		s, err := segment.Build(docs)
		if err != nil {
			return nil, err
		}
		dead := roaring.New()
		for range s.Len() / 50 {
			dead.Add(r.Uint32N(uint32(s.Len())))
		}
		c.Parts = append(c.Parts, segment.Part{Segment: s, Dead: dead})
	}
	for id := range int64(20) {
		rule := search.Rule{Name: fmt.Sprint(id), IDs: items[id*10 : id*10+5]}
		if id < 4 {
			rule.Selector = plan.Term{Field: everything, Text: fmt.Sprintf("w%d", 10*id)}
		}
		unit := item.Unit{ID: id + 1, Name: fmt.Sprintf("unit w%d", id)}
		c.Overlay.Units = append(c.Overlay.Units, search.UnitRule{Unit: unit, Rule: rule})
	}
	return c, nil
})

func benchmark(b *testing.B, queries map[string]string, run func(b *testing.B, c *search.Corpus, n plan.Node)) {
	c, err := benchCorpus()
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		b.Run(name, func(b *testing.B) {
			n := build(b, queries[name], nil)
			run(b, c, n) // fill the caches
			b.ReportAllocs()
			for b.Loop() {
				run(b, c, n)
			}
		})
	}
}

// BenchmarkTop measures the first page by relevance.
func BenchmarkTop(b *testing.B) {
	benchmark(b, map[string]string{
		"one common word":   "w3",
		"one rare word":     "w9000",
		"any of two":        "w3 w20",
		"any of three":      "w3 w20 w100",
		"all of two":        "+w3 +w20",
		"word and keyword":  "w3 AND content_type:image",
		"phrase":            `"w3 w4"`,
		"near phrase":       `"w3 w4"~3`,
		"fuzzy word":        "w1234~1",
		"very fuzzy word":   "w123~2",
		"word of a unit":    "activate_units.name:w2",
		"word or prefix":    "w9000 author:user1*",
		"everything":        "*:*",
		"rare and common":   "+w9000 w3 w20",
		"filter and common": "+(+content_type:image +featured:true -w7) w3 w20",
	}, func(b *testing.B, c *search.Corpus, n plan.Node) {
		q, err := search.Bind(b.Context(), n, c)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := q.Top(b.Context(), 20, nil); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkMatch measures binding a query and reading its cached views for all parts.
func BenchmarkMatch(b *testing.B) {
	benchmark(b, map[string]string{
		"keyword and truth":      "content_type:image AND featured:true",
		"created_on range":       "created_on:[2026-01 TO 2026-06] AND content_type:image",
		"prefix of 1000":         "author.username:user1*",
		"leading wildcard":       "author.username:*99",
		"range of latitudes":     "content.platform_data.geo_data.coordinates.latitude:[10 TO 20]",
		"range of terms":         "author.username:[user3 TO user4]",
		"phrase":                 `"w3 w4"`,
		"phrase in a filter":     `"w3 w4" AND author.username:user17`,
		"units":                  "activate_units.name:w2",
		"only a prohibited word": "NOT w3",
	}, func(b *testing.B, c *search.Corpus, n plan.Node) {
		q, err := search.Bind(b.Context(), n, c)
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range c.Parts {
			if _, err := q.Match(b.Context(), p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRanking measures sorting all hits by relevance. Pages deep in a listing need this.
func BenchmarkRanking(b *testing.B) {
	benchmark(b, map[string]string{"any of two": "w3 w20"}, func(b *testing.B, c *search.Corpus, n plan.Node) {
		q, err := search.Bind(b.Context(), n, c)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := q.Ranking(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkOrder measures sorting all documents of each segment by an order.
func BenchmarkOrder(b *testing.B) {
	c, err := benchCorpus()
	if err != nil {
		b.Fatal(err)
	}
	for _, order := range []string{"content.author.username:asc", "content.content_type:desc,created_on:asc", "content.platform_data.geo_data.coordinates.latitude:desc"} {
		b.Run(order, func(b *testing.B) {
			parsed, err := query.ParseOrder(order)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				o, err := c.Order(b.Context(), parsed, nil)
				if err != nil {
					b.Fatal(err)
				}
				for i := range c.Parts {
					if _, err := o.Documents(b.Context(), i); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkBind measures binding a query, without any evaluation.
func BenchmarkBind(b *testing.B) {
	benchmark(b, map[string]string{"word": "w3", "fuzzy": "w1234~2", "unit": "activate_units.name:w2"}, func(b *testing.B, c *search.Corpus, n plan.Node) {
		if _, err := search.Bind(b.Context(), n, c); err != nil {
			b.Fatal(err)
		}
	})
}
