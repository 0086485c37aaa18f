package eval

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// term binds a term: BM25 on text fields and truth values, a constant 1 on keywords.
func (c *compiler) term(ctx context.Context, n plan.Term, boost float32) (clause, error) {
	field := nameOf(n.Field.Name)
	if n.Field.Type == query.Boolean {
		truth := int64(0)
		if n.Text == "true" {
			truth = 1
		}
		inner := &intRange{field: field, lo: truth, hi: truth}
		if c.unscored {
			return constant{inner: inner}, nil
		}
		scorer, err := c.scorer(ctx, n.Field.Name, boost, []string{n.Text})
		return constant{inner: inner, score: scorer.Score(1, rank.NoNorm)}, err
	}
	t := newTermClause(field, n.Text)
	if n.Field.Type != query.Text || c.unscored {
		return constant{inner: t, score: boost}, nil
	}
	scorer, err := c.scorer(ctx, n.Field.Name, boost, []string{n.Text})
	return &scoredTerm{termClause: t, scorer: scorer}, err
}

// scorer makes the scorer of a term, or of a phrase of several.
func (c *compiler) scorer(ctx context.Context, name string, boost float32, terms []string) (rank.Scorer, error) {
	stats, err := c.known.field(ctx, name, terms)
	if err != nil {
		return rank.Scorer{}, err
	}
	docFreqs := make([]int64, len(terms))
	for i, t := range terms {
		docFreqs[i] = stats.docFreq[t]
	}
	return rank.NewScorer(stats.norms, boost, rank.PhraseIDF(docFreqs, stats.total.Docs)), nil
}

// termClause matches documents that hold a term.
type termClause struct {
	field name
	term  string
	print byte
	hint  int
}

func newTermClause(field name, term string) *termClause {
	return &termClause{field: field, term: term, print: fingerprint(term)}
}

func (t *termClause) match(d *Doc) (float32, bool) {
	f := d.field(t.field, &t.hint)
	if f == nil {
		return 0, false
	}
	_, ok := d.find(f, t.term, t.print)
	return 1, ok
}

func (t *termClause) cost() int { return 2 }

// scoredTerm is a term with its score.
type scoredTerm struct {
	*termClause
	scorer rank.Scorer
}

func (t *scoredTerm) match(d *Doc) (float32, bool) {
	f := d.field(t.field, &t.hint)
	if f == nil {
		return 0, false
	}
	i, ok := d.find(f, t.term, t.print)
	if !ok {
		return 0, false
	}
	return t.scorer.Score(d.freq(f, i), f.norm), true
}

// phraseClause matches documents that hold a phrase.
type phraseClause struct {
	field  name
	words  []string
	prints []byte
	phrase *rank.Phrase
	scored bool
	scorer rank.Scorer
	places [][]uint32 // of the words in the document at hand
	hint   int
}

func (c *compiler) phrase(ctx context.Context, n plan.Phrase, boost float32) (clause, error) {
	if len(n.Words) == 1 {
		return c.term(ctx, plan.Term{Field: n.Field, Text: n.Words[0].Text}, boost)
	}
	if len(n.Words) == 0 {
		return none{}, nil
	}
	p := &phraseClause{field: nameOf(n.Field.Name), scored: !c.unscored, places: make([][]uint32, len(n.Words))}
	offsets := make([]int, len(n.Words))
	for i, w := range n.Words {
		offsets[i] = w.Position
		p.words = append(p.words, w.Text)
		p.prints = append(p.prints, fingerprint(w.Text))
	}
	p.phrase = rank.NewPhrase(p.words, offsets, n.Slop)
	var err error
	if p.scored {
		p.scorer, err = c.scorer(ctx, n.Field.Name, boost, p.words)
	}
	return p, err
}

func (p *phraseClause) match(d *Doc) (float32, bool) {
	f := d.field(p.field, &p.hint)
	if f == nil {
		return 0, false
	}
	for i, w := range p.words {
		at, ok := d.find(f, w, p.prints[i])
		if !ok {
			return 0, false
		}
		p.places[i] = d.at(at)
	}
	freq := p.phrase.Freq(p.places)
	if freq == 0 || !p.scored {
		return 0, freq > 0
	}
	return p.scorer.Score(freq, f.norm), true
}

func (p *phraseClause) cost() int { return 4 * len(p.words) }
