package eval

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// Statistics is what ranking has to know of all documents that are ranked together. A Corpus knows it of its own; a
// library that keeps no documents in memory brings its own to Explain.
type Statistics interface {
	// Field returns the totals of a field and, for each of terms, the number of documents that hold it there. A field
	// that no document has gives zeros.
	Field(ctx context.Context, field string, terms []string) (total rank.Field, docFreqs []int64, err error)
	// Similar offers the terms of the fuzzy word's field that it may stand for, each once and with the number of documents
	// that hold it: at least all within its edits, at most all there are, in any order.
	Similar(ctx context.Context, n plan.Fuzzy, offer func(term string, docFreq int64)) error
}

// Field returns what is known of a field, after a walk over the documents where it is not known yet.
func (c *Corpus) Field(ctx context.Context, field string, terms []string) (rank.Field, []int64, error) {
	stats, err := c.need(ctx, field, terms, false)
	if err != nil {
		return rank.Field{}, nil, err
	}
	docFreqs := make([]int64, len(terms))
	for i, t := range terms {
		docFreqs[i] = stats.docFreq[t]
	}
	return stats.total, docFreqs, nil
}

// Similar offers all terms of the field.
func (c *Corpus) Similar(ctx context.Context, n plan.Fuzzy, offer func(term string, docFreq int64)) error {
	stats, err := c.need(ctx, n.Field.Name, nil, true)
	if err != nil {
		return err
	}
	looked := 0
	for t, docFreq := range stats.docFreq {
		if looked++; looked%checkEvery == 0 {
			if err := interrupted(ctx); err != nil {
				return err
			}
		}
		offer(t, docFreq)
	}
	return nil
}

// known remembers what one compilation has asked for, so that nothing is asked twice.
type known struct {
	source  Statistics
	fields  map[string]*knownField
	similar map[similarKey][]rank.Expansion
}

type knownField struct {
	total   rank.Field
	norms   *rank.Norms
	docFreq map[string]int64 // of the terms asked for
}

type similarKey struct {
	field, text          string
	edits, maxExpansions int
}

func newKnown(s Statistics) *known {
	return &known{source: s, fields: map[string]*knownField{}, similar: map[similarKey][]rank.Expansion{}}
}

// field returns the statistics of a field with those of some terms.
func (k *known) field(ctx context.Context, name string, terms []string) (*knownField, error) {
	f := k.fields[name]
	missing := terms
	if f != nil {
		missing = nil
		for _, t := range terms {
			if _, ok := f.docFreq[t]; !ok {
				missing = append(missing, t)
			}
		}
		if len(missing) == 0 {
			return f, nil
		}
	}
	total, docFreqs, err := k.source.Field(ctx, name, missing)
	if err != nil {
		return nil, err
	}
	if f == nil {
		f = &knownField{total: total, norms: rank.NewNorms(total), docFreq: map[string]int64{}}
		k.fields[name] = f
	}
	for i, t := range missing {
		f.docFreq[t] = docFreqs[i]
	}
	return f, nil
}

// expansions returns the terms that a fuzzy word stands for.
func (k *known) expansions(ctx context.Context, n plan.Fuzzy) ([]rank.Expansion, error) {
	key := similarKey{field: n.Field.Name, text: n.Text, edits: n.Edits, maxExpansions: n.MaxExpansions}
	if e, ok := k.similar[key]; ok {
		return e, nil
	}
	if err := interrupted(ctx); err != nil {
		return nil, err
	}
	choice := rank.NewExpansions(n.Text, n.Edits, n.MaxExpansions)
	if err := k.source.Similar(ctx, n, choice.Offer); err != nil {
		return nil, err
	}
	k.similar[key] = choice.Terms()
	return k.similar[key], nil
}
