package reference

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// isSettled reports whether the members of all rules are right at that time.
func (p *property) isSettled(now time.Time) bool {
	return p.settled.contains(now) || len(p.volatile) == 0
}

// settle brings the volatile rules up to a time. The caller holds the lock of all readers.
func (p *property) settle(now time.Time) error {
	r := newRefresh(p, p.catalogue, now)
	r.again = true
	if err := r.run(); err != nil {
		return err
	}
	r.install()
	var until time.Time
	for _, rule := range p.volatile {
		// A selector that cannot be evaluated any more matches nothing at any time (see matcher).
		if t, err := p.boundary([]library.Part{{Query: rule.Selector, Audience: query.Private}}, now); err == nil {
			until = earlier(until, t)
		}
	}
	p.settled = interval{from: now, to: until}
	p.settlement++
	return nil
}

// horizon is how far ahead boundary looks: what changes later than that counts as never.
const horizon = 200 * 365 * 24 * time.Hour

// boundary returns the first instant after now at which one of the trees may match other items than at now, because a
// date of an item passes into or out of a range that moves with `now`; zero for never.
//
// Both ends of such a range only ever move forwards. So a range lo(t)…hi(t) changes what it holds when lo passes the
// smallest value that is still in or ahead, or hi reaches the smallest value ahead of it; the first such t is searched
// by halving.
func (p *property) boundary(parts []library.Part, now time.Time) (time.Time, error) {
	var moving []library.Part
	for _, part := range parts {
		if query.UsesNow(part.Query) {
			moving = append(moving, part)
		}
	}
	if len(moving) == 0 {
		return time.Time{}, nil
	}
	leavesAt := func(t time.Time) ([]plan.Node, error) {
		var leaves []plan.Node
		for _, part := range moving {
			pl, err := p.plan(part, t)
			if err != nil {
				return nil, err
			}
			leaves = appendLeaves(leaves, pl.Root)
		}
		return leaves, nil
	}
	start, err := leavesAt(now)
	if err != nil {
		return time.Time{}, err
	}
	ahead := make([]ends, len(start))
	for i, leaf := range start {
		if r, ok := leaf.(plan.IntRange); ok {
			ahead[i] = p.endsAhead(r)
		}
	}
	changed := func(t time.Time) bool {
		leaves, err := leavesAt(t)
		if err != nil || len(leaves) != len(start) {
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

func (p *property) endsAhead(r plan.IntRange) ends {
	var e ends
	for _, rec := range p.records {
		for _, d := range rec.dates {
			v := d.at
			if d.field != r.Field.Name {
				continue
			}
			if v >= r.Lo && (!e.leave || v < e.leaving) {
				e.leave, e.leaving = true, v
			}
			if v > r.Hi && (!e.enter || v < e.entering) {
				e.enter, e.entering = true, v
			}
		}
	}
	return e
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
