package plan

import (
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// horizon is the maximum time that Boundary looks ahead. Boundary ignores later changes.
const horizon = 200 * 365 * 24 * time.Hour

// Ends contains the two date values of items that determine when a moving range first contains different values. They are in milliseconds
// since 1970. The zero value means that no item has a value in the range or above it.
type Ends struct {
	// Leaving is the smallest value that is not below the lower end of the range. It is valid if Leave is true.
	Leaving int64
	Leave   bool
	// Entering is the smallest value above the upper end of the range. It is valid if Enter is true.
	Entering int64
	Enter    bool
}

// Boundary returns the first instant after now at which queries that use `now` may match other items than at now, because the date of an
// item leaves or enters a moving range. A zero time means never, or more than 200 years after now. The callback build plans the queries for
// a given time, and the callback ahead returns the Ends of a range that was planned for now. Boundary returns the errors of ahead and of
// build(now). If build fails for a later time, Boundary treats this as a change.
//
// Both ends of a moving range lo(t)…hi(t) only move forward. Its content therefore first changes when lo passes Ends.Leaving, the smallest
// value in or above the range, or when hi reaches Ends.Entering, the smallest value above the range. Boundary finds the first such time t
// by binary search.
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
			// The plan for t has a different shape, for example because a range is empty. Treat this as a change.
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
	// changed(now+step) is true and changed(now+step/2) is false, so the first change is between these two times.
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
	// Queries compare dates in whole milliseconds.
	return time.UnixMilli(now.Add(high).UnixMilli()), nil
}

// leavesOf lists the leaves of plans from left to right.
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
