package rank

import (
	"math"
	"slices"
)

// Phrase counts a phrase in the positions of its words, as Lucene's exact and sloppy phrase matchers do. It is immutable
// and safe for concurrent use.
type Phrase struct {
	offsets []int
	slop    int
	// groups holds, for each word that the phrase repeats, where it stands, in ascending order. repeats[i] is the group
	// of word i, or -1.
	groups  [][]int
	repeats []int
}

// NewPhrase makes a phrase of words that stand at the given offsets, ascending, with slop moves allowed. Two words or
// more make a phrase.
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

// Freq returns how often the phrase occurs in an item: each occurrence counts 1/(1+d), where d is its distance, the
// number of moves that separate it from the phrase. It is 0 where the phrase does not occur. positions[i] are those of
// word i, ascending, without duplicates.
func (p *Phrase) Freq(positions [][]uint32) float32 {
	for _, list := range positions {
		if len(list) == 0 {
			return 0
		}
	}
	if p.slop == 0 {
		return p.exact(positions)
	}
	var buf [8]cursor // so that few words need no room in the heap
	s := sloppy{phrase: p, cursors: append(buf[:0], make([]cursor, len(p.offsets))...), end: math.MinInt}
	for i := range s.cursors {
		s.cursors[i] = cursor{list: positions[i], offset: p.offsets[i]}
		s.cursors[i].next()
	}
	return s.freq()
}

// exact counts the places at which every word stands at its offset.
func (p *Phrase) exact(positions [][]uint32) float32 {
	lead := 0
	for i, list := range positions {
		if len(list) < len(positions[lead]) {
			lead = i
		}
	}
	freq := 0
	var buf [8]int
	at := append(buf[:0], make([]int, len(positions))...) // how far each list was read
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

// cursor walks the positions of one word of the phrase.
type cursor struct {
	list   []uint32 // what is still to be read
	offset int
	// start is where the phrase would begin, judged by this word alone: where all cursors agree, there is an exact match.
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

// place is the position that the cursor stands on.
func (c *cursor) place() int { return c.start + c.offset }

// sloppy is one count of a phrase with slop. The cursor that lies furthest behind moves on until it passes the next
// one; the narrowest spread seen on the way is the distance of an occurrence. Cursors of one repeated word may not stand
// on the same position: then the one that lies behind moves on.
//
// The order in which cursors move decides which occurrences are seen, and so the frequency: it has to be Lucene's, even
// where another order would find more.
type sloppy struct {
	phrase  *Phrase
	cursors []cursor
	end     int // the greatest start
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
				// The words are used up: what was seen last may still be an occurrence.
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

// count adds an occurrence of the given distance, if it is one.
func (s *sloppy) count(freq float32, distance int) float32 {
	if distance <= s.phrase.slop {
		freq += 1 / (1 + float32(distance))
	}
	return freq
}

// pop takes the cursor that lies furthest behind, and returns it and the start of the one that comes next.
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

// behind orders cursors by start, then offset (their order in the phrase).
func (s *sloppy) behind(i, j int) bool {
	a, b := &s.cursors[i], &s.cursors[j]
	return a.start < b.start || a.start == b.start && a.offset < b.offset
}

// advance moves a cursor on; it returns false when there is nothing left.
func (s *sloppy) advance(i int) bool {
	c := &s.cursors[i]
	if !c.next() {
		return false
	}
	s.end = max(s.end, c.start)
	return true
}

// separate resolves the collisions of a cursor that has just moved with others of the same word.
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

// collision returns the first cursor of a group that stands where cursor i does, or -1.
func (s *sloppy) collision(i int, group []int) int {
	for _, j := range group {
		if j != i && s.cursors[j].place() == s.cursors[i].place() {
			return j
		}
	}
	return -1
}
