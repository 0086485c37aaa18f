package opensearch

import (
	"bytes"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// BenchmarkRead reads pages of 50 items. Each query matches other items.
func BenchmarkRead(b *testing.B) {
	prefix := nodetest.Prefix(b)
	l, err := Open(b.Context(), Options{URLs: nodetest.URLs(b), Prefix: prefix})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Apply(b.Context(), agreedDefinitions()[:1]); err != nil {
		b.Fatal(err)
	}
	corpus := sample.NewLibrary()
	for from := 0; from < 20_000; from += 1000 {
		var muts []library.Mutation
		for i := range 1000 {
			it, err := item.Unmarshal(bytes.TrimSpace(corpus.Item(from + i)))
			if err != nil {
				b.Fatal(err)
			}
			it.Units = nil
			muts = append(muts, library.Mutation{Put: it})
		}
		if _, err := l.Write(b.Context(), shop, muts); err != nil {
			b.Fatal(err)
		}
	}
	order, err := query.ParseOrder("created_on:desc")
	if err != nil {
		b.Fatal(err)
	}
	var reads []library.Read
	for _, q := range corpus.Booleans(200) {
		parsed, err := query.Parse(q)
		if err != nil {
			b.Fatal(err)
		}
		reads = append(reads, library.Read{Property: shop, Query: parsed.Root, Order: order, Limit: 50})
	}
	var buffer []byte
	n := 0
	start := time.Now()
	for b.Loop() {
		r := reads[n%len(reads)]
		n++
		r.Into = buffer[:0]
		p, err := l.Read(b.Context(), r)
		if err != nil {
			b.Fatal(err)
		}
		buffer = p.Items
	}
	b.ReportMetric(float64(time.Since(start).Milliseconds())/float64(n), "ms/read")
}
