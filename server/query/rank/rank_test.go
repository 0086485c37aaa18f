package rank_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// TestNorms compares norms with the results of Lucene's SmallFloat.
func TestNorms(t *testing.T) {
	tests := []struct {
		length  int
		norm    byte
		decoded int
	}{
		{0, 0, 0},
		{1, 1, 1},
		{23, 23, 23},
		{24, 24, 24},
		{39, 39, 39},
		{40, 40, 40},
		{41, 40, 40},
		{42, 41, 42},
		{43, 41, 42},
		{55, 47, 54},
		{56, 48, 56},
		{57, 48, 56},
		{60, 49, 60},
		{87, 55, 84},
		{88, 56, 88},
		{100, 57, 96},
		{255, 70, 248},
		{256, 70, 248},
		{1000, 87, 984},
		{4096, 103, 3864},
		{65535, 135, 61464},
		{1000000, 167, 983064},
		{2147483647, 255, 2013265944},
	}
	for _, tc := range tests {
		if got := rank.EncodeLength(tc.length); got != tc.norm {
			t.Errorf("EncodeLength(%d) = %d, want %d", tc.length, got, tc.norm)
		}
		if got := rank.DecodeLength(tc.norm); got != tc.decoded {
			t.Errorf("DecodeLength(%d) = %d, want %d", tc.norm, got, tc.decoded)
		}
	}
	for norm := range 256 {
		length := rank.DecodeLength(byte(norm))
		if got := rank.EncodeLength(length); int(got) != norm {
			t.Errorf("norm %d means %d, whose norm is %d", norm, length, got)
		}
		if norm > 0 && rank.EncodeLength(length-1) != byte(norm-1) {
			t.Errorf("%d is not the smallest length with norm %d", length, norm)
		}
	}
}

// TestScore compares scores with the explanations of an OpenSearch node.
func TestScore(t *testing.T) {
	tests := map[string]struct {
		field         rank.Field
		docFreq, docs int64
		boost, freq   float32
		length        int
		want          float32
	}{
		"keyword":       {field: rank.Field{Docs: 3, Terms: 4}, docFreq: 1, docs: 3, boost: 1, freq: 1, length: 1, want: 0.49662238},
		"boosted":       {field: rank.Field{Docs: 3, Terms: 4}, docFreq: 1, docs: 3, boost: 0.6666666, freq: 1, length: 1, want: 0.33108157},
		"boolean":       {field: rank.Field{Docs: 3, Terms: 4}, docFreq: 2, docs: 3, boost: 1, freq: 1, length: 1, want: 0.23797652},
		"short text":    {field: rank.Field{Docs: 4, Terms: 11}, docFreq: 2, docs: 4, boost: 0.75, freq: 1, length: 2, want: 0.26597506},
		"repeated word": {field: rank.Field{Docs: 4, Terms: 11}, docFreq: 2, docs: 4, boost: 0.75, freq: 2, length: 5, want: 0.2641323},
		"without boost": {field: rank.Field{Docs: 4, Terms: 11}, docFreq: 2, docs: 4, boost: 0, freq: 2, length: 5, want: 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := rank.NewScorer(rank.NewNorms(tc.field), tc.boost, rank.IDF(tc.docFreq, tc.docs))
			if got := s.Score(tc.freq, rank.EncodeLength(tc.length)); got != tc.want {
				t.Errorf("score %v, want %v", got, tc.want)
			}
		})
	}
}

func TestPhraseIDF(t *testing.T) {
	want := float32(float64(rank.IDF(1, 10)) + float64(rank.IDF(4, 10)) + float64(rank.IDF(1, 10)))
	if got := rank.PhraseIDF([]int64{1, 4, 1}, 10); got != want {
		t.Errorf("sum %v, want %v", got, want)
	}
}

func TestSum(t *testing.T) {
	tests := map[string]struct {
		must, should []float32
		want         float32
	}{
		"nothing":       {want: 0},
		"required":      {must: []float32{1.5, 2}, want: 3.5},
		"optional":      {should: []float32{0.25, 2}, want: 2.25},
		"both":          {must: []float32{1}, should: []float32{2}, want: 3},
		"double within": {should: []float32{1 << 24, 0.75, 0.75}, want: 1<<24 + 2},
		"single across": {must: []float32{1 << 24}, should: []float32{0.75}, want: 1 << 24},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var s rank.Sum
			for _, x := range tc.must {
				s.Must(x)
			}
			for _, x := range tc.should {
				s.Should(x)
			}
			if got := s.Score(); got != tc.want {
				t.Errorf("sum %v, want %v", got, tc.want)
			}
		})
	}
}

// places returns, for each word of a phrase, its positions in a text.
func places(phrase, text []string) [][]uint32 {
	out := make([][]uint32, len(phrase))
	for i, w := range phrase {
		for at, x := range text {
			if x == w {
				out[i] = append(out[i], uint32(at))
			}
		}
	}
	return out
}

func offsets(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestPhrase(t *testing.T) {
	tests := map[string]struct {
		phrase, text string
		slop         int
		want         float32
	}{
		"exact":                       {"a b", "a b", 0, 1},
		"exact, several":              {"a b", "a b x a b", 0, 2},
		"exact, apart":                {"a b", "a x b", 0, 0},
		"exact, a word is missing":    {"a b", "a a a", 0, 0},
		"exact, repeated word":        {"a a", "a a a", 0, 2},
		"near":                        {"a b", "a x b", 1, 0.5},
		"too far":                     {"a b", "a x x b", 1, 0},
		"exchanged":                   {"a b", "b a", 2, 1.0 / 3},
		"exchanged, too few moves":    {"a b", "b a", 1, 0},
		"near twice":                  {"a b", "x a b a y", 2, 1 + 1.0/3},
		"repeated word, not twice":    {"a a", "a x", 5, 0},
		"repeated word, near":         {"a a", "a x a", 1, 0.5},
		"repeated word, three":        {"a b a", "a b x a", 2, 0.5},
		"near, order decides":         {"a b c", "a b c b a", 4, 1.4000001},
		"the same from the other end": {"c b a", "a b c b a", 4, 1.2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			words := strings.Fields(tc.phrase)
			p := rank.NewPhrase(words, offsets(len(words)), tc.slop)
			if got := p.Freq(places(words, strings.Fields(tc.text))); got != tc.want {
				t.Errorf("frequency %v, want %v", got, tc.want)
			}
		})
	}
}

func TestPhraseOffsets(t *testing.T) {
	p := rank.NewPhrase([]string{"a", "b"}, []int{0, 3}, 0)
	if got := p.Freq([][]uint32{{0, 10}, {3, 12}}); got != 1 {
		t.Errorf("frequency %v, want 1", got)
	}
}

// narrowest returns the smallest distance of all occurrences of a phrase, or -1 if there is none. lists contains the positions of each
// word.
func narrowest(lists [][]uint32) int {
	best := -1
	var choose func(i int, chosen []uint32)
	choose = func(i int, chosen []uint32) {
		if i < len(lists) {
			for _, p := range lists[i] {
				if !slices.Contains(chosen, p) {
					choose(i+1, append(chosen, p))
				}
			}
			return
		}
		lo, hi := math.MaxInt, math.MinInt
		for i, p := range chosen {
			lo, hi = min(lo, int(p)-i), max(hi, int(p)-i)
		}
		if best < 0 || hi-lo < best {
			best = hi - lo
		}
	}
	choose(0, nil)
	return best
}

// FuzzPhrase compares Freq with an exhaustive search. If a phrase repeats a word, Freq, like Lucene, does not find every occurrence, so the
// test then only checks that Freq finds none if there is none.
func FuzzPhrase(f *testing.F) {
	for seed := range uint64(400) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		vocabulary := strings.Fields("a b c d e")
		draw := func(n int) []string {
			out := make([]string, n)
			for i := range out {
				out[i] = vocabulary[rng.IntN(len(vocabulary))]
			}
			return out
		}
		phrase, text, slop := draw(2+rng.IntN(3)), draw(1+rng.IntN(14)), rng.IntN(8)
		lists := places(phrase, text)
		p := rank.NewPhrase(phrase, offsets(len(phrase)), slop)
		freq, best := p.Freq(lists), narrowest(lists)
		exists := best >= 0 && best <= slop
		repeats := len(slices.Compact(slices.Sorted(slices.Values(phrase)))) < len(phrase)
		if freq > 0 && !exists || exists && freq == 0 && (!repeats || slop == 0) {
			t.Errorf("%q~%d in %q: frequency %v, the narrowest is %d", phrase, slop, text, freq, best)
		}
		if again := p.Freq(lists); again != freq {
			t.Errorf("%q~%d in %q: %v, then %v", phrase, slop, text, freq, again)
		}
	})
}

func TestExpansions(t *testing.T) {
	terms := []string{"beach", "bench", "breach", "beaches", "reach", "teach", "b", "東京", "beech", "bleach"}
	tests := map[string]struct {
		text       string
		edits, max int
		want       []rank.Expansion
	}{
		"all": {"beach", 1, 50, []rank.Expansion{
			{Term: "beach", Similarity: 1, DocFreq: 5}, {Term: "beech", Similarity: 0.8, DocFreq: 5},
			{Term: "bench", Similarity: 0.8, DocFreq: 5}, {Term: "bleach", Similarity: 0.8, DocFreq: 6},
			{Term: "breach", Similarity: 0.8, DocFreq: 6}, {Term: "reach", Similarity: 0.8, DocFreq: 5},
			{Term: "teach", Similarity: 0.8, DocFreq: 5},
		}},
		"the most similar, then the first": {"beach", 2, 3, []rank.Expansion{
			{Term: "beach", Similarity: 1, DocFreq: 5}, {Term: "beech", Similarity: 0.8, DocFreq: 5},
			{Term: "bench", Similarity: 0.8, DocFreq: 5},
		}},
		"none allowed":                 {"beach", 2, 0, nil},
		"none near":                    {"zebra", 1, 50, nil},
		"more edits than characters":   {"x", 2, 50, []rank.Expansion{{Term: "b", Similarity: 0, DocFreq: 1}, {Term: "東京", Similarity: 0, DocFreq: 6}}},
		"similarity by the shorter":    {"東", 1, 50, []rank.Expansion{{Term: "b", Similarity: 0, DocFreq: 1}, {Term: "東京", Similarity: 0, DocFreq: 6}}},
		"no edits: nothing but itself": {"bench", 0, 50, []rank.Expansion{{Term: "bench", Similarity: 1, DocFreq: 5}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range 5 {
				rng.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
				e := rank.NewExpansions(tc.text, tc.edits, tc.max)
				for _, term := range terms {
					e.Offer(term, int64(len(term)))
				}
				near := cmp.Comparer(func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-6 })
				if diff := cmp.Diff(tc.want, slices.Concat(e.Terms()), near); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
}

// TestWeighExpansions checks that all expansions get the IDF of the most frequent expansion.
func TestWeighExpansions(t *testing.T) {
	text, norms := query.Field{Name: "content.text", Type: query.Text}, rank.NewNorms(rank.Field{Docs: 20, Terms: 90})
	idf := rank.IDF(9, 20)
	want := []rank.WeightedTerm{
		{Field: text, Text: "bear", Boost: 0.75, IDF: idf, Norms: norms}, {Field: text, Text: "beer", Boost: 1, IDF: idf, Norms: norms},
	}
	got := rank.WeighExpansions(text, []rank.Expansion{
		{Term: "bear", Similarity: 0.75, DocFreq: 9}, {Term: "beer", Similarity: 1, DocFreq: 3},
	}, rank.Field{Docs: 20, Terms: 90}, norms)
	if !slices.Equal(got, want) {
		t.Errorf("%+v; want %+v", got, want)
	}
}

// FuzzExpansions compares the selected expansions with the result of sorting all terms.
func FuzzExpansions(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 3))
		word := func() string {
			b := make([]byte, 1+rng.IntN(5))
			for i := range b {
				b[i] = "abc"[rng.IntN(3)]
			}
			return string(b)
		}
		text, edits, limit := word(), rng.IntN(3), 1+rng.IntN(8)
		seen := map[string]bool{}
		e := rank.NewExpansions(text, edits, limit)
		type candidate struct {
			term       string
			similarity float32
		}
		var all []candidate
		for range 60 {
			w := word()
			if seen[w] {
				continue
			}
			seen[w] = true
			e.Offer(w, 1)
			if d := automaton.Distance(text, w, edits); d <= edits {
				c := candidate{term: w, similarity: 1}
				if d > 0 {
					c.similarity = 1 - float32(d)/float32(min(len(text), len(w)))
				}
				all = append(all, c)
			}
		}
		slices.SortFunc(all, func(a, b candidate) int {
			if a.similarity != b.similarity {
				return int(math.Copysign(1, float64(b.similarity-a.similarity)))
			}
			return strings.Compare(a.term, b.term)
		})
		var want, got []string
		for _, c := range all[:min(limit, len(all))] {
			want = append(want, c.term)
		}
		slices.Sort(want)
		for _, x := range e.Terms() {
			got = append(got, x.Term)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q~%d, at most %d: %s", text, edits, limit, diff)
		}
	})
}

func BenchmarkScore(b *testing.B) {
	s := rank.NewScorer(rank.NewNorms(rank.Field{Docs: 1000, Terms: 12345}), 1, rank.IDF(12, 1000))
	for b.Loop() {
		s.Score(2, 40)
	}
}

func BenchmarkSloppyPhrase(b *testing.B) {
	words := strings.Fields("summer beach summer")
	p := rank.NewPhrase(words, offsets(3), 5)
	lists := places(words, strings.Fields("the summer at the beach was a summer like no other summer on no other beach"))
	for b.Loop() {
		p.Freq(lists)
	}
}
