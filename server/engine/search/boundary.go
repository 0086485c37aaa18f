package search

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// horizon is how far ahead Boundary looks: what changes later than that counts as never.
const horizon = 200 * 365 * 24 * time.Hour

// Boundary returns the first instant after now at which a query that uses `now` may match other documents than at now,
// because a date of one passes into or out of a range that moves; zero for never. build gives the query its meaning at a
// time.
//
// Both ends of such a range only ever move forwards. So a range lo(t)…hi(t) changes what it holds when lo passes the
// smallest value that is still in or ahead, or hi reaches the smallest value ahead of it; the first such t is searched
// by halving.
func (c *Corpus) Boundary(ctx context.Context, now time.Time, build func(time.Time) (plan.Node, error)) (time.Time, error) {
	root, err := build(now)
	if err != nil {
		return time.Time{}, fmt.Errorf("find when the matches change: %w", err)
	}
	start := appendLeaves(nil, root)
	ahead := make([]ends, len(start))
	for i, leaf := range start {
		if r, ok := leaf.(plan.IntRange); ok && r.Field.Type == query.Date {
			if ahead[i], err = c.endsAhead(ctx, r); err != nil {
				return time.Time{}, fmt.Errorf("find when the matches change: %w", err)
			}
		}
	}
	changed := func(t time.Time) bool {
		root, err := build(t)
		if err != nil {
			return true
		}
		leaves := appendLeaves(nil, root)
		if len(leaves) != len(start) {
			// The query has another shape then (a range that became empty): look again at that time.
			return true
		}
		for i, leaf := range leaves {
			r, ok := leaf.(plan.IntRange)
			if _, was := start[i].(plan.IntRange); ok != was {
				return true
			}
			if ok && (ahead[i].leave && r.Lo > ahead[i].leaving || ahead[i].enter && r.Hi >= ahead[i].entering) {
				return true
			}
		}
		return false
	}
	step := time.Millisecond
	for !changed(now.Add(step)) {
		if step *= 2; step > horizon {
			return time.Time{}, nil
		}
	}
	// changed(now+step) and not changed(now+step/2): the first instant lies between.
	low, high := step/2, step
	if step == time.Millisecond {
		low = 0
	}
	for high-low > time.Millisecond {
		if mid := low + (high-low)/2; changed(now.Add(mid)) {
			high = mid
		} else {
			low = mid
		}
	}
	// What a query sees of the time is whole milliseconds.
	return time.UnixMilli(now.Add(high).UnixMilli()), nil
}

// ends are the values at which a moving range changes what it holds: the smallest that lo can pass, the smallest that hi
// can reach.
type ends struct {
	leave, enter      bool
	leaving, entering int64
}

func (c *Corpus) endsAhead(ctx context.Context, r plan.IntRange) (ends, error) {
	var e ends
	var err error
	if e.leaving, e.leave, err = c.nextDate(ctx, r.Field.Name, r.Lo); err != nil || r.Hi == math.MaxInt64 {
		return e, err
	}
	e.entering, e.enter, err = c.nextDate(ctx, r.Field.Name, r.Hi+1)
	return e, err
}

// nextDate returns the smallest value of a live document's date that is not before from.
func (c *Corpus) nextDate(ctx context.Context, field string, from int64) (next int64, ok bool, err error) {
	shown := newBinder(ctx, c, ofUnits).kindOf(field) == ofUnits
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

// maxDeadDates is how many dates of dead documents are passed over; a boundary that comes too early does no harm.
const maxDeadDates = 64

// nextLive returns the smallest value from one on that a live document of a part has.
func nextLive(p Part, f *segment.Field, from int64) (int64, bool) {
	for looked := 0; ; looked++ {
		v, ok := f.NextNumber(from)
		if !ok || p.Dead == nil || looked == maxDeadDates || v == math.MaxInt64 || p.live(f.IntRange(v, v)) > 0 {
			return v, ok
		}
		from = v + 1
	}
}

// nextShown is the same for a date of the units that live documents show.
func (c *Corpus) nextShown(ctx context.Context, p Part, field string, from int64) (next int64, ok bool, err error) {
	o, err := c.unitOverlay(ctx)
	if err != nil {
		return 0, false, err
	}
	l, err := o.lists(ctx, c, p)
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

// appendLeaves lists the leaves of a plan from left to right.
func appendLeaves(leaves []plan.Node, n plan.Node) []plan.Node {
	switch n := n.(type) {
	case plan.Bool:
		for _, group := range [][]plan.Node{n.Must, n.Should, n.MustNot} {
			for _, c := range group {
				leaves = appendLeaves(leaves, c)
			}
		}
		return leaves
	case plan.DisMax:
		for _, c := range n.Nodes {
			leaves = appendLeaves(leaves, c)
		}
		return leaves
	case plan.Const:
		return appendLeaves(leaves, n.Node)
	case plan.Boost:
		return appendLeaves(leaves, n.Node)
	}
	return append(leaves, n)
}
