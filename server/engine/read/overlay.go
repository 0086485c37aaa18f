package read

import (
	"context"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// fixedOverlay is an overlay that all snapshots with the same catalogue share.
type fixedOverlay struct {
	catalogue *definitions.Catalogue
	overlay   *search.Overlay
}

// fixedRules reports whether all rules of a catalogue are fixed. See search.Overlay.Fixed.
func fixedRules(c *definitions.Catalogue) bool {
	for _, rules := range [][]*definitions.Rule{c.TagRules, c.UnitRules} {
		for _, r := range rules {
			if r.Selector != nil && (r.Volatile || dependsOnFields(r.Selector)) {
				return false
			}
		}
	}
	return true
}

// overlay binds the rules of the catalogue to a time and determines how long the binding is valid.
func (s *Snapshot) overlay(ctx context.Context, now time.Time) error {
	c, parts := s.Catalogue, s.Segments.Parts()
	s.property.mu.Lock()
	known := s.property.fixed
	s.property.mu.Unlock()
	if known != nil && known.catalogue == c {
		s.corpus = &search.Corpus{Parts: parts, Overlay: known.overlay, Cache: s.property.Cache}
		return nil
	}
	o := &search.Overlay{Tags: make([]search.TagRule, len(c.TagRules)), Units: make([]search.UnitRule, len(c.Units))}
	// Bind tags first, because the selector of a unit may refer to tags that rules add.
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
		// c.Units and c.UnitRules are sorted by the ID of the unit.
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
	if fixedRules(c) {
		o.Fixed = true
		s.property.mu.Lock()
		defer s.property.mu.Unlock()
		s.property.fixed = &fixedOverlay{c, o}
		return nil
	}
	return s.settle(ctx, now)
}

// rule binds one rule to a time. A selector that was valid when it was stored can later exceed a limit of the query language, because a
// field pattern in the selector expands to more fields. Such a selector matches nothing, so that reads of the property still succeed.
func (s *Snapshot) rule(ctx context.Context, known *search.Corpus, r *definitions.Rule, now time.Time) (search.Rule, error) {
	out := search.Rule{IDs: r.IDs, Name: r.Name}
	if r.Selector == nil {
		return out, nil
	}
	o, err := planOptions(ctx, r.Selector, query.Private, known.DynamicFields)
	if err != nil {
		return out, err
	}
	if out.Selector, err = planAt(r.Selector, o, now); err != nil {
		s.property.warnOnce(r, err)
	}
	return out, nil
}

// settle determines the interval in which the rules select the same items regardless of the time.
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
				continue // the selector can no longer be evaluated, so it matches nothing at any time
			}
			s.rules.to = earlier(s.rules.to, until)
		}
	}
	return nil
}

// boundary returns the first time after now at which the matches of a tree that uses `now` may change. Zero means never.
func (s *Snapshot) boundary(ctx context.Context, n query.Node, a query.Audience, now time.Time) (time.Time, error) {
	o, err := planOptions(ctx, n, a, s.dynamicFields)
	if err != nil {
		return time.Time{}, err
	}
	return s.corpus.Boundary(ctx, now, func(now time.Time) (plan.Node, error) { return planAt(n, o, now) })
}
