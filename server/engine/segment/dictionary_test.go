package segment

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestBlockOf looks up words in a field with a table of prefixes, after the terms of another field. Many words share their first eight bytes,
// or are shorter than eight bytes.
func TestBlockOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	word := func() string {
		w := []byte(strings.Repeat("a", []int{0, 0, 7, 8, 9, 16}[rng.IntN(6)]))
		for range 1 + rng.IntN(4) {
			w = append(w, "abz"[rng.IntN(3)])
		}
		return fmt.Sprintf("%s%d", w, rng.IntN(60))
	}
	words := map[string]bool{}
	docs := make([]Doc, 2000)
	for i := range docs {
		var text []string
		for range 4 {
			w := word()
			words[w] = true
			text = append(text, w)
		}
		docs[i] = Doc{ID: item.ID(i + 1), Values: []Value{
			{query.Field{Name: "a"}, query.Value{Str: fmt.Sprint(rng.IntN(500))}},
			{query.Field{Name: "content.text", Type: query.Text}, query.Value{Str: strings.Join(text, " ")}},
		}}
	}
	s := build(t, docs)
	f := s.Field("content.text")
	if from, to := f.blocks(); to-from < prefixedBlocks || f.Distinct() != len(words) {
		t.Fatalf("%d blocks of %d words are too few for this test", to-from, f.Distinct())
	}
	for w := range words {
		if _, ok := f.Term(w); !ok {
			t.Errorf("the word %q is not found", w)
		}
	}
	from, to := f.blocks()
	keys := []string{"", "\x00", "a", "aaaaaaaa", "aaaaaaaa\x00", "zz", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"}
	for range 5000 {
		keys = append(keys, word(), word()[:1])
	}
	for _, text := range keys {
		key := f.appendKey(nil, text)
		want := from
		for want < to && bytes.Compare(s.dict.first(want+1), key) <= 0 {
			want++
		}
		if got := s.dict.blockOf(f, key); got != want {
			t.Fatalf("%q is in block %d, want %d", text, got, want)
		}
		if _, ok := f.Term(text); ok != words[text] {
			t.Fatalf("%q is found: %t", text, ok)
		}
	}
	if size := f.Derived(); size != 8*int64(to-from) {
		t.Errorf("the field has derived %d bytes", size)
	}
	if f.DropDerived(); f.Derived() != 0 {
		t.Errorf("after DropDerived, it has %d bytes", f.Derived())
	}
	if !slices.IsSorted(f.blockPrefixes()) {
		t.Error("the prefixes are not sorted")
	}
}
