package sample

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestLibraryIsTheSame checks the bytes of the library, so that measurements at different times use the same items.
func TestLibraryIsTheSame(t *testing.T) {
	const want = "7a85b06ef3e5fe73"
	l, sum := NewLibrary(), sha256.New()
	for i := range Default {
		sum.Write(l.Item(i))
	}
	if got := hex.EncodeToString(sum.Sum(nil)[:8]); got != want {
		t.Errorf("the items have changed: %s; want %s. Earlier results can no longer be compared", got, want)
	}
}

// TestItemsAreAccepted checks that a bulk import accepts the items, and that they have the size of real items.
func TestItemsAreAccepted(t *testing.T) {
	size, years := 0, map[string]int{}
	const count = 3000
	l := NewLibrary()
	for i := range count {
		text := l.Item(i)
		line, err := item.ParseLine(text, item.ParseOptions{AuthorKey: []byte("key")})
		if err != nil {
			t.Fatalf("item %d: %v\n%s", i, err, text)
		}
		if line.Item.ID != int64(FirstID+i) {
			t.Fatalf("item %d has the id %d", i, line.Item.ID)
		}
		size += len(text)
		years[line.Item.CreatedOn[:4]]++
	}
	if mean := size / count; mean < 2100 || mean > 2600 {
		t.Errorf("items have %d bytes; real ones 2,340", mean)
	}
	if years["2026"] < count/2 || years["2024"] == 0 {
		t.Errorf("items by year: %v", years)
	}
}

func TestQueriesAreAccepted(t *testing.T) {
	c := NewLibrary()
	queries := append(c.Booleans(400), c.Ranked()...)
	filters := c.Filters(10000)
	for _, f := range filters {
		queries = append(queries, f.Query)
		if _, err := query.ParseOrder(f.Order); err != nil {
			t.Fatalf("%s: %v", f.Order, err)
		}
	}
	for _, q := range queries {
		if parsed, err := query.Parse(q); err != nil || len(parsed.Warnings) > 0 {
			t.Fatalf("%s: %v %v", q, err, parsed.Warnings)
		}
	}
	for i, f := range c.Filters(1000) {
		if filters[i] != f {
			t.Fatalf("filter %d depends on how many are made", i)
		}
	}
}

func TestPostsAreAccepted(t *testing.T) {
	c := NewLibrary()
	for i := range 200 {
		body := c.Post(i)
		if _, err := item.ParseAdd(body, item.ParseOptions{Now: time.Unix(0, 0)}); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
	}
}

func TestZipf(t *testing.T) {
	z := NewZipf(1000)
	counts := make([]int, 1000)
	d := throw(kindSample, 1)
	for range 100000 {
		counts[z.draw(d)]++
	}
	if ratio := float64(counts[0]) / float64(counts[9]); math.Abs(ratio-10) > 2 {
		t.Errorf("rank 0 is %.1f times as frequent as rank 9; want 10", ratio)
	}
	if z.Rank(0) != 0 || z.Rank(0.999999999999) != 999 {
		t.Error("the ends are not the first and the last rank")
	}
}
