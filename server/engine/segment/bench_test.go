package segment

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// benchItems returns items that resemble those of social platforms, with a text, an author, media and several unique URLs.
func benchItems(n int) []*item.Item {
	rng := rand.New(rand.NewPCG(1, 9))
	zipf := rand.NewZipf(rng, 1.2, 4, 60_000)
	word := func() string {
		v := zipf.Uint64()
		return fmt.Sprintf("%s%x", vocabulary[v%15], v/15)
	}
	items := make([]*item.Item, n)
	for i := range items {
		var text []string
		for range 5 + rng.IntN(30) {
			text = append(text, word())
		}
		author := rng.IntN(20_000)
		at := fmt.Sprintf("20%02d-%02d-%02dT%02d:%02d:%02dZ", 15+rng.IntN(11), 1+rng.IntN(12), 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60))
		base := fmt.Sprintf("https://media.example.com/p/%d/%x", rng.IntN(1000), rng.Uint64())
		id, mediaID, campaign := int64(author), int64(rng.Uint32()), int64(rng.IntN(200))
		items[i] = &item.Item{
			ID: int64(i + 1), ApprovalStatus: []string{"app", "app", "app", "pen", "rej"}[rng.IntN(5)], Campaign: &campaign, CreatedOn: at,
			ShortCode: fmt.Sprintf("%x", rng.Uint64()), ShortenedPermalink: fmt.Sprintf("https://ex.am/%x", rng.Uint32()), Featured: rng.IntN(9) == 0,
			Content: item.Content{
				Text: strings.Join(text, " "), ContentType: []string{"image", "video", "text"}[rng.IntN(3)], SocialPlatform: []string{"instagram", "facebook", "tiktok"}[rng.IntN(3)],
				PlatformRef: fmt.Sprint(rng.Uint64()), CreatedOn: at, SocialPlatformCreatedOn: at, ContentState: "active",
				OriginalURL: fmt.Sprintf("https://social.example.com/p/%x", rng.Uint64()),
				Author: &item.Author{Username: fmt.Sprintf("user_%d", author), ProfileName: fmt.Sprintf("User %d", author), ProfileUser: fmt.Sprintf("user_%d", author),
					ProfileLink: fmt.Sprintf("https://social.example.com/user_%d", author), Avatar: fmt.Sprintf("https://media.example.com/a/%d.jpg", author), PlatformID: fmt.Sprint(author), ID: &id},
				Media: &item.Media{OriginalURL: base + ".jpg", BaseURL: base, PlatformURL: base + "/raw", MediaType: "image", SmallImage: base + "_s.jpg", MediumImage: base + "_m.jpg", LargeImage: base + "_l.jpg", ID: &mediaID},
			},
			Tags: []item.Tag{{Namespace: "marketer_tags", Key: vocabulary[rng.IntN(11)]}},
		}
	}
	return items
}

func benchDocs(n int) []Doc {
	docs := make([]Doc, n)
	for i, it := range benchItems(n) {
		docs[i] = NewDoc(it)
	}
	return docs
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1, 64, 2048} {
		docs := benchDocs(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			builder := NewBuilder()
			for b.Loop() {
				if _, err := builder.Build(docs); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "us/item")
		})
	}
}

func BenchmarkNewDoc(b *testing.B) {
	items := benchItems(1000)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		NewDoc(items[i%len(items)])
		i++
	}
}

func BenchmarkMerge(b *testing.B) {
	const n, parts = 32_768, 8
	docs := benchDocs(n)
	var inputs []Part
	for p := range parts {
		inputs = append(inputs, Part{Segment: build(b, docs[p*n/parts:(p+1)*n/parts])})
	}
	for b.Loop() {
		s, _, err := MergeInMemory(inputs)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(s.IndexBytes())/n, "index-B/item")
		b.ReportMetric(float64(s.ItemBytes())/n, "item-B/item")
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "us/item")
}

func BenchmarkLookUp(b *testing.B) {
	docs := benchDocs(32_768)
	s := build(b, docs)
	text, url := s.Field("content.text"), s.Field("content.media.base_url")
	b.Run("url", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			d := &docs[i%len(docs)]
			for j := range d.Values {
				if d.Values[j].Field.Name == url.Name() {
					if _, ok := url.Term(d.Values[j].Str); !ok {
						b.Fatal("not found")
					}
				}
			}
		}
	})
	b.Run("word", func(b *testing.B) {
		var words []string
		for word := range text.Ascend("") {
			words = append(words, string(word))
		}
		rand.New(rand.NewPCG(2, 3)).Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		for i := 0; b.Loop(); i++ {
			if _, ok := text.Term(words[i%len(words)]); !ok {
				b.Fatal("not found")
			}
		}
	})
	walk := func(name string, f *Field, a automaton.Automaton) {
		b.Run(name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				for range f.Match(a) {
					n++
				}
			}
			b.ReportMetric(float64(n)/float64(b.N), "terms")
		})
	}
	walk("prefix", text, automaton.Prefix("beach1"))
	for name, f := range map[string]*Field{"fuzzy": text, "fuzzy url": url} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for range f.Near("beach12", 1) {
				}
			}
			b.ReportMetric(float64(f.Distinct()), "terms")
		})
		b.Run(name+" (first use)", func(b *testing.B) {
			for b.Loop() {
				newSketches(f)
			}
		})
	}
	suffix, err := automaton.Wildcard("*7f.jpg")
	if err != nil {
		b.Fatal(err)
	}
	walk("suffix", s.Field("content.media.original_url"), suffix)
}

func BenchmarkRange(b *testing.B) {
	const n = 1 << 20
	docs := make([]Doc, n)
	f := query.Field{Name: "campaign", Type: query.Long}
	for i := range docs {
		docs[i] = Doc{ID: int64(i + 1), Values: []Value{{f, query.Value{Int: int64(i % 1000)}}}}
	}
	s := build(b, docs)
	for b.Loop() {
		s.Field("campaign").IntRange(100, 300)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/item")
}
