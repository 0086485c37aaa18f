package engine

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// benchItems is the number of items in most benchmarks.
const benchItems = 200_000

func benchItem(r *rand.Rand, n int) *item.Item {
	words := strings.Fields("beach sunset city summer winter friends coffee music garden road morning evening love street mountain river dance bread window light")
	var text strings.Builder
	for range 12 {
		text.WriteString(words[r.IntN(len(words))] + " ")
	}
	campaign := int64(r.IntN(200))
	author := fmt.Sprintf("user%d", r.IntN(20_000))
	return &item.Item{
		ID: item.ID(n + 1), ApprovalStatus: []string{item.Approved, item.Pending, item.Rejected}[r.IntN(3)], Campaign: &campaign,
		CreatedOn: time.Unix(1_700_000_000+int64(r.IntN(10_000_000)), 0).UTC().Format(time.RFC3339), ShortCode: fmt.Sprintf("c%d", n),
		Content: item.Content{
			ContentType: item.Image, Text: text.String(), SocialPlatform: []string{"instagram", "twitter"}[r.IntN(2)],
			OriginalURL: fmt.Sprintf("https://posts.example/%d", n),
			Author:      &item.Author{Username: author, ProfileName: author, ProfileUser: author, ProfileLink: "https://posts.example/" + author},
			Location:    &item.Location{Name: "Tokyo", Country: "Japan", CountryCode: "JP", FullName: "Shibuya, Tokyo"},
			Media:       &item.Media{OriginalURL: fmt.Sprintf("https://media.example/%d.jpg", n), MediaType: item.Image},
		},
		Tags: []item.Tag{{Namespace: "marketer_tags", Key: words[r.IntN(len(words))]}},
	}
}

// benchLibrary returns a library with items that newItem creates. It writes the items in groups of 500, as an import does.
func benchLibrary(b *testing.B, items int, newItem func(r *rand.Rand, n int) *item.Item) *Library {
	b.Helper()
	l, err := Open(Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	})
	results, err := l.Apply(b.Context(), []library.Definition{{
		Property: trialShop, Owner: library.Owner{Install: "cluster", Kind: library.KindProperty, Namespace: "shop", Name: "default"},
		PropertySpec: &library.Property{PlatformPageID: 7},
	}})
	if err != nil || results[0].Err != nil {
		b.Fatal(err, results)
	}
	r := rand.New(rand.NewPCG(1, 2))
	began := time.Now()
	for n := 0; n < items; {
		muts := make([]library.Mutation, 500)
		for i := range muts {
			muts[i] = library.Mutation{Put: newItem(r, n)}
			n++
		}
		write(b, l, muts...)
	}
	b.Logf("imported %d items in %s", items, time.Since(began).Round(time.Millisecond))
	return l
}

// sampleLibrary returns a library with the first items of the sample library, without conversion units.
func sampleLibrary(b *testing.B, corpus *sample.Library, items int) *Library {
	b.Helper()
	return benchLibrary(b, items, func(_ *rand.Rand, n int) *item.Item {
		it, err := item.Unmarshal(bytes.TrimSpace(corpus.Item(n)))
		if err != nil {
			b.Fatal(err)
		}
		it.Units = nil
		return it
	})
}

func write(b *testing.B, l *Library, muts ...library.Mutation) {
	b.Helper()
	outcomes, err := l.Write(b.Context(), trialShop, muts)
	if err != nil {
		b.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			b.Fatal(o.Err)
		}
	}
}

// BenchmarkLibrary measures reads. "First" begins with empty caches. "Again" begins after the same read has filled the caches. "After a
// write" begins after items were changed.
func BenchmarkLibrary(b *testing.B) {
	l := benchLibrary(b, benchItems, benchItem)
	parse := func(q string) query.Node {
		parsed, err := query.Parse(q)
		if err != nil {
			b.Fatal(err)
		}
		return parsed.Root
	}
	into := make([]byte, 0, 1<<20)
	read := func(b *testing.B, r library.Read) *library.Page {
		b.Helper()
		r.Into = into[:0]
		p, err := l.Read(b.Context(), r)
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	newest := "approval_status:app AND social_platform:instagram"
	for name, c := range map[string]struct {
		query, order string
		offset       int64
		favourite    *item.Tag
	}{
		"Newest":      {query: newest, order: "created_on:desc"},
		"Deep":        {query: newest, order: "created_on:desc", offset: benchItems / 12},
		"Last":        {query: newest, order: "created_on:desc", offset: benchItems/6 - 1000},
		"Favourites":  {query: newest, order: "created_on:desc", favourite: &item.Tag{Namespace: "marketer_tags", Key: "beach"}},
		"Two keys":    {query: "*:*", order: "campaign:asc,created_on:asc"},
		"Relevance":   {query: "beach sunset", order: "_score:desc"},
		"Random":      {query: newest, order: "random"},
		"Fuzzy":       {query: "beech~", order: "created_on:desc"},
		"Last month":  {query: "created_on:[now-1M TO *] AND beach", order: "created_on:desc"},
		"Many fields": {query: `\*text:beach AND NOT tags.\*:city`, order: "created_on:desc"},
	} {
		order, err := query.ParseOrder(c.order)
		if err != nil {
			b.Fatal(err)
		}
		r := library.Read{Property: trialShop, Query: parse(c.query), Order: order, Limit: 50, Offset: c.offset, Favourite: c.favourite}
		b.Run("First/"+name, func(b *testing.B) {
			for b.Loop() {
				l.Forget()
				read(b, r)
			}
		})
		b.Run("Again/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				read(b, r)
			}
		})
		b.Run("After a write/"+name, func(b *testing.B) {
			rnd := rand.New(rand.NewPCG(7, 8))
			n := benchItems
			for b.Loop() {
				b.StopTimer()
				n++
				it := benchItem(rnd, n)
				it.ID = 0
				write(b, l, library.Mutation{Put: it}, library.Mutation{Patch: benchPatch(b), ID: item.ID(1 + rnd.IntN(benchItems))})
				b.StartTimer()
				read(b, r)
			}
		})
	}
	// Read a hundred pages of a listing by relevance, each with the cursor of the page before.
	for name, between := range map[string]func(n int){
		"Cursors": func(int) {},
		"Cursors under writes": func(n int) {
			write(b, l, library.Mutation{Patch: benchPatch(b), ID: item.ID(1 + n%benchItems)})
		},
	} {
		b.Run(name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				r := library.Read{Property: trialShop, Query: parse("beach sunset"), Limit: 50}
				l.follower.property(trialShop).reads.Forget()
				for range 100 {
					r.After = read(b, r).Next
					b.StopTimer()
					between(n)
					b.StartTimer()
					n++
				}
			}
		})
	}
	b.Run("Unchanged", func(b *testing.B) {
		r := library.Read{Property: trialShop, Query: parse(newest), Limit: 50}
		r.IfVersion = read(b, r).Version
		b.ReportAllocs()
		for b.Loop() {
			if _, err := l.Read(b.Context(), r); err == nil {
				b.Fatal("modified")
			}
		}
	})
	b.Run("Export", func(b *testing.B) {
		for b.Loop() {
			for line, err := range l.Export(b.Context(), trialShop, nil) {
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Discard.Write(line); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Logf("%+v", l.State(b.Context()).Sizes)
}

func benchPatch(b *testing.B) *item.Patch {
	b.Helper()
	p, err := item.ParsePatch([]byte(`{"approval_status":"rej"}`))
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkStoredItems reads 50 items in random places: as a page from the segments, and by id from the store.
func BenchmarkStoredItems(b *testing.B) {
	const page = 50
	l := sampleLibrary(b, sample.NewLibrary(), benchItems)
	random := rand.New(rand.NewPCG(3, 4))
	b.Run("segments", func(b *testing.B) {
		// The random order is cached after the first page. The items of a page are in different places of the segments.
		r := library.Read{
			Property: trialShop, Query: query.All{}, Order: query.Order{{Field: query.RandomKey}}, Seed: "a", Limit: page, Into: make([]byte, 0, 1<<20),
		}
		for b.Loop() {
			r.Offset = random.Int64N(benchItems - page)
			if _, err := l.Read(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("store", func(b *testing.B) {
		for b.Loop() {
			for range page {
				// Has reads and decompresses the block of the item, but does not decode the item.
				if found, err := l.store.Has(trialShop, sample.FirstID+item.ID(random.IntN(benchItems))); err != nil || !found {
					b.Fatal(found, err)
				}
			}
		}
	})
}

// BenchmarkRebuild measures the first start after a restore, which builds all segments from the store. The number of segments grows with the
// number of items, as with the usual limits of a segment and millions of items.
func BenchmarkRebuild(b *testing.B) {
	const perFile = 2048
	corpus := sample.NewLibrary()
	for _, files := range []int{8, 32, 128} {
		b.Run(fmt.Sprintf("%d_files", files), func(b *testing.B) {
			l := sampleLibrary(b, corpus, perFile*files)
			for b.Loop() {
				b.StopTimer()
				dir := filepath.Join(b.TempDir(), "copy")
				if _, err := l.Checkpoint(b.Context(), dir); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				restored, err := Open(Options{Dir: dir, sealDocs: perFile, patience: time.Hour})
				if err != nil {
					b.Fatal(err)
				}
				if s := restored.State(b.Context()); !s.Ready {
					b.Fatal(s.Problem)
				}
				b.StopTimer()
				if err := restored.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*perFile*files), "ns/item")
		})
	}
}

// BenchmarkRanked measures a read of the first page by relevance, with empty caches, for each kind of query.
func BenchmarkRanked(b *testing.B) {
	corpus := sample.NewLibrary()
	l := sampleLibrary(b, corpus, benchItems)
	for name, kind := range map[string]string{
		"Word": `^[^ "*~]+$`, "Or": `^[^ "*~+]+( [^ "*~+]+)+$`, "And": " AND ", "Phrase": `"`, "Prefix": `\*$`, "Fuzzy": "~1$",
	} {
		var queries []query.Node
		for _, q := range corpus.Ranked() {
			if regexp.MustCompile(kind).MatchString(q) && (kind == " AND " || !strings.Contains(q, " AND ")) {
				parsed, err := query.Parse(q)
				if err != nil {
					b.Fatal(err)
				}
				queries = append(queries, parsed.Root)
			}
		}
		order, err := query.ParseOrder("_score:desc")
		if err != nil {
			b.Fatal(err)
		}
		into := make([]byte, 0, 1<<20)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				l.follower.cache.Shrink(0)
				l.follower.property(trialShop).reads.Forget()
				r := library.Read{Property: trialShop, Query: queries[n%len(queries)], Order: order, Limit: 20, Into: into[:0]}
				if _, err := l.Read(b.Context(), r); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}

// BenchmarkFamilies measures the median first read, with empty caches, for each family of queries of the sample library. For each family,
// it measures a read of only the total. For families of text queries, it also measures a read of the first page by relevance.
func BenchmarkFamilies(b *testing.B) {
	corpus := sample.NewLibrary()
	l := sampleLibrary(b, corpus, 100_000)
	into := make([]byte, 0, 1<<20)
	read := func(b *testing.B, q query.Node, limit int) time.Duration {
		b.Helper()
		l.Forget()
		began := time.Now()
		if _, err := l.Read(b.Context(), library.Read{Property: trialShop, Query: q, Limit: limit, Into: into[:0]}); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	families := corpus.Families(400)
	queries := make([][]query.Node, len(families))
	for i, f := range families {
		for _, q := range f.Queries {
			parsed, err := query.Parse(q)
			if err != nil {
				b.Fatal(err)
			}
			queries[i] = append(queries[i], parsed.Root)
			read(b, parsed.Root, 20)
		}
	}
	for i, f := range families {
		for _, limit := range []int{0, 20} {
			if limit > 0 && !f.Text {
				continue
			}
			b.Run(fmt.Sprintf("%s, first %d", f.Name, limit), func(b *testing.B) {
				var took []time.Duration
				for n := 0; b.Loop(); n++ {
					took = append(took, read(b, queries[i][n%len(queries[i])], limit))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "µs/read")
				b.ReportMetric(float64(l.follower.property(trialShop).segments().Stats().Files), "files")
				b.ReportMetric(float64(l.follower.property(trialShop).segments().Stats().MemoryParts), "parts")
			})
		}
	}
}

// facetItems is the number of items in BenchmarkFacets.
const facetItems = 1_000_000

// BenchmarkFacets measures counting the values of fields among all items and among smaller shares of them. "First" begins with empty
// caches, and "After a write" begins with a new snapshot.
func BenchmarkFacets(b *testing.B) {
	l := facetLibrary(b)
	count := func(b *testing.B, q, field string) *library.Facets {
		b.Helper()
		parsed, err := query.Parse(q)
		if err != nil {
			b.Fatal(err)
		}
		f, err := l.Facets(b.Context(), library.Read{Property: trialShop, Query: parsed.Root}, library.Facet{Field: field, Limit: 10})
		if err != nil {
			b.Fatal(err)
		}
		return f
	}
	fields := []string{
		"approval_status", "featured", "social_platform", "tags.marketer_tags", "tags.hashtags", "tags", "campaign", "author", "activate_units.id",
		"content.platform_data.social_platform_original_url", "id",
	}
	for _, of := range []struct{ name, query string }{
		{"All", "*:*"}, {"Third", "approval_status:app"}, {"Sixth", "approval_status:app AND social_platform:instagram"},
		{"Hundredth", "campaign:7,8 AND beach"}, {"Few", "author:user77"},
	} {
		for _, field := range fields {
			b.Run(of.name+"/"+field, func(b *testing.B) {
				found := count(b, of.query, field)
				b.ReportMetric(float64(found.Total), "items")
				for b.Loop() {
					count(b, of.query, field)
				}
			})
		}
	}
	for _, field := range fields {
		b.Run("First/"+field, func(b *testing.B) {
			for b.Loop() {
				l.Forget()
				count(b, "approval_status:app AND social_platform:instagram", field)
			}
		})
		b.Run("After a write/"+field, func(b *testing.B) {
			n := 0
			for b.Loop() {
				b.StopTimer()
				n++
				write(b, l, library.Mutation{Patch: benchPatch(b), ID: item.ID(1 + n*7919%facetItems)})
				b.StartTimer()
				count(b, "approval_status:app AND social_platform:instagram", field)
			}
		})
	}
	b.Logf("%+v", l.State(b.Context()).Sizes)
}

// facetLibrary returns the library of BenchmarkFacets, with manifests that add tags and units.
func facetLibrary(b *testing.B) *Library {
	b.Helper()
	var zipf *rand.Zipf
	l := benchLibrary(b, facetItems, func(r *rand.Rand, n int) *item.Item {
		if zipf == nil {
			zipf = rand.NewZipf(r, 1.2, 8, 50_000)
		}
		it := benchItem(r, n)
		for range r.IntN(5) {
			it.Tags = append(it.Tags, item.Tag{Namespace: item.HashtagNamespace, Key: fmt.Sprintf("h%d", zipf.Uint64())})
		}
		slices.SortFunc(it.Tags, item.CompareTags)
		it.Tags = slices.Compact(it.Tags)
		return it
	})
	defs := []library.Definition{{
		Property: trialShop, Owner: library.Owner{Install: "cluster", Kind: library.KindTag, Namespace: "shop", Name: "tokyo"},
		Tag: &library.TagRule{Tag: item.Tag{Namespace: "marketer_tags", Key: "tokyo"}, Selector: "beach AND featured:false"},
	}}
	for i, selector := range []string{"beach", "campaign:[1 TO 20]", "city sunset"} {
		name := fmt.Sprintf("unit%d", i)
		defs = append(defs, library.Definition{
			Property: trialShop, Owner: library.Owner{Install: "cluster", Kind: library.KindUnit, Namespace: "shop", Name: name},
			Unit: &library.UnitRule{Unit: item.Unit{ID: library.UnitID(trialShop, "shop", name), Name: name, ImageURL: "https://cdn.example/u.png",
				ClickThroughURL: "https://shop.example/u"}, Selector: selector},
		})
	}
	results, err := l.Apply(b.Context(), defs)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			b.Fatal(r.Err)
		}
	}
	// Wait until the background tasks have merged the segments of the import. Otherwise they would use a processor during the measurements.
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for before := int64(-1); ; <-tick.C {
		after := l.follower.property(trialShop).segments().Stats().DocsWritten
		if after == before {
			break
		}
		before = after
	}
	return l
}
