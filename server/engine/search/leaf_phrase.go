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
	lists, plain, all, err := t.candidates(ctx, e, f, within)
	if err != nil || all == nil {
		return err
	}
	// Read the positions of each distinct word once, even if the phrase repeats the word.
	words := make([]*segment.Occurrences, len(t.words))
	positions := make([][]uint32, len(t.words))
	first := make([]int, len(t.words))
	for i := range words {
		if first[i] = slices.Index(t.words, t.words[i]); first[i] == i {
			words[i] = lists[i].Occurrences(all.most, plain[i])
		}
	}
	looked := 0
	for doc := range all.docs {
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

// candidates holds the documents that contain all words of a phrase, in ascending order. Their number is at most `most`.
type candidates struct {
	docs iter.Seq[uint32]
	most int
}

// candidates returns the postings of the words, and the documents that contain all words, or nil if there are none. If all words are frequent
// terms, it also returns their plain bits. Otherwise, the elements of plain are nil.
func (t *phrase) candidates(
	ctx context.Context, e *evaluation, f *segment.Field, within *roaring.Bitmap,
) (lists []segment.Postings, plain [][]uint64, all *candidates, err error) {
	lists, plain = make([]segment.Postings, len(t.words)), make([][]uint64, len(t.words))
	order := make([]int, len(t.words))
	for i, w := range t.words {
		p, ok := f.Term(w)
		if !ok {
			return nil, nil, nil, nil
		}
		lists[i], order[i] = p, i
	}
	// Intersect the rarest words first to keep the intermediate results small.
	slices.SortStableFunc(order, func(i, j int) int { return lists[i].Len() - lists[j].Len() })
	rarest := lists[order[0]]
	if e.caches() && e.isFrequent(rarest) {
		common := &frequent{}
		for i, p := range lists {
			if plain[i], err = e.termBits(ctx, f, t.words[i], p); err != nil {
				return nil, nil, nil, err
			}
			common.in = append(common.in, plain[i:i+1])
		}
		if within == nil {
			return lists, plain, &candidates{common.docs, rarest.Len()}, nil
		}
	}
	found := borrowed(rarest.Bitmap())
	if within != nil {
		found = and(borrowed(within), found)
	}
	for _, i := range order[1:] {
		if found = and(found, borrowed(lists[i].Bitmap())); found.isEmpty() {
			return nil, nil, nil, nil
		}
	}
	return lists, plain, &candidates{found.docs, int(found.len())}, nil
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
