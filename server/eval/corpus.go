package eval

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// Corpus is the documents that are ranked together: all items of one property. Any number of goroutines may read it at
// once, matching included; Put and Remove need it to themselves, and end the use of every Matcher made before, whose
// statistics they change. The caller holds the lock that ensures both.
//
// The statistics of a field are worked out by a walk at their first use and kept up to date from then on.
type Corpus struct {
	docs []*Doc // in no particular order
	at   map[int64]int

	mu    sync.Mutex // guards stats among readers
	stats map[name]*fieldStats
}

// fieldStats is what ranking knows of one field.
type fieldStats struct {
	total rank.Field
	// docFreq is the number of documents with each term: of all terms when complete, else of those asked for.
	docFreq  map[string]int64
	complete bool
}

// maxKnownTerms is how many terms of a field have their frequencies remembered where not all are.
const maxKnownTerms = 4096

// NewCorpus returns an empty corpus.
func NewCorpus() *Corpus {
	return &Corpus{at: map[int64]int{}, stats: map[name]*fieldStats{}}
}

// Len returns the number of documents.
func (c *Corpus) Len() int { return len(c.docs) }

// Doc returns the document of an item, nil where there is none.
func (c *Corpus) Doc(id int64) *Doc {
	if i, ok := c.at[id]; ok {
		return c.docs[i]
	}
	return nil
}

// Docs yields all documents in no particular order.
func (c *Corpus) Docs() iter.Seq[*Doc] { return slices.Values(c.docs) }

// Put adds a document in place of the one with the same id.
func (c *Corpus) Put(d *Doc) {
	c.Remove(d.id)
	c.at[d.id] = len(c.docs)
	c.docs = append(c.docs, d)
	c.count(d, 1)
}

// Remove takes a document away and reports whether it was there.
func (c *Corpus) Remove(id int64) bool {
	i, ok := c.at[id]
	if !ok {
		return false
	}
	d, last := c.docs[i], len(c.docs)-1
	c.docs[i] = c.docs[last]
	c.at[c.docs[i].id] = i
	c.docs[last] = nil
	c.docs = c.docs[:last]
	delete(c.at, id)
	c.count(d, -1)
	return true
}

// count brings the known statistics up to date with a document that comes (1) or goes (-1).
func (c *Corpus) count(d *Doc, sign int64) {
	if len(c.stats) == 0 {
		return
	}
	for i := range d.fields {
		if s := c.stats[d.fields[i].name]; s != nil {
			s.count(d, &d.fields[i], sign)
		}
	}
}

func (s *fieldStats) count(d *Doc, f *field, sign int64) {
	if f.typ != query.Text || f.length > 0 { // a text without a word is present, and does not rank
		s.total.Docs += sign
	}
	s.total.Terms += sign * f.size()
	if !f.hasTerms() {
		for _, v := range d.numbers[f.from:f.to] {
			s.countTerm(booleanTerm(v), sign)
		}
		return
	}
	for i, to := f.terms(); i < to; i++ {
		s.countTerm(d.term(i), sign)
	}
}

func (s *fieldStats) countTerm(t string, sign int64) {
	n, known := s.docFreq[t]
	switch {
	case !known && !s.complete:
	case n+sign == 0 && s.complete:
		delete(s.docFreq, t)
	case known:
		s.docFreq[t] = n + sign
	default:
		s.docFreq[strings.Clone(t)] = sign // t is part of a document, which may go
	}
}

// size is what a field adds to rank.Field.Terms: the number of its words, or of its distinct values.
func (f *field) size() int64 {
	if f.typ == query.Text {
		return int64(f.length)
	}
	return int64(f.to - f.from)
}

func (f *field) hasTerms() bool { return f.typ == query.Text || f.typ == query.Keyword }

// booleanTerm is the term that a truth value stands for in a plan.
func booleanTerm(v int64) string {
	if v != 0 {
		return "true"
	}
	return "false"
}

// need makes sure that the statistics of a field are known, with the frequencies of some terms or, with all, of all.
// Numbers other than truth values have no terms, and are not ranked. The caller must not change the corpus meanwhile.
func (c *Corpus) need(ctx context.Context, field string, terms []string, all bool) (*fieldStats, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := nameOf(field)
	s := c.stats[h]
	missing := false
	for _, t := range terms {
		if s == nil {
			missing = true
			break
		}
		if _, ok := s.docFreq[t]; !ok && !s.complete {
			missing = true
		}
	}
	if s != nil && !missing && (s.complete || !all) {
		return s, nil
	}
	fresh := &fieldStats{docFreq: map[string]int64{}, complete: all}
	if !all {
		if s != nil && len(s.docFreq) < maxKnownTerms {
			for t := range s.docFreq {
				fresh.docFreq[t] = 0
			}
		}
		for _, t := range terms {
			fresh.docFreq[t] = 0
		}
	}
	hint := 0
	for n, d := range c.docs {
		if n%checkEvery == 0 {
			if err := interrupted(ctx); err != nil {
				return nil, err
			}
		}
		if f := d.field(h, &hint); f != nil {
			fresh.count(d, f, 1)
		}
	}
	c.stats[h] = fresh
	return fresh, nil
}
