package segment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// model computes the expected content of a segment from its documents.
type model struct{ docs []Doc }

func newModel(docs []Doc) *model {
	m := &model{slices.Clone(docs)}
	slices.SortFunc(m.docs, func(a, b Doc) int { return cmp.Or(cmp.Compare(b.Created, a.Created), cmp.Compare(b.ID, a.ID)) })
	return m
}

// place holds the positions of a term in a document.
type place struct {
	doc       uint32
	positions []uint32
}

// modelField is the expected content of one field.
type modelField struct {
	typ     query.Type
	present []uint32
	terms   map[string][]place
	lengths map[uint32]int
	numbers map[uint32]int64
	total   int64
}

func (m *model) fields() map[string]*modelField {
	out := map[string]*modelField{}
	for i, d := range m.docs {
		doc := uint32(i)
		last, values := map[string]int{}, map[string]int{}
		for _, v := range d.Values {
			f := out[v.Field.Name]
			if f == nil {
				f = &modelField{typ: v.Field.Type, terms: map[string][]place{}, lengths: map[uint32]int{}, numbers: map[uint32]int64{}}
			}
			put := func(text string, position int) {
				l := f.terms[text]
				if len(l) == 0 || l[len(l)-1].doc != doc {
					l = append(l, place{doc: doc})
					if f.typ != query.Text {
						f.total++
					}
				}
				if f.typ == query.Text {
					l[len(l)-1].positions = append(l[len(l)-1].positions, uint32(position))
				}
				f.terms[text] = l
			}
			was := len(f.terms) + len(f.numbers)
			found := false
			switch f.typ {
			case query.Text:
				if v.Str == "" {
					break
				}
				name := v.Field.Name
				if values[name]++; values[name] == 1 {
					last[name] = -1
				} else {
					last[name] += analysis.PositionGap
				}
				found = true
				base := last[name] + 1
				for _, t := range analysis.Analyze(v.Str) {
					last[name] = base + t.Position
					put(t.Text, last[name])
					f.lengths[doc]++
					f.total++
				}
			case query.Keyword:
				if v.Str != "" {
					put(analysis.Keyword(v.Str), 0)
					found = true
				}
			case query.Boolean:
				put([]string{"false", "true"}[v.Int], 0)
				found = true
			case query.Double:
				f.numbers[doc] = int64(math.Float64bits(v.Float))
				found = true
			default:
				f.numbers[doc] = v.Int
				found = true
			}
			if found && (len(f.present) == 0 || f.present[len(f.present)-1] != doc) {
				f.present = append(f.present, doc)
			}
			if found || was > 0 {
				out[v.Field.Name] = f
			}
		}
	}
	return out
}

// compare compares everything that a segment returns with the model.
func compare(t *testing.T, s *Segment, m *model, rng *rand.Rand) {
	t.Helper()
	if s.Len() != len(m.docs) {
		t.Fatalf("%d documents, want %d", s.Len(), len(m.docs))
	}
	units := map[uint32][]int64{}
	for doc, of := range s.OwnUnits() {
		units[doc] = slices.Clone(of)
	}
	for i, d := range m.docs {
		doc := uint32(i)
		if s.ID(doc) != d.ID || s.Created(doc) != d.Created || !bytes.Equal(s.Item(doc), d.Bytes) || !slices.Equal(s.Units(doc), d.Units) {
			t.Fatalf("document %d is %d %d %q %v, want %+v", i, s.ID(doc), s.Created(doc), s.Item(doc), s.Units(doc), d)
		}
		if yielded, ok := units[doc]; !slices.Equal(yielded, d.Units) || ok != (len(d.Units) > 0) {
			t.Errorf("document %d: OwnUnits yields %v", i, yielded)
		}
		if at, ok := s.Find(d.ID); !ok || at != doc {
			t.Errorf("item %d found at %d, %t, want %d", d.ID, at, ok, doc)
		}
		if at := s.Place(d.Created, d.ID); at != doc {
			t.Errorf("item %d has place %d, want %d", d.ID, at, doc)
		}
		if at := s.Place(d.Created, d.ID-1); at != doc+1 && (i+1 == len(m.docs) || m.docs[i+1].Created == d.Created) {
			t.Errorf("after item %d: place %d, want %d", d.ID, at, doc+1)
		}
	}
	if _, ok := s.Find(-5); ok {
		t.Error("an item that does not exist was found")
	}
	want := m.fields()
	var names []string
	for f := range s.Fields() {
		names = append(names, f.Name())
	}
	if expected := slices.Sorted(maps.Keys(want)); !slices.Equal(names, expected) {
		t.Fatalf("fields %v, want %v", names, expected)
	}
	if s.Field("no such field") != nil {
		t.Error("a field that does not exist was found")
	}
	for name, mf := range want {
		compareField(t, s.Field(name), name, mf, len(m.docs), rng)
	}
}

func compareField(t *testing.T, f *Field, name string, want *modelField, docs int, rng *rand.Rand) {
	t.Helper()
	if f == nil || f.Name() != name || f.Type() != want.typ {
		t.Fatalf("field %s: %v", name, f)
	}
	if got := f.Present().ToArray(); !slices.Equal(got, want.present) || f.Docs() != len(want.present) {
		t.Fatalf("field %s is in %v (%d), want %v", name, got, f.Docs(), want.present)
	}
	ranked := len(want.present)
	if want.typ == query.Text {
		ranked = len(want.lengths)
	}
	if f.Ranked() != ranked {
		t.Errorf("field %s: %d ranked documents, want %d", name, f.Ranked(), ranked)
	}
	if f.Terms() != want.total {
		t.Errorf("field %s: %d terms in all, want %d", name, f.Terms(), want.total)
	}
	sorted := slices.Sorted(maps.Keys(want.terms))
	if f.Distinct() != len(sorted) {
		t.Errorf("field %s: %d distinct terms, want %d", name, f.Distinct(), len(sorted))
	}
	ordinals := make([]uint32, docs)
	for i, term := range sorted {
		p, ok := f.Term(term)
		if !ok {
			t.Fatalf("field %s: no term %q", name, term)
		}
		comparePostings(t, p, name+":"+term, want.terms[term], want.typ)
		if got := f.TermAt(uint32(i)); string(got) != term {
			t.Errorf("field %s: term %d is %q, want %q", name, i, got, term)
		}
		for _, at := range want.terms[term] {
			if ordinals[at.doc] == 0 {
				ordinals[at.doc] = uint32(i + 1)
			}
		}
	}
	for _, absent := range []string{"", "\x00", "zzzz\xff", "absent"} {
		if _, ok := f.Term(absent); ok && want.terms[absent] == nil {
			t.Errorf("field %s has the term %q", name, absent)
		}
	}
	if len(sorted) > 0 {
		if got := f.Ordinals(); !slices.Equal(got, ordinals) {
			t.Errorf("field %s: ordinals %v, want %v", name, got, ordinals)
		}
		if f.DropDerived(); f.Derived() != 0 || !slices.Equal(f.Ordinals(), ordinals) {
			t.Errorf("field %s has different ordinals after DropDerived", name)
		}
		for range 5 {
			from := sorted[rng.IntN(len(sorted))]
			if rng.IntN(2) == 0 {
				from = from[:rng.IntN(len(from)+1)] + "m"
			}
			var got []string
			for term := range f.Ascend(from) {
				got = append(got, string(term))
			}
			at, _ := slices.BinarySearch(sorted, from)
			if !slices.Equal(got, sorted[at:]) {
				t.Errorf("field %s from %q: %q, want %q", name, from, got, sorted[at:])
			}
		}
		for _, a := range automata(t, sorted[rng.IntN(len(sorted))], rng) {
			var got, expected []string
			for term, p := range f.Match(a) {
				got = append(got, string(term))
				if p.Len() != len(want.terms[string(term)]) {
					t.Errorf("field %s: %q has %d documents", name, term, p.Len())
				}
			}
			for _, term := range sorted {
				if automaton.Match(a, term) {
					expected = append(expected, term)
				}
			}
			if !slices.Equal(got, expected) {
				t.Errorf("field %s: an automaton matches %q, want %q", name, got, expected)
			}
		}
		compareNear(t, f, name, sorted[rng.IntN(len(sorted))], want, sorted)
	}
	if want.typ == query.Text {
		for d := range uint32(docs) {
			if f.Length(d) != want.lengths[d] {
				t.Errorf("field %s: document %d has %d words, want %d", name, d, f.Length(d), want.lengths[d])
			}
		}
	}
	if len(want.numbers) > 0 {
		compareNumbers(t, f, name, want, docs, rng)
	}
}

// compareNear compares the terms that Near yields with the terms that automaton.Distance finds within the edit distance.
func compareNear(t *testing.T, f *Field, name, word string, want *modelField, sorted []string) {
	t.Helper()
	for edits := range 3 {
		var got, expected []string
		for term, p := range f.Near(word, edits) {
			got = append(got, string(term))
			if p.Len() != len(want.terms[string(term)]) || !p.In(f) {
				t.Errorf("field %s: %q has %d documents", name, term, p.Len())
			}
		}
		for _, term := range sorted {
			if automaton.Distance(word, term, edits) <= edits {
				expected = append(expected, term)
			}
		}
		if !slices.Equal(got, expected) {
			t.Errorf("field %s: %q are within %d edits of %q, want %q", name, got, edits, word, expected)
		}
	}
	if f.Derived() == 0 {
		t.Errorf("field %s: Derived does not count the sketches", name)
	}
}

func compareNumbers(t *testing.T, f *Field, name string, want *modelField, docs int, rng *rand.Rand) {
	t.Helper()
	for d := range uint32(docs) {
		n, ok := f.Number(d)
		if w, has := want.numbers[d]; ok != has || n != w {
			t.Errorf("field %s: document %d has %d, %t, want %d, %t", name, d, n, ok, w, has)
		}
	}
	all := slices.Sorted(maps.Values(want.numbers))
	pick := func() int64 {
		switch rng.IntN(6) {
		case 0:
			return math.MinInt64
		case 1:
			return math.MaxInt64
		}
		return all[rng.IntN(len(all))] + int64(rng.IntN(3)) - 1
	}
	for range 10 {
		lo, hi := pick(), pick()
		var expected []uint32
		got := f.IntRange(lo, hi)
		in := func(n int64) bool { return lo <= n && n <= hi }
		if want.typ == query.Double {
			low, high := math.Float64frombits(uint64(all[rng.IntN(len(all))])), math.Float64frombits(uint64(all[rng.IntN(len(all))]))
			got = f.FloatRange(low, high)
			in = func(n int64) bool {
				v := math.Float64frombits(uint64(n))
				return low <= v && v <= high
			}
		}
		for d := range uint32(docs) {
			if n, ok := want.numbers[d]; ok && in(n) {
				expected = append(expected, d)
			}
		}
		if !slices.Equal(got.ToArray(), expected) {
			t.Errorf("field %s from %d to %d: %v, want %v", name, lo, hi, got, expected)
		}
		from := pick()
		at, ok := f.NextNumber(from)
		i, _ := slices.BinarySearch(all, from)
		if ok != (i < len(all)) || ok && at != all[i] {
			t.Errorf("field %s: the next number from %d is %d, %t", name, from, at, ok)
		}
	}
}

func comparePostings(t *testing.T, p Postings, name string, want []place, typ query.Type) {
	t.Helper()
	var docs []uint32
	for _, w := range want {
		docs = append(docs, w.doc)
	}
	if p.Len() != len(want) || !slices.Equal(p.Bitmap().ToArray(), docs) {
		t.Fatalf("%s: documents %v (%d), want %v", name, p.Bitmap(), p.Len(), docs)
	}
	if got := p.AppendTo([]uint32{7}); !slices.Equal(got[1:], docs) {
		t.Fatalf("%s: appended documents %v, want %v", name, got[1:], docs)
	}
	before := docs[len(docs)-1] / 2
	words := make([]uint64, docs[len(docs)-1]/64+1)
	words[before/64] |= 1 << (before % 64)
	p.AddTo(words)
	all := slices.Compact(slices.Sorted(slices.Values(append([]uint32{before}, docs...))))
	if got := roaring.FromDense(words, true); !slices.Equal(got.ToArray(), all) {
		t.Fatalf("%s: added documents %v, want %v", name, got, all)
	}
	it := p.Iterator()
	for n, w := range want {
		d, ok := it.Next()
		if !ok || d != w.doc {
			t.Fatalf("%s: document %d, %t, want %d", name, d, ok, w.doc)
		}
		if n%3 == 1 {
			continue // without reading the positions, so that the iterator must skip them
		}
		freq := uint32(1)
		if typ == query.Text {
			freq = uint32(len(w.positions))
		}
		if it.Freq() != freq || !slices.Equal(it.Positions(nil), w.positions) {
			t.Fatalf("%s: document %d: %d times at %v, want %v", name, d, it.Freq(), it.Positions(nil), w.positions)
		}
	}
	if _, ok := it.Next(); ok {
		t.Fatalf("%s: too many documents", name)
	}
	// The number of lookups determines whether Occurrences uses a bitmap or plain bits.
	for step, lookups := range []int{0, 1 << 20} {
		o := p.Occurrences(lookups, nil)
		for n := step; n < len(want); n += 1 + n*step/3 {
			if n > 0 && docs[n] > docs[n-1]+1 {
				if got := o.Positions(nil, docs[n]-1); got != nil {
					t.Fatalf("%s: positions %v in document %d, which is not one of its documents", name, got, docs[n]-1)
				}
			}
			if got := o.Positions(nil, docs[n]); !slices.Equal(got, want[n].positions) {
				t.Fatalf("%s: positions %v in document %d, want %v", name, got, docs[n], want[n].positions)
			}
		}
	}
}

// automata returns automata for patterns that match or nearly match a term.
func automata(t *testing.T, term string, rng *rand.Rand) []automaton.Automaton {
	t.Helper()
	runes := []rune(term)
	cut := rng.IntN(len(runes) + 1)
	var out []automaton.Automaton
	for _, lead := range []string{string(runes[:cut]), string(runes[:cut]) + "m", term + "\xff"} {
		out = append(out, automaton.Prefix(lead))
	}
	for _, pattern := range []string{"*" + string(runes[cut:]), string(runes[:cut]) + "?*", "*a*", "?" + string(runes[min(1, len(runes)):])} {
		escaped := strings.NewReplacer(`\`, `\\`).Replace(pattern)
		out = append(out, wildcard(t, escaped))
	}
	return out
}

var vocabulary = strings.Fields("beach sunset summer city mountain coffee dog running vintage garden travel music über straße 東京 قهوة a b c")

// drawDocs returns random documents with fields of every type.
func drawDocs(rng *rand.Rand, ids []item.ID) []Doc {
	fields := []query.Field{
		{Name: "approval_status"}, {Name: "content.text", Type: query.Text}, {Name: "_all", Type: query.Text},
		{Name: "created_on", Type: query.Date}, {Name: "featured", Type: query.Boolean}, {Name: "id", Type: query.Long},
		{Name: "latitude", Type: query.Double}, {Name: "rare", Type: query.Long}, {Name: "url"}, {Name: "tags.x.key"},
		{Name: "constant", Type: query.Long}, {Name: "submission.email", Private: true}, {Name: "rare.text", Type: query.Text},
	}
	words := func(n int) string {
		var out []string
		for range n {
			out = append(out, vocabulary[rng.IntN(len(vocabulary))])
		}
		return strings.Join(out, " ")
	}
	docs := make([]Doc, 0, len(ids))
	for _, id := range ids {
		d := Doc{ID: id, Created: int64(rng.IntN(50)) * 1000, Bytes: item.Packed(fmt.Sprintf("item %d %s", id, words(rng.IntN(5))))}
		if rng.IntN(10) == 0 {
			d.Created = math.MinInt64
		}
		if rng.IntN(8) == 0 {
			for range 1 + rng.IntN(3) {
				d.Units = append(d.Units, rng.Int64())
			}
		}
		for _, f := range fields {
			if strings.HasPrefix(f.Name, "rare") && rng.IntN(12) > 0 || rng.IntN(6) == 0 {
				continue
			}
			v := query.Value{}
			n := 1
			switch {
			case f.Type == query.Text:
				n = rng.IntN(3)
			case f.Name == "tags.x.key":
				n = rng.IntN(4)
			case f.Name == "constant":
				v.Int = 7
			case f.Type == query.Long && rng.IntN(5) == 0:
				v.Int = rng.Int64() - rng.Int64()
			default:
				v.Int = int64(rng.IntN(300)) - 100
			}
			for range n {
				switch f.Type {
				case query.Text:
					v.Str = words(rng.IntN(12))
				case query.Keyword:
					v.Str = vocabulary[rng.IntN(len(vocabulary))]
					if f.Name == "url" {
						v.Str = fmt.Sprintf("https://Media.example/%d/%x.jpg", rng.IntN(20), rng.Uint32())
					}
				case query.Boolean:
					v.Int = int64(rng.IntN(2))
				case query.Double:
					v.Float = rng.NormFloat64() * 90
				}
				d.Values = append(d.Values, Value{f, v})
			}
		}
		docs = append(docs, d)
	}
	return docs
}

func drawIDs(rng *rand.Rand, n int) []item.ID {
	seen := map[item.ID]bool{}
	for len(seen) < n {
		seen[1+rng.Int64N(int64(10*n+10))] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func build(t testing.TB, docs []Doc) *Segment {
	t.Helper()
	s, err := Build(docs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func file(t testing.TB, s *Segment) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBuild compares segments of random documents with the model, in memory and from a file.
func TestBuild(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			docs := drawDocs(rng, drawIDs(rng, []int{0, 1, 2, 7, 40, 200, 700}[seed%7]))
			m := newModel(docs)
			s := build(t, docs)
			compare(t, s, m, rng)

			path := filepath.Join(t.TempDir(), "segment")
			if err := os.WriteFile(path, file(t, s), 0o600); err != nil {
				t.Fatal(err)
			}
			mapped, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, mapped, m, rng)
			if err := mapped.Verify(context.Background(), nil); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(file(t, mapped), file(t, s)) {
				t.Error("WriteTo of the opened segment writes a different file")
			}
			if err := mapped.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMerge splits random documents into segments, marks some as deleted, merges the segments, and compares the result with the model.
func TestMerge(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			docs := drawDocs(rng, drawIDs(rng, rng.IntN(600)))
			var inputs []Part
			var kept []Doc
			for part := range slices.Chunk(docs, 1+rng.IntN(max(1, len(docs)))) {
				in := Part{Segment: build(t, part)}
				ordered := newModel(part).docs
				if rng.IntN(3) > 0 {
					in.Dead = roaring.New()
					share := rng.IntN(5)
					for i := range ordered {
						if rng.IntN(4) < share {
							in.Dead.Add(uint32(i))
						}
					}
				}
				for i, d := range ordered {
					if in.Dead == nil || !in.Dead.Contains(uint32(i)) {
						kept = append(kept, d)
					}
				}
				inputs = append(inputs, in)
			}
			m := newModel(kept)
			merged, maps, err := MergeInMemory(inputs)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, merged, m, rng)
			for i, in := range inputs {
				for d := range uint32(in.Segment.Len()) {
					dead := in.Dead != nil && in.Dead.Contains(d)
					if to := maps[i][d]; dead != (to == Gone) || !dead && merged.ID(to) != in.Segment.ID(d) {
						t.Fatalf("document %d of input %d became %d", d, i, to)
					}
				}
			}
			var b bytes.Buffer
			if _, err := Merge(inputs, &b); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), file(t, merged)) {
				t.Error("Merge writes a different file than MergeInMemory")
			}
			read, err := Parse(b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			compare(t, read, m, rng)
			// A merge and a build of the same documents have identical bytes.
			if !bytes.Equal(file(t, build(t, kept)), b.Bytes()) {
				t.Error("a build of the same documents is a different file")
			}
		})
	}
}

func TestRefused(t *testing.T) {
	twice := []Doc{{ID: 1, Created: 5}, {ID: 1, Created: 6}}
	if _, err := Build(twice); err == nil {
		t.Error("Build accepted an item twice")
	}
	a, b := build(t, twice[:1]), build(t, twice[1:])
	if _, _, err := MergeInMemory([]Part{{Segment: a}, {Segment: b}}); err == nil {
		t.Error("MergeInMemory accepted an item twice")
	}
	n := query.Field{Name: "n", Type: query.Long}
	if _, err := Build([]Doc{{ID: 1, Values: []Value{{n, query.Value{Int: 1}}, {n, query.Value{Int: 2}}}}}); err == nil {
		t.Error("Build accepted two numbers in one field")
	}
	k := query.Field{Name: "n"}
	one := build(t, []Doc{{ID: 1, Values: []Value{{n, query.Value{Int: 1}}}}})
	other := build(t, []Doc{{ID: 2, Values: []Value{{k, query.Value{Str: "x"}}}}})
	if _, _, err := MergeInMemory([]Part{{Segment: one}, {Segment: other}}); err == nil {
		t.Error("MergeInMemory accepted a field with two types")
	}
}

// TestManyFields builds and merges segments that together have more than 65,535 fields.
func TestManyFields(t *testing.T) {
	doc := func(id item.ID, first, n int) Doc {
		d := Doc{ID: id, Values: []Value{{query.Field{Name: "common"}, query.Value{Str: "bold"}}}}
		for i := range n {
			name := fmt.Sprintf("submission.f%05d", first+i)
			d.Values = append(d.Values, Value{query.Field{Name: name, Private: true}, query.Value{Str: fmt.Sprintf("v%d", first+i)}})
		}
		return d
	}
	const one, other = 40_000, 30_000
	docs := []Doc{doc(1, 0, one), doc(2, one, other)}
	merged, _, err := MergeInMemory([]Part{{Segment: build(t, docs[:1])}, {Segment: build(t, docs[1:])}})
	if err != nil {
		t.Fatal(err)
	}
	built := file(t, build(t, docs))
	if !bytes.Equal(file(t, merged), built) {
		t.Error("a build of the same documents is a different file")
	}
	s, err := Parse(built)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := s.Field("common").Term("bold"); !ok || p.Len() != 2 {
		t.Errorf("common:bold: %t", ok)
	}
	for n := range one + other {
		f := s.Field(fmt.Sprintf("submission.f%05d", n))
		if f == nil {
			t.Fatalf("field %d does not exist", n)
		}
		p, ok := f.Term(fmt.Sprintf("v%d", n))
		if !ok || p.Len() != 1 || f.Distinct() != 1 || string(f.TermAt(0)) != fmt.Sprintf("v%d", n) {
			t.Fatalf("field %d: %t, %q", n, ok, f.TermAt(0))
		}
	}
}

// TestSeek looks up terms that share many bytes with their neighbors, and texts that are not terms. Some fields have several blocks, and
// some blocks have several fields. With an ending, the keys of a block have a common suffix.
func TestSeek(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, ending := range []string{"", "c"} {
		text := func(longest int) string {
			out := make([]byte, rng.IntN(longest)+1-len(ending))
			for i := range out {
				out[i] = "abc"[rng.IntN(3)]
			}
			return string(out) + ending
		}
		docs := make([]Doc, 300)
		for i := range docs {
			docs[i].ID = item.ID(i + 1)
			for field := range 300 {
				f := query.Field{Name: fmt.Sprintf("f%03d", field)}
				if field%3 == 0 {
					f.Type = query.Text
				}
				if field%50 == 0 || rng.IntN(150) == 0 {
					docs[i].Values = append(docs[i].Values, Value{f, query.Value{Str: text(1 + field%9)}})
				}
			}
		}
		s := build(t, docs)
		want := newModel(docs).fields()
		for f := range s.Fields() {
			terms := want[f.Name()].terms
			sorted := slices.Sorted(maps.Keys(terms))
			probes := append([]string{"", "a", "c", "cccccccccccc", "\xff"}, sorted...)
			for range 50 {
				probes = append(probes, text(11))
			}
			for _, probe := range probes {
				p, ok := f.Term(probe)
				if ok != (terms[probe] != nil) {
					t.Fatalf("field %s: found %q: %t", f.Name(), probe, ok)
				}
				if ok {
					comparePostings(t, p, f.Name()+":"+probe, terms[probe], f.Type())
				}
				var got []string
				for it := f.TermIterator(probe); it.Valid(); it.Next() {
					got = append(got, string(it.Term()))
				}
				if at, _ := slices.BinarySearch(sorted, probe); !slices.Equal(got, sorted[at:]) {
					t.Fatalf("field %s: the terms from %q are %q, want %q", f.Name(), probe, got, sorted[at:])
				}
			}
		}
	}
}

// TestTooLarge checks that a build or a merge fails if a count does not fit into the file.
func TestTooLarge(t *testing.T) {
	plain := func(id item.ID) Doc { return Doc{ID: id} }
	units := func(id item.ID) Doc { return Doc{ID: id, Units: []int64{1, 2, 3}} }
	terms := func(id item.ID) Doc {
		d := Doc{ID: id}
		for n := range 3 {
			d.Values = append(d.Values, Value{query.Field{Name: "k"}, query.Value{Str: fmt.Sprint("x", id, n)}})
		}
		return d
	}
	defer func(most uint64) { maxNumber = most }(maxNumber)
	for _, c := range []struct {
		doc   func(item.ID) Doc
		most  uint64
		wants string
	}{
		{plain, 1, "2 documents"},
		{units, 5, "6 units"},
		{terms, 5, "6 terms"},
		{terms, 6, "8 bytes for the first keys"},
	} {
		maxNumber = math.MaxUint32 - 1
		docs := []Doc{c.doc(1), c.doc(2)}
		inputs := []Part{{Segment: build(t, docs[:1])}, {Segment: build(t, docs[1:])}}
		maxNumber = c.most
		_, built := Build(docs)
		_, merged := Merge(inputs, io.Discard)
		_, _, inMemory := MergeInMemory(inputs)
		for _, err := range []error{built, merged, inMemory} {
			if err == nil || !strings.Contains(err.Error(), c.wants) {
				t.Errorf("with a limit of %d: %v, want %q", c.most, err, c.wants)
			}
		}
	}
	maxNumber = 10
	if _, err := Merge([]Part{{Segment: build(t, []Doc{plain(1)})}}, io.Discard); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory of more than %d bytes: %v", maxNumber, err)
	}
}

// TestDamage checks that Parse and Verify detect any changed byte and any truncation of a file.
func TestDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	whole := file(t, build(t, drawDocs(rng, drawIDs(rng, 60))))
	check := func(b []byte) error {
		s, err := Parse(b)
		if err == nil {
			err = s.Verify(context.Background(), nil)
		}
		return err
	}
	if err := check(whole); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1 << rng.IntN(8)
		if err := check(damaged); !errors.As(err, new(*CorruptError)) {
			t.Fatalf("byte %d of %d changed: %v", i, len(whole), err)
		}
	}
	for i := 0; i < len(whole); i += 7 {
		if err := check(whole[:i]); !errors.As(err, new(*CorruptError)) {
			t.Fatalf("%d of %d bytes: %v", i, len(whole), err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("open nothing: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, err := Parse(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify: %v", err)
	}
}
