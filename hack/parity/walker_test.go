package parity

import (
	"context"
	"fmt"
	"time"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// walker is a subject that searches in the same way as the reference library: it evaluates the query for each document in memory.
type walker struct {
	corpus *eval.Corpus
	docs   map[int64]*eval.Doc
	fields []string
	now    time.Time
}

func newWalker(docs []document, now time.Time) *walker {
	w := &walker{corpus: eval.NewCorpus(), docs: map[int64]*eval.Doc{}, fields: dynamicFields(docs), now: now}
	for _, d := range docs {
		w.corpus.Put(d.doc)
		w.docs[d.id] = d.doc
	}
	return w
}

// plan returns the plan of a query that may use all fields of the catalogue, including private ones.
func (w *walker) plan(n query.Node) (*plan.Plan, error) {
	return plan.Build(n, plan.Options{Audience: query.Private, Now: w.now, Fields: w.fields})
}

// search returns every match in the given order. The tie rule determines the order of items that are equal in it.
func (w *walker) search(ctx context.Context, n query.Node, order query.Order) ([]hit, error) {
	p, err := w.plan(n)
	if err != nil {
		return nil, err
	}
	sorter, err := eval.NewSorter(order, nil)
	if err != nil {
		return nil, fmt.Errorf("prepare the order: %w", err)
	}
	m, err := w.corpus.Compile(ctx, p.Root)
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

// explain returns why an item does or does not match a query.
func (w *walker) explain(ctx context.Context, n query.Node, id int64) (library.Explanation, error) {
	p, err := w.plan(n)
	if err != nil {
		return library.Explanation{}, err
	}
	return eval.Explain(ctx, w.corpus, p.Root, w.docs[id])
}
