package search

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/flight"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// Query is a plan bound to a Corpus. It is safe for concurrent use.
type Query struct {
	// Lasting says for how long the views of the query are of use. Bind sets it to Repeated. Change it only before the first use.
	Lasting Lasting

	corpus *Corpus
	root   plan.Node
	match  node
	key    string

	// binder is kept so that ranked can be bound on first use. Binding ranked needs statistics, which are expensive.
	binder *binder
	ranked flight.Value[clause]
	// recent is the stream of the latest page.
	recent atomic.Pointer[recentStream]
}

// Bind binds a plan to a corpus. It expands fuzzy words to terms of the live documents. If manifests add tags or units to fields of the
// plan, Bind also binds the rules of these manifests. It gathers no statistics: that happens only when scores are requested. Bind fails if
// the context ends or if the plan contains a node of an unknown type.
func Bind(ctx context.Context, root plan.Node, c *Corpus) (*Query, error) {
	b := newBinder(c, ofUnits)
	match, err := b.match(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("bind the query: %w", err)
	}
	key := match.appendKey(make([]byte, 0, 128)) // large enough for most keys
	return &Query{Lasting: Repeated, corpus: c, root: root, match: match, key: string(key), binder: b}, nil
}

// Key identifies the set of documents that the query matches. Two queries with equal keys match the same documents of a segment, even if
// they are bound to different corpora of the property. The key contains the versions of the rules and units that the query depends on.
func (q *Query) Key() string { return q.key }

// Match returns all matching documents of a part, including deleted ones. Corpus.Cache keeps the View.
func (q *Query) Match(ctx context.Context, p segment.Part) (*View, error) {
	e := &evaluation{corpus: q.corpus, part: p}
	defer e.release()
	return q.matchWith(ctx, e)
}

func (q *Query) matchWith(ctx context.Context, e *evaluation) (*View, error) {
	return q.corpus.of(e.part).get(ctx, q.key, func() (*View, error) {
		if err := interrupted(ctx); err != nil {
			return nil, fmt.Errorf("match a segment: %w", err)
		}
		found, err := q.match.find(ctx, e, nil)
		if err != nil {
			return nil, fmt.Errorf("match a segment: %w", err)
		}
		v := &View{docs: found.published()}
		if q.match.price() > 1 { // the documents of a single term are part of a file already
			v.lasting = q.Lasting
		}
		return v, nil
	})
}

// binder binds one plan.
type binder struct {
	corpus *Corpus
	// reach is the highest kind of values that the plan can see. The selector of a tag sees only the items themselves. The selector of a
	// unit also sees the tags from rules.
	reach kind
	// weigher computes scores from the statistics that the binder gathers. Use weights to access it.
	weigher *rank.Weigher
	fields  map[string]*fieldStats // nil until statistics are needed
	// similar caches the terms that are similar to the latest fuzzy word. own holds the postings of all terms to which fuzzy words were
	// expanded.
	similar struct {
		to    plan.Fuzzy
		terms similarTerms
	}
	own map[fieldTerm]ownPostings
}

func newBinder(c *Corpus, reach kind) *binder { return &binder{corpus: c, reach: reach} }

// weights returns the weigher. It is created on first use, because most queries that are only counted or listed by date need none.
func (b *binder) weights() *rank.Weigher {
	if b.weigher == nil {
		b.weigher = rank.NewWeigher(b)
	}
	return b.weigher
}

// match binds a node without its score.
func (b *binder) match(ctx context.Context, n plan.Node) (node, error) {
	switch n := n.(type) {
	case plan.All:
		return all{}, nil
	case plan.None:
		return none{}, nil
	case plan.Bool:
		return b.group(ctx, n)
	case plan.DisMax:
		nodes, err := b.list(ctx, n.Nodes)
		return newDisjunction(nodes), err
	case plan.Boost:
		return b.match(ctx, n.Node)
	case plan.Const:
		return b.match(ctx, n.Node)
	case plan.Term:
		return b.term(ctx, n)
	case plan.Phrase:
		switch {
		case len(n.Words) == 1:
			return b.term(ctx, plan.Term{Field: n.Field, Text: n.Words[0].Text})
		case len(n.Words) == 0 || n.Field.Type != query.Text:
			return none{}, nil
		}
		return b.leaf(ctx, n.Field, newPhrase(n))
	case plan.Fuzzy:
		return b.fuzzy(ctx, n)
	case plan.Pattern:
		return b.leaf(ctx, n.Field, &pattern{automaton: n.Automaton, source: n.Source, regexp: n.Regexp})
	case plan.TermRange:
		return b.leaf(ctx, n.Field, &termRange{n})
	case plan.IntRange:
		return b.leaf(ctx, n.Field, &intRange{lo: n.Lo, hi: n.Hi})
	case plan.FloatRange:
		return b.leaf(ctx, n.Field, &floatRange{lo: n.Lo, hi: n.Hi})
	case plan.Exists:
		return b.leaf(ctx, n.Field, present{})
	}
	return nil, fmt.Errorf("unknown plan node %T", n)
}

func (b *binder) group(ctx context.Context, n plan.Bool) (node, error) {
	must, err := b.list(ctx, n.Must)
	if err != nil {
		return nil, err
	}
	if len(must) == 0 { // if there are required clauses, optional clauses affect only the score
		should, err := b.list(ctx, n.Should)
		if err != nil {
			return nil, err
		}
		if len(should) == 0 {
			return none{}, nil
		}
		must = []node{newDisjunction(should)}
	}
	not, err := b.list(ctx, n.MustNot)
	if err != nil {
		return nil, err
	}
	return newConjunction(must, not), nil
}

func (b *binder) list(ctx context.Context, nodes []plan.Node) ([]node, error) {
	bound := make([]node, len(nodes))
	for i, n := range nodes {
		var err error
		if bound[i], err = b.match(ctx, n); err != nil {
			return nil, err
		}
	}
	return bound, nil
}

func (b *binder) term(ctx context.Context, n plan.Term) (node, error) {
	switch {
	case n.Field.Type == query.Boolean:
		v := truth(n.Text)
		return b.leaf(ctx, n.Field, &intRange{lo: v, hi: v})
	case !hasTerms(n.Field):
		return none{}, nil
	}
	return b.leaf(ctx, n.Field, &words{terms: []string{n.Text}})
}

// fuzzy binds a fuzzy word to its expansions and keeps the postings of the expansions.
func (b *binder) fuzzy(ctx context.Context, n plan.Fuzzy) (node, error) {
	expansions, err := b.weights().Expansions(ctx, n)
	if err != nil || len(expansions) == 0 {
		return none{}, err
	}
	t := &words{terms: make([]string, len(expansions)), own: make([]ownPostings, len(expansions))}
	for i, e := range expansions {
		t.terms[i] = e.Term
		key := fieldTerm{n.Field.Name, e.Term}
		if found := b.similar.terms[e.Term]; found != nil && b.similar.to == n {
			if b.own == nil {
				b.own = map[fieldTerm]ownPostings{}
			}
			b.own[key] = found.own
		}
		t.own[i] = b.own[key]
	}
	b.similar.terms = nil // there can be many more similar terms than expansions
	return b.leaf(ctx, n.Field, t)
}

// truth converts a boolean term to a number: 1 for true, 0 for false.
func truth(term string) int64 {
	if term == "true" {
		return 1
	}
	return 0
}

// leaf binds a test of a field.
func (b *binder) leaf(ctx context.Context, f query.Field, t test) (*leaf, error) {
	l := &leaf{field: f, test: t, kind: b.kindOf(f.Name)}
	switch l.kind {
	case ofTags:
		members, err := b.corpus.tagMembers(ctx, f.Name)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if t.holds(m.keyword) {
				l.members = append(l.members, m)
			}
		}
	case ofUnits:
		var err error
		if l.units, err = b.corpus.unitOverlay(ctx); err != nil {
			return nil, err
		}
	case ofItem:
	}
	return l, nil
}

// kindOf returns the source of the values of a field. It returns ofItem if the plan cannot see the actual kind (b.reach), or if the
// overlay contains nothing of that kind.
func (b *binder) kindOf(field string) kind {
	if k := b.corpus.kindOf(field); k <= b.reach {
		return k
	}
	return ofItem
}

// kindOf returns the source of the values of a field. It returns ofItem if the overlay contains nothing of the actual kind.
func (c *Corpus) kindOf(field string) kind {
	k := kindOf(field)
	if o := c.Overlay; o == nil || k == ofTags && len(o.Tags) == 0 || k == ofUnits && len(o.Units) == 0 && o.Default == nil {
		return ofItem
	}
	return k
}
