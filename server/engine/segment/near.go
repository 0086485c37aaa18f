package segment

import (
	"iter"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/query/automaton"
)

// A sketch describes a term in 64 bits, so that most terms that are not near a word are skipped without reading them:
//
//	bits 0 to 31    the parities of the pairs of adjacent characters, hashed to 32 values. Both ends of the term count as a character
//	bits 32 to 57   the parities of the characters, hashed to 26 values, so that Latin letters differ
//	bits 58 to 63   the number of characters, at most 63
//
// An edit changes the length by at most one, adds and removes two characters in total at most, and six pairs: a transposition of b and
// c in "abcd" removes ab, bc and cd, and adds ac, cb and bd. Each of them changes one bit at most.
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
	// A term that is not UTF-8 is read as automaton.Distance reads it.
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

// letters returns the n highest bits of the characters.
func (s sketch) letters(n int) int { return int(s << lengthBits >> (64 - n)) }

// near reports whether terms with these sketches can be within some edits of each other.
func (s sketch) near(other sketch, edits int) bool {
	x := s ^ other
	d := s.length() - other.length()
	return bits.OnesCount(uint(x.letters(letterBits))) <= lettersPerEdit*edits && bits.OnesCount32(uint32(x)) <= pairsPerEdit*edits &&
		-edits <= d && d <= edits
}

// sketches are the sketches of the terms of a field, in buckets by length and by the first bits of the characters.
type sketches struct {
	// letters is how many of these bits there are.
	letters int
	// Bucket i contains terms[starts[i]:starts[i+1]], which are numbers of terms in the field, and their sketches.
	starts   []uint32
	terms    []uint32
	sketches []sketch
}

// perBucket is the average number of terms in a bucket, at least.
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

// bucket returns the bucket of a sketch.
func (s *sketches) bucket(of sketch) int { return of.length()<<s.letters | of.letters(s.letters) }

// near lists the terms whose sketch is near another one, in order.
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

// Near yields the terms within some edits of a word (see automaton.Distance), in byte order. The slice is valid only until the next
// term. The first call makes sketches of all terms of the field.
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
