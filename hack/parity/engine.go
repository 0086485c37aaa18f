package main

import (
	"context"
	"fmt"
	"time"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// subject is our side: what finds items.
type subject interface {
	// search returns every match, in an order with the tie rule behind it.
	search(ctx context.Context, n query.Node, order query.Order) ([]hit, error)
	// explain says why an item matches a tree or does not.
	explain(ctx context.Context, n query.Node, id int64) (library.Explanation, error)
}

// newSubject makes the side of a library, by its name.
func newSubject(name string, docs []document, now time.Time) (subject, error) {
	if name == referenceLibrary {
		return newEngine(docs, now), nil
	}
	return newSegments(docs, now)
}

// The libraries that can be held to OpenSearch.
const (
	engineLibrary    = "engine"
	referenceLibrary = "reference"
)

// engine is the reference's evaluator over the documents in memory.
type engine struct {
	corpus *eval.Corpus
	docs   map[int64]*eval.Doc
	fields []string
	now    time.Time
}

func newEngine(docs []document, now time.Time) *engine {
	e := &engine{corpus: eval.NewCorpus(), docs: map[int64]*eval.Doc{}, fields: dynamicFields(docs), now: now}
	for _, d := range docs {
		e.corpus.Put(d.doc)
		e.docs[d.id] = d.doc
	}
	return e
}

// plan gives a tree its meaning, with the whole catalogue in sight.
func (e *engine) plan(n query.Node) (*plan.Plan, error) {
	return plan.Build(n, plan.Options{Audience: query.Private, Now: e.now, Fields: e.fields})
}

// search returns every match, in an order with the tie rule behind it.
func (e *engine) search(ctx context.Context, n query.Node, order query.Order) ([]hit, error) {
	p, err := e.plan(n)
	if err != nil {
		return nil, err
	}
	sorter, err := eval.NewSorter(order, nil)
	if err != nil {
		return nil, fmt.Errorf("prepare the order: %w", err)
	}
	m, err := e.corpus.Compile(ctx, p.Root, eval.Options{Unscored: !sorter.Scored()})
	if err != nil {
		return nil, err
	}
	found, err := m.Search(ctx)
	if err != nil {
		return nil, err
	}
	sorter.Sort(found)
	hits := make([]hit, len(found))
	for i, h := range found {
		hits[i] = hit{id: h.Doc.ID(), score: float64(h.Score)}
	}
	return hits, nil
}

// explain says why an item matches a tree or does not.
func (e *engine) explain(ctx context.Context, n query.Node, id int64) (library.Explanation, error) {
	p, err := e.plan(n)
	if err != nil {
		return library.Explanation{}, err
	}
	return eval.Explain(ctx, e.corpus, p.Root, e.docs[id])
}
