package segment

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/vitrine-dev/vitrine/server/query"
)

// termMerger merges the dictionaries of all inputs, one field after the other. Each input's terms are sorted, and the least
// of all is found by a tournament in which mostly the numbers of bytes are compared that terms share with the last one
// written: who shares more comes first, and what front coding knows need not be compared again.
type termMerger struct {
	sources []source
	// players are the inputs that have the present field. losers[0] is the one with the least term, losers[n] who lost at
	// node n, whose children are 2n and 2n+1; player p enters below node (p+len(players))/2.
	players []*source
	losers  []int
	// runs are the postings of the present term, and list what they become.
	runs []run
	list postingList
	// last is the last term.
	last []byte
	// docs and freqs are read here.
	docs, freqs [256]uint32
}

// source is one input's dictionary while it is merged.
type source struct {
	walker
	input int
	to    []uint32 // the new number of each document
	// left is how many terms follow in the field, over that there is none any more.
	left int
	over bool
	term []byte // the present one
	// shared is what the term shares with the last one that won.
	shared int
	before []byte
}

// next goes to the next term of the field.
func (s *source) next() {
	if s.left == 0 {
		s.over, s.term = true, nil
		return
	}
	s.left--
	first := s.walker.left == 0 // of a block, where it stands whole
	if first {
		s.before = append(s.before[:0], s.term...)
	}
	if !s.walker.next() {
		s.over, s.term = true, nil
		return
	}
	s.term = s.key[fieldKey:]
	if first {
		s.shared = commonPrefix(s.before, s.term)
	} else {
		s.shared = max(s.walker.shared-fieldKey, 0)
	}
}

// skip goes past the terms of a field.
func (s *source) skip(terms int) {
	for range terms {
		s.walker.next()
	}
}

// begin starts the tournament. All terms are still to come.
func (t *termMerger) begin() {
	n := len(t.players)
	if cap(t.losers) < n {
		t.losers = make([]int, n)
	}
	t.losers = t.losers[:n]
	var play func(node int) int
	play = func(node int) int {
		if node >= n {
			return node - n
		}
		winner, loser := t.play(play(2*node), play(2*node+1))
		t.losers[node] = loser
		return winner
	}
	t.losers[0] = play(1)
}

// play tells who of two comes first, and notes what the other one's term shares with the winner's.
func (t *termMerger) play(a, b int) (winner, loser int) {
	x, y := t.players[a], t.players[b]
	switch {
	case y.over:
		return a, b
	case x.over:
		return b, a
	case x.shared > y.shared:
		return a, b
	case x.shared < y.shared:
		return b, a
	}
	same := x.shared + commonPrefix(x.term[x.shared:], y.term[y.shared:])
	if c := bytes.Compare(x.term[same:], y.term[same:]); c < 0 || c == 0 && a < b {
		y.shared = same
		return a, b
	}
	x.shared = same
	return b, a
}

// advance goes on after the winner's term.
func (t *termMerger) advance() {
	winner := t.losers[0]
	t.players[winner].next()
	for node := (winner + len(t.players)) / 2; node > 0; node /= 2 {
		winner, t.losers[node] = t.play(winner, t.losers[node])
	}
	t.losers[0] = winner
}

// run is what one input brings to a term: places in the list, and of a text what stands there.
type run struct {
	docs []uint32
	// freqs and positions are those of all documents as they lie in the input, whole unless one is gone.
	freqs, positions []byte
	gone             bool
	// ends are where the positions of each document end, and counts its frequencies, where more than one run is merged or a document
	// is gone.
	ends   []int
	counts []uint32
}

// mergeTerms merges the dictionaries.
func (m *merger) mergeTerms(names []fieldEntry) {
	t := &m.terms
	t.sources = make([]source, len(m.inputs))
	for i, in := range m.inputs {
		t.sources[i] = source{walker: walker{d: &in.Segment.dict, block: -1}, input: i, to: m.maps[i]}
	}
	// passed[i] is how many fields of input i were passed.
	passed := make([]int, len(m.inputs))
	for number, name := range names {
		m.w.beginField(name.Name, name.Type, name.Private)
		t.players = t.players[:0]
		for i := range t.sources {
			s, entries := &t.sources[i], m.inputs[i].Segment.dir.Fields
			for passed[i] < len(entries) && m.fields[i][passed[i]] < number {
				e := &entries[passed[i]]
				if m.fields[i][passed[i]] < 0 {
					s.skip(int(e.End - e.First))
				}
				passed[i]++
			}
			if passed[i] == len(entries) || m.fields[i][passed[i]] != number {
				continue
			}
			e := &entries[passed[i]]
			s.left, s.over, s.term = int(e.End-e.First), false, nil
			s.next()
			s.shared = 0
			t.players = append(t.players, s)
		}
		m.mergeField(name.Type == query.Text)
	}
	m.w.endTerms()
}

// mergeField merges the terms of one field.
func (m *merger) mergeField(text bool) {
	t := &m.terms
	if len(t.players) == 0 {
		return
	}
	t.begin()
	e := &m.w.dir.Fields[len(m.w.dir.Fields)-1]
	written := 0 // what the term shares with the last one that was written
	for {
		s := t.players[t.losers[0]]
		if s.over {
			return
		}
		written = min(written, s.shared)
		t.last = append(t.last[:s.shared], s.term[s.shared:]...)
		n := 0
		for {
			n = t.take(n, s, text)
			t.advance()
			if s = t.players[t.losers[0]]; s.over || s.shared < len(t.last) || len(s.term) > s.shared {
				break
			}
		}
		if n == 0 {
			continue
		}
		list := t.join(t.runs[:n], text)
		if !text {
			e.Terms += int64(len(list.docs))
		}
		m.w.term(t.last, written, list)
		written = len(t.last)
	}
}

// take reads the postings of a source's term into run n, and returns how many runs there are then.
func (t *termMerger) take(n int, s *source, text bool) int {
	if n == len(t.runs) {
		t.runs = append(t.runs, run{})
	}
	r := &t.runs[n]
	*r = run{docs: r.docs[:0], ends: r.ends[:0], counts: r.counts[:0]}
	if s.docs == 1 && !text {
		if d := s.to[s.doc]; d != Gone {
			r.docs = append(r.docs, d)
			return n + 1
		}
		return n
	}
	it := s.postings().Iterator()
	freqs, positions := it.freqs, it.positions
	rest := positions
	for {
		k := it.NextMany(t.docs[:], t.freqs[:])
		if k == 0 {
			break
		}
		for j, doc := range t.docs[:k] {
			if text {
				rest = skipVarints(rest, uint64(t.freqs[j]))
				r.ends = append(r.ends, len(positions)-len(rest))
				r.counts = append(r.counts, t.freqs[j])
			}
			d := s.to[doc]
			r.docs = append(r.docs, d)
			r.gone = r.gone || d == Gone
		}
	}
	if text {
		r.freqs, r.positions = freqs[:len(freqs)-len(it.freqs)], positions[:len(positions)-len(rest)]
	}
	if slices.ContainsFunc(r.docs, func(d uint32) bool { return d != Gone }) {
		return n + 1
	}
	return n
}

// join makes one list of runs, each of which is in order.
func (t *termMerger) join(runs []run, text bool) postingList {
	if len(runs) == 1 && !runs[0].gone {
		return postingList{docs: runs[0].docs, freqs: runs[0].freqs, positions: runs[0].positions}
	}
	l := &t.list
	l.docs, l.freqs, l.positions = l.docs[:0], l.freqs[:0], l.positions[:0]
	next := make([]int, 0, 64)
	for range runs {
		next = append(next, 0)
	}
	for {
		// The run with the least document goes on up to where the next one begins.
		best, least, limit := -1, uint32(Gone), uint32(Gone)
		for i := range runs {
			r := &runs[i]
			for r.gone && next[i] < len(r.docs) && r.docs[next[i]] == Gone {
				next[i]++
			}
			if next[i] == len(r.docs) {
				continue
			}
			if d := r.docs[next[i]]; d < least {
				best, least, limit = i, d, least
			} else if d < limit {
				limit = d
			}
		}
		if best < 0 {
			return *l
		}
		r := &runs[best]
		at := next[best]
		for ; at < len(r.docs) && r.docs[at] < limit; at++ {
			l.docs = append(l.docs, r.docs[at])
			if text {
				from := 0
				if at > 0 {
					from = r.ends[at-1]
				}
				l.freqs = binary.AppendUvarint(l.freqs, uint64(r.counts[at]))
				l.positions = append(l.positions, r.positions[from:r.ends[at]]...)
			}
		}
		next[best] = at
	}
}
