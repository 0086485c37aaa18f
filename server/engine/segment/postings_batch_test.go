package segment

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// TestNextMany checks that NextMany returns the same documents and frequencies as Next, and that Next continues after the last document of
// a batch.
func TestNextMany(t *testing.T) {
	text, _ := query.Lookup("content.text")
	keyword, _ := query.Lookup("content.content_type")
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 5, 100, 3000} {
		docs := make([]Doc, n)
		for i := range docs {
			docs[i] = Doc{ID: item.ID(i + 1), Created: int64(i), Values: []Value{
				{Field: text, Value: query.Value{Str: strings.Repeat("a ", 1+r.IntN(200)) + "b"}},
				{Field: keyword, Value: query.Value{Str: "image"}},
			}}
		}
		s, err := Build(docs)
		if err != nil {
			t.Fatal(err)
		}
		for field, term := range map[string]string{text.Name: "a", keyword.Name: "image"} {
			p, ok := s.Field(field).Term(term)
			if !ok {
				t.Fatalf("%d documents: no term %s", n, term)
			}
			type posting struct {
				Doc, Freq uint32
				Last      []uint32
			}
			last := func(i *Iterator) []uint32 {
				positions := i.Positions(nil)
				return slices.Clone(positions[max(0, len(positions)-2):])
			}
			var want, got []posting
			one := p.Iterator()
			for doc, ok := one.Next(); ok; doc, ok = one.Next() {
				want = append(want, posting{doc, one.Freq(), last(&one)})
			}
			many := p.Iterator()
			batch, freqs := make([]uint32, 37), make([]uint32, 37)
			for {
				// Mix Next and NextMany.
				if doc, ok := many.Next(); ok {
					got = append(got, posting{doc, many.Freq(), last(&many)})
				}
				k := many.NextMany(batch, freqs)
				if k == 0 {
					break
				}
				for j := range k {
					got = append(got, posting{Doc: batch[j], Freq: freqs[j]})
				}
				got[len(got)-1].Last = last(&many)
			}
			for i := range want {
				if i < len(got) && got[i].Last == nil {
					want[i].Last = nil // positions were read only for the last document of a batch
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d documents, %s (-one by one +many):\n%s", n, term, diff)
			}
		}
	}
}
