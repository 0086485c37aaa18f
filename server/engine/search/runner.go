package search

import (
	"context"
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// Scores are worked out term by term within blocks of documents: every clause adds what it gives to an array of sums that
// stays in the processor's nearest cache, and nothing is allocated or called for a single document.

// blockDocs is the number of documents in a block, which begins at a multiple of it: a power of two, and of 64.
const blockDocs = 4096

// sums holds what each document of a block has got: document from+i at i.
type sums [blockDocs]float64

// block is the documents that are scored at a time.
type block struct {
	from uint32 // the first
	to   uint32 // behind the last
	// live are the documents whose scores are wanted, one bit each.
	live []uint64
	// total is the number of such documents in the whole part.
	total int64
}

// newBlock returns the block that begins at a document of n.
func newBlock(live []uint64, from, n int) *block {
	return &block{from: uint32(from), to: uint32(min(from+blockDocs, n)), live: live[from/64 : (from+blockDocs)/64]}
}

// runner gives the scores of a clause in one part, block by block in rising order, blocks left out at will.
type runner interface {
	// add adds the score of each document that matches to its sum: exactly one float32 for each runner and document.
	// Documents that are not live may be given anything.
	add(b *block, to *sums)
}

// scoring is one look at one part for scores.
type scoring struct {
	ctx context.Context
	evaluation
	cache *Cache
	// wanted are the documents to be scored; nil for all.
	wanted *roaring.Bitmap
	spare  []*sums
}

// take returns an array of zeros, and give takes it back.
func (s *scoring) take() *sums {
	n := len(s.spare)
	if n == 0 {
		return s.cache.newSums()
	}
	a := s.spare[n-1]
	s.spare = s.spare[:n-1]
	clear(a[:])
	return a
}

func (s *scoring) give(a *sums) { s.spare = append(s.spare, a) }

// close hands all arrays back.
func (s *scoring) close() {
	for _, a := range s.spare {
		s.cache.sums.Put(a)
	}
}

// find returns the documents of a node as one bit each.
func (s *scoring) find(n node) ([]uint64, error) {
	found, err := n.find(s.ctx, &s.evaluation, s.wanted)
	if err != nil || found.isEmpty() {
		return nil, err
	}
	return dense(found.bitmap, s.part.Segment.Len()), nil
}

// lengthNorms returns the length norm of a text field by document. Those of lists of units are few, and go with them.
func (s *scoring) lengthNorms(f *segment.Field) []byte {
	if s.shown {
		return readNorms(s.part.Segment, f)
	}
	return s.cache.lengthNorms(s.part.Segment, f)
}

// dense writes a set as one bit for each of n documents.
func dense(b *roaring.Bitmap, n int) []uint64 {
	words := make([]uint64, (n+blockDocs-1)/blockDocs*(blockDocs/64))
	b.WriteDenseTo(words)
	return words
}

// bitRunner gives the documents of a set one score.
type bitRunner struct {
	words []uint64 // nil for all documents
	score float64
}

func (r *bitRunner) add(b *block, to *sums) {
	first := int(b.from) / 64
	for i, word := range b.live {
		if r.words != nil {
			word &= r.words[first+i]
		}
		if word == ^uint64(0) {
			for at := i * 64; at < i*64+64; at++ {
				to[at&(blockDocs-1)] += r.score
			}
			continue
		}
		for ; word != 0; word &= word - 1 {
			to[(i*64+bits.TrailingZeros64(word))&(blockDocs-1)] += r.score
		}
	}
}

func (c *constantClause) open(s *scoring, required bool) (runner, error) {
	if c.score == 0 {
		return nil, nil
	}
	if _, everything := c.node.(all); everything || required {
		return &bitRunner{score: float64(c.score)}, nil
	}
	words, err := s.find(c.node)
	if words == nil {
		return nil, err
	}
	return &bitRunner{words: words, score: float64(c.score)}, nil
}

func (nothing) open(*scoring, bool) (runner, error) { return nil, nil }

// scoreTable holds the scores of a term for the frequencies from 0 on below tableFreqs and all norms. It pays from
// tableFrom documents on.
type scoreTable [tableFreqs << 8]float32

const (
	tableFreqs = 8
	tableFrom  = 4096
)

// scores returns the table, made at its first use.
func (t *termClause) scores() *scoreTable {
	if made := t.table.Load(); made != nil {
		return made
	}
	made := &scoreTable{}
	for i := range made {
		made[i] = t.scorer.Score(float32(i>>8), byte(i))
	}
	t.table.Store(made)
	return made
}

// termRunner gives the scores of a term of a text field.
type termRunner struct {
	postings segment.Iterator
	// docs[at:n] and their freqs are read and not yet scored.
	batch
	at, n  int
	norms  []byte
	scorer rank.Scorer
	table  *scoreTable // nil where it does not pay
}

// batch is what is read from postings at a time.
type batch struct{ docs, freqs [256]uint32 }

func (t *termClause) open(s *scoring, _ bool) (runner, error) {
	if t.kind == ofUnits && !s.shown {
		return s.openShown(t.units, t)
	}
	var postings segment.Postings
	f := s.part.Segment.Field(t.field.Name)
	there := false
	if f != nil {
		postings, there = f.Term(t.term)
	}
	if t.field.Type != query.Text {
		return t.openKeyword(s, postings, there)
	}
	if !there {
		return nil, nil
	}
	r := &termRunner{postings: postings.Iterator(), norms: s.lengthNorms(f), scorer: t.scorer}
	if postings.Len() >= tableFrom {
		r.table = t.scores()
	}
	return r, nil
}

// openKeyword opens a term that scores alike in all documents, some of which may have it by a rule.
func (t *termClause) openKeyword(s *scoring, own segment.Postings, there bool) (runner, error) {
	var sets []set
	if there {
		sets = append(sets, borrowed(own.Bitmap()))
	}
	for _, m := range t.members {
		docs, err := m.docs(s.ctx, s.corpus, s.part)
		if err != nil {
			return nil, err
		}
		sets = append(sets, borrowed(docs))
	}
	docs := or(sets)
	if docs.isEmpty() {
		return nil, nil
	}
	return &bitRunner{words: dense(docs.bitmap, s.part.Segment.Len()), score: float64(t.scorer.Score(1, rank.NoNorm))}, nil
}

func (r *termRunner) add(b *block, to *sums) {
	for {
		for r.at < r.n && r.docs[r.at] < b.from {
			r.at++
		}
		end := r.at
		for end < r.n && r.docs[end] < b.to {
			end++
		}
		r.score(r.docs[r.at:end], r.freqs[r.at:end], to)
		if r.at = end; end < r.n {
			return
		}
		if r.at, r.n = 0, r.postings.NextMany(r.docs[:], r.freqs[:]); r.n == 0 {
			return
		}
	}
}

// score adds the scores of documents of one block.
func (r *termRunner) score(docs, freqs []uint32, to *sums) {
	freqs = freqs[:len(docs)]
	if r.table == nil {
		for i, doc := range docs {
			to[doc&(blockDocs-1)] += float64(r.scorer.Score(float32(freqs[i]), r.norms[doc]))
		}
		return
	}
	for i, doc := range docs {
		freq, norm := freqs[i], r.norms[doc]
		if freq < tableFreqs {
			to[doc&(blockDocs-1)] += float64(r.table[freq<<8|uint32(norm)])
		} else {
			to[doc&(blockDocs-1)] += float64(r.scorer.Score(float32(freq), norm))
		}
	}
}

// phraseRunner gives the scores of a phrase, which are worked out when it is opened.
type phraseRunner struct {
	docs   []uint32
	scores []float32
}

func (p *phraseClause) open(s *scoring, _ bool) (runner, error) {
	if p.kind == ofUnits && !s.shown {
		return s.openShown(p.units, p)
	}
	f := s.part.Segment.Field(p.field.Name)
	if f == nil {
		return nil, nil
	}
	hits, err := s.phrase(s.ctx, p.field, p.phrase, s.wanted)
	if err != nil || len(hits.docs) == 0 {
		return nil, err
	}
	norms := s.lengthNorms(f)
	r := &phraseRunner{docs: hits.docs, scores: make([]float32, len(hits.docs))}
	for i, doc := range hits.docs {
		r.scores[i] = p.scorer.Score(hits.freqs[i], norms[doc])
	}
	return r, nil
}

func (r *phraseRunner) add(b *block, to *sums) {
	i := 0
	for ; i < len(r.docs) && r.docs[i] < b.to; i++ {
		if r.docs[i] >= b.from {
			to[r.docs[i]&(blockDocs-1)] += float64(r.scores[i])
		}
	}
	r.docs, r.scores = r.docs[i:], r.scores[i:]
}

// sumRunner adds up the scores of several clauses by themselves first, rounded once.
type sumRunner struct {
	scoring *scoring
	runners []runner
}

func (s *termSetClause) open(sc *scoring, _ bool) (runner, error) {
	r := &sumRunner{scoring: sc}
	for _, t := range s.terms {
		one, err := t.open(sc, false)
		if err != nil {
			return nil, err
		}
		if one != nil {
			r.runners = append(r.runners, one)
		}
	}
	switch len(r.runners) {
	case 0:
		return nil, nil
	case 1:
		return r.runners[0], nil
	}
	return r, nil
}

func (r *sumRunner) add(b *block, to *sums) {
	own := r.scoring.take()
	for _, one := range r.runners {
		one.add(b, own)
	}
	for i, sum := range own {
		to[i] += float64(float32(sum))
	}
	r.scoring.give(own)
}

// bestRunner gives the highest score of several clauses.
type bestRunner struct {
	scoring *scoring
	runners []runner
}

func (c *bestClause) open(s *scoring, _ bool) (runner, error) {
	runners, err := openAll(s, c.clauses, false)
	if err != nil || len(runners) == 0 {
		return nil, err
	}
	return &bestRunner{scoring: s, runners: runners}, nil
}

func openAll(s *scoring, clauses []clause, required bool) ([]runner, error) {
	var runners []runner
	for _, c := range clauses {
		r, err := c.open(s, required)
		if err != nil {
			return nil, err
		}
		if r != nil {
			runners = append(runners, r)
		}
	}
	return runners, nil
}

func (r *bestRunner) add(b *block, to *sums) {
	high, one := r.scoring.take(), r.scoring.take()
	for i, runner := range r.runners {
		if i > 0 {
			clear(one[:])
		}
		runner.add(b, one)
		for i, score := range one {
			high[i] = max(high[i], score)
		}
	}
	for i, score := range high {
		to[i] += score
	}
	r.scoring.give(one)
	r.scoring.give(high)
}

// groupRunner adds up the scores of a group as rank.Sum does: required and optional ones each in double precision, then
// both in single precision.
type groupRunner struct {
	scoring      *scoring
	must, should []runner
	// words are the documents that the group matches; nil where all that its clauses give scores to are.
	words []uint64
}

func (g *groupClause) open(s *scoring, need bool) (runner, error) {
	r := &groupRunner{scoring: s}
	if !need && (len(g.must) > 0 || len(g.not) > 0) {
		var err error
		if r.words, err = s.find(g.match); r.words == nil {
			return nil, err
		}
	}
	var err error
	if r.must, err = openAll(s, g.must, true); err != nil {
		return nil, err
	}
	r.should, err = openAll(s, g.should, false)
	return r, err
}

func (r *groupRunner) add(b *block, to *sums) {
	must, should := r.scoring.take(), r.scoring.take()
	for _, one := range r.must {
		one.add(b, must)
	}
	for _, one := range r.should {
		one.add(b, should)
	}
	if r.words == nil {
		for i := range must {
			to[i] += float64(float32(must[i]) + float32(should[i]))
		}
	} else {
		first := int(b.from) / 64
		for i, word := range b.live {
			for word &= r.words[first+i]; word != 0; word &= word - 1 {
				at := (i*64 + bits.TrailingZeros64(word)) & (blockDocs - 1)
				to[at] += float64(float32(must[at]) + float32(should[at]))
			}
		}
	}
	r.scoring.give(should)
	r.scoring.give(must)
}

// shownRunner gives documents the score of the list of units that they show.
type shownRunner struct {
	lists  *unitLists
	scores []float64
}

// openShown scores the lists of units by a clause, and documents by their lists.
func (s *scoring) openShown(o *unitOverlay, c clause) (runner, error) {
	lists, err := o.lists(s.ctx, s.corpus, s.part)
	if err != nil {
		return nil, err
	}
	n := lists.segment.Len()
	within := &scoring{ctx: s.ctx, cache: s.cache, evaluation: evaluation{corpus: s.corpus, part: Part{Segment: lists.segment}, shown: true}}
	defer within.close()
	inner, err := c.open(within, false)
	if inner == nil {
		return nil, err
	}
	r := &shownRunner{lists: lists, scores: make([]float64, 0, n)}
	live := dense(everything(n).bitmap, n)
	for from := 0; from < n; from += blockDocs {
		b := newBlock(live, from, n)
		scores := within.take()
		inner.add(b, scores)
		r.scores = append(r.scores, scores[:b.to-b.from]...)
		within.give(scores)
	}
	return r, nil
}

func (r *shownRunner) add(b *block, to *sums) {
	if r.lists.of == nil {
		for i := range to {
			to[i] += r.scores[0]
		}
		return
	}
	for i, list := range r.lists.of[b.from:b.to] {
		to[i&(blockDocs-1)] += r.scores[list]
	}
}
