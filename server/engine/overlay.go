package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/store"
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
func (m *moment) overlay(ctx context.Context, now time.Time) error {
	c := m.catalogue
	o := &search.Overlay{Tags: make([]search.TagRule, len(c.TagRules)), Units: make([]search.UnitRule, len(c.Units))}
	// Tags first: the selector of a unit may name the tags that rules bring.
	tagged := m.corpusOf(&search.Overlay{})
	for i, r := range c.TagRules {
		rule, err := m.rule(ctx, tagged, r, now)
		if err != nil {
			return err
		}
		o.Tags[i] = search.TagRule{Tag: r.Tag, Rule: rule}
	}
	tagged = m.corpusOf(&search.Overlay{Tags: o.Tags})
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
		rule, err := m.rule(ctx, tagged, c.UnitRules[at], now)
		if err != nil {
			return err
		}
		o.Units[i].Rule = rule
	}
	if c.Default != nil {
		o.Default = &c.Default.Unit
	}
	m.corpus = m.corpusOf(o)
	return m.settle(ctx, now)
}

func (m *moment) corpusOf(o *search.Overlay) *search.Corpus {
	return &search.Corpus{Parts: m.parts, Overlay: o, Cache: m.property.cache}
}

// rule gives one rule its meaning. A selector that was sound when it came can pass a limit of the language later, because
// a field pattern in it stands for more fields by then; it matches nothing from then on, and must not keep anybody from
// reading.
func (m *moment) rule(ctx context.Context, known *search.Corpus, r *store.Rule, now time.Time) (search.Rule, error) {
	out := search.Rule{IDs: r.IDs, Name: r.Name}
	if r.Selector == nil {
		return out, nil
	}
	o := plan.Options{Audience: query.Private, Now: now}
	if dependsOnFields(r.Selector) {
		var err error
		if o.Fields, err = known.DynamicFields(ctx); err != nil {
			return out, err
		}
	}
	pl, err := plan.Build(r.Selector, o)
	if err != nil {
		m.property.warnOnce(r, err)
		return out, nil
	}
	out.Selector = pl.Root
	return out, nil
}

// settle finds until when the clock alone changes no rule.
func (m *moment) settle(ctx context.Context, now time.Time) error {
	c := m.catalogue
	for _, rules := range [][]*store.Rule{c.TagRules, c.UnitRules} {
		for _, r := range rules {
			if r.Selector == nil || !query.UsesNow(r.Selector) {
				continue
			}
			m.rules.from = now
			until, err := m.boundary(ctx, r.Selector, query.Private, now)
			if err != nil {
				if ctx.Err() != nil {
					return err
				}
				continue // it cannot be evaluated any more, and matches nothing at any time
			}
			m.rules.to = earlier(m.rules.to, until)
		}
	}
	return nil
}

// boundary returns when a tree that uses `now` may match other items than at a time; zero for never.
func (m *moment) boundary(ctx context.Context, n query.Node, a query.Audience, now time.Time) (time.Time, error) {
	o := plan.Options{Audience: a}
	if dependsOnFields(n) {
		var err error
		if o.Fields, err = m.dynamicFields(ctx); err != nil {
			return time.Time{}, err
		}
	}
	return m.corpus.Boundary(ctx, now, func(t time.Time) (plan.Node, error) {
		o.Now = t
		pl, err := plan.Build(n, o)
		if err != nil {
			return nil, err
		}
		return pl.Root, nil
	})
}

// warnOnce says of a rule that its selector cannot be evaluated any more.
func (p *property) warnOnce(r *store.Rule, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.warned[r] {
		return
	}
	p.warned[r] = true
	p.log.Warn("a selector matches nothing", slog.String("rule", r.Owner.String()), slog.Any("error", err))
}
