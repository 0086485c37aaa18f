package parity

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// segments is a subject that uses the engine's search over many small segments. Each segment also contains some items of another segment,
// marked as deleted, as after a change of these items. Deleted items must not affect results or statistics.
type segments struct {
	*walker
	corpus *search.Corpus
}

// segmentItems is the number of items in a segment, and segmentDead is the number of its deleted items. Both are prime, so that the
// boundaries of segments do not always fall on the same position in sequences of similar items.
const (
	segmentItems = 97
	segmentDead  = 13
)

func newSegments(docs []document, now time.Time) (*segments, error) {
	overlay := &search.Overlay{}
	units := map[int64]item.Unit{}
	for _, d := range docs {
		for _, u := range d.line.Units {
			if known, ok := units[u.ID]; ok && !bytes.Equal(item.EncodeUnit(known), item.EncodeUnit(u)) {
				return nil, fmt.Errorf("item %d has a unit %d that differs from the unit with this id in an earlier item: a property has only one of them", d.id, u.ID)
			}
			units[u.ID] = u
		}
	}
	for _, u := range units {
		overlay.Units = append(overlay.Units, search.UnitRule{Unit: u})
	}
	slices.SortFunc(overlay.Units, func(a, b search.UnitRule) int { return int(a.Unit.ID - b.Unit.ID) })
	s := &segments{walker: newWalker(docs, now), corpus: &search.Corpus{Overlay: overlay, Cache: search.NewCache(0)}}
	chunks := slices.Collect(slices.Chunk(docs, segmentItems))
	for i, chunk := range chunks {
		dead := chunks[(i+1)%len(chunks)]
		dead = dead[:min(len(dead), segmentDead)]
		if len(chunks) == 1 {
			dead = nil
		}
		var made []segment.Doc
		for _, d := range slices.Concat(chunk, dead) {
			made = append(made, segment.NewDoc(d.line.Item))
		}
		built, err := segment.Build(made)
		if err != nil {
			return nil, fmt.Errorf("build a segment: %w", err)
		}
		part := segment.Part{Segment: built, Dead: roaring.New()}
		for _, d := range dead {
			doc, _ := built.Find(d.id)
			part.Dead.Add(doc)
		}
		s.corpus.Parts = append(s.corpus.Parts, part)
	}
	return s, nil
}

func (s *segments) search(ctx context.Context, n query.Node, order query.Order) ([]hit, error) {
	p, err := s.plan(n)
	if err != nil {
		return nil, err
	}
	q, err := search.Bind(ctx, p.Root, s.corpus)
	if err != nil {
		return nil, err
	}
	by, err := s.corpus.Order(ctx, order, nil)
	if err != nil {
		return nil, fmt.Errorf("prepare the order: %w", err)
	}
	found, err := s.find(ctx, q, by, order)
	if err != nil {
		return nil, err
	}
	hits := make([]hit, len(found))
	for i, h := range found {
		hits[i] = hit{id: s.corpus.Parts[h.Part].Segment.ID(h.Doc), score: float64(h.Score)}
	}
	return hits, nil
}

func (s *segments) find(ctx context.Context, q *search.Query, by *search.Order, order query.Order) ([]search.Hit, error) {
	if order.Scored() {
		return q.Ordered(ctx, by)
	}
	var found []search.Hit
	for i, part := range s.corpus.Parts {
		docs, err := q.Match(ctx, part)
		if err != nil {
			return nil, err
		}
		for it := docs.Docs().Iterator(); it.HasNext(); {
			if doc := it.Next(); !part.Dead.Contains(doc) {
				found = append(found, search.Hit{Part: i, Doc: doc})
			}
		}
	}
	slices.SortFunc(found, by.Compare)
	return found, nil
}

func (s *segments) explain(ctx context.Context, n query.Node, id int64) (library.Explanation, error) {
	p, err := s.plan(n)
	if err != nil {
		return library.Explanation{}, err
	}
	return eval.Explain(ctx, s.corpus.Statistics(), p.Root, s.docs[id])
}

// TestSegments checks that both libraries return the same hits with the same scores.
func TestSegments(t *testing.T) {
	now := time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)
	docs := corpus(t)
	reference, engine := newWalker(docs, now), must(newSegments(docs, now))(t)
	for _, q := range append(questions(curated), orders()...) {
		order, err := query.ParseOrder(cmp.Or(q.order, byRelevance))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := query.Parse(q.text)
		if err != nil {
			continue // both sides reject the query before the search
		}
		want, refusal := reference.search(t.Context(), parsed.Root, order)
		got, err := engine.search(t.Context(), parsed.Root, order)
		if (err != nil) != (refusal != nil) {
			t.Errorf("%s: the engine says %v, the reference %v", q.text, err, refusal)
		}
		equal := func(a, b hit) bool { return a.id == b.id && (a.score == b.score || !order.Scored()) }
		if !slices.EqualFunc(got, want, equal) {
			t.Errorf("%s: the hits differ: %d of the engine, %d of the reference", q.text, len(got), len(want))
		}
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
