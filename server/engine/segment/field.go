package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// Field is one field of a segment.
type Field struct {
	s      *Segment
	number int
	entry  *fieldEntry
	column numbers
	// The fields below are derived on first use, except that init sets present if the file contains it.
	present  atomic.Pointer[roaring.Bitmap]
	ordinals atomic.Pointer[[]uint32]
	sorted   atomic.Pointer[[]int64]
	sketches atomic.Pointer[sketches]
	prefixes atomic.Pointer[[]uint64]
}

// init initializes the field from its directory entry, and validates the entry.
func (f *Field) init(s *Segment, number int) error {
	e := &s.dir.Fields[number]
	f.s, f.number, f.entry = s, number, e
	broken := func(reason string) error {
		return &CorruptError{Section: "field " + e.Name, Reason: reason}
	}
	if e.Docs < 0 || e.Docs > s.dir.Docs || e.Worded > e.Docs || e.First > e.End || e.End > s.dir.Terms {
		return broken("a number in its directory entry is out of range")
	}
	if _, ok := s.bytes(e.Present); !ok {
		return broken("the position or length of its list of documents is wrong")
	}
	if e.Present.Len == 0 && e.Docs != s.dir.Docs {
		return broken("its list of documents is missing")
	}
	if e.Present.Len > 0 {
		present, err := s.bitmap(e.Present)
		if err != nil {
			return broken(err.Error())
		}
		if present.GetCardinality() != uint64(e.Docs) {
			return broken("the length of its list of documents differs from its document count")
		}
		f.present.Store(present)
	}
	if hasColumn(e.Type) {
		count := s.dir.Docs
		if e.Column.Sparse {
			count = e.Docs
		}
		if !f.column.open(s, e.Column, count) {
			return broken("the description of its values is wrong")
		}
	}
	return nil
}

// isText reports whether the field with the given number is a text field.
func (s *Segment) isText(number int) bool {
	return number < len(s.dir.Fields) && s.dir.Fields[number].Type == query.Text
}

// Name returns the field's canonical name.
func (f *Field) Name() string { return f.entry.Name }

// Type returns the field's type.
func (f *Field) Type() query.Type { return f.entry.Type }

// Docs returns the number of documents with a value, including deleted ones. A text without words counts as a value.
func (f *Field) Docs() int { return f.entry.Docs }

// Ranked returns the number of documents for rank.Field.Docs, including deleted ones. For a text field, it counts the documents with at
// least one word. For any other field, it counts the documents with a value.
func (f *Field) Ranked() int {
	if f.entry.Type == query.Text {
		return f.entry.Worded
	}
	return f.entry.Docs
}

// Terms returns the number of terms for rank.Field.Terms, including those of deleted documents. It adds up a number for each document:
// the number of words for a text field, or the number of distinct values for a keyword or boolean field.
func (f *Field) Terms() int64 { return f.entry.Terms }

// Distinct returns the number of terms in the dictionary.
func (f *Field) Distinct() int { return int(f.entry.End - f.entry.First) }

// Present returns the documents that have a value. The bitmap is read-only.
func (f *Field) Present() *roaring.Bitmap {
	if b := f.present.Load(); b != nil {
		return b
	}
	b := roaring.New() // without a stored bitmap, every document has a value
	b.AddRange(0, uint64(f.s.dir.Docs))
	f.present.CompareAndSwap(nil, b)
	return f.present.Load()
}

// appendKey appends to key the dictionary key of a term of the field.
func (f *Field) appendKey(key []byte, term string) []byte {
	return append(binary.BigEndian.AppendUint32(key, uint32(f.number)), term...)
}

// Term returns the postings of a term. It returns false if no document contains the term.
func (f *Field) Term(term string) (Postings, bool) {
	if f.entry.First == f.entry.End {
		return Postings{}, false
	}
	var buffer [64]byte // most keys fit, so they stay on the stack
	key := f.appendKey(buffer[:0], term)
	w := walker{d: &f.s.dict, key: make([]byte, 0, len(buffer))} // usually the only allocation
	if !w.seek(f, key) || string(w.key) != string(key) {
		return Postings{}, false
	}
	return w.postings(), true
}

// Ascend yields the terms that are not less than `from`, in byte order. The byte slice is valid only until the next iteration.
func (f *Field) Ascend(from string) iter.Seq2[[]byte, Postings] {
	return func(yield func([]byte, Postings) bool) {
		if f.entry.First == f.entry.End {
			return
		}
		w := walker{d: &f.s.dict}
		for ok := w.seek(f, f.appendKey(nil, from)); ok && w.field() == f.number; ok = w.next() {
			if !yield(w.key[fieldKey:], w.postings()) {
				return
			}
		}
	}
}

// Match yields the terms that an automaton accepts, in byte order. The byte slice is valid only until the next iteration. Match skips terms
// and whole blocks that cannot match. For an automaton.Prefix, it looks up the first term, and ends after the last one.
func (f *Field) Match(a automaton.Automaton) iter.Seq2[[]byte, Postings] {
	return func(yield func([]byte, Postings) bool) {
		if f.entry.First == f.entry.End {
			return
		}
		w := walker{d: &f.s.dict}
		// states[i] is the state of the automaton after i bytes of the current term. The slice ends at the last state that can lead to a match.
		states := []int{a.Start()}
		if !a.CanMatch(states[0]) {
			return
		}
		prefix := f.appendKey(nil, automaton.LiteralPrefix(a))
		ok := w.seek(f, prefix)
		shared := 0
		for ok && bytes.HasPrefix(w.key, prefix) {
			term := w.key[fieldKey:]
			states = states[:min(len(states), shared+1)]
			dead, always := false, a.WillAlwaysMatch(states[len(states)-1])
			for i := len(states) - 1; i < len(term) && !always; i++ {
				next := a.Accept(states[i], term[i])
				if !a.CanMatch(next) {
					dead = true
					break
				}
				states = append(states, next)
				always = a.WillAlwaysMatch(next)
			}
			if !dead {
				if (always || a.IsMatch(states[len(term)])) && !yield(term, w.postings()) {
					return
				}
				ok = w.next()
				shared = max(w.shared-fieldKey, 0)
				continue
			}
			ok, shared = f.skip(&w, a, states)
		}
	}
}

// skip moves past terms that the automaton rejects. states ends with the state after the first len(states)-1 bytes of the current term, and
// the automaton rejects the next byte. skip moves past all terms that begin with these bytes, including the rejected byte. It may also move
// past further terms that cannot match. It returns the number of bytes that the new current term shares with the old one. ok is false if no
// later term can match, and if the file is damaged.
func (f *Field) skip(w *walker, a automaton.Automaton, states []int) (ok bool, shared int) {
	depth := len(states) - 1
	term := slices.Clone(w.key[fieldKey:])
	if w.skip(fieldKey+depth, 0) {
		return true, max(w.shared-fieldKey, 0)
	}
	if w.over() {
		return false, 0
	}
	// At the end of the block, look up the next term that can match. This term may be many blocks ahead.
	target := nextViable(a, term, states)
	if target == nil {
		return false, 0
	}
	key := f.appendKey(nil, string(target))
	from := w.number()
	if next := w.block + 1; next < w.d.n && string(w.d.first(next)) >= string(key) {
		ok = w.next()
	} else {
		ok = w.seek(f, key)
	}
	if !ok || w.number() <= from { // if the file is damaged, seek can move to an earlier term
		return false, 0
	}
	return true, commonPrefix(w.key[min(fieldKey, len(w.key)):], term)
}

// nextViable returns the smallest text that is greater than term and with which a matching term can begin, or nil if there is none.
func nextViable(a automaton.Automaton, term []byte, states []int) []byte {
	for depth := len(states) - 1; depth >= 0; depth-- {
		for b := int(term[depth]) + 1; b < 256; b++ {
			if a.CanMatch(a.Accept(states[depth], byte(b))) {
				return append(slices.Clone(term[:depth]), byte(b))
			}
		}
	}
	return nil
}

// Length returns the number of words in the text of a document. It returns 0 if there is no text or if the text has no words.
func (f *Field) Length(doc uint32) int {
	n, _ := f.numberAt(doc)
	return int(n)
}

// Number returns the number or date of a document, or false if the document has none. It returns a Double as its bits.
func (f *Field) Number(doc uint32) (int64, bool) { return f.numberAt(doc) }

func (f *Field) numberAt(doc uint32) (int64, bool) {
	if f.entry.Present.Len > 0 && !f.Present().Contains(doc) {
		return 0, false
	}
	if !f.column.Sparse {
		return f.column.at(int(doc)), true
	}
	return f.column.at(int(f.Present().Rank(doc)) - 1), true
}

// IntRange returns the documents with a number from lo to hi. The bitmap is new.
func (f *Field) IntRange(lo, hi int64) *roaring.Bitmap {
	return f.scan(func(count int) []uint64 { return f.column.scanRange(count, lo, hi) })
}

// FloatRange is like IntRange, for a field of type Double.
func (f *Field) FloatRange(lo, hi float64) *roaring.Bitmap {
	return f.scan(func(count int) []uint64 { return f.column.scanFloats(count, lo, hi) })
}

// IntBits returns the result of IntRange as plain bits, one for each document. It returns nil if the column is sparse or if the field is
// not a number field.
func (f *Field) IntBits(lo, hi int64) []uint64 {
	return f.bits(func(count int) []uint64 { return f.column.scanRange(count, lo, hi) })
}

// FloatBits is like IntBits, for a field of type Double.
func (f *Field) FloatBits(lo, hi float64) []uint64 {
	return f.bits(func(count int) []uint64 { return f.column.scanFloats(count, lo, hi) })
}

// Sparse reports whether the column of the field has numbers only for the documents with a value. IntBits and FloatBits then return nil.
func (f *Field) Sparse() bool { return f.column.Sparse }

// bits returns the documents at the column positions that the function `words` returns, as plain bits. It returns nil if the column is
// sparse, because positions in a sparse column are not document numbers.
func (f *Field) bits(words func(count int) []uint64) []uint64 {
	if !isNumber(f.entry.Type) || f.column.Sparse {
		return nil
	}
	if f.column.sliced.Load() == nil {
		f.PrefetchColumn()
	}
	found := words(f.s.dir.Docs)
	if f.entry.Present.Len > 0 {
		present := make([]uint64, len(found))
		f.Present().WriteDenseTo(present)
		for i, w := range present {
			found[i] &= w
		}
	}
	return found
}

// scan returns the documents at the column positions that the function `words` returns, as a bitmap.
func (f *Field) scan(words func(count int) []uint64) *roaring.Bitmap {
	if !isNumber(f.entry.Type) {
		return roaring.New()
	}
	if found := f.bits(words); found != nil {
		return roaring.FromDense(found, false)
	}
	f.PrefetchColumn()
	places := words(f.entry.Docs)
	out := roaring.New()
	docs := f.Present().Iterator()
	for i := 0; docs.HasNext(); i++ {
		if d := docs.Next(); places[i/64]&(1<<(i%64)) != 0 {
			out.Add(d)
		}
	}
	return out
}

// PrefetchColumn begins to read all numbers or lengths from the disk, if the segment is in a room that is too small. Call it before reading
// many of them.
func (f *Field) PrefetchColumn() {
	if at := f.column.span; at.Len > prefetchFrom && f.s.small() {
		f.s.readAhead(int(at.Off), int(at.Off+at.Len))
	}
}

// Ordinals returns, for each document, 1 + the ordinal of its lowest term, or 0 if the document has no term. Ordinals have the same order
// as the terms. The slice is built on first use and is read-only.
func (f *Field) Ordinals() []uint32 {
	if o := f.ordinals.Load(); o != nil {
		return *o
	}
	made := make([]uint32, f.s.dir.Docs)
	ordinal := uint32(0)
	for _, p := range f.Ascend("") {
		ordinal++
		for i := p.Iterator(); ; {
			doc, ok := i.Next()
			if !ok {
				break
			}
			if int(doc) < len(made) && made[doc] == 0 {
				made[doc] = ordinal
			}
		}
	}
	f.ordinals.Store(&made)
	return made
}

// TermAt returns the term with an ordinal, or nil if there is none. Ordinals count from 0 within the field.
func (f *Field) TermAt(ordinal uint32) []byte {
	at := f.entry.First + ordinal
	if at >= f.entry.End {
		return nil
	}
	w := walker{d: &f.s.dict, block: -1}
	if !w.move(int(at)) {
		return nil
	}
	return w.key[fieldKey:]
}

// NextNumber returns the smallest number in the field that is at least `from`, or false if there is none. The first call sorts all numbers.
func (f *Field) NextNumber(from int64) (int64, bool) {
	sorted := f.numbersInOrder()
	i := sort.Search(len(sorted), func(i int) bool { return sorted[i] >= from })
	if i == len(sorted) {
		return 0, false
	}
	return sorted[i], true
}

func (f *Field) numbersInOrder() []int64 {
	if s := f.sorted.Load(); s != nil {
		return *s
	}
	var made []int64
	if isNumber(f.entry.Type) {
		made = make([]int64, 0, f.entry.Docs)
		f.PrefetchColumn()
		for it := f.Present().Iterator(); it.HasNext(); {
			n, _ := f.numberAt(it.Next())
			made = append(made, n)
		}
		slices.SortFunc(made, func(a, b int64) int { return cmp.Compare(a, b) })
		made = slices.Clip(slices.Compact(made))
	}
	f.sorted.Store(&made)
	return made
}

// Derived returns the size in bytes of the heap data that the field derived on first use.
func (f *Field) Derived() int64 {
	var n int64
	if o := f.ordinals.Load(); o != nil {
		n += 4 * int64(cap(*o))
	}
	if s := f.sorted.Load(); s != nil {
		n += 8 * int64(cap(*s))
	}
	if s := f.sketches.Load(); s != nil {
		n += s.bytes()
	}
	if p := f.prefixes.Load(); p != nil {
		n += 8 * int64(cap(*p))
	}
	if s := f.column.sliced.Load(); s != nil {
		n += 8 * int64(cap(s.blocks)*len(sliceWords{}))
	}
	return n
}

// DropDerived drops the data whose size Derived returns. The next use derives the data again.
func (f *Field) DropDerived() {
	f.ordinals.Store(nil)
	f.sorted.Store(nil)
	f.sketches.Store(nil)
	f.prefixes.Store(nil)
	f.column.sliced.Store(nil)
}

// String describes the field for error messages.
func (f *Field) String() string { return fmt.Sprintf("%s (%d documents)", f.entry.Name, f.entry.Docs) }
