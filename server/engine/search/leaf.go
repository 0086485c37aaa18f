package search

import (
	"context"
	"fmt"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query"
)

// test is what a leaf asks of one field. It is immutable.
type test interface {
	// find returns the documents of s that pass; f is the field there, never nil. Where within is not nil, documents
	// outside it may be left out.
	find(ctx context.Context, s *segment.Segment, f *segment.Field, within *roaring.Bitmap) (set, error)
	// holds reports whether a lower-cased keyword passes.
	holds(keyword string) bool
	// appendKey writes what the test asks: equal texts, equal tests.
	appendKey(key []byte) []byte
	// price is what find costs here.
	price() int
}

// hasTerms reports whether patterns, ranges of terms and fuzzy words find anything in a field.
func hasTerms(f query.Field) bool { return f.Type == query.Text || f.Type == query.Keyword }

// checkTerms is how many terms are looked at between two looks at the clock.
const checkTerms = 1024

// interrupted returns why a context has ended, nil where it has not.
func interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// leaf is a test of a field, bound to what the overlay adds to the field.
type leaf struct {
	field query.Field
	kind  kind
	test  test
	// members are the rules that put a passing tag on items.
	members []*member
	// units is what units show.
	units *unitOverlay
}

// expensive is the lowest price of a leaf whose documents are kept for its scores.
const expensive = 8

func (l *leaf) find(ctx context.Context, e *evaluation, within *roaring.Bitmap) (set, error) {
	if e.sets == nil || l.price() < expensive {
		return l.look(ctx, e, within)
	}
	key := string(l.appendKey(nil))
	if found, ok := e.sets[key]; ok {
		return borrowed(found.bitmap), nil
	}
	found, err := l.look(ctx, e, within)
	if err != nil || within != nil {
		return found, err
	}
	e.sets[key] = found
	return borrowed(found.bitmap), nil
}

func (l *leaf) look(ctx context.Context, e *evaluation, within *roaring.Bitmap) (set, error) {
	if l.kind == ofUnits && !e.shown {
		return l.findByUnits(ctx, e)
	}
	if p, ok := l.test.(*phrase); ok && within == nil && e.phrases != nil {
		hits, err := e.phrase(ctx, l.field, p, nil)
		return hits.set(), err
	}
	found, err := findIn(ctx, e.part.Segment, l.field, l.test, within)
	if err != nil || len(l.members) == 0 || e.shown {
		return found, err
	}
	sets := []set{found}
	for _, m := range l.members {
		docs, err := m.docs(ctx, e.corpus, e.part)
		if err != nil {
			return set{}, err
		}
		sets = append(sets, borrowed(docs))
	}
	return or(sets), nil
}

// findIn looks at what a segment itself holds.
func findIn(ctx context.Context, s *segment.Segment, f query.Field, t test, within *roaring.Bitmap) (set, error) {
	field := s.Field(f.Name)
	if field == nil {
		return set{}, nil
	}
	if err := interrupted(ctx); err != nil {
		return set{}, err
	}
	found, err := t.find(ctx, s, field, within)
	if err != nil {
		return set{}, fmt.Errorf("look for %s: %w", f.Name, err)
	}
	return found, nil
}

// findByUnits finds the documents that show a passing list of units.
func (l *leaf) findByUnits(ctx context.Context, e *evaluation) (set, error) {
	shown, err := l.units.lists(ctx, e.corpus, e.part)
	if err != nil {
		return set{}, err
	}
	passing, err := shown.find(ctx, l.field, l.test)
	if err != nil {
		return set{}, err
	}
	return shown.documents(passing), nil
}

func (l *leaf) price() int {
	price := l.test.price() + 2*len(l.members)
	if l.field.Name == query.CreatedOn {
		price = 1
	}
	return price
}

func (l *leaf) appendKey(key []byte) []byte {
	key = strconv.AppendQuote(key, l.field.Name) // a namespace can hold anything
	key = l.test.appendKey(key)
	switch l.kind {
	case ofTags:
		for i, m := range l.members {
			if i == 0 {
				key = append(key, " by "...)
			} else {
				key = append(key, ',')
			}
			key = strconv.AppendQuote(key, m.key)
		}
	case ofUnits:
		key = append(append(key, " of "...), l.units.key...)
	case ofItem:
	}
	return key
}
