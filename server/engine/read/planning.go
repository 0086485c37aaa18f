package read

import (
	"context"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// interval is the half-open time interval [from, to). If from or to is zero, the interval has no limit on that side.
type interval struct{ from, to time.Time }

func (i interval) contains(t time.Time) bool {
	return !t.Before(i.from) && (i.to.IsZero() || t.Before(i.to))
}

// earlier returns the earlier of two times. A zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// dependsOnFields reports whether the plan of a tree depends on which dynamic fields items have. This is the case for field patterns, and
// for tests for the presence of an object such as tags.
func dependsOnFields(n query.Node) bool {
	return !query.Walk(n, func(n query.Node) bool {
		name := query.FieldOf(n)
		return !name.Pattern && !(query.AsksPresence(n) && (name.Reaches("tags") || name.Reaches("submission")))
	})
}

// planOptions returns the options to plan a tree, except the time. It calls dynamicFields only if the plan depends on these fields.
func planOptions(
	ctx context.Context, n query.Node, a query.Audience, dynamicFields func(context.Context) ([]string, error),
) (plan.Options, error) {
	if !dependsOnFields(n) {
		return plan.Options{Audience: a}, nil
	}
	fields, err := dynamicFields(ctx)
	return plan.Options{Audience: a, Fields: fields}, err
}

// planAt returns the plan of a tree for a given time.
func planAt(n query.Node, o plan.Options, now time.Time) (plan.Node, error) {
	o.Now = now
	p, err := plan.Build(n, o)
	if err != nil {
		return nil, err
	}
	return p.Root, nil
}
