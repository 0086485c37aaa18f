package read

import (
	"context"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/query"
)

// interval is a stretch of time, from included, to not; a zero from or to is open.
type interval struct{ from, to time.Time }

func (i interval) contains(t time.Time) bool {
	return !t.Before(i.from) && (i.to.IsZero() || t.Before(i.to))
}

// earlier returns the earlier of two instants, of which a zero one never comes.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// dependsOnFields reports whether what a tree means depends on the dynamic fields that items have: on field patterns, and
// on asking for the presence of objects.
func dependsOnFields(n query.Node) bool {
	return !query.Walk(n, func(n query.Node) bool {
		name := query.FieldOf(n)
		if name.Pattern {
			return false
		}
		asksPresence := false
		switch n := n.(type) {
		case query.Exists, query.Missing:
			asksPresence = true
		case query.Wildcard:
			asksPresence = n.Pattern == "*"
		}
		return !asksPresence || !name.Reaches("tags") && !name.Reaches("submission")
	})
}

// overlay gives the rules of a catalogue their meaning at a time, and says how long they keep it.
func (s *Snapshot) overlay(ctx context.Context, now time.Time) error {
	c, parts := s.Catalogue, s.Segments.Parts()
	o := &search.Overlay{Tags: make([]search.TagRule, len(c.TagRules)), Units: make([]search.UnitRule, len(c.Units))}
	// Tags first: the selector of a unit may name the tags that rules bring.
	corpus := func(o *search.Overlay) *search.Corpus {
		return &search.Corpus{Parts: parts, Overlay: o, Cache: s.property.Cache}
	}
	tagged := corpus(&search.Overlay{})
	for i, r := range c.TagRules {
		rule, err := s.rule(ctx, tagged, r, now)
		if err != nil {
			return err
		}
		o.Tags[i] = search.TagRule{Tag: r.Tag, Rule: rule}
	}
	tagged = corpus(&search.Overlay{Tags: o.Tags})
	at := 0
	for i, u := range c.Units {
		o.Units[i].Unit = u.Unit
		// Both are by the id of the unit.
		for at < len(c.UnitRules) && c.UnitRules[at].Unit < u.ID {
			at++
		}
		if at == len(c.UnitRules) || c.UnitRules[at].Unit != u.ID {
			continue
		}
		rule, err := s.rule(ctx, tagged, c.UnitRules[at], now)
		if err != nil {
			return err
		}
		o.Units[i].Rule = rule
	}
	if c.Default != nil {
		o.Default = &c.Default.Unit
	}
	s.corpus = corpus(o)
	return s.settle(ctx, now)
}

// rule gives one rule its meaning. A selector that was sound when it came can pass a limit of the language later, because
// a field pattern in it stands for more fields by then; it matches nothing from then on, and must not keep anybody from
// reading.
func (s *Snapshot) rule(ctx context.Context, known *search.Corpus, r *definitions.Rule, now time.Time) (search.Rule, error) {
	out := search.Rule{IDs: r.IDs, Name: r.Name}
	if r.Selector == nil {
		return out, nil
	}
	build, err := planner(ctx, r.Selector, query.Private, known.DynamicFields)
	if err != nil {
		return out, err
	}
	if out.Selector, err = build(now); err != nil {
		s.property.warnOnce(r, err)
	}
	return out, nil
}

// settle finds until when the clock alone changes no rule.
func (s *Snapshot) settle(ctx context.Context, now time.Time) error {
	c := s.Catalogue
	for _, rules := range [][]*definitions.Rule{c.TagRules, c.UnitRules} {
		for _, r := range rules {
			if r.Selector == nil || !query.UsesNow(r.Selector) {
				continue
			}
			s.rules.from = now
			until, err := s.boundary(ctx, r.Selector, query.Private, now)
			if err != nil {
				if ctx.Err() != nil {
					return err
				}
				continue // it cannot be evaluated any more, and matches nothing at any time
			}
			s.rules.to = earlier(s.rules.to, until)
		}
	}
	return nil
}

// boundary returns when a tree that uses `now` may match other items than at a time; zero for never.
func (s *Snapshot) boundary(ctx context.Context, n query.Node, a query.Audience, now time.Time) (time.Time, error) {
	build, err := planner(ctx, n, a, s.dynamicFields)
	if err != nil {
		return time.Time{}, err
	}
	return s.corpus.Boundary(ctx, now, build)
}
