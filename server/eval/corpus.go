package eval

import (
	"context"
	"fmt"
	"iter"
	"maps"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// Corpus contains the documents that are ranked together: all items of one property. Any number of goroutines may read it at the same time,
// but not while Put runs.
type Corpus struct{ docs map[int64]*Doc }

var _ rank.Statistics = (*Corpus)(nil)

// NewCorpus returns an empty corpus.
func NewCorpus() *Corpus { return &Corpus{docs: map[int64]*Doc{}} }

// Put adds a document, or replaces the document with the same id.
func (c *Corpus) Put(d *Doc) { c.docs[d.id] = d }

// Doc returns the document of an item, or nil if there is none.
func (c *Corpus) Doc(id int64) *Doc { return c.docs[id] }

// Docs yields all documents in no particular order.
func (c *Corpus) Docs() iter.Seq[*Doc] { return maps.Values(c.docs) }

// checkEvery is the number of documents that are evaluated between two checks of the context.
const checkEvery = 256

// walk calls look for every document. If ctx ends, walk stops and returns the cause of ctx.
func (c *Corpus) walk(ctx context.Context, look func(*Doc)) error {
	n := 0
	for _, d := range c.docs {
		if n%checkEvery == 0 {
			if err := context.Cause(ctx); err != nil {
				return fmt.Errorf("walk the items: %w", err)
			}
		}
		n++
		look(d)
	}
	return nil
}

// Field implements rank.Statistics. Only texts, keywords and booleans have terms, because other types are not ranked.
func (c *Corpus) Field(ctx context.Context, name string, terms []string) (rank.Field, []int64, error) {
	var total rank.Field
	docFreqs := make([]int64, len(terms))
	err := c.walk(ctx, func(d *Doc) {
		f := d.fields[name]
		if f == nil {
			return
		}
		if f.typ != query.Text || f.words > 0 { // a text without a word counts as present, but not in statistics
			total.Docs++
		}
		total.Terms += f.size()
		for i, t := range terms {
			if f.holds(t) {
				docFreqs[i]++
			}
		}
	})
	return total, docFreqs, err
}

// Similar implements rank.Statistics. It offers all terms of the field, whether they are similar or not.
func (c *Corpus) Similar(ctx context.Context, n plan.Fuzzy, offer func(term string, docFreq int64)) error {
	docFreqs := map[string]int64{}
	err := c.walk(ctx, func(d *Doc) {
		if f := d.fields[n.Field.Name]; f != nil {
			for t := range f.terms {
				docFreqs[t]++
			}
		}
	})
	if err != nil {
		return err
	}
	for t, docFreq := range docFreqs {
		offer(t, docFreq)
	}
	return nil
}

// Matcher is one plan that is bound to a corpus.
type Matcher struct {
	corpus *Corpus
	match  clause
}

// Compile binds a plan to a corpus. It gathers the statistics and the expansions of fuzzy words that the plan needs. The error wraps the
// cause of ctx if ctx has ended, or names a plan node that this package does not know.
func (c *Corpus) Compile(ctx context.Context, n plan.Node) (*Matcher, error) {
	match, err := newCompiler(c).compile(ctx, n, 1)
	if err != nil {
		return nil, fmt.Errorf("prepare the evaluation: %w", err)
	}
	return &Matcher{corpus: c, match: match}, nil
}

// Match reports whether a document matches, and returns its score. The document need not be in the corpus.
func (m *Matcher) Match(d *Doc) (score float32, ok bool) { return m.match(d) }

// Hit is a document that was found.
type Hit struct {
	Doc   *Doc
	Score float32
}

// Search evaluates all documents of the corpus and returns those that match, in no particular order. If ctx ends, Search stops after at
// most checkEvery more documents, and returns an error that wraps the cause of ctx.
func (m *Matcher) Search(ctx context.Context) ([]Hit, error) {
	var hits []Hit
	err := m.corpus.walk(ctx, func(d *Doc) {
		if score, ok := m.match(d); ok {
			hits = append(hits, Hit{Doc: d, Score: score})
		}
	})
	if err != nil {
		return nil, err
	}
	return hits, nil
}
