package search

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// Boundary returns the first time after now at which the matches of a query that uses `now` may change, because the date of a document
// enters or leaves a moving range. The zero time means never. The function `build` returns the plan of the query at a given time. See
// plan.Boundary.
func (c *Corpus) Boundary(ctx context.Context, now time.Time, build func(time.Time) (plan.Node, error)) (time.Time, error) {
	roots := func(t time.Time) ([]plan.Node, error) {
		root, err := build(t)
		return []plan.Node{root}, err
	}
	at, err := plan.Boundary(now, roots, func(r plan.IntRange) (plan.Ends, error) { return c.endsAhead(ctx, r) })
	if err != nil {
		return time.Time{}, fmt.Errorf("find the next time at which the query's matches change: %w", err)
	}
	return at, nil
}

// endsAhead returns two dates of live documents: the next date that will leave the range, and the next date that will enter it.
func (c *Corpus) endsAhead(ctx context.Context, r plan.IntRange) (plan.Ends, error) {
	var e plan.Ends
	var err error
	if e.Leaving, e.Leave, err = c.nextDate(ctx, r.Field.Name, r.Lo); err != nil || r.Hi == math.MaxInt64 {
		return e, err
	}
	e.Entering, e.Enter, err = c.nextDate(ctx, r.Field.Name, r.Hi+1)
	return e, err
}

// nextDate returns the earliest date of a live document that is not before `from`.
func (c *Corpus) nextDate(ctx context.Context, field string, from int64) (next int64, ok bool, err error) {
	shown := c.kindOf(field) == ofUnits
	for _, p := range c.Parts {
		if err := interrupted(ctx); err != nil {
			return 0, false, err
		}
		v, found := int64(0), false
		if shown {
			v, found, err = c.nextShown(ctx, p, field, from)
		} else if f := p.Segment.Field(field); f != nil {
			v, found = nextLive(p, f, from)
		}
		if err != nil {
			return 0, false, err
		}
		if found && (!ok || v < next) {
			next, ok = v, true
		}
	}
	return next, ok, nil
}

// maxDeadDates is the maximum number of dates of deleted documents that nextLive skips. After that, nextLive returns the date of a
// deleted document. The boundary is then too early, which does no harm.
const maxDeadDates = 64

// nextLive returns the smallest value of a live document of a part that is at least `from`.
func nextLive(p segment.Part, f *segment.Field, from int64) (int64, bool) {
	for looked := 0; ; looked++ {
		v, ok := f.NextNumber(from)
		if !ok || p.Dead == nil || looked == maxDeadDates || v == math.MaxInt64 || p.LiveIn(f.IntRange(v, v)) > 0 {
			return v, ok
		}
		from = v + 1
	}
}

// nextShown is like nextLive, for dates of the units that live documents show.
func (c *Corpus) nextShown(ctx context.Context, p segment.Part, field string, from int64) (next int64, ok bool, err error) {
	l, err := c.shown(ctx, p)
	if err != nil {
		return 0, false, err
	}
	live := l.liveDocs(p)
	for _, n := range l.numbers[field] {
		if n.value >= from && live[n.list] > 0 && (!ok || n.value < next) {
			next, ok = n.value, true
		}
	}
	return next, ok, nil
}
