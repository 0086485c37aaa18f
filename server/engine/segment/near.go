package segment

import (
	"iter"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// A sketch summarizes a term in 64 bits. A search for terms similar to a word compares sketches and so skips most other terms without
// reading them:
//
//	bits 0 to 31    the parities of the counts of pairs of adjacent characters, hashed to 32 values; both ends count as characters
//	bits 32 to 57   the parities of the counts of characters, hashed to 26 values, so that Latin letters have different values
//	bits 58 to 63   the number of characters, limited to 63
//
// Each added or removed character or pair changes at most one parity:
//
//   - An insertion or deletion changes the length by one. It adds or removes one character, and three pairs in total. For example, an x
//     between a and b removes ab, and adds ax and xb.
//   - A replacement adds or removes two characters and four pairs in total.
//   - A transposition changes no counts of characters, but six pairs. For example, a transposition of b and c in "abcd" removes ab, bc and
//     cd, and adds ac, cb and bd.
type sketch uint64

const (
	pairBits   = 32
	letterBits = 26
	lengthBits = 6
	maxLength  = 1<<lengthBits - 1

	// An edit changes at most lettersPerEdit parities of characters, and at most paritiesPerEdit parities in total. If the edit changes the
	// length, these limits are lower by lettersLess and paritiesLess.
	lettersPerEdit, lettersLess   = 2, 1
	paritiesPerEdit, paritiesLess = 6, 2
)

// letterPlaces maps the remainder of a character to the place of its parity. The most frequent letters have the highest places, because
// the highest bits select the bucket (see sketches), and parities that are mostly zero would select the same bucket for most terms.
var letterPlaces = func() (places [letterBits]uint8) {
	for i, letter := range "eaisrnotlcdumpghbyfvkwzxjq" {
		places[letter%letterBits] = uint8(letterBits - 1 - i)
	}
	return places
}()

func sketchOf(term []byte) sketch {
	var s uint64
	length, before := 0, uint32(0)
	pair := func(a, b uint32) { s ^= 1 << ((a*31 + b) * 0x9E3779B1 >> 27) }
	// Decode invalid UTF-8 in the same way as automaton.Distance.
	for len(term) > 0 {
		r, size := rune(term[0]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(term)
		}
		pair(before, uint32(r))
		s ^= 1 << (pairBits + letterPlaces[uint32(r)%letterBits])
		term, before = term[size:], uint32(r)
		length++
	}
	pair(before, 0)
	return sketch(s | uint64(min(length, maxLength))<<(pairBits+letterBits))
}

// length returns the number of characters, at most maxLength.
func (s sketch) length() int { return int(s >> (pairBits + letterBits)) }

// letters returns the n highest bits of the characters' parities.
func (s sketch) letters(n int) int { return int(s << lengthBits >> (64 - n)) }

// near reports whether the edit distance of two terms with these sketches can be at most edits.
func (s sketch) near(other sketch, edits int) bool {
	longer := s.length() - other.length()
	longer = max(longer, -longer)
	parities := uint64(s^other) << lengthBits
	return longer <= edits && bits.OnesCount64(parities) <= paritiesPerEdit*edits-paritiesLess*longer &&
		bits.OnesCount64(parities>>(64-letterBits)) <= lettersPerEdit*edits-lettersLess*longer
}

// sketches holds the sketches of a field's terms. They are in buckets by the highest bits of the characters' parities, and then by length.
type sketches struct {
	// letters is the number of bits of the parities that select a bucket.
	letters int
	// Bucket i contains terms[starts[i]:starts[i+1]] and the same range of sketches. The elements of terms are ordinals in the field.
	starts   []uint32
	terms    []uint32
	sketches []sketch
}

const (
	// perBucket is the minimum average number of terms in a bucket, unless letters is 0.
	perBucket = 2
	// bucketLengths is the number of buckets by length. The last one also contains all longer terms.
	bucketLengths = 32
)

func newSketches(f *Field) *sketches {
	all := make([]sketch, 0, f.Distinct())
	for term := range f.Ascend("") {
		all = append(all, sketchOf(term))
	}
	s := &sketches{terms: make([]uint32, len(all)), sketches: make([]sketch, len(all))}
	for s.letters < letterBits && len(all)/bucketLengths>>s.letters >= 2*perBucket {
		s.letters++
	}
	s.starts = make([]uint32, bucketLengths<<s.letters+1)
	next := s.starts[1:]
	for _, one := range all {
		next[bucket(one.letters(s.letters), one.length())]++
	}
	end := uint32(0)
	for i, n := range next {
		next[i], end = end, end+n
	}
	for i, one := range all {
		at := &next[bucket(one.letters(s.letters), one.length())]
		s.terms[*at], s.sketches[*at] = uint32(i), one
		*at++
	}
	return s
}

func bucket(letters, length int) int { return letters*bucketLengths + min(length, bucketLengths-1) }

// near lists the ordinals of the terms whose sketch is near `wanted`, in ascending order.
func (s *sketches) near(wanted sketch, edits int) []uint32 {
	var found []uint32
	letters, length := wanted.letters(s.letters), wanted.length()
	for flips := 0; flips <= min(lettersPerEdit*edits, s.letters); flips++ {
		longer := min(edits, lettersPerEdit*edits-flips)
		for flipped := 1<<flips - 1; flipped < 1<<s.letters; flipped = nextSubset(flipped) {
			from := s.starts[bucket(letters^flipped, max(length-longer, 0))]
			to := s.starts[bucket(letters^flipped, length+longer)+1]
			for i, one := range s.sketches[from:to] {
				if one.near(wanted, edits) {
					found = append(found, s.terms[int(from)+i])
				}
			}
			if flipped == 0 {
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// nextSubset returns the next higher number with the same number of bits. n must not be 0.
func nextSubset(n int) int {
	lowest := n & -n
	carried := n + lowest
	return carried | (n^carried)/lowest>>2
}

func (s *sketches) bytes() int64 {
	return 4*int64(len(s.starts)+len(s.terms)) + 8*int64(len(s.sketches))
}

// Near yields the terms within an edit distance of a word (see automaton.Distance), in byte order. The byte slice is valid only until the
// next iteration. The first call computes the sketches of all terms of the field.
func (f *Field) Near(word string, edits int) iter.Seq2[[]byte, Postings] {
	return func(yield func([]byte, Postings) bool) {
		s := f.sketches.Load()
		if s == nil {
			s = newSketches(f)
			f.sketches.Store(s)
		}
		w := walker{d: &f.s.dict, block: -1}
		for _, i := range s.near(sketchOf([]byte(word)), edits) {
			if !w.move(int(f.entry.First + i)) {
				return
			}
			term := w.key[fieldKey:]
			if automaton.Distance(word, string(term), edits) <= edits && !yield(term, w.postings()) {
				return
			}
		}
	}
}
