package translate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// Documents is one state of a property's definitions, prepared for reads: its tags and units as documents, on which leaves on the fields of
// tags and units are evaluated, and its unit rules by item. Documents is safe for concurrent use.
type Documents struct {
	Catalogue *definitions.Catalogue
	tags      func() *eval.Corpus // by the position of the rule in Catalogue.TagRules
	units     func() *eval.Corpus // by the id of the unit
	rules     func() *UnitRules
}

// NewDocuments returns the Documents of a property. It creates a document when it is first needed. before contains the Documents of an
// earlier state, of which NewDocuments uses those that have not changed. It is nil if there are none.
func NewDocuments(c *definitions.Catalogue, before *Documents) *Documents {
	if before == nil {
		before = &Documents{Catalogue: &definitions.Catalogue{}}
	}
	was := before.Catalogue
	return &Documents{
		c, unlessEqual(before.tags, was.TagRules, c.TagRules, tagCorpus), unlessEqual(before.units, was.Units, c.Units, unitCorpus),
		unlessEqual(before.rules, was.UnitRules, c.UnitRules, newUnitRules),
	}
}

// unlessEqual returns a function that calls derive once with the definitions in now. It returns before instead, which did the same with the
// definitions in was, if these are the same definitions.
func unlessEqual[D, V any](before func() V, was, now []*D, derive func([]*D) V) func() V {
	if before != nil && slices.Equal(was, now) {
		return before
	}
	return sync.OnceValue(func() V { return derive(now) })
}

// Units returns the conversion units as documents.
func (d *Documents) Units() *eval.Corpus { return d.units() }

// UnitRules returns the unit rules of the property.
func (d *Documents) UnitRules() *UnitRules { return d.rules() }

// tagCorpus returns a document for each tag rule. The document is that of an item that has only the tag of the rule.
func tagCorpus(rules []*definitions.Rule) *eval.Corpus {
	corpus := eval.NewCorpus()
	for i, r := range rules {
		corpus.Put(eval.NewDoc(int64(i), 0, (&item.Item{}).Values(nil, nil, []item.Tag{r.Tag})))
	}
	return corpus
}

// unitCorpus returns a document for each conversion unit. The document is that of an item that shows only this unit.
func unitCorpus(units []*definitions.Unit) *eval.Corpus {
	corpus := eval.NewCorpus()
	for _, u := range units {
		corpus.Put(eval.NewDoc(u.ID, 0, (&item.Item{}).Values([]item.Unit{u.Unit}, &u.Unit, nil)))
	}
	return corpus
}

// Translator translates plans to OpenSearch queries, for one state of a property's definitions.
type Translator struct {
	*Documents
	// FirstSchema is true if the index can have the first schema.
	FirstSchema bool
	// Selector returns the plan of a rule's selector, or nil if the rule has no selector or the selector matches no item.
	Selector func(context.Context, *definitions.Rule) (plan.Node, error)
	// Warn reports that a selector cannot be translated, so that it matches no item.
	Warn func(*definitions.Rule, error)
}

// Evaluate evaluates a plan on a corpus in memory, without scores.
func Evaluate(ctx context.Context, corpus *eval.Corpus, n plan.Node) ([]eval.Hit, error) {
	m, err := corpus.Compile(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("evaluate in memory: %w", err)
	}
	hits, err := m.Search(ctx)
	if err != nil {
		return nil, fmt.Errorf("evaluate in memory: %w", err)
	}
	return hits, nil
}

// IsAboutQuery reports whether err is about the query and not about the cluster.
func IsAboutQuery(err error) bool {
	var syntax *query.SyntaxError
	var forbidden *query.ForbiddenFieldError
	return errors.As(err, &syntax) || errors.As(err, &forbidden)
}

// termsAtOnce is the maximum number of values in a terms query. The default limit of OpenSearch is 65,536.
const termsAtOnce = 60_000
