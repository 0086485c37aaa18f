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
// An edit changes the length by at most one. It adds and removes at most two characters in total, and at most six pairs. For example, a
// transposition of b and c in "abcd" removes ab, bc and cd, and adds ac, cb and bd. Each added or removed character or pair changes at
// most one bit.
type sketch uint64

const (
	pairBits   = 32
	letterBits = 26
	lengthBits = 6
	maxLength  = 1<<lengthBits - 1

	lettersPerEdit = 2
	pairsPerEdit   = 6
)

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
		s ^= 1 << (pairBits + uint32(r)%letterBits)
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
	x := s ^ other
	d := s.length() - other.length()
	return bits.OnesCount(uint(x.letters(letterBits))) <= lettersPerEdit*edits && bits.OnesCount32(uint32(x)) <= pairsPerEdit*edits &&
		-edits <= d && d <= edits
}

// sketches holds the sketches of a field's terms. They are in buckets by length and by the highest bits of the characters' parities.
type sketches struct {
	// letters is the number of bits of the parities that select a bucket.
	letters int
	// Bucket i contains terms[starts[i]:starts[i+1]] and the same range of sketches. The elements of terms are ordinals in the field.
	starts   []uint32
	terms    []uint32
	sketches []sketch
}

// perBucket is the minimum average number of terms in a bucket, unless letters is 0.
const perBucket = 8

func newSketches(f *Field) *sketches {
	all := make([]sketch, 0, f.Distinct())
	for term := range f.Ascend("") {
		all = append(all, sketchOf(term))
	}
	s := &sketches{terms: make([]uint32, len(all)), sketches: make([]sketch, len(all))}
	for s.letters < letterBits && len(all)>>(lengthBits+s.letters) >= 2*perBucket {
		s.letters++
	}
	s.starts = make([]uint32, 1<<(lengthBits+s.letters)+1)
	next := s.starts[1:]
	for _, one := range all {
		next[s.bucket(one)]++
	}
	end := uint32(0)
	for i, n := range next {
		next[i], end = end, end+n
	}
	for i, one := range all {
		at := &next[s.bucket(one)]
		s.terms[*at], s.sketches[*at] = uint32(i), one
		*at++
	}
	return s
}

func (s *sketches) bucket(of sketch) int { return of.length()<<s.letters | of.letters(s.letters) }

// near lists the ordinals of the terms whose sketch is near `wanted`, in ascending order.
func (s *sketches) near(wanted sketch, edits int) []uint32 {
	var found []uint32
	letters := wanted.letters(s.letters)
	for length := max(wanted.length()-edits, 0); length <= min(wanted.length()+edits, maxLength); length++ {
		for i := range 1 << s.letters {
			if bits.OnesCount(uint(i^letters)) > lettersPerEdit*edits {
				continue
			}
			bucket := length<<s.letters | i
			for at := s.starts[bucket]; at < s.starts[bucket+1]; at++ {
				if s.sketches[at].near(wanted, edits) {
					found = append(found, s.terms[at])
				}
			}
		}
	}
	slices.Sort(found)
	return found
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
