package rank

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// Statistics provides the statistics of all documents that are ranked together. If ctx ends, its methods return the cause of ctx.
type Statistics interface {
	// Field returns the statistics of a field. docFreqs[i] is the number of documents whose field contains terms[i]. For an unknown field,
	// Field returns zeros.
	Field(ctx context.Context, field string, terms []string) (total Field, docFreqs []int64, err error)
	// Similar calls offer for terms of the field n.Field, with their document frequencies, in any order, and at most once for each term. It
	// must offer at least every term within n.Edits edits of the word n.Text.
	Similar(ctx context.Context, n plan.Fuzzy, offer func(term string, docFreq int64)) error
}

// Weigher computes the weights of the terms of one query. It caches statistics, so that it never requests the same statistics twice. It is
// not safe for concurrent use.
type Weigher struct {
	source     Statistics
	fields     map[string]*weighedField
	expansions map[plan.Fuzzy][]Expansion
}

var _ Weights = (*Weigher)(nil)

// weighedField caches the statistics of one field.
type weighedField struct {
	total    Field
	norms    *Norms
	docFreqs map[string]int64
}

// NewWeigher returns a Weigher that uses the statistics s.
func NewWeigher(s Statistics) *Weigher {
	return &Weigher{source: s, fields: map[string]*weighedField{}, expansions: map[plan.Fuzzy][]Expansion{}}
}

// field returns the statistics of a field. The statistics include the document frequencies of the given terms.
func (w *Weigher) field(ctx context.Context, name string, terms ...string) (*weighedField, error) {
	f, known := w.fields[name]
	if !known {
		f = &weighedField{docFreqs: map[string]int64{}}
	}
	var missing []string
	for _, t := range terms {
		if _, ok := f.docFreqs[t]; !ok {
			missing = append(missing, t)
		}
	}
	if known && len(missing) == 0 {
		return f, nil
	}
	total, docFreqs, err := w.source.Field(ctx, name, missing)
	if err != nil {
		return nil, err
	}
	if !known {
		f.total, f.norms = total, NewNorms(total)
		w.fields[name] = f
	}
	for i, t := range missing {
		f.docFreqs[t] = docFreqs[i]
	}
	return f, nil
}

// Scorer returns the scorer of a phrase with these words. boost is the product of the boosts of all nodes that contain the phrase.
func (w *Weigher) Scorer(ctx context.Context, field string, boost float32, words []string) (Scorer, error) {
	f, err := w.field(ctx, field, words...)
	if err != nil {
		return Scorer{}, err
	}
	docFreqs := make([]int64, len(words))
	for i, t := range words {
		docFreqs[i] = f.docFreqs[t]
	}
	return NewScorer(f.norms, boost, PhraseIDF(docFreqs, f.total.Docs)), nil
}

// Weigh implements Weights.
func (w *Weigher) Weigh(ctx context.Context, t plan.Term) (WeightedTerm, error) {
	f, err := w.field(ctx, t.Field.Name, t.Text)
	if err != nil {
		return WeightedTerm{}, err
	}
	return WeightedTerm{Field: t.Field, Text: t.Text, Boost: 1, IDF: IDF(f.docFreqs[t.Text], f.total.Docs), Norms: f.norms}, nil
}

// Expansions returns the expansions of a fuzzy word in byte order.
func (w *Weigher) Expansions(ctx context.Context, n plan.Fuzzy) ([]Expansion, error) {
	if known, ok := w.expansions[n]; ok {
		return known, nil
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	choice := NewExpansions(n.Text, n.Edits, n.MaxExpansions)
	if err := w.source.Similar(ctx, n, choice.Offer); err != nil {
		return nil, err
	}
	w.expansions[n] = choice.Terms()
	return w.expansions[n], nil
}

// Expand implements Weights. All expansions get the IDF of the most frequent expansion (see WeighExpansions).
func (w *Weigher) Expand(ctx context.Context, n plan.Fuzzy) ([]WeightedTerm, error) {
	expansions, err := w.Expansions(ctx, n)
	if err != nil || len(expansions) == 0 {
		return nil, err
	}
	f, err := w.field(ctx, n.Field.Name)
	if err != nil {
		return nil, err
	}
	return WeighExpansions(n.Field, expansions, f.total, f.norms), nil
}
