package segment

import (
	"math/bits"

	"github.com/vitrine-dev/vitrine/server/query"
)

// termMerger merges the dictionaries of all inputs, one field after the other. The terms of each input are sorted, and a tournament tree
// finds the least term. For each term, the dictionary stores the number of bytes that it shares with the term before it. Most comparisons
// only compare how many bytes two terms share with the latest least term: the term that shares more comes first. Such comparisons read no
// bytes of the terms.
type termMerger struct {
	sources []source
	// players are the inputs that have the current field. losers[0] is the player with the least term. losers[n] is the player that lost at
	// node n, which has the children 2n and 2n+1. The parent of player p is node (p+len(players))/2.
	players []*source
	losers  []int
	// runs holds the postings of the current term in each input, and list holds their union.
	runs []run
	list postingList
	// joinSparse uses ahead and next. ahead has the next document of each run, or Gone at the end of the run. next has the index of that
	// document.
	ahead []uint32
	next  []int
	// joinDense uses words and homes. words is a bitmap of documents. homes maps each document to its run and to its index in the run.
	words []uint64
	homes []home
	// last is the latest least term.
	last []byte
	// docs and freqs are buffers for reading postings.
	docs, freqs [256]uint32
}

// source is the dictionary of one input during a merge.
type source struct {
	walker
	input int
	to    []uint32 // the new number of each document
	// left is the number of terms of the field after the current term. over is true after the last term.
	left int
	over bool
	term []byte // the current term
	// shared is the length of the prefix that the term shares with the latest winner with which it was compared.
	shared int
	before []byte
}

// next moves to the next term of the field.
func (s *source) next() {
	if s.left == 0 {
		s.over, s.term = true, nil
		return
	}
	s.left--
	first := s.walker.left == 0 // whether the next term is the first of a block, which stores its whole key
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

func (s *source) skip(terms int) {
	for range terms {
		s.walker.next()
	}
}

// begin plays the first tournament of a field.
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

// play determines which of two players has the lower term. It sets the shared field of the loser to the number of bytes that both terms
// share.
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
	first := a < b // the default, for equal terms
	switch {
	case same < len(x.term) && same < len(y.term):
		first = x.term[same] < y.term[same]
	case len(x.term) != len(y.term):
		first = len(x.term) < len(y.term)
	}
	if first {
		y.shared = same
		return a, b
	}
	x.shared = same
	return b, a
}

// advance moves the winner to its next term and determines the new winner.
func (t *termMerger) advance() {
	winner := t.losers[0]
	t.players[winner].next()
	for node := (winner + len(t.players)) / 2; node > 0; node /= 2 {
		winner, t.losers[node] = t.play(winner, t.losers[node])
	}
	t.losers[0] = winner
}

// run holds the postings of a term in one input.
type run struct {
	docs []uint32
	// For a text field, freqs and positions are those of the input. If gone is true, they include documents that the merge leaves out.
	// places has, for each document in docs, its frequency and the range of its positions.
	freqs     Frequencies
	positions []byte
	gone      bool
	places    []stretch
}

// stretch is the frequency of a word in a document and the range of bytes in run.positions with the document's positions.
type stretch struct {
	freq     uint32
	from, to int
}

// mergeTerms merges the dictionaries of all inputs.
func (m *merger) mergeTerms(names []fieldEntry) error {
	t := &m.terms
	t.sources = make([]source, len(m.inputs))
	for i, in := range m.inputs {
		t.sources[i] = source{walker: walker{d: &in.Segment.dict, block: -1}, input: i, to: m.maps[i]}
	}
	// passed[i] is the number of fields of input i that the loop has processed or skipped.
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
		text := name.Type == query.Text
		if text {
			m.gather(number)
			m.w.postings.norms = appendNorms(m.w.postings.norms[:0], m.column)
		}
		m.mergeField(text)
	}
	return m.w.endTerms()
}

// mergeField merges the terms of one field.
func (m *merger) mergeField(text bool) {
	t := &m.terms
	if len(t.players) == 0 {
		return
	}
	t.begin()
	e := &m.w.dir.Fields[len(m.w.dir.Fields)-1]
	written := 0 // length of the prefix that the term shares with the last term that was written
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
		list := t.join(t.runs[:n], text, len(m.doc))
		if !text {
			e.Terms += int64(len(list.docs))
		}
		m.w.term(t.last, written, list)
		written = len(t.last)
	}
}

// home is the place of a document: the number of a run, and the index in that run.
type home struct{ run, at uint32 }

// take reads the postings of a source's current term into run n. It returns the new number of runs: n+1, or n if the merge leaves out all
// documents of the postings.
func (t *termMerger) take(n int, s *source, text bool) int {
	if n == len(t.runs) {
		t.runs = append(t.runs, run{})
	}
	r := &t.runs[n]
	*r = run{docs: r.docs[:0], places: r.places[:0]}
	if s.docs == 1 && !text {
		if d := s.to[s.doc]; d != Gone {
			r.docs = append(r.docs, d)
			return n + 1
		}
		return n
	}
	it := s.postings().Iterator()
	freqs, positions := it.freqs.Frequencies, it.positions
	rest, from := positions, 0
	for {
		k := it.NextMany(t.docs[:], t.freqs[:])
		if k == 0 {
			break
		}
		for j, doc := range t.docs[:k] {
			d := s.to[doc]
			if text {
				rest = skipVarints(rest, uint64(t.freqs[j]))
				to := len(positions) - len(rest)
				if d != Gone {
					r.places = append(r.places, stretch{t.freqs[j], from, to})
				}
				from = to
			}
			if d != Gone {
				r.docs = append(r.docs, d)
			}
		}
	}
	r.gone = len(r.docs) != s.docs
	if text {
		r.freqs, r.positions = freqs, positions[:from]
	}
	if len(r.docs) == 0 {
		return n
	}
	return n + 1
}

// join combines runs into one list. docs is the number of documents in the merged segment.
func (t *termMerger) join(runs []run, text bool, docs int) postingList {
	if len(runs) == 1 && !runs[0].gone {
		return postingList{docs: runs[0].docs, freqs: runs[0].freqs, positions: runs[0].positions}
	}
	t.list.docs, t.list.positions = t.list.docs[:0], t.list.positions[:0]
	t.list.freqs.reset()
	total := 0
	for i := range runs {
		total += len(runs[i].docs)
	}
	if len(runs) > 1 && total*denseFrom >= docs {
		t.joinDense(runs, text, docs)
	} else {
		t.joinSparse(runs, text)
	}
	return t.list
}

// denseFrom separates frequent from rare terms: joinDense joins terms in at least 1/denseFrom of all documents, and joinSparse joins the
// rest.
const denseFrom = 32

// put appends the document with index `at` in the run r to the list.
func (t *termMerger) put(r *run, at int, text bool) {
	l := &t.list
	if text {
		p := &r.places[at]
		l.freqs.add(len(l.docs), p.freq)
		l.positions = append(l.positions, r.positions[p.from:p.to]...)
	}
	l.docs = append(l.docs, r.docs[at])
}

// joinDense combines runs with a bitmap of all documents.
func (t *termMerger) joinDense(runs []run, text bool, docs int) {
	if t.words == nil {
		t.words, t.homes = make([]uint64, (docs+63)/64), make([]home, docs)
	}
	for i := range runs {
		for at, d := range runs[i].docs {
			t.words[d/64] |= 1 << (d % 64)
			t.homes[d] = home{uint32(i), uint32(at)}
		}
	}
	for i, word := range t.words {
		t.words[i] = 0
		for ; word != 0; word &= word - 1 {
			h := t.homes[64*i+bits.TrailingZeros64(word)]
			t.put(&runs[h.run], int(h.at), text)
		}
	}
}

// joinSparse combines runs by merging their sorted documents.
func (t *termMerger) joinSparse(runs []run, text bool) {
	t.ahead, t.next = t.ahead[:0], t.next[:0]
	for i := range runs {
		t.ahead, t.next = append(t.ahead, runs[i].docs[0]), append(t.next, 0)
	}
	for {
		// Copy from the run with the least document, up to the least document of all other runs.
		best, least, limit := -1, uint32(Gone), uint32(Gone)
		for i, d := range t.ahead {
			if d < least {
				best, least, limit = i, d, least
			} else if d < limit {
				limit = d
			}
		}
		if best < 0 {
			return
		}
		r, at := &runs[best], t.next[best]
		for ; at < len(r.docs) && r.docs[at] < limit; at++ {
			t.put(r, at, text)
		}
		t.next[best], t.ahead[best] = at, Gone
		if at < len(r.docs) {
			t.ahead[best] = r.docs[at]
		}
	}
}
