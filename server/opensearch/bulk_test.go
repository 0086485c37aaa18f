package opensearch

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/item"
)

// BenchmarkEncodeBulk builds the bulk request of an import of 1,000 items.
func BenchmarkEncodeBulk(b *testing.B) {
	corpus := sample.NewLibrary()
	items := make([]*item.Item, 1000)
	pending := make([]int, len(items))
	for i := range items {
		var err error
		if items[i], err = item.Unmarshal(bytes.TrimSpace(corpus.Item(i))); err != nil {
			b.Fatal(err)
		}
		pending[i] = i
	}
	b.ReportAllocs()
	for b.Loop() {
		ops := make([]operation, len(items))
		for i, it := range items {
			ops[i] = operation{index: "items", id: "1", doc: document(it, item.Marshal(it, nil), "token")}
		}
		if _, n, err := encodeBulk(ops, pending); err != nil || n != len(items) {
			b.Fatal(n, err)
		}
	}
}

// TestAppendJSON checks that appendJSON writes the same values as package json.
func TestAppendJSON(t *testing.T) {
	t.Parallel()
	values := []any{
		nil, "", "a\"b\\c\n\u2028<>&\x00é東", int64(math.MinInt64), int64(math.MaxInt64), true, false, 1.5, -1e300, 7, []string(nil), []string{},
		[]string{"a", "\"", "b"}, object(nil), object{}, object{"a\"": object{"b": []string{"c"}}, "d": nil, "e": []int64{1}},
		fact{Property: "shop/default", Sequence: 3},
	}
	corpus := sample.NewLibrary()
	for i := range 100 {
		it, err := item.Unmarshal(bytes.TrimSpace(corpus.Item(i)))
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, document(it, item.Marshal(it, nil), "token"))
	}
	decode := func(text []byte) (v any) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return v
	}
	for _, v := range values {
		got, err := appendJSON(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(decode(want), decode(got)); diff != "" {
			t.Errorf("%v: %s", v, diff)
		}
	}
	for _, v := range []any{math.NaN(), object{"a": object{"b": math.Inf(1)}}} {
		if text, err := appendJSON(nil, v); err == nil {
			t.Errorf("%v gives %s, want an error", v, text)
		}
	}
}
