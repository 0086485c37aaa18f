package search

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// phrase is a test for a sequence of words.
type phrase struct {
	words   []string
	offsets []int
	slop    int
	matcher *rank.Phrase
}

func newPhrase(n plan.Phrase) *phrase {
	t := &phrase{slop: n.Slop}
	for _, w := range n.Words {
		t.words = append(t.words, w.Text)
		t.offsets = append(t.offsets, w.Position)
	}
	t.matcher = rank.NewPhrase(t.words, t.offsets, t.slop)
	return t
}

// find is called only for lists of units. Other callers use evaluation.phrase.
func (t *phrase) find(ctx context.Context, _ *segment.Segment, f *segment.Field, within *roaring.Bitmap) (set, error) {
	hits := &phraseHits{}
	err := t.walk(ctx, &evaluation{shown: true}, f, within, hits.add)
	return hits.set(), err
}

// walk yields each document that contains the phrase and the frequency of the phrase in the document. Documents are in ascending order.
// If within is not nil, walk skips documents that are not in within.
func (t *phrase) walk(
	ctx context.Context, e *evaluation, f *segment.Field, within *roaring.Bitmap, yield func(doc uint32, freq float32),
) error {
	c, err := t.candidates(ctx, e, f, within)
	if err != nil || c == nil {
		return err
	}
	// Read the positions of each distinct word once, even if the phrase repeats the word.
	words := make([]*segment.Occurrences, len(t.words))
	positions := make([][]uint32, len(t.words))
	first := make([]int, len(t.words))
	for i := range words {
		if first[i] = slices.Index(t.words, t.words[i]); first[i] == i {
			words[i] = c.lists[i].Occurrences(c.most, c.plain[i])
		}
	}
	looked := 0
	for doc := range c.docs {
		if looked++; looked%checkTerms == 0 {
			if err := interrupted(ctx); err != nil {
				return err
			}
		}
		for i := range positions {
			if first[i] == i {
				positions[i] = words[i].Positions(positions[i][:0], doc)
			} else {
				positions[i] = positions[first[i]]
			}
		}
		if freq := t.matcher.Freq(positions); freq > 0 {
			yield(doc, freq)
		}
	}
	return nil
}

// candidates holds the postings of the words of a phrase, and the documents that contain all of them.
type candidates struct {
	lists []segment.Postings
	// plain holds the plain bits of the words if all of them are frequent terms. Otherwise, its elements are nil.
	plain [][]uint64
	// docs yields the documents in ascending order. There are at most `most` of them.
	docs iter.Seq[uint32]
	most int
}

// candidates finds the documents that contain all words. It can return nil if there are none.
func (t *phrase) candidates(ctx context.Context, e *evaluation, f *segment.Field, within *roaring.Bitmap) (*candidates, error) {
	c := &candidates{lists: make([]segment.Postings, len(t.words)), plain: make([][]uint64, len(t.words))}
	order := make([]int, len(t.words))
	for i, w := range t.words {
		p, ok := f.Term(w)
		if !ok {
			return nil, nil
		}
		c.lists[i], order[i] = p, i
	}
	// Intersect the rarest words first to keep the intermediate results small.
	slices.SortStableFunc(order, func(i, j int) int { return c.lists[i].Len() - c.lists[j].Len() })
	rarest := c.lists[order[0]]
	if e.caches() && e.isFrequent(rarest) {
		common := &frequent{}
		for i, p := range c.lists {
			var err error
			if c.plain[i], err = e.termBits(ctx, f, t.words[i], p); err != nil {
				return nil, err
			}
			common.in = append(common.in, c.plain[i:i+1])
		}
		if within == nil {
			c.docs, c.most = common.docs, rarest.Len()
			return c, nil
		}
	}
	found := borrowed(rarest.Bitmap())
	if within != nil {
		found = and(borrowed(within), found)
	}
	for _, i := range order[1:] {
		if found = and(found, borrowed(c.lists[i].Bitmap())); found.isEmpty() {
			return nil, nil
		}
	}
	c.docs, c.most = found.docs, int(found.len())
	return c, nil
}

func (t *phrase) holds(string) bool { return false }

func (t *phrase) appendKey(key []byte) []byte {
	key = append(key, '"')
	for i, w := range t.words {
		key = strconv.AppendInt(key, int64(t.offsets[i]), 10)
		key = strconv.AppendQuote(key, w)
	}
	return strconv.AppendInt(append(key, '~'), int64(t.slop), 10)
}
func (t *phrase) price() int { return 50 }

// phraseHits holds the documents that contain a phrase, in ascending order, and the frequency of the phrase in each document.
type phraseHits struct {
	docs  []uint32
	freqs []float32
}

func (h *phraseHits) add(doc uint32, freq float32) {
	h.docs = append(h.docs, doc)
	h.freqs = append(h.freqs, freq)
}

func (h *phraseHits) set() set {
	if h == nil || len(h.docs) == 0 {
		return set{}
	}
	return owned(roaring.BitmapOf(h.docs...))
}

// phrase returns the hits of a phrase and reuses those in e.phrases. If within is not nil, it may leave out documents that are not in
// within.
func (e *evaluation) phrase(ctx context.Context, f query.Field, p *phrase, within *roaring.Bitmap) (*phraseHits, error) {
	key := string(p.appendKey([]byte(f.Name)))
	if hits := e.phrases[key]; hits != nil {
		return hits, nil
	}
	hits := &phraseHits{}
	if field := e.part.Segment.Field(f.Name); field != nil {
		if err := p.walk(ctx, e, field, within, hits.add); err != nil {
			return nil, fmt.Errorf("search %s: %w", f.Name, err)
		}
	}
	if within == nil && e.phrases != nil {
		e.phrases[key] = hits
	}
	return hits, nil
}
