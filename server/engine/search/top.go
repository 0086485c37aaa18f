package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/eval"
)

// Top returns the k best hits by relevance: the highest score first, then the newest created_on, then the highest ID. It also returns the
// number of hits in each part. If the parameter `after` is not nil, Top returns the k best hits that come after that place. The place must
// have a score as its only sort value. The counts include all hits in any case.
func (q *Query) Top(ctx context.Context, k int, after *eval.Place) (hits []Hit, counts []int64, err error) {
	best := &weakestFirst{corpus: q.corpus, most: k, after: q.corpus.ceiling(after)}
	// Score the largest part first. Its hits set a high bar, so that most documents of the other parts are skipped.
	parts := make([]int, len(q.corpus.Parts))
	for i := range parts {
		parts[i] = i
	}
	slices.SortFunc(parts, func(i, j int) int {
		return cmp.Compare(q.corpus.Parts[j].Segment.Len(), q.corpus.Parts[i].Segment.Len())
	})
	counts = make([]int64, len(parts))
	for _, i := range parts {
		counts[i], err = q.score(ctx, i, best, func(b *block, scores *sums) { best.offerBlock(i, b, scores) })
		if err != nil {
			return nil, nil, err
		}
	}
	slices.SortFunc(best.hits, q.corpus.compareHits)
	return best.hits, counts, nil
}

// Score returns the score of one live document. It returns false if the query does not match the document.
func (q *Query) Score(ctx context.Context, part int, doc uint32) (score float32, matches bool, err error) {
	s := q.scoring(part)
	defer s.close()
	matched, err := q.matchWith(ctx, &s.evaluation)
	if err != nil || !matched.docs.Contains(doc) {
		return 0, false, err
	}
	s.wanted = roaring.BitmapOf(doc)
	only := newBlocks(s.wanted, q.corpus.of(s.part).deadWords(s.part), s.part.Segment.Len(), q.corpus.Cache)
	defer only.close(q.corpus.Cache)
	_, err = q.scoreBlocks(ctx, s, part, only, nil, func(b *block, scores *sums) {
		b.each(scores, func(h Hit) { score, matches = h.Score, true })
	})
	return score, matches, err
}

// Scores calls yield with each live match of a part and its score, in ascending order of documents.
func (q *Query) Scores(ctx context.Context, part int, yield func(doc uint32, score float32)) error {
	_, err := q.score(ctx, part, nil, func(b *block, scores *sums) {
		b.each(scores, func(h Hit) { yield(h.Doc, h.Score) })
	})
	return err
}

// Ranking returns all hits by relevance, in the order of Top. The hits take 16 bytes each, and twice as much during sorting.
func (q *Query) Ranking(ctx context.Context) ([]Hit, error) {
	runs, err := q.runs(ctx)
	if err != nil {
		return nil, err
	}
	return byScore(q.corpus.inOrder(runs)), nil
}

// runs returns the hits of each part in ascending order of documents.
func (q *Query) runs(ctx context.Context) ([][]Hit, error) {
	runs := make([][]Hit, len(q.corpus.Parts))
	for i := range runs {
		_, err := q.score(ctx, i, nil, func(b *block, scores *sums) {
			if runs[i] == nil {
				runs[i] = make([]Hit, 0, b.total)
			}
			b.each(scores, func(h Hit) {
				h.Part = i
				runs[i] = append(runs[i], h)
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// score computes the scores of a part and returns the number of live documents that match. It reuses the block and the scores that it
// passes to yield. If best is not nil, score may skip documents and blocks that cannot be among the best.
func (q *Query) score(ctx context.Context, part int, best *weakestFirst, yield func(b *block, scores *sums)) (int64, error) {
	s := q.scoring(part)
	defer s.close()
	blocks, err := q.blocks(ctx, s)
	if err != nil {
		return 0, err
	}
	defer blocks.close(q.corpus.Cache)
	return q.scoreBlocks(ctx, s, part, blocks, best, yield)
}

// blocks returns the blocks of all live documents of a part that match. For a frequent term, and for a disjunction of a few terms of which
// at least one is frequent, it makes no view of the matches: the bits of frequent terms can be combined again as fast as a view can be
// read.
func (q *Query) blocks(ctx context.Context, s *scoring) (*blocks, error) {
	d, n, c := q.corpus.of(s.part), s.part.Segment.Len(), q.corpus.Cache
	words, err := s.plain(ctx, q.match)
	if err != nil {
		return nil, fmt.Errorf("match a segment: %w", err)
	}
	if words != nil {
		s.matched = func(ctx context.Context) (*View, error) { return q.matchWith(ctx, &s.evaluation) }
		return plainBlocks(words, d.deadWords(s.part), n), nil
	}
	matched, err := q.matchWith(ctx, &s.evaluation)
	if err != nil {
		return nil, err
	}
	s.wanted = matched.docs
	return newBlocks(matched.docs, d.deadWords(s.part), n, c), nil
}

func (q *Query) scoring(part int) *scoring {
	return &scoring{evaluation: evaluation{
		corpus: q.corpus, part: q.corpus.Parts[part], phrases: map[string]*phraseHits{}, sets: map[string]set{},
	}}
}

// scoreBlocks is like score, but it considers only the documents of the blocks. All of them must match.
func (q *Query) scoreBlocks(
	ctx context.Context, s *scoring, part int, blocks *blocks, best *weakestFirst, yield func(b *block, scores *sums),
) (int64, error) {
	if blocks.block.total == 0 {
		return 0, nil
	}
	root, err := q.rankedRoot(ctx)
	if err != nil {
		return 0, err
	}
	r, err := root.open(ctx, s, true)
	if err != nil {
		return 0, fmt.Errorf("score a segment: %w", err)
	}
	b := &blocks.block
	runners, alternatives, base := rootRunners(r)
	b.base = base
	race := newContest(runners, alternatives, best, part)
	scores := s.take()
	defer s.give(scores)
	for blocks.next() {
		if err := interrupted(ctx); err != nil {
			return 0, fmt.Errorf("score a segment: %w", err)
		}
		if race.add(b, scores) {
			yield(b, scores)
		}
		b.clear(scores)
	}
	return b.total, nil
}

// rootRunners returns runners whose scores add up to the score of the root runner (see block.score). Where rounding allows it, these are
// the runners of the root's clauses, so that the root needs no sums of its own. If alternatives is true, a document may have scores
// from only some of the runners. If the required clauses give every document the same score, base is that score. Otherwise it is nil.
func rootRunners(r runner) (runners []runner, alternatives bool, base *float32) {
	switch root := r.(type) {
	case nil:
		return nil, false, nil
	case *groupRunner:
		switch {
		case root.words != nil:
		case len(root.must) == 0 && len(root.should) == 1:
			return rootRunners(root.should[0])
		case len(root.should) == 0 && len(root.must) == 1:
			return rootRunners(root.must[0])
		case len(root.must) == 0:
			return root.should, true, nil
		case len(root.should) == 0:
			return root.must, false, nil
		default:
			if base, ok := constant(root.must); ok {
				return root.should, true, &base
			}
		}
	case *sumRunner:
		return root.runners, true, nil
	}
	return []runner{r}, false, nil
}

// constant returns the sum of the runners' scores if each runner gives all documents the same score. Otherwise it returns false.
func constant(runners []runner) (float32, bool) {
	sum := 0.0
	for _, r := range runners {
		same, ok := r.(*bitRunner)
		if !ok || same.words != nil {
			return 0, false
		}
		sum += same.score
	}
	return float32(sum), true
}

// rankedRoot returns the root clause, which it binds on first use.
func (q *Query) rankedRoot(ctx context.Context) (clause, error) {
	return q.ranked.Get(ctx, func() (clause, error) {
		c, err := q.binder.ranked(ctx, q.root, 1)
		if err != nil {
			return nil, fmt.Errorf("bind the scores of the query: %w", err)
		}
		q.binder = nil
		return c, nil
	})
}

// byScore is a stable radix sort of hits by score, with the highest score first. If the hits are in the default order, hits with equal
// scores stay in that order.
func byScore(hits []Hit) []Hit {
	every, some := ^uint32(0), uint32(0)
	for i := range hits {
		bits := falling(hits[i].Score)
		every &= bits
		some |= bits
	}
	const digit = 11
	var other []Hit
	for shift := 0; shift < 32; shift += digit {
		if (every^some)>>shift&(1<<digit-1) == 0 {
			continue // all hits have the same digit
		}
		if other == nil {
			other = make([]Hit, len(hits))
		}
		var counts [1 << digit]int
		for i := range hits {
			counts[falling(hits[i].Score)>>shift&(1<<digit-1)]++
		}
		at := 0
		for i, n := range counts {
			counts[i] = at
			at += n
		}
		for i := range hits {
			d := falling(hits[i].Score) >> shift & (1<<digit - 1)
			other[counts[d]] = hits[i]
			counts[d]++
		}
		hits, other = other, hits
	}
	return hits
}

// inOrder merges the hits of the parts into the default order. In each part, the hits are in ascending order of documents.
func (c *Corpus) inOrder(runs [][]Hit) []Hit {
	total := 0
	var heads []head
	for _, run := range runs {
		if len(run) > 0 {
			heads = append(heads, head{segment: c.Parts[run[0].Part].Segment, run: run})
			heads[len(heads)-1].look()
			total += len(run)
		}
	}
	if len(heads) == 1 {
		return heads[0].run
	}
	merged := make([]Hit, 0, total)
	for len(heads) > 0 {
		// Parts mostly cover different times, so copy hits of the first head as long as they come before the second head.
		first, second := 0, -1
		for i := 1; i < len(heads); i++ {
			switch {
			case heads[i].before(&heads[first]):
				first, second = i, first
			case second < 0 || heads[i].before(&heads[second]):
				second = i
			}
		}
		h := &heads[first]
		for {
			merged = append(merged, h.run[0])
			if h.run = h.run[1:]; len(h.run) == 0 {
				heads = slices.Delete(heads, first, first+1)
				break
			}
			if h.look(); second >= 0 && !h.before(&heads[second]) {
				break
			}
		}
	}
	return merged
}

// head is the part of a run that is not merged yet, with the created_on of its first hit.
type head struct {
	segment *segment.Segment
	run     []Hit
	created int64
}

func (h *head) look() { h.created = h.segment.Created(h.run[0].Doc) }

func (h *head) before(o *head) bool {
	if h.created != o.created {
		return h.created > o.created
	}
	return h.segment.ID(h.run[0].Doc) > o.segment.ID(o.run[0].Doc)
}

// falling maps scores to numbers that rise as the scores fall. NaN comes last, because it is the lowest value in cmp.Compare.
func falling(score float32) uint32 {
	const sign = 1 << 31
	b := math.Float32bits(score)
	switch {
	case math.IsNaN(float64(score)):
		return math.MaxUint32
	case score == 0:
		return sign - 1 // +0 or -0
	case b >= sign:
		return b
	}
	return sign - 1 - b
}

func mergeRuns(runs [][]Hit, compare func(a, b Hit) int) []Hit {
	runs = slices.DeleteFunc(runs, func(r []Hit) bool { return len(r) == 0 })
	for len(runs) > 1 {
		// Merge adjacent runs in pairs, so that every hit is copied only about log2(len(runs)) times.
		var next [][]Hit
		for i := 0; i+1 < len(runs); i += 2 {
			next = append(next, mergeTwo(runs[i], runs[i+1], compare))
		}
		if len(runs)%2 == 1 {
			next = append(next, runs[len(runs)-1])
		}
		runs = next
	}
	if len(runs) == 0 {
		return nil
	}
	return runs[0]
}

func mergeTwo(a, b []Hit, compare func(a, b Hit) int) []Hit {
	merged := make([]Hit, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compare(a[0], b[0]) <= 0 {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	return append(append(merged, a...), b...)
}
