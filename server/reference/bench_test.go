package reference

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// benchItems is the size that the reference is made for.
const benchItems = 100_000

var benchWords = []string{
	"beach", "sunset", "city", "summer", "winter", "friends", "coffee", "music", "garden", "road", "morning", "evening",
	"love", "street", "mountain", "river", "dance", "bread", "window", "light",
}

func benchItem(r *rand.Rand, n int) *item.Item {
	var text bytes.Buffer
	for range 12 {
		text.WriteString(benchWords[r.IntN(len(benchWords))] + " ")
	}
	campaign := int64(r.IntN(200))
	author := fmt.Sprintf("user%d", r.IntN(20_000))
	return &item.Item{
		ID: int64(n + 1), ApprovalStatus: []string{item.Approved, item.Pending, item.Rejected}[r.IntN(3)], Campaign: &campaign,
		CreatedOn: time.Unix(1_700_000_000+int64(n)*60, 0).UTC().Format(time.RFC3339), ShortCode: fmt.Sprintf("c%d", n),
		Content: item.Content{
			ContentType: item.Image, Text: text.String(), SocialPlatform: []string{"instagram", "twitter"}[r.IntN(2)],
			OriginalURL: fmt.Sprintf("https://posts.example/%d", n),
			Author:      &item.Author{Username: author, ProfileName: author, ProfileUser: author, ProfileLink: "https://posts.example/" + author},
			Location:    &item.Location{Name: "Tokyo", Country: "Japan", CountryCode: "JP", FullName: "Shibuya, Tokyo"},
			Media:       &item.Media{OriginalURL: fmt.Sprintf("https://media.example/%d.jpg", n), MediaType: item.Image},
		},
		Tags: []item.Tag{{Namespace: "marketer_tags", Key: benchWords[r.IntN(len(benchWords))]}},
	}
}

// fill writes the items in groups as the bulk path does.
func fill(b *testing.B, l *Library) {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for n := 0; n < benchItems; {
		muts := make([]library.Mutation, 500)
		for i := range muts {
			muts[i] = library.Mutation{Put: benchItem(r, n)}
			n++
		}
		write(b, l, muts...)
	}
}

// BenchmarkHundredThousand measures a library of 100,000 items: opening it, first and repeated reads, single writes, a
// new rule.
func BenchmarkHundredThousand(b *testing.B) {
	dir := b.TempDir()
	began := time.Now()
	l := mustOpen(b, Options{Dir: dir})
	fill(b, l)
	b.Logf("imported %d items in %s", benchItems, time.Since(began).Round(time.Millisecond))
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("Open", func(b *testing.B) {
		for b.Loop() {
			l, err := Open(Options{Dir: dir})
			if err != nil {
				b.Fatal(err)
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	l = mustOpen(b, Options{Dir: dir})
	parse := func(q string) query.Node {
		parsed, err := query.Parse(q)
		if err != nil {
			b.Fatal(err)
		}
		return parsed.Root
	}
	for name, c := range map[string]struct{ query, order string }{
		"Newest":     {query: "approval_status:app AND social_platform:instagram", order: "created_on:desc"},
		"Relevance":  {query: "beach sunset", order: "_score:desc"},
		"Everything": {query: "*:*", order: "campaign:asc,created_on:desc"},
		"Fuzzy":      {query: "beech~", order: "created_on:desc"},
	} {
		order, err := query.ParseOrder(c.order)
		if err != nil {
			b.Fatal(err)
		}
		read := library.Read{Property: shop, Query: parse(c.query), Order: order, Limit: 50}
		b.Run("First/"+name, func(b *testing.B) {
			for b.Loop() {
				l.results.clear()
				if _, err := l.Read(b.Context(), read); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("Again/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := l.Read(b.Context(), read); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("Write", func(b *testing.B) {
		for b.Loop() {
			write(b, l, post("beach"))
		}
	})
	b.Run("Rule", func(b *testing.B) {
		selectors := []string{"beach AND approval_status:app", "sunset AND approval_status:app"}
		n := 0
		for b.Loop() {
			n++
			results, err := l.Apply(b.Context(), []library.Definition{{
				Property: shop, Owner: library.Owner{Install: "cluster", Kind: library.KindTag, Namespace: "shop", Name: "rule"},
				Tag: &library.TagRule{Tag: item.Tag{Namespace: "marketer_tags", Key: "rule"}, Selector: selectors[n%2]},
			}})
			if err != nil || results[0].Err != nil {
				b.Fatal(err, results)
			}
		}
	})
	b.Run("Export", func(b *testing.B) {
		for b.Loop() {
			for line, err := range l.Export(b.Context(), shop, nil) {
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Discard.Write(line); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
