package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// none is an index without data, so that a benchmark measures only the store.
type none struct{}

func (none) Load(*Store) error                            { return nil }
func (none) Prepare(*Change, *IndexBatch) (func(), error) { return func() {}, nil }
func (none) Erase(context.Context) error                  { return nil }
func (none) Close()                                       {}
func (none) TagOwner(library.PropertyID, item.Tag, item.ID) (library.Owner, bool, error) {
	return library.Owner{}, false, nil
}

var benchWords = strings.Fields("beach sunset city summer winter friends coffee music garden road morning evening love street mountain river dance bread window light")

// benchCode returns the short code of the n-th item. As for real items, codes do not ascend with n.
func benchCode(n int) string {
	return strconv.FormatUint(rand.New(rand.NewPCG(uint64(n), 7)).Uint64()|1<<63, 36)[:10]
}

// benchItem returns an item of about one kilobyte, without an id.
func benchItem(r *rand.Rand, n int) *item.Item {
	var text strings.Builder
	for range 12 {
		text.WriteString(benchWords[r.IntN(len(benchWords))] + " ")
	}
	campaign := int64(r.IntN(200))
	author := fmt.Sprintf("user%d", r.IntN(20_000))
	return &item.Item{
		ApprovalStatus: []string{item.Approved, item.Pending, item.Rejected}[r.IntN(3)], Campaign: &campaign,
		CreatedOn: time.Unix(1_700_000_000+int64(n)*60, 0).UTC().Format(time.RFC3339), ShortCode: benchCode(n),
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

// BenchmarkImport writes items as a bulk import does, with four callers. It measures new items without ids, new items with ids, and
// replacements of existing items.
func BenchmarkImport(b *testing.B) {
	const batch = 500
	for _, c := range []struct {
		name     string
		mutation func(r *rand.Rand, n int) library.Mutation
	}{
		{"Drawn", func(r *rand.Rand, n int) library.Mutation { return library.Mutation{Put: benchItem(r, n)} }},
		{"Given", func(r *rand.Rand, n int) library.Mutation {
			it := benchItem(r, n)
			it.ID = int64(n + 1)
			return library.Mutation{Put: it, Replace: true}
		}},
		{"Replaced", func(r *rand.Rand, n int) library.Mutation {
			it := benchItem(r, n)
			it.ID = int64(n%20_000 + 1)
			it.ShortCode = benchCode(int(it.ID))
			return library.Mutation{Put: it, Replace: true}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, err := Open(Options{Dir: b.TempDir()}, none{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Apply(b.Context(), []library.Definition{shopProperty()}); err != nil {
				b.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			work := make(chan []library.Mutation)
			done := make(chan error)
			const callers = 4
			for range callers {
				go func() {
					var err error
					for muts := range work {
						outcomes, failed := s.Write(context.Background(), shop, muts)
						if failed != nil {
							err = failed
						}
						for _, o := range outcomes {
							if o.Err != nil {
								err = o.Err
							}
						}
					}
					done <- err
				}()
			}
			n := 0
			for n < b.N {
				b.StopTimer()
				muts := make([]library.Mutation, batch)
				for i := range muts {
					muts[i] = c.mutation(r, n)
					n++
				}
				b.StartTimer()
				work <- muts
			}
			close(work)
			for range callers {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "items/s")
		})
	}
}

// benchFilter returns one of many ContentFilters.
func benchFilter(n int) library.Definition {
	return library.Definition{
		Property: shop, Owner: library.Owner{Install: "cluster", Kind: library.KindFilter, Namespace: "shop", Name: fmt.Sprintf("filter-%05d", n)},
		Created: time.Unix(1_700_000_000+int64(n), 0),
		Filter: &library.Filter{
			UUID: fmt.Sprintf("00000000-0000-0000-0000-%012d", n), ID: int64(1_000_000 + n), Name: fmt.Sprintf("filter-%05d", n),
			Query: fmt.Sprintf("approval_status:app AND (text:%s OR text:%s) AND created_on:[%d TO *]", benchWords[n%len(benchWords)], benchWords[n/7%len(benchWords)], 2000+n%26),
		},
	}
}

// BenchmarkApply adds filters, one with each call, to a store that already has ten thousand. It measures one caller, and sixteen callers
// that share commits.
func BenchmarkApply(b *testing.B) {
	const among = 10_000
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("Callers%d", callers), func(b *testing.B) {
			s, err := Open(Options{Dir: b.TempDir()}, none{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			defs := []library.Definition{shopProperty()}
			for i := range among {
				defs = append(defs, benchFilter(i))
			}
			if _, err := s.Apply(b.Context(), defs); err != nil {
				b.Fatal(err)
			}
			var next atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(callers)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n := among + int(next.Add(1))
					results, err := s.Apply(context.Background(), []library.Definition{benchFilter(n)})
					if err != nil || results[0].Err != nil {
						b.Error(err, results)
					}
				}
			})
		})
	}
}
