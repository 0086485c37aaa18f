package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// FuzzParse changes bytes of a segment's index, corrects the checksums, and reads the segment. Either Parse must reject the segment as
// damaged, or reading the segment must not panic. The values that are read may be wrong. Each edit has four bytes for the place and one
// byte for the value.
func FuzzParse(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 7))
	whole := file(f, build(f, drawDocs(rng, drawIDs(rng, 300))))
	from := len(magic) + int(binary.LittleEndian.Uint64(whole[len(whole)-footerSize:]))
	length := len(whole) - footerSize - from
	for n := range 300 {
		var edits []byte
		for range 1 + n%3 {
			at := rng.Uint32N(uint32(length))
			if n%3 == 0 {
				// Change the end, which contains the directory with the spans of all sections.
				at = uint32(length) - 1 - rng.Uint32N(uint32(length/8))
			}
			edits = append(binary.BigEndian.AppendUint32(edits, at), byte(rng.Uint32()))
		}
		f.Add(edits)
	}
	f.Fuzz(func(t *testing.T, edits []byte) {
		forged := bytes.Clone(whole)
		for ; len(edits) >= 5; edits = edits[5:] {
			forged[from+int(binary.BigEndian.Uint32(edits))%length] = edits[4]
		}
		reseal(forged)
		s, err := Parse(forged)
		if err != nil {
			if !errors.As(err, new(*CorruptError)) {
				t.Fatalf("Parse: %v", err)
			}
			return
		}
		readAll(t, s)
	})
}

// TestUnsortedKeys changes the first keys of blocks so that they are no longer sorted. Match must still end.
func TestUnsortedKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	const digits = "0123456789abcdef"
	docs := make([]Doc, 400)
	for i := range docs {
		docs[i] = Doc{ID: item.ID(i + 1), Values: []Value{{query.Field{Name: "number"}, query.Value{Str: fmt.Sprintf("%x", rng.Uint32N(1<<16))}}}}
	}
	whole := file(t, build(t, docs))
	s, err := Parse(whole)
	if err != nil {
		t.Fatal(err)
	}
	from := len(magic) + int(s.dir.Blocks.Off) + 4 + 12*s.dict.n
	for range 1000 {
		forged := bytes.Clone(whole)
		for range 1 + rng.IntN(4) {
			forged[from+rng.IntN(len(s.dict.keys))] = digits[rng.IntN(len(digits))]
		}
		reseal(forged)
		s, err := Parse(forged)
		if err != nil {
			t.Fatal(err)
		}
		matchAll(t, s.Field("number"), wildcard(t, "?a*"))
	}
}

func wildcard(t *testing.T, pattern string) automaton.Automaton {
	t.Helper()
	a, err := automaton.Wildcard(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// matchAll iterates over the terms that an automaton accepts. It fails if Match does not end.
func matchAll(t *testing.T, f *Field, a automaton.Automaton) {
	t.Helper()
	steps := 0
	for range f.Match(countingAutomaton{a, func() {
		if steps++; steps > 1_000_000 {
			t.Fatalf("field %s: Match does not end", f.Name())
		}
	}}) {
	}
}

// countingAutomaton calls step for each byte that the automaton reads.
type countingAutomaton struct {
	automaton.Automaton
	step func()
}

func (a countingAutomaton) Accept(state int, b byte) int {
	a.step()
	return a.Automaton.Accept(state, b)
}

// reseal corrects the checksums of a file.
func reseal(whole []byte) {
	footer := whole[len(whole)-footerSize:]
	body := whole[len(magic) : len(whole)-footerSize]
	items := binary.LittleEndian.Uint64(footer)
	binary.LittleEndian.PutUint32(footer[20:], crc32.Checksum(body[:items], castagnoli))
	binary.LittleEndian.PutUint32(footer[24:], crc32.Checksum(body[items:], castagnoli))
	binary.LittleEndian.PutUint32(footer[28:], crc32.Checksum(footer[:28], castagnoli))
}

// readAll calls all reading methods of a segment and its fields. It checks that they return no document out of range.
func readAll(t *testing.T, s *Segment) {
	docs := uint32(s.Len())
	within := func(doc uint32) {
		if doc >= docs {
			t.Fatalf("document %d of %d", doc, docs)
		}
	}
	for doc := range docs {
		s.Item(doc)
		s.Units(doc)
		s.Find(s.ID(doc))
		s.Place(s.Created(doc), s.ID(doc))
	}
	for doc := range s.OwnUnits() {
		within(doc)
	}
	for f := range s.Fields() {
		for _, doc := range f.Present().ToArray() {
			within(doc)
		}
		if isNumber(f.Type()) {
			for doc := range docs {
				f.Number(doc)
			}
			f.IntRange(0, 1<<40)
			f.FloatRange(-10, 10)
			f.NextNumber(0)
			continue
		}
		for _, p := range f.Ascend("") {
			p.Bitmap().ToArray()
			p.AppendTo(nil)
			p.AddTo(make([]uint64, (docs+63)/64))
			readPostings(t, p, docs)
		}
		matchAll(t, f, automaton.Prefix("b"))
		matchAll(t, f, wildcard(t, "?a*"))
		for range f.Near("beach", 1) {
		}
		f.Term("beach")
		f.TermAt(0)
		f.TermAt(uint32(f.Distinct()) / 2)
		if f.Type() != query.Text {
			f.Ordinals()
			continue
		}
		for doc := range docs {
			f.Length(doc)
		}
	}
	// The merge may fail or have a wrong result, but it must not panic.
	_, _, _ = MergeInMemory([]Part{{Segment: s}, {Segment: build(t, nil)}})
}

// readPostings reads postings with Next, with Occurrences and with NextMany.
func readPostings(t *testing.T, p Postings, docs uint32) {
	if outline, freqs := p.Outline(), p.Frequencies(); outline != nil {
		for block := range (docs + OutlineDocs - 1) / OutlineDocs {
			doc, count := outline.Block(int(block))
			outline.Shortest(int(block))
			freqs.Counted(doc, 64)
			freqs.Count(count)
		}
	}
	var positions []uint32
	for it := p.Iterator(); ; {
		doc, ok := it.Next()
		if !ok {
			break
		}
		if doc >= docs {
			t.Fatalf("document %d of %d", doc, docs)
		}
		positions = it.Positions(positions[:0])
	}
	for _, lookups := range []int{0, 1 << 20} {
		o := p.Occurrences(lookups, nil)
		for doc := range docs {
			positions = o.Positions(positions[:0], doc)
		}
	}
	chunk, freqs := make([]uint32, 64), make([]uint32, 64)
	steps := uint32(0)
	for it := p.Iterator(); ; {
		n := it.NextMany(chunk, freqs)
		if n == 0 {
			return
		}
		for _, doc := range chunk[:n] {
			if doc >= docs {
				t.Fatalf("document %d of %d", doc, docs)
			}
		}
		if steps++; steps > docs {
			t.Fatal("the iteration over the documents of a term does not end")
		}
	}
}
