package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

func lines(t *testing.T, first, count int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := New().Write(&b, first, count); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSameBytes holds that results of different days are about the same items.
func TestSameBytes(t *testing.T) {
	const want = "d65c81584db8f40c"
	sum := sha256.Sum256(lines(t, 0, 2000))
	if got := hex.EncodeToString(sum[:8]); got != want {
		t.Errorf("the items are other ones: %s; want %s. Earlier results can no longer be compared", got, want)
	}
}

func TestPartsMakeTheWhole(t *testing.T) {
	if !bytes.Equal(lines(t, 0, 300), append(lines(t, 0, 100), lines(t, 100, 200)...)) {
		t.Error("items 0 to 99 and 100 to 299 are not items 0 to 299")
	}
}

// TestItemsAreAccepted holds the shape: what a bulk import takes, of the size of real items.
func TestItemsAreAccepted(t *testing.T) {
	size, years := 0, map[string]int{}
	const count = 3000
	for i, text := range bytes.Split(bytes.TrimSpace(lines(t, 0, count)), []byte("\n")) {
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
	c := New()
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
	c := New()
	for i := range 200 {
		body := c.AppendPost(nil, i)
		if _, err := item.ParseAdd(body, item.ParseOptions{Now: time.Unix(0, 0)}); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
	}
}

func TestZipf(t *testing.T) {
	z := NewZipf(1000)
	counts := make([]int, 1000)
	d := throw(0, 1)
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
