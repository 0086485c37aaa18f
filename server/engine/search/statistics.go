package search

import (
	"context"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

var _ rank.Statistics = (*binder)(nil)

// Statistics returns the statistics of all live documents. The returned rank.Statistics reads each field only once and is not safe for
// concurrent use.
func (c *Corpus) Statistics() rank.Statistics { return newBinder(c, ofUnits) }

// Field implements rank.Statistics.
func (b *binder) Field(ctx context.Context, field string, terms []string) (rank.Field, []int64, error) {
	s, err := b.stats(ctx, field)
	if err != nil {
		return rank.Field{}, nil, fmt.Errorf("gather statistics: %w", err)
	}
	docFreqs := make([]int64, len(terms))
	for i, t := range terms {
		if docFreqs[i], err = s.docFreq(ctx, t); err != nil {
			return rank.Field{}, nil, fmt.Errorf("gather statistics: %w", err)
		}
	}
	return s.total, docFreqs, nil
}

// Similar implements rank.Statistics. It offers exactly the terms that are within the word's edit distance and occur in a live document.
func (b *binder) Similar(ctx context.Context, n plan.Fuzzy, offer func(term string, docFreq int64)) error {
	if !hasTerms(n.Field) {
		return nil
	}
	found, err := b.similarTo(ctx, n)
	if err != nil {
		return fmt.Errorf("find similar terms: %w", err)
	}
	for term, t := range found {
		if t.docFreq > 0 {
			offer(term, t.docFreq)
		}
	}
	b.similar.to, b.similar.terms = n, found
	return nil
}

// fieldStats holds the statistics of one field in a corpus.
type fieldStats struct {
	total rank.Field
	// docFreq returns the number of live documents that contain a term.
	docFreq func(ctx context.Context, term string) (int64, error)
}

// stats returns the statistics of a field.
func (b *binder) stats(ctx context.Context, field string) (*fieldStats, error) {
	if s := b.fields[field]; s != nil {
		return s, nil
	}
	if err := interrupted(ctx); err != nil {
		return nil, err
	}
	var s *fieldStats
	var err error
	switch b.kindOf(field) {
	case ofTags:
		s, err = b.tagStats(ctx, field)
	case ofUnits:
		s, err = b.unitStats(ctx, field)
	case ofItem:
		s = b.itemStats(field)
	}
	if err != nil {
		return nil, err
	}
	if b.fields == nil {
		b.fields = map[string]*fieldStats{}
	}
	b.fields[field] = s
	return s, nil
}

func (b *binder) itemStats(field string) *fieldStats {
	c := b.corpus
	s := &fieldStats{}
	for _, p := range c.Parts {
		if f := p.Segment.Field(field); f != nil {
			t := c.of(p).total(p, f)
			s.total.Docs += t.Docs
			s.total.Terms += t.Terms
		}
	}
	s.docFreq = func(ctx context.Context, term string) (int64, error) {
		if err := interrupted(ctx); err != nil {
			return 0, err
		}
		var n int64
		for _, p := range c.Parts {
			if f := p.Segment.Field(field); f != nil {
				n += c.of(p).docFreq(p, f, term)
			}
		}
		return n, nil
	}
	return s
}

// tagStats returns the statistics of a field of tags. A document counts for a tag if the item itself has the tag or a rule adds it.
func (b *binder) tagStats(ctx context.Context, field string) (*fieldStats, error) {
	c := b.corpus
	members, err := c.tagMembers(ctx, field)
	if err != nil {
		return nil, err
	}
	s := b.itemStats(field)
	own := s.docFreq
	added := map[string]int64{} // live documents that have a keyword only because of rules
	for _, p := range c.Parts {
		f := p.Segment.Field(field)
		byKeyword := map[string][]set{}
		var all []set
		for _, m := range members {
			docs, err := m.docs(ctx, c, p)
			if err != nil {
				return nil, err
			}
			byKeyword[m.keyword] = append(byKeyword[m.keyword], borrowed(docs))
			all = append(all, borrowed(docs))
		}
		for keyword, sets := range byKeyword {
			docs := or(sets)
			if f != nil {
				if postings, ok := f.Term(keyword); ok {
					docs = andNot(docs, borrowed(postings.Bitmap()))
				}
			}
			n := p.LiveIn(docs.bitmap)
			added[keyword] += n
			s.total.Terms += n
		}
		docs := or(all)
		if f != nil {
			docs = andNot(docs, borrowed(f.Present()))
		}
		s.total.Docs += p.LiveIn(docs.bitmap)
	}
	s.docFreq = func(ctx context.Context, term string) (int64, error) {
		n, err := own(ctx, term)
		return n + added[term], err
	}
	return s, nil
}

// unitStats returns the statistics of a field of units. It counts the values of each list of units once and multiplies the counts by the
// number of live documents that show the list.
func (b *binder) unitStats(ctx context.Context, field string) (*fieldStats, error) {
	c := b.corpus
	type shown struct {
		field *segment.Field
		live  []int64
	}
	var parts []shown
	s := &fieldStats{}
	for _, p := range c.Parts {
		l, err := c.shown(ctx, p)
		if err != nil {
			return nil, err
		}
		f := l.segment.Field(field)
		if f == nil {
			continue
		}
		live := l.liveDocs(p)
		if f.Type() == query.Text {
			words := countWords(f, f.Present(), func(list uint32) int64 { return live[list] })
			s.total.Docs += words.Docs
			s.total.Terms += words.Terms
		} else {
			s.total.Docs += weigh(f.Present(), live)
		}
		if f.Type() == query.Keyword || f.Type() == query.Boolean {
			for _, postings := range f.Ascend("") {
				s.total.Terms += weigh(postings.Bitmap(), live)
			}
		}
		parts = append(parts, shown{f, live})
	}
	s.docFreq = func(_ context.Context, term string) (int64, error) {
		var n int64
		for _, p := range parts {
			if postings, ok := p.field.Term(term); ok {
				n += weigh(postings.Bitmap(), p.live)
			}
		}
		return n, nil
	}
	return s, nil
}

// weigh returns the number of live documents that show one of the given lists of units. live[i] is the number of live documents that show
// list i.
func weigh(lists *roaring.Bitmap, live []int64) int64 {
	var n int64
	for it := lists.Iterator(); it.HasNext(); {
		n += live[it.Next()]
	}
	return n
}

// similarTo returns the terms within the edit distance of a fuzzy word. Some of these terms may occur in no live document.
func (b *binder) similarTo(ctx context.Context, n plan.Fuzzy) (similarTerms, error) {
	if err := interrupted(ctx); err != nil { // checked for each word, because the search for the first word of a field can take a long time
		return nil, err
	}
	found := similarTerms{}
	switch b.kindOf(n.Field.Name) {
	case ofUnits:
		return found, b.addShown(ctx, n, found)
	case ofTags:
		if err := b.addOwn(ctx, n, found); err != nil {
			return nil, err
		}
		return found, b.addTagged(ctx, n, found)
	case ofItem:
		return found, b.addOwn(ctx, n, found)
	}
	return found, nil
}

// similarTerms holds the terms within the edit distance of a fuzzy word, with their statistics.
type similarTerms map[string]*similarTerm

type similarTerm struct {
	// docFreq is the number of live documents that contain the term.
	docFreq int64
	// own holds the postings of the term. They do not include tags from rules.
	own ownPostings
}

// term returns the entry of a term. If the term is new, it adds an entry.
func (s similarTerms) term(text []byte) *similarTerm {
	t := s[string(text)]
	if t == nil {
		t = &similarTerm{}
		s[string(text)] = t
	}
	return t
}

// addOwn adds the similar terms that segments contain.
func (b *binder) addOwn(ctx context.Context, n plan.Fuzzy, found similarTerms) error {
	var read batch
	for _, p := range b.corpus.Parts {
		f := p.Segment.Field(n.Field.Name)
		if f == nil {
			continue
		}
		if err := interrupted(ctx); err != nil {
			return err
		}
		dead := b.corpus.of(p).deadWords(p)
		for term, postings := range f.Near(n.Text, n.Edits) {
			t := found.term(term)
			t.docFreq += liveIn(p, dead, postings, &read)
			t.own = append(t.own, postings)
		}
	}
	return nil
}

// addTagged adds the similar keywords that rules add to items. Their frequencies also count items that have the tag themselves.
func (b *binder) addTagged(ctx context.Context, n plan.Fuzzy, found similarTerms) error {
	field := n.Field.Name
	stats, err := b.stats(ctx, field)
	if err != nil {
		return err
	}
	members, err := b.corpus.tagMembers(ctx, field)
	if err != nil {
		return err
	}
	for _, m := range members {
		if automaton.Distance(n.Text, m.keyword, n.Edits) <= n.Edits {
			if found.term([]byte(m.keyword)).docFreq, err = stats.docFreq(ctx, m.keyword); err != nil {
				return err
			}
		}
	}
	return nil
}

// addShown adds the similar terms of the units that items show.
func (b *binder) addShown(ctx context.Context, n plan.Fuzzy, found similarTerms) error {
	for _, p := range b.corpus.Parts {
		l, err := b.corpus.shown(ctx, p)
		if err != nil {
			return err
		}
		f := l.segment.Field(n.Field.Name)
		if f == nil {
			continue
		}
		live := l.liveDocs(p)
		for term, postings := range f.Near(n.Text, n.Edits) {
			found.term(term).docFreq += weigh(postings.Bitmap(), live)
		}
	}
	return nil
}
