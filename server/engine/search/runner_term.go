package search

import (
	"context"
	"sync/atomic"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// termClause scores a term of a text field, or one of the keywords to which a fuzzy word expands.
type termClause struct {
	field  query.Field
	kind   kind
	term   string
	scorer rank.Scorer
	// members holds the rules that add the term to items as a tag.
	members []*member
	units   *unitOverlay
	own     ownPostings
	// table holds precomputed scores (see scoreTable); nil until it is needed
	table atomic.Pointer[scoreTable]
}

func (b *binder) scoredTerm(ctx context.Context, f query.Field, term string, scorer rank.Scorer) (*termClause, error) {
	t := &termClause{field: f, kind: b.kindOf(f.Name), term: term, scorer: scorer, own: b.own[fieldTerm{f.Name, term}]}
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
	case ofItem:
	}
	return t, err
}

func (t *termClause) open(ctx context.Context, s *scoring, _ bool) (runner, error) {
	if err := interrupted(ctx); err != nil {
		return nil, err
	}
	if t.kind == ofUnits && !s.shown {
		return s.openShown(ctx, t.units, t)
	}
	var postings segment.Postings
	f := s.part.Segment.Field(t.field.Name)
	there := false
	if f != nil {
		postings, there = t.own.in(f, t.term)
	}
	if t.field.Type != query.Text {
		return t.openKeyword(ctx, s, postings, there)
	}
	if !there {
		return nil, nil
	}
	frequent, err := t.openFrequent(ctx, s, f, postings)
	if err != nil {
		return nil, err
	}
	if frequent != nil {
		return frequent, nil
	}
	r := &termRunner{postings: postings.Iterator(), norms: s.lengthNorms(f), scorer: t.scorer}
	if postings.Len() >= tableFrom {
		r.table = t.scores(r.norms)
	}
	return r, nil
}

// openKeyword returns the runner of a keyword, which gives all documents the same score. Some documents may have the keyword only because
// of a tag rule.
func (t *termClause) openKeyword(ctx context.Context, s *scoring, own segment.Postings, there bool) (runner, error) {
	var sets []set
	if there {
		sets = append(sets, borrowed(own.Bitmap()))
	}
	for _, m := range t.members {
		docs, err := m.docs(ctx, s.corpus, s.part)
		if err != nil {
			return nil, err
		}
		sets = append(sets, borrowed(docs))
	}
	docs := or(sets)
	if docs.isEmpty() {
		return nil, nil
	}
	return &bitRunner{words: dense(docs.bitmap, s.part.Segment.Len()), score: float64(t.scorer.Score(1, rank.NoNorm))}, nil
}

// termRunner gives the scores of a term of a text field.
type termRunner struct {
	postings segment.Iterator
	// docs[at:n] and their freqs have been read and not yet scored.
	batch
	at, n  int
	norms  norms
	scorer rank.Scorer
	table  *scoreTable // nil if the term has fewer than tableFrom documents
}

func (r *termRunner) add(b *block, to *sums) {
	for {
		for r.at < r.n && r.docs[r.at] < b.from {
			r.at++
		}
		end := r.at
		for end < r.n && r.docs[end] < b.to {
			end++
		}
		r.score(r.docs[r.at:end], r.freqs[r.at:end], b, to)
		if r.at = end; end < r.n {
			return
		}
		if r.at, r.n = 0, r.postings.NextMany(r.docs[:], r.freqs[:]); r.n == 0 {
			return
		}
	}
}

func (r *termRunner) most(b *block) float64 {
	for r.at < r.n && r.docs[r.at] < b.from {
		r.at++
	}
	if r.at < r.n && r.docs[r.at] >= b.to {
		return 0
	}
	return float64(r.scorer.Most())
}

func (r *termRunner) least() float64 { return float64(r.scorer.Score(1, r.norms.longest)) }

// score adds the scores of documents of one block.
func (r *termRunner) score(docs, freqs []uint32, b *block, to *sums) {
	freqs = freqs[:len(docs)]
	if r.table == nil {
		for i, doc := range docs {
			b.touch(doc)
			to[doc&(blockDocs-1)] += float64(r.scorer.Score(float32(freqs[i]), r.norms.byDoc[doc]))
		}
		return
	}
	for i, doc := range docs {
		b.touch(doc)
		freq, norm := freqs[i], r.norms.byDoc[doc]
		to[doc&(blockDocs-1)] += r.table.score(r.scorer, freq, norm)
	}
}

// scores returns a score table that covers all of the norms. It builds the table on first use.
func (t *termClause) scores(of norms) *scoreTable {
	if made := t.table.Load(); made != nil && made.longest >= of.longest {
		return made
	}
	made := &scoreTable{longest: of.longest}
	for freq := range tableFreqs {
		for norm := range int(of.longest) + 1 {
			made.scores[freq<<8|norm] = t.scorer.Score(float32(freq), byte(norm))
		}
	}
	t.table.Store(made)
	return made
}
