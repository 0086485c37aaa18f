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

// boundary returns the first instant after now at which one of the trees may match other items than at now, see
// plan.Boundary; zero for never.
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
	roots := func(t time.Time) ([]plan.Node, error) {
		roots := make([]plan.Node, len(moving))
		for i, part := range moving {
			pl, err := p.plan(part, t)
			if err != nil {
				return nil, err
			}
			roots[i] = pl.Root
		}
		return roots, nil
	}
	return plan.Boundary(now, roots, p.endsAhead)
}

// endsAhead looks through the dates of all items.
func (p *property) endsAhead(r plan.IntRange) (plan.Ends, error) {
	var e plan.Ends
	for _, rec := range p.records {
		for _, d := range rec.dates {
			v := d.at
			if d.field != r.Field.Name {
				continue
			}
			if v >= r.Lo && (!e.Leave || v < e.Leaving) {
				e.Leave, e.Leaving = true, v
			}
			if v > r.Hi && (!e.Enter || v < e.Entering) {
				e.Enter, e.Entering = true, v
			}
		}
	}
	return e, nil
}
