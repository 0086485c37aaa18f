package rank

import (
	"math"
	"slices"
)

// Phrase counts the occurrences of a phrase from the positions of its words, in the same way as Lucene's exact and sloppy phrase matchers.
// It is immutable and safe for concurrent use.
type Phrase struct {
	offsets []int
	slop    int
	// groups contains one list for each word that the phrase repeats: the indexes at which the word occurs in the phrase, in ascending order.
	// repeats[i] is the index in groups of the list for word i, or -1 if the word is not repeated.
	groups  [][]int
	repeats []int
}

// NewPhrase returns a phrase of two or more words at the given ascending offsets. slop is the number of allowed moves.
func NewPhrase(words []string, offsets []int, slop int) *Phrase {
	p := &Phrase{offsets: offsets, slop: slop, repeats: make([]int, len(words))}
	for i, w := range words {
		p.repeats[i] = -1
		first := slices.Index(words, w)
		if first == i {
			continue
		}
		if p.repeats[first] < 0 {
			p.repeats[first] = len(p.groups)
			p.groups = append(p.groups, []int{first})
		}
		g := p.repeats[first]
		p.repeats[i] = g
		p.groups[g] = append(p.groups[g], i)
	}
	return p
}

// Freq returns the frequency of the phrase in an item. Each occurrence counts 1/(1+d), where its distance d is the number of moves that
// would turn it into the exact phrase. The frequency is 0 if the phrase does not occur. positions[i] are the positions of word i, in
// ascending order and without duplicates.
func (p *Phrase) Freq(positions [][]uint32) float32 {
	for _, list := range positions {
		if len(list) == 0 {
			return 0
		}
	}
	if p.slop == 0 {
		return p.exact(positions)
	}
	var buf [8]cursor // for short phrases, this array avoids a heap allocation
	s := sloppy{phrase: p, cursors: append(buf[:0], make([]cursor, len(p.offsets))...), end: math.MinInt}
	for i := range s.cursors {
		s.cursors[i] = cursor{list: positions[i], offset: p.offsets[i]}
		s.cursors[i].next()
	}
	return s.freq()
}

// exact counts the positions at which the exact phrase begins.
func (p *Phrase) exact(positions [][]uint32) float32 {
	if len(positions) == 2 {
		return float32(pairs(positions[0], positions[1], uint64(p.offsets[1]-p.offsets[0])))
	}
	lead := 0
	for i, list := range positions {
		if len(list) < len(positions[lead]) {
			lead = i
		}
	}
	freq := 0
	var buf [8]int
	at := append(buf[:0], make([]int, len(positions))...) // the current index in each list
next:
	for _, pos := range positions[lead] {
		start := int(pos) - p.offsets[lead]
		for i, list := range positions {
			want := start + p.offsets[i]
			for at[i] < len(list) && int(list[at[i]]) < want {
				at[i]++
			}
			if at[i] == len(list) {
				break next
			}
			if int(list[at[i]]) != want {
				continue next
			}
		}
		freq++
	}
	return float32(freq)
}

// pairs counts the elements x of a for which b contains x+distance. Both lists are in ascending order.
func pairs(a, b []uint32, distance uint64) int {
	n := 0
	for _, pos := range a {
		for len(b) > 0 && uint64(b[0]) < uint64(pos)+distance {
			b = b[1:]
		}
		if len(b) == 0 {
			break
		}
		if uint64(b[0]) == uint64(pos)+distance {
			n++
		}
	}
	return n
}

// cursor iterates over the positions of one word of the phrase.
type cursor struct {
	list   []uint32 // the remaining positions
	offset int
	// start is the position at which the exact phrase would start if this word were in its place. If all cursors have the same start, they are
	// at an exact phrase.
	start  int
	popped bool
}

func (c *cursor) next() bool {
	if len(c.list) == 0 {
		return false
	}
	c.start = int(c.list[0]) - c.offset
	c.list = c.list[1:]
	return true
}

// place is the current position of the cursor.
func (c *cursor) place() int { return c.start + c.offset }

// sloppy computes the frequency of a phrase with slop. Repeatedly, the hindmost cursor advances until it passes the next one. The spread is
// the difference between the largest and the smallest start of the cursors. The smallest spread during one such advance is the distance of
// an occurrence. Two cursors of a repeated word must not be at the same position. If they are, the hindmost of the two advances.
//
// The order in which cursors advance determines which occurrences are found, and thus the frequency. It must be the same order as in
// Lucene, even where another order would find more occurrences.
type sloppy struct {
	phrase  *Phrase
	cursors []cursor
	end     int // the maximum start of all cursors
}

func (s *sloppy) freq() float32 {
	for _, group := range s.phrase.groups {
		for skip, i := range group {
			for range skip {
				if !s.cursors[i].next() {
					return 0
				}
			}
		}
	}
	for i := range s.cursors {
		s.end = max(s.end, s.cursors[i].start)
	}
	var freq float32
	for {
		lead, bound := s.pop()
		width := s.end - s.cursors[lead].start
		for {
			if !s.advance(lead) || !s.separate(lead) {
				// A list has ended. The smallest spread so far can still be that of an occurrence.
				return s.count(freq, width)
			}
			if s.cursors[lead].start > bound {
				break
			}
			width = min(width, s.end-s.cursors[lead].start)
		}
		s.cursors[lead].popped = false
		freq = s.count(freq, width)
	}
}

// count adds an occurrence to the frequency if its distance is within the slop.
func (s *sloppy) count(freq float32, distance int) float32 {
	if distance <= s.phrase.slop {
		freq += 1 / (1 + float32(distance))
	}
	return freq
}

// pop marks the hindmost cursor as popped. It returns the index of that cursor, and the start of the hindmost cursor among the others.
func (s *sloppy) pop() (lead, bound int) {
	lead = s.hindmost()
	s.cursors[lead].popped = true
	return lead, s.cursors[s.hindmost()].start
}

func (s *sloppy) hindmost() int {
	best := -1
	for i := range s.cursors {
		if !s.cursors[i].popped && (best < 0 || s.behind(i, best)) {
			best = i
		}
	}
	return best
}

// behind reports whether cursor i is behind cursor j. If their starts are equal, the cursor of the earlier word in the phrase is behind.
func (s *sloppy) behind(i, j int) bool {
	a, b := &s.cursors[i], &s.cursors[j]
	return a.start < b.start || a.start == b.start && a.offset < b.offset
}

// advance advances cursor i. It returns false if the list of the cursor has ended.
func (s *sloppy) advance(i int) bool {
	c := &s.cursors[i]
	if !c.next() {
		return false
	}
	s.end = max(s.end, c.start)
	return true
}

// separate resolves collisions between cursor i, which has just advanced, and other cursors of the same word. It returns false if a list
// has ended.
func (s *sloppy) separate(i int) bool {
	g := s.phrase.repeats[i]
	if g < 0 {
		return true
	}
	for {
		other := s.collision(i, s.phrase.groups[g])
		if other < 0 {
			return true
		}
		if !s.behind(i, other) {
			i = other
		}
		if !s.advance(i) {
			return false
		}
	}
}

// collision returns the first cursor in a group, other than cursor i, that is at the same position as cursor i. It returns -1 if there is
// none.
func (s *sloppy) collision(i int, group []int) int {
	for _, j := range group {
		if j != i && s.cursors[j].place() == s.cursors[i].place() {
			return j
		}
	}
	return -1
}
