package segment

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// TestFrequencies encodes frequencies and compares every way to read them with the frequencies.
func TestFrequencies(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for round := range 2000 {
		want := make([]uint32, 1+r.IntN(300))
		ones := r.IntN(101) // percent
		for i := range want {
			if want[i] = 1; r.IntN(100) >= ones {
				want[i] = []uint32{2, 3, 127, 128, 70_000}[r.IntN(5)]
			}
		}
		var written Frequencies
		written.add(0, 7)
		written.reset()
		for i, freq := range want {
			written.add(i, freq)
		}
		f, rest, ok := parseFrequencies(append(written.append(nil, len(want)), 1, 2, 3), len(want))
		if !ok || !slices.Equal(rest, []byte{1, 2, 3}) {
			t.Fatalf("round %d: parsed %t, rest %v", round, ok, rest)
		}
		next, read, skipped := frequencyReader{Frequencies: f}, frequencyReader{Frequencies: f}, frequencyReader{Frequencies: f}
		for at := 0; at < len(want); {
			n := 1 + r.IntN(len(want)-at)
			sum := uint64(0)
			for i, freq := range want[at : at+n] {
				sum += uint64(freq)
				if got := next.next(); got != freq {
					t.Fatalf("round %d: next returns %d for document %d, want %d", round, got, at+i, freq)
				}
			}
			got := make([]uint32, n)
			if total := read.read(got); total != sum || !slices.Equal(got, want[at:at+n]) {
				t.Fatalf("round %d: read returns %v with the sum %d for documents from %d, want %v", round, got, total, at, want[at:at+n])
			}
			if total := skipped.skip(n); total != sum {
				t.Fatalf("round %d: skip of %d documents from %d returns the sum %d, want %d", round, n, at, total, sum)
			}
			marked := 0
			for _, freq := range want[at : at+n] {
				if freq != 1 {
					marked++
				}
			}
			if got := f.CountsBetween(at, at+n); got != marked {
				t.Fatalf("round %d: CountsBetween(%d, %d) is %d, want %d", round, at, at+n, got, marked)
			}
			some := min(n, 64)
			counted := f.Counted(at, some)
			for i := range 64 {
				if got, want := counted>>i&1 != 0, i < some && want[at+i] != 1; got != want {
					t.Fatalf("round %d: Counted(%d, %d) is %b", round, at, some, counted)
				}
			}
			at += n
		}
	}
}

// TestOutline compares outlines with the documents of their words.
func TestOutline(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	text := query.Field{Name: "content.text", Type: query.Text}
	for _, most := range []int{10, 200} { // a frequency of more than 127 makes the outline unusable
		docs := make([]Doc, 3*OutlineDocs+100)
		type hit struct {
			doc, freq int
			norm      byte
		}
		var hits []hit
		for i := range docs {
			words, freq := "", 0
			if i/OutlineDocs != 1 && r.IntN(3) > 0 { // none in the second block
				for freq = 1; freq < most && r.IntN(2) == 0; freq++ {
				}
				if i == 5000+OutlineDocs {
					freq = most
				}
			}
			length := freq + 1 + r.IntN(30)
			for n := range length {
				if words += " rest"; n < freq {
					words += " often"
				}
			}
			docs[i] = Doc{ID: int64(len(docs) - i), Created: 7, Values: []Value{{Field: text, Value: query.Value{Str: words}}}}
			if freq > 0 {
				hits = append(hits, hit{i, freq, rank.EncodeLength(length + freq)})
			}
		}
		s := build(t, docs)
		postings, _ := s.Field(text.Name).Term("often")
		if postings.Len() != len(hits) || postings.Len() < outlineFrom {
			t.Fatalf("the word is in %d documents, want %d", postings.Len(), len(hits))
		}
		outline, freqs := postings.Outline(), postings.Frequencies()
		if usable := most < 0x80; usable != (outline != nil) {
			t.Fatalf("frequencies up to %d: outline %v", most, outline)
		}
		for block := 0; outline != nil && block*OutlineDocs < len(docs); block++ {
			before, counts := 0, 0
			shortest := [OutlineFreqs]byte{}
			for i := range shortest {
				shortest[i] = math.MaxUint8
			}
			for _, h := range hits {
				switch {
				case h.doc/OutlineDocs < block:
					if before++; h.freq > 1 {
						if got := freqs.Count(counts); got != uint32(h.freq) {
							t.Fatalf("count %d is %d, want %d", counts, got, h.freq)
						}
						counts++
					}
				case h.doc/OutlineDocs == block:
					at := min(h.freq, OutlineFreqs) - 1
					shortest[at] = min(shortest[at], h.norm)
				}
			}
			gotBefore, gotCounts := outline.Block(block)
			if gotBefore != before || gotCounts != counts {
				t.Errorf("block %d: %d documents and %d counts before it, want %d and %d", block, gotBefore, gotCounts, before, counts)
			}
			for i, want := range shortest {
				if got := byte(outline.Shortest(block) >> (8 * i)); got != want {
					t.Errorf("block %d: the norm for the frequency %d is %d, want %d", block, i+1, got, want)
				}
			}
		}
	}
}
