package search

import (
	"context"
	"math/bits"
	"slices"

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

// blockBits is the number of words with one bit for each document of a block.
const blockBits = blockDocs / 64

// block is the documents that are scored at a time.
type block struct {
	from uint32 // the first
	to   uint32 // behind the last
	// live are the documents whose scores are wanted, one bit each.
	live []uint64
	// touched are those that a runner has given a score, and maybe others.
	touched [blockBits]uint64
	// total is the number of documents wanted in the whole part.
	total int64
	// base is what every document gets on top; nil for nothing.
	base *float32
}

// blocks goes through the blocks with documents that are wanted.
type blocks struct {
	block
	n int
	// words holds one bit for each document. Where few are wanted, it is nil, docs are those left, and few is of one block.
	words *[]uint64
	docs  []uint32
	few   [blockBits]uint64
	// after is where the block behind the present one begins.
	after uint32
}

// fewShare is the number of documents for each wanted one from which on wanted ones are few.
const fewShare = 64

// newBlocks returns the blocks of n documents with those of a set that are not among the dead.
func newBlocks(set *roaring.Bitmap, dead []uint64, n int, c *Cache) *blocks {
	s := &blocks{n: n}
	if found := set.GetCardinality(); found < uint64(n/fewShare) {
		s.docs = set.ToArray()
		if dead != nil {
			s.docs = slices.DeleteFunc(s.docs, func(doc uint32) bool { return dead[doc/64]>>(doc%64)&1 != 0 })
		}
		s.total = int64(len(s.docs))
		return s
	}
	s.words = c.newBits(denseWords(n))
	clear(*s.words)
	set.WriteDenseTo(*s.words)
	for i, gone := range dead {
		(*s.words)[i] &^= gone
	}
	for _, word := range *s.words {
		s.total += int64(bits.OnesCount64(word))
	}
	return s
}

func (s *blocks) close(c *Cache) {
	if s.words != nil {
		c.putBits(s.words)
	}
}

// next goes to the next block; false at the end.
func (s *blocks) next() bool {
	if s.words == nil {
		if len(s.docs) == 0 {
			return false
		}
		s.move(s.docs[0] / blockDocs * blockDocs)
		s.few = [blockBits]uint64{}
		s.live = s.few[:]
		i := 0
		for ; i < len(s.docs) && s.docs[i] < s.to; i++ {
			s.live[s.docs[i]/64%blockBits] |= 1 << (s.docs[i] % 64)
		}
		s.docs = s.docs[i:]
		return true
	}
	for from := s.after; int(from) < s.n; from += blockDocs {
		live := (*s.words)[from/64 : from/64+blockBits]
		for _, word := range live {
			if word != 0 {
				s.move(from)
				s.live = live
				return true
			}
		}
	}
	return false
}

// move goes to the block that begins at a document.
func (s *blocks) move(from uint32) {
	s.after = from + blockDocs
	s.from, s.to = from, min(s.after, uint32(s.n))
	s.touched = [blockBits]uint64{}
}

// touch marks a document.
func (b *block) touch(doc uint32) {
	b.touched[doc/64%blockBits] |= 1 << (doc % 64)
}

// touchAll marks all documents.
func (b *block) touchAll() {
	for i := range b.touched {
		b.touched[i] = ^uint64(0)
	}
}

// score is what a sum comes to.
func (b *block) score(sum float64) float32 {
	if b.base != nil {
		return *b.base + float32(sum)
	}
	return float32(sum)
}

// clear sets the sums of touched documents back to nothing.
func (b *block) clear(scores *sums) {
	for w, word := range b.touched {
		switch {
		case word == 0:
		case bits.OnesCount64(word) > 8:
			clear(scores[w*64 : w*64+64])
		default:
			for ; word != 0; word &= word - 1 {
				scores[(w*64+bits.TrailingZeros64(word))&(blockDocs-1)] = 0
			}
		}
	}
}

// runner gives the scores of a clause in one part, block by block in rising order, blocks left out at will.
type runner interface {
	// add adds the score of each document that matches to its sum, exactly one float32 for each runner and document, and
	// touches it. Documents that are not live may be given anything.
	add(b *block, to *sums)
	// most returns a score that no document of the block gets more than; it may be infinite.
	most(b *block) float64
}

// scoring is one look at one part for scores.
type scoring struct {
	evaluation
	// wanted are the documents to be scored; nil for all.
	wanted *roaring.Bitmap
	spare  []*sums
}

// take returns an array of zeros, and give takes it back.
func (s *scoring) take() *sums {
	n := len(s.spare)
	if n == 0 {
		return s.corpus.Cache.newSums()
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
		s.corpus.Cache.putSums(a)
	}
}

// find returns the documents of a node as one bit each.
func (s *scoring) find(ctx context.Context, n node) ([]uint64, error) {
	found, err := n.find(ctx, &s.evaluation, s.wanted)
	if err != nil || found.isEmpty() {
		return nil, err
	}
	return dense(found.bitmap, s.part.Segment.Len()), nil
}

// lengthNorms returns the length norm of a text field by document. Those of lists of units are few, and go with them.
func (s *scoring) lengthNorms(f *segment.Field) norms {
	if s.shown {
		return readNorms(s.part.Segment, f)
	}
	return s.corpus.of(s.part).lengthNorms(s.part.Segment, f)
}

// dense writes a set as one bit for each of n documents.
func dense(b *roaring.Bitmap, n int) []uint64 {
	words := make([]uint64, denseWords(n))
	b.WriteDenseTo(words)
	return words
}

// denseWords is the number of words with one bit for each of n documents, up to the end of their last block.
func denseWords(n int) int { return (n + blockDocs - 1) / blockDocs * blockBits }

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
		b.touched[i] |= word
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

func (r *bitRunner) most(*block) float64 { return r.score }

func (r *bitRunner) least() float64 { return r.score }

func (c *constantClause) open(ctx context.Context, s *scoring, required bool) (runner, error) {
	if c.score == 0 {
		return nil, nil
	}
	if _, everything := c.node.(all); everything || required {
		return &bitRunner{score: float64(c.score)}, nil
	}
	words, err := s.find(ctx, c.node)
	if words == nil {
		return nil, err
	}
	return &bitRunner{words: words, score: float64(c.score)}, nil
}

func (nothing) open(context.Context, *scoring, bool) (runner, error) { return nil, nil }

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

// score returns what the scorer of the table gives.
func (t *scoreTable) score(s rank.Scorer, freq uint32, norm byte) float64 {
	if freq < tableFreqs {
		return float64(t[freq<<8|uint32(norm)])
	}
	return float64(s.Score(float32(freq), norm))
}

// termRunner gives the scores of a term of a text field.
type termRunner struct {
	postings segment.Iterator
	// docs[at:n] and their freqs are read and not yet scored.
	batch
	at, n  int
	norms  norms
	scorer rank.Scorer
	table  *scoreTable // nil where it does not pay
}

// batch is what is read from postings at a time.
type batch struct{ docs, freqs [256]uint32 }

func (t *termClause) open(ctx context.Context, s *scoring, _ bool) (runner, error) {
	if err := interrupted(ctx); err != nil {
		return nil, err
	}
	if t.kind == ofUnits && !s.shown {
		return s.openShown(ctx, t.units, t)
	}
	var postings segment.Postings
	f := s.part.Segment.Field(t.field.Name)
	there := false
	if f != nil {
		postings, there = f.Term(t.term)
	}
	if t.field.Type != query.Text {
		return t.openKeyword(ctx, s, postings, there)
	}
	if !there {
		return nil, nil
	}
	frequent, err := t.openFrequent(ctx, s, f, postings)
	if err != nil {
		return nil, err
	}
	if frequent != nil {
		return frequent, nil
	}
	r := &termRunner{postings: postings.Iterator(), norms: s.lengthNorms(f), scorer: t.scorer}
	if postings.Len() >= tableFrom {
		r.table = t.scores()
	}
	return r, nil
}

// openKeyword opens a term that scores alike in all documents, some of which may have it by a rule.
func (t *termClause) openKeyword(ctx context.Context, s *scoring, own segment.Postings, there bool) (runner, error) {
	var sets []set
	if there {
		sets = append(sets, borrowed(own.Bitmap()))
	}
	for _, m := range t.members {
		docs, err := m.docs(ctx, s.corpus, s.part)
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
		r.score(r.docs[r.at:end], r.freqs[r.at:end], b, to)
		if r.at = end; end < r.n {
			return
		}
		if r.at, r.n = 0, r.postings.NextMany(r.docs[:], r.freqs[:]); r.n == 0 {
			return
		}
	}
}

func (r *termRunner) most(b *block) float64 {
	for r.at < r.n && r.docs[r.at] < b.from {
		r.at++
	}
	if r.at < r.n && r.docs[r.at] >= b.to {
		return 0
	}
	return float64(r.scorer.Most())
}

func (r *termRunner) least() float64 { return float64(r.scorer.Score(1, r.norms.longest)) }

// score adds the scores of documents of one block.
func (r *termRunner) score(docs, freqs []uint32, b *block, to *sums) {
	freqs = freqs[:len(docs)]
	if r.table == nil {
		for i, doc := range docs {
			b.touch(doc)
			to[doc&(blockDocs-1)] += float64(r.scorer.Score(float32(freqs[i]), r.norms.byDoc[doc]))
		}
		return
	}
	for i, doc := range docs {
		b.touch(doc)
		freq, norm := freqs[i], r.norms.byDoc[doc]
		to[doc&(blockDocs-1)] += r.table.score(r.scorer, freq, norm)
	}
}

// phraseRunner gives the scores of a phrase, which are worked out when it is opened.
type phraseRunner struct {
	docs   []uint32
	scores []float32
	// low and high are the lowest and the highest of all scores.
	low, high float32
}

func (p *phraseClause) open(ctx context.Context, s *scoring, _ bool) (runner, error) {
	if p.kind == ofUnits && !s.shown {
		return s.openShown(ctx, p.units, p)
	}
	f := s.part.Segment.Field(p.field.Name)
	if f == nil {
		return nil, nil
	}
	hits, err := s.phrase(ctx, p.field, p.phrase, s.wanted)
	if err != nil || len(hits.docs) == 0 {
		return nil, err
	}
	norms := s.lengthNorms(f)
	r := &phraseRunner{docs: hits.docs, scores: make([]float32, len(hits.docs))}
	for i, doc := range hits.docs {
		r.scores[i] = p.scorer.Score(hits.freqs[i], norms.byDoc[doc])
	}
	r.low, r.high = slices.Min(r.scores), slices.Max(r.scores)
	return r, nil
}

func (r *phraseRunner) most(b *block) float64 {
	for len(r.docs) > 0 && r.docs[0] < b.from {
		r.docs, r.scores = r.docs[1:], r.scores[1:]
	}
	if len(r.docs) == 0 || r.docs[0] >= b.to {
		return 0
	}
	return float64(r.high)
}

func (r *phraseRunner) least() float64 { return float64(r.low) }

func (r *phraseRunner) add(b *block, to *sums) {
	i := 0
	for ; i < len(r.docs) && r.docs[i] < b.to; i++ {
		if r.docs[i] >= b.from {
			b.touch(r.docs[i])
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

func (s *termSetClause) open(ctx context.Context, sc *scoring, _ bool) (runner, error) {
	r := &sumRunner{scoring: sc}
	for _, t := range s.terms {
		one, err := t.open(ctx, sc, false)
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

func (r *sumRunner) most(b *block) float64 { return float64(float32(mostOf(r.runners, b))) }

// mostOf is the most that a document can get from several runners.
func mostOf(runners []runner, b *block) float64 {
	most := 0.0
	for _, r := range runners {
		most += r.most(b)
	}
	return most
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

func (c *bestClause) open(ctx context.Context, s *scoring, _ bool) (runner, error) {
	runners, err := openAll(ctx, s, c.clauses, false)
	if err != nil || len(runners) == 0 {
		return nil, err
	}
	return &bestRunner{scoring: s, runners: runners}, nil
}

func openAll(ctx context.Context, s *scoring, clauses []clause, required bool) ([]runner, error) {
	var runners []runner
	for _, c := range clauses {
		r, err := c.open(ctx, s, required)
		if err != nil {
			return nil, err
		}
		if r != nil {
			runners = append(runners, r)
		}
	}
	return runners, nil
}

func (r *bestRunner) most(b *block) float64 {
	most := 0.0
	for _, r := range r.runners {
		most = max(most, r.most(b))
	}
	return most
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

func (g *groupClause) open(ctx context.Context, s *scoring, need bool) (runner, error) {
	r := &groupRunner{scoring: s}
	if !need && (len(g.must) > 0 || len(g.not) > 0) {
		var err error
		if r.words, err = s.find(ctx, g.match); r.words == nil {
			return nil, err
		}
	}
	var err error
	if r.must, err = openAll(ctx, s, g.must, true); err != nil {
		return nil, err
	}
	r.should, err = openAll(ctx, s, g.should, false)
	return r, err
}

func (r *groupRunner) most(b *block) float64 {
	return float64(float32(mostOf(r.must, b)) + float32(mostOf(r.should, b)))
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
	scores []float64 // by list
	high   float64
}

// openShown scores the lists of units by a clause, and documents by their lists.
func (s *scoring) openShown(ctx context.Context, o *unitOverlay, c clause) (runner, error) {
	lists, err := o.lists(ctx, s.corpus, s.part)
	if err != nil {
		return nil, err
	}
	n := lists.segment.Len()
	within := &scoring{evaluation: evaluation{corpus: s.corpus, part: segment.Part{Segment: lists.segment}, shown: true}}
	defer within.close()
	inner, err := c.open(ctx, within, false)
	if inner == nil {
		return nil, err
	}
	r := &shownRunner{lists: lists, scores: make([]float64, 0, n)}
	all := newBlocks(everything(n).bitmap, nil, n, s.corpus.Cache)
	defer all.close(s.corpus.Cache)
	for all.next() {
		scores := within.take()
		inner.add(&all.block, scores)
		r.scores = append(r.scores, scores[:all.to-all.from]...)
		within.give(scores)
	}
	r.high = slices.Max(r.scores) // there is one at least: inner is there
	return r, nil
}

func (r *shownRunner) most(*block) float64 { return r.high }

func (r *shownRunner) add(b *block, to *sums) {
	b.touchAll()
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
