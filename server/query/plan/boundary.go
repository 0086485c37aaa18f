package plan

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// horizon is how far ahead Boundary looks: what changes later than that counts as never.
const horizon = 200 * 365 * 24 * time.Hour

// Ends are the values of a date, in milliseconds since 1970, at which a moving range changes what it holds. The zero value
// is a range that no item is in or ahead of.
type Ends struct {
	// Leaving is the smallest value that the range's lower end has not passed yet, where Leave says that there is one.
	Leaving int64
	Leave   bool
	// Entering is the smallest value that its upper end has not reached yet, where Enter says that there is one.
	Entering int64
	Enter    bool
}

// Boundary returns the first instant after now at which queries that use `now` may match other items than at now, because a
// date of one passes into or out of a range that moves; zero for never, which is more than 200 years ahead. build gives the
// queries their meaning at a time, and ahead tells of the items' dates at a range as it is at now. Errors are those that
// build and ahead have for now.
//
// Both ends of such a range only ever move forwards. So a range lo(t)…hi(t) changes what it holds when lo passes the
// smallest value that is still in or ahead, or hi reaches the smallest value ahead of it; the first such t is searched
// by halving.
func Boundary(now time.Time, build func(time.Time) ([]Node, error), ahead func(IntRange) (Ends, error)) (time.Time, error) {
	roots, err := build(now)
	if err != nil {
		return time.Time{}, err
	}
	start := leavesOf(roots)
	ends := make([]Ends, len(start))
	for i, leaf := range start {
		if r, ok := leaf.(IntRange); ok && r.Field.Type == query.Date {
			if ends[i], err = ahead(r); err != nil {
				return time.Time{}, err
			}
		}
	}
	changed := func(t time.Time) bool {
		roots, err := build(t)
		if err != nil {
			return true
		}
		leaves := leavesOf(roots)
		if len(leaves) != len(start) {
			// The query has another shape then (a range that became empty): look again at that time.
			return true
		}
		for i, leaf := range leaves {
			r, ok := leaf.(IntRange)
			if _, was := start[i].(IntRange); ok != was {
				return true
			}
			if ok && (ends[i].Leave && r.Lo > ends[i].Leaving || ends[i].Enter && r.Hi >= ends[i].Entering) {
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

// leavesOf lists the nodes of plans that have none below them, from left to right.
func leavesOf(roots []Node) []Node {
	var leaves []Node
	for _, n := range roots {
		Walk(n, func(n Node) {
			switch n.(type) {
			case Bool, DisMax, Const, Boost:
			default:
				leaves = append(leaves, n)
			}
		})
	}
	return leaves
}
