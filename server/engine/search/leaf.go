package search

import (
	"context"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query"
)

// leaf is a test of a field, together with the values that the overlay adds to the field.
type leaf struct {
	field query.Field
	kind  kind
	test  test
	// members are the tag rules that add a tag that passes the test.
	members []*member
	// units is set if the values of the field come from the units that an item shows.
	units *unitOverlay
}

// expensive is the lowest price of a leaf whose result is kept in evaluation.sets.
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

// count implements counter. It counts only exact terms that do not depend on the overlay.
func (l *leaf) count(_ context.Context, e *evaluation) (int64, bool) {
	t, ok := l.test.(*words)
	if !ok || l.kind == ofUnits || len(l.members) > 0 {
		return 0, false
	}
	f := e.part.Segment.Field(l.field.Name)
	if f == nil {
		return 0, true
	}
	return t.count(e.part, f)
}

// uniter returns the test if it is a uniter and the leaf does not depend on the overlay.
func (l *leaf) uniter() (uniter, bool) {
	t, ok := l.test.(uniter)
	return t, ok && l.kind != ofUnits && len(l.members) == 0
}

func (l *leaf) look(ctx context.Context, e *evaluation, within *roaring.Bitmap) (set, error) {
	if err := interrupted(ctx); err != nil {
		return set{}, err
	}
	if p, ok := e.term(l); ok {
		if p.Len() == 0 {
			return set{}, nil
		}
		return borrowed(p.Bitmap()), nil
	}
	if l.kind == ofUnits && !e.shown {
		return l.findByUnits(ctx, e)
	}
	if p, ok := l.test.(*phrase); ok {
		hits, err := e.phrase(ctx, l.field, p, within)
		return hits.set(), err
	}
	if t, ok := l.test.(*intRange); ok && e.caches() {
		if f := e.part.Segment.Field(l.field.Name); f != nil && t.oneInColumn(f) {
			return l.findNumber(ctx, e, f, t.lo)
		}
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

// findNumber returns the documents with a number. The Cache keeps them, because many queries share a number such as a campaign, and finding
// it means to scan a column.
func (l *leaf) findNumber(ctx context.Context, e *evaluation, f *segment.Field, number int64) (set, error) {
	v, err := e.corpus.view(ctx, e.part, "number "+string(l.appendKey(nil)), func() (*roaring.Bitmap, error) {
		return f.IntRange(number, number), nil
	})
	if err != nil {
		return set{}, err
	}
	return borrowed(v.docs), nil
}

// findByUnits returns the documents that show a list of units that passes the test.
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
	key = strconv.AppendQuote(key, l.field.Name) // quoted, because a tag namespace can contain any character
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
