package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// clause is a bound plan node with its score, in which all boosts around it are multiplied. Clauses mirror those of
// package eval one by one, down to the order in which scores are added, because rounding shows. They are
// safe for concurrent use.
type clause interface {
	// open makes what gives the scores in the part that s looks at; nil where nothing there matches. With required, what
	// it gives for documents that the clause does not match is of no interest.
	open(ctx context.Context, s *scoring, required bool) (runner, error)
	// cost is what package eval takes the clause to cost: cheap ones are added first.
	cost() int
}

// ranked binds the scores of a node. boost is the product of the boosts around it.
func (b *binder) ranked(ctx context.Context, n plan.Node, boost float32) (clause, error) {
	switch n := n.(type) {
	case plan.All:
		return &constantClause{node: all{}, score: boost}, nil
	case plan.None:
		return nothing{}, nil
	case plan.Bool:
		return b.rankedGroup(ctx, n, boost)
	case plan.DisMax:
		clauses := make([]clause, len(n.Nodes))
		for i, n := range n.Nodes {
			var err error
			if clauses[i], err = b.ranked(ctx, n, boost); err != nil {
				return nil, err
			}
		}
		return &bestClause{cheapClausesFirst(clauses)}, nil
	case plan.Boost:
		return b.ranked(ctx, n.Node, n.Factor*boost)
	case plan.Const:
		inner, err := b.match(ctx, n.Node)
		return &constantClause{node: inner, score: n.Score * boost}, err
	case plan.Term:
		return b.rankedTerm(ctx, n, boost)
	case plan.Phrase:
		return b.rankedPhrase(ctx, n, boost)
	case plan.Fuzzy:
		terms, err := b.Expand(ctx, n)
		if err != nil || len(terms) == 0 {
			return nothing{}, err
		}
		return b.termSet(ctx, terms, boost)
	case plan.Pattern, plan.TermRange, plan.IntRange, plan.FloatRange, plan.Exists:
		inner, err := b.match(ctx, n)
		return &constantClause{node: inner, score: boost}, err
	}
	return nil, fmt.Errorf("unknown plan node %T", n)
}

// rankedTerm binds a term: BM25 on text fields and truth values, a constant 1 on keywords.
func (b *binder) rankedTerm(ctx context.Context, n plan.Term, boost float32) (clause, error) {
	if n.Field.Type != query.Text && n.Field.Type != query.Boolean {
		inner, err := b.match(ctx, n)
		return &constantClause{node: inner, score: boost}, err
	}
	scorer, err := b.scorer(ctx, n.Field.Name, boost, []string{n.Text})
	if err != nil {
		return nil, err
	}
	if n.Field.Type == query.Boolean {
		inner, err := b.match(ctx, n)
		return &constantClause{node: inner, score: scorer.Score(1, rank.NoNorm)}, err
	}
	return b.scoredTerm(ctx, n.Field, n.Text, scorer)
}

func (b *binder) rankedPhrase(ctx context.Context, n plan.Phrase, boost float32) (clause, error) {
	switch {
	case len(n.Words) == 1:
		return b.rankedTerm(ctx, plan.Term{Field: n.Field, Text: n.Words[0].Text}, boost)
	case len(n.Words) == 0 || n.Field.Type != query.Text:
		return nothing{}, nil
	}
	p := &phraseClause{field: n.Field, kind: b.kindOf(n.Field.Name), phrase: newPhrase(n)}
	var err error
	if p.scorer, err = b.scorer(ctx, n.Field.Name, boost, p.phrase.words); err != nil {
		return nil, err
	}
	if p.kind == ofUnits {
		p.units, err = b.corpus.unitOverlay(ctx)
	}
	return p, err
}

// scorer makes the scorer of a term, or of a phrase of several.
func (b *binder) scorer(ctx context.Context, field string, boost float32, terms []string) (rank.Scorer, error) {
	stats, err := b.stats(ctx, field)
	if err != nil {
		return rank.Scorer{}, err
	}
	docFreqs := make([]int64, len(terms))
	for i, t := range terms {
		if docFreqs[i], err = stats.docFreq(ctx, t); err != nil {
			return rank.Scorer{}, err
		}
	}
	return rank.NewScorer(stats.norms, boost, rank.PhraseIDF(docFreqs, stats.total.Docs)), nil
}

// constantClause gives all matches of a node one score.
type constantClause struct {
	node  node
	score float32
}

func (c *constantClause) cost() int { return c.node.cost() }

// nothing matches nothing.
type nothing struct{}

func (nothing) cost() int { return 0 }

// termClause is a term of a text field, or one of the keywords that a fuzzy word stands for.
type termClause struct {
	field  query.Field
	kind   kind
	term   string
	scorer rank.Scorer
	// members are the rules that put the tag on items.
	members []*member
	units   *unitOverlay
	// table holds scores of a text's term, see scoreTable; nil before it is needed.
	table atomic.Pointer[scoreTable]
}

// scoredTerm makes the clause of a term.
func (b *binder) scoredTerm(ctx context.Context, f query.Field, term string, scorer rank.Scorer) (*termClause, error) {
	t := &termClause{field: f, kind: b.kindOf(f.Name), term: term, scorer: scorer}
	var err error
	switch t.kind {
	case ofTags:
		var members []*member
		members, err = b.corpus.tagMembers(ctx, f.Name)
		for _, m := range members {
			if m.keyword == term {
				t.members = append(t.members, m)
			}
		}
	case ofUnits:
		t.units, err = b.corpus.unitOverlay(ctx)
	}
	return t, err
}

func (t *termClause) cost() int { return 2 }

// termSetClause is terms of one field of which one is enough; the scores of those that a document holds are added up, in
// the order of their bytes.
type termSetClause struct{ terms []*termClause }

func (b *binder) termSet(ctx context.Context, terms []rank.WeightedTerm, boost float32) (*termSetClause, error) {
	set := &termSetClause{terms: make([]*termClause, len(terms))}
	for i, t := range terms {
		var err error
		if set.terms[i], err = b.scoredTerm(ctx, t.Field, t.Text, t.Scorer(boost)); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// rankedTerms binds the terms of a merged clause.
func (b *binder) rankedTerms(ctx context.Context, terms []rank.WeightedTerm, boost float32) (clause, error) {
	if len(terms) == 1 {
		return b.scoredTerm(ctx, terms[0].Field, terms[0].Text, terms[0].Scorer(boost))
	}
	return b.termSet(ctx, terms, boost)
}

func (s *termSetClause) cost() int { return 20 }

// phraseClause is a phrase of two words or more.
type phraseClause struct {
	field  query.Field
	kind   kind
	phrase *phrase
	scorer rank.Scorer
	units  *unitOverlay
}

func (p *phraseClause) cost() int { return p.phrase.cost() }

// groupClause is a plan.Bool after merging.
type groupClause struct {
	must, should []clause
	// match is what the whole group matches.
	match node
	// not are the prohibited clauses.
	not []node
}

func (g *groupClause) cost() int { return clauseCosts(g.must) + clauseCosts(g.should) + costs(g.not) }

func (b *binder) rankedGroup(ctx context.Context, n plan.Bool, boost float32) (clause, error) {
	g := &groupClause{}
	var err error
	if g.must, err = b.merged(ctx, n.Must, boost, rank.Required); err != nil {
		return nil, err
	}
	if g.should, err = b.merged(ctx, n.Should, boost, rank.Optional); err != nil {
		return nil, err
	}
	if g.not, err = b.list(ctx, n.MustNot); err != nil {
		return nil, err
	}
	g.match, err = b.match(ctx, n)
	return g, err
}

// bestClause is a plan.DisMax: the highest score of its clauses.
type bestClause struct{ clauses []clause }

func (c *bestClause) cost() int { return clauseCosts(c.clauses) }

func cheapClausesFirst(clauses []clause) []clause {
	slices.SortStableFunc(clauses, func(a, b clause) int { return cmp.Compare(a.cost(), b.cost()) })
	return clauses
}

func clauseCosts(clauses []clause) int {
	sum := 0
	for _, c := range clauses {
		sum += c.cost()
	}
	return sum
}
