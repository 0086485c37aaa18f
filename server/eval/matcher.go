package eval

import (
	"context"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// checkEvery is how many documents are looked at between two looks at the clock: well under a millisecond's worth.
const checkEvery = 256

// Options says what a Matcher is wanted for.
type Options struct {
	// Unscored leaves scores out: Match returns 0 for them, clauses that only rank are not looked at, and no statistics
	// are gathered. For orders other than by relevance.
	Unscored bool
}

// Matcher is one plan bound to a corpus. It remembers where it found fields last, so one goroutine may use it at a time;
// compiling again is cheap where the statistics are known.
type Matcher struct {
	corpus *Corpus
	root   clause
}

// Compile binds a plan to a corpus: it gathers the statistics and the expansions of fuzzy words that the plan needs. The
// error is that of an interrupted context, wrapped, or of a plan node that this package does not know.
func (c *Corpus) Compile(ctx context.Context, n plan.Node, o Options) (*Matcher, error) {
	cc := compiler{known: newKnown(c), unscored: o.Unscored}
	if !o.Unscored {
		if err := cc.gather(ctx, n); err != nil {
			return nil, fmt.Errorf("gather statistics: %w", err)
		}
	}
	root, err := cc.compile(ctx, n, 1)
	if err != nil {
		return nil, fmt.Errorf("prepare the evaluation: %w", err)
	}
	return &Matcher{corpus: c, root: root}, nil
}

// Match reports whether a document matches, and its score. The document need not be in the corpus.
func (m *Matcher) Match(d *Doc) (score float32, ok bool) { return m.root.match(d) }

// Hit is a document that was found.
type Hit struct {
	Doc   *Doc
	Score float32
}

// Search walks the corpus and returns what matches, in no particular order. It stops with the context's error, wrapped,
// within checkEvery documents after the context has ended.
func (m *Matcher) Search(ctx context.Context) ([]Hit, error) {
	var hits []Hit
	for n, d := range m.corpus.docs {
		if n%checkEvery == 0 {
			if err := interrupted(ctx); err != nil {
				return nil, fmt.Errorf("walk the items: %w", err)
			}
		}
		if score, ok := m.root.match(d); ok {
			hits = append(hits, Hit{Doc: d, Score: score})
		}
	}
	return hits, nil
}

// interrupted returns why a context has ended, nil where it has not.
func interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
