package translate

import (
	"context"
	"errors"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// Translator translates plans to OpenSearch queries, for one state of a property's definitions.
type Translator struct {
	Catalogue *definitions.Catalogue
	// FirstSchema is true if the index can have the first schema.
	FirstSchema bool
	// Selector returns the plan of a rule's selector, or nil if the rule has no selector or the selector matches no item.
	Selector func(context.Context, *definitions.Rule) (plan.Node, error)
	// Warn reports that a selector cannot be translated, so that it matches no item.
	Warn func(*definitions.Rule, error)

	unitDocs *eval.Corpus
}

// Units returns the conversion units as documents.
func (t *Translator) Units() *eval.Corpus {
	if t.unitDocs == nil {
		t.unitDocs = unitCorpus(t.Catalogue)
	}
	return t.unitDocs
}

// unitCorpus returns a document for each conversion unit. The document is that of an item that shows only this unit. Leaves on the fields
// of units are evaluated on these documents.
func unitCorpus(c *definitions.Catalogue) *eval.Corpus {
	corpus := eval.NewCorpus()
	for _, u := range c.Units {
		corpus.Put(eval.NewDoc(u.ID, 0, (&item.Item{}).Values([]item.Unit{u.Unit}, &u.Unit, nil)))
	}
	return corpus
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

// matchesOne reports whether an item that has the given tags matches a leaf.
func matchesOne(ctx context.Context, n plan.Node, it *item.Item, tags []item.Tag) (bool, error) {
	corpus := eval.NewCorpus()
	corpus.Put(eval.NewDoc(1, 0, it.Values(nil, nil, tags)))
	hits, err := Evaluate(ctx, corpus, n)
	return len(hits) > 0, err
}

// IsAboutQuery reports whether err is about the query and not about the cluster.
func IsAboutQuery(err error) bool {
	var syntax *query.SyntaxError
	var forbidden *query.ForbiddenFieldError
	return errors.As(err, &syntax) || errors.As(err, &forbidden)
}

// termsAtOnce is the maximum number of values in a terms query. The default limit of OpenSearch is 65,536.
const termsAtOnce = 60_000
