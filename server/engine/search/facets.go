package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// matched holds the live documents of one part whose values are counted.
type matched struct {
	part segment.Part
	docs segment.Docs
	n    int64
}

// CountValues counts how often each value of a field occurs in the live documents that match at least one of the queries. It returns the
// number of these documents. query.Countable must accept the field. CountValues does not read items:
//
//   - Terms of all parts are merged in byte order, and their postings are intersected with the matching documents. If a term has too few
//     documents to be among the most frequent ones, its postings are not read.
//   - If no document has more than one term and most postings are short, terms are counted by the ordinals of the matching documents. If
//     few documents match, only the terms of these documents are looked up.
//   - Numbers are counted from their column. If there are many distinct numbers, this takes several passes.
//   - A tag that a rule adds is counted if the item does not have the tag itself. Values of units are counted once for each list of units
//     that documents show.
func (c *Corpus) CountValues(ctx context.Context, queries []*Query, f query.Field, t *library.FacetCounter) (total int64, err error) {
	var parts []matched
	for _, p := range c.Parts {
		m, err := c.matched(ctx, queries, p)
		if err != nil {
			return 0, err
		}
		if m.n > 0 {
			total += m.n
			parts = append(parts, m)
		}
	}
	count := valueCounter{corpus: c, parts: parts, total: total, tally: t}
	switch kind := c.kindOf(f.Name); {
	case f.Name == query.AllTags:
		err = count.tags(ctx)
	case kind == ofUnits:
		err = count.units(ctx, f)
	case kind == ofTags:
		err = count.namespace(ctx, f, "", t.Prefix())
	case f.Type == query.Long:
		err = count.numbers(ctx, f)
	case f.Sortable && count.few(f.Name):
		err = count.byOrdinal(ctx, f.Name)
	default:
		err = count.terms(ctx, f, "", t.Prefix(), nil)
	}
	if err != nil {
		return 0, fmt.Errorf("count the values of %s: %w", f.Name, err)
	}
	return total, nil
}

// matched returns the live documents of a part that match at least one of the queries.
func (c *Corpus) matched(ctx context.Context, queries []*Query, p segment.Part) (matched, error) {
	sets := make([]set, 0, len(queries))
	for _, q := range queries {
		v, err := q.Match(ctx, p)
		if err != nil {
			return matched{}, err
		}
		docs := borrowed(v.Docs())
		if gone := v.gone(p.Dead); gone != nil {
			docs = andNot(docs, borrowed(gone))
		}
		sets = append(sets, docs)
	}
	m := matched{part: p, docs: segment.Docs{Bitmap: or(sets).published()}}
	if m.n = int64(m.docs.Bitmap.GetCardinality()); m.n > 0 {
		m.docs.Bits = make([]uint64, (p.Segment.Len()+63)/64)
		m.docs.Bitmap.WriteDenseTo(m.docs.Bits)
	}
	return m, nil
}

// valueCounter counts the values of one field.
type valueCounter struct {
	corpus *Corpus
	parts  []matched
	// total is the number of documents in parts.
	total int64
	tally *library.FacetCounter
}

// source iterates over the terms of one part in byte order.
type source struct {
	*matched
	*segment.TermIterator
	// head is the first 8 bytes of the current term as a number, for fast comparison.
	head uint64
	// byOrdinal holds the counts of all terms by ordinal; nil if terms are counted by their postings.
	byOrdinal []uint32
}

// ready prepares the current term. It returns false if there is no term or if the term does not begin with the prefix.
func (s *source) ready(prefix []byte) bool {
	if !s.Valid() || !bytes.HasPrefix(s.Term(), prefix) {
		return false
	}
	var head [8]byte
	copy(head[:], s.Term())
	s.head = binary.BigEndian.Uint64(head[:])
	return true
}

// most returns an upper bound of the result of count.
func (s *source) most() int64 {
	if s.byOrdinal != nil {
		if o := s.Ordinal(); o >= 0 && o < len(s.byOrdinal) { // a damaged file may have more terms
			return int64(s.byOrdinal[o])
		}
		return 0
	}
	return min(s.n, int64(s.Len()))
}

// count returns the number of matched documents that have the current term.
func (s *source) count() int64 {
	if s.byOrdinal != nil || s.n == int64(s.part.Segment.Len()) {
		return s.most()
	}
	return int64(s.Postings().CountIn(s.docs))
}

// terms counts the terms of a field that begin with a prefix. The value that it adds for a term is `named` followed by the term. `more`
// holds additional counts of terms that rules add.
func (c *valueCounter) terms(ctx context.Context, field query.Field, named, prefix string, more map[string]int64) error {
	sources, err := c.sources(ctx, field, prefix)
	if err != nil {
		return err
	}
	begin, all := []byte(prefix), c.tally.Only() == nil
	var same []int // indexes of the sources whose current term is the lowest
	floor := int64(0)
	for looked := 1; len(sources) > 0; looked++ {
		if looked%checkTerms == 0 {
			if err := interrupted(ctx); err != nil {
				return err
			}
		}
		same = lowest(sources, same[:0])
		term := sources[same[0]].Term()
		extra := more[string(term)]
		most := extra
		for _, i := range same {
			most += sources[i].most()
		}
		if most > floor && c.tally.Reaches(most) && (all || c.tally.Wants(named+string(term))) {
			n := extra
			for _, i := range same {
				n += sources[i].count()
			}
			// Terms ascend, so after a beaten term, all later terms that are not more frequent are beaten too.
			if c.tally.Reaches(n) && c.tally.Add(named+string(term), n) {
				floor = max(floor, n)
			}
		}
		if extra > 0 {
			delete(more, string(term))
		}
		for _, i := range slices.Backward(same) {
			if sources[i].Next(); !sources[i].ready(begin) {
				sources = slices.Delete(sources, i, i+1)
			}
		}
	}
	for term, n := range more {
		c.tally.Add(named+term, n)
	}
	return nil
}

const (
	// shortLists is a limit for fields with at most one term in each document. Below this average number of documents per term, terms are
	// counted by ordinals.
	shortLists = 128
	// maxOrdinals is the maximum number of terms that a request counts by ordinal. Each count takes 4 bytes.
	maxOrdinals = 1 << 21
)

// sources returns a source for each part that has a term with the prefix. Each source is at the first such term.
func (c *valueCounter) sources(ctx context.Context, field query.Field, prefix string) ([]source, error) {
	var sources []source
	spare := maxOrdinals
	for i := range c.parts {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		f := c.parts[i].part.Segment.Field(field.Name)
		if f == nil {
			continue
		}
		s := source{matched: &c.parts[i], TermIterator: f.TermIterator(prefix)}
		if !s.ready([]byte(prefix)) {
			continue
		}
		if field.Sortable && field.Type == query.Keyword && f.Docs() < shortLists*f.Distinct() && f.Distinct() <= spare {
			spare -= f.Distinct()
			s.byOrdinal = f.CountOrdinals(s.docs.Bitmap)
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// lowest appends to `same` the indexes of the sources that have the lowest current term.
func lowest(sources []source, same []int) []int {
	var low *source
	for i := range sources {
		s := &sources[i]
		if low != nil {
			order := cmp.Compare(s.head, low.head)
			if order == 0 {
				order = bytes.Compare(s.Term(), low.Term())
			}
			if order > 0 {
				continue
			}
			if order < 0 {
				same = same[:0]
			}
		}
		if len(same) == 0 {
			low = s
		}
		same = append(same, i)
	}
	return same
}

// byOrdinal is used if at most maxLookups documents match and the field has more than lookupShare terms per matching document.
const (
	maxLookups  = 1 << 16
	lookupShare = 16
)

// few reports whether few documents match, both in absolute numbers and compared with the number of terms of the field.
func (c *valueCounter) few(field string) bool {
	terms := int64(0)
	for _, m := range c.parts {
		if f := m.part.Segment.Field(field); f != nil {
			terms += int64(f.Distinct())
		}
	}
	return c.total <= maxLookups && c.total*lookupShare < terms
}

// byOrdinal counts the terms of a field that has at most one term in each document. It looks up the ordinal of each matching document.
func (c *valueCounter) byOrdinal(ctx context.Context, field string) error {
	counts := map[string]int64{}
	for _, m := range c.parts {
		f := m.part.Segment.Field(field)
		if f == nil {
			continue
		}
		if err := interrupted(ctx); err != nil {
			return err
		}
		ordinals, found := f.Ordinals(), map[uint32]int64{}
		for docs := m.docs.Bitmap.Iterator(); docs.HasNext(); {
			if o := ordinals[docs.Next()]; o > 0 {
				found[o-1]++
			}
		}
		for o, n := range found {
			counts[string(f.TermAt(o))] += n
		}
	}
	for term, n := range counts {
		c.tally.Add(term, n)
	}
	return nil
}

// numbers counts the whole numbers of a field.
func (c *valueCounter) numbers(ctx context.Context, field query.Field) error {
	return countNumbers(func(use func(n, count int64)) error {
		looked := 0
		for _, m := range c.parts {
			f := m.part.Segment.Field(field.Name)
			if f == nil {
				continue
			}
			for n, count := range f.Numbers(m.docs) {
				if looked++; looked%checkTerms == 0 {
					if err := interrupted(ctx); err != nil {
						return err
					}
				}
				use(n, count)
			}
		}
		return interrupted(ctx)
	}, c.total, maxNumbers, c.tally.AddNumber)
}

const (
	// maxNumbers is the maximum number of distinct numbers that are counted in one pass over a field. Their counts take about 8 MB.
	maxNumbers = 1 << 18
	// sampledNumbers is the approximate size of the sample from which rangeEnds computes the ranges of further passes.
	sampledNumbers = 1 << 14
)

// countNumbers counts numbers in several passes, and calls add with each number and its total count. Each pass calls `each` and counts the
// numbers of one range. The ranges ascend, and each has at most `most` distinct numbers. If the remaining numbers are dense, the last pass
// counts them in an array. `each` calls use with all numbers and a count for each number, in any order. A number may occur several times.
// The sum of all counts of a number is at most total.
func countNumbers(each func(use func(n, count int64)) error, total int64, most int, add func(n, count int64)) error {
	var ends []int64 // the last number of each range after the first one
	for from := int64(math.MinInt64); ; {
		to := int64(math.MaxInt64)
		if i, _ := slices.BinarySearch(ends, from); i < len(ends) {
			to = ends[i]
		}
		counts := map[int64]int64{}
		err := each(func(n, count int64) {
			if n < from || n > to {
				return
			}
			if counts[n] += count; len(counts) > most {
				to = middle(counts)
				maps.DeleteFunc(counts, func(n, _ int64) bool { return n > to })
			}
		})
		if err != nil {
			return err
		}
		for n, count := range counts {
			add(n, count)
		}
		if to == math.MaxInt64 {
			return nil
		}
		first := from == math.MinInt64
		from = to + 1
		if !first {
			continue
		}
		var greatest int64
		if ends, greatest, err = rangeEnds(each, total, most); err != nil {
			return err
		}
		if uint64(greatest)-uint64(from) < uint64(most)*denseShare {
			return countDense(each, from, greatest, add)
		}
	}
}

// denseShare is the number of array elements that take as much memory as one entry of a map.
const denseShare = 8

// countDense counts the numbers from lo to hi in one pass.
func countDense(each func(use func(n, count int64)) error, lo, hi int64, add func(n, count int64)) error {
	counts := make([]uint32, hi-lo+1)
	err := each(func(n, count int64) {
		if lo <= n && n <= hi {
			counts[n-lo] += uint32(count)
		}
	})
	if err != nil {
		return err
	}
	for i, count := range counts {
		if count > 0 {
			add(lo+int64(i), int64(count))
		}
	}
	return nil
}

// middle returns one of the numbers. It is about the median, and never the greatest number.
func middle(counts map[int64]int64) int64 {
	const enough = 1000
	some := make([]int64, 0, enough)
	for n := range counts {
		if some = append(some, n); len(some) == enough {
			break
		}
	}
	slices.Sort(some)
	return some[(len(some)-1)/2]
}

// rangeEnds returns the last numbers of ranges with about most*3/4 documents each, and the greatest number. If fewer than half of the
// numbers in a sample are distinct, one range may be enough, and rangeEnds returns no ends.
func rangeEnds(each func(use func(n, count int64)) error, total int64, most int) (ends []int64, greatest int64, err error) {
	step, seen, next := max(1, total/sampledNumbers), int64(0), int64(0)
	greatest = math.MinInt64
	var sample []int64
	err = each(func(n, count int64) {
		greatest = max(greatest, n)
		for seen += count; next < seen; next += step {
			sample = append(sample, n)
		}
	})
	slices.Sort(sample)
	if different := len(slices.Compact(slices.Clone(sample))); err != nil || different < len(sample)/2 {
		return nil, greatest, err
	}
	inRange := max(1, int(int64(most)*3/4/step))
	for i := inRange; i < len(sample); i += inRange {
		ends = append(ends, sample[i])
	}
	return ends, greatest, nil
}

// tags counts the tags of all namespaces.
func (c *valueCounter) tags(ctx context.Context) error {
	names, err := c.corpus.DynamicFields(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		namespace, ok := query.TagNamespace(name)
		if !ok {
			continue
		}
		if err := interrupted(ctx); err != nil {
			return err
		}
		named := namespace + ":"
		folded, prefix := query.Fold(named), c.tally.Prefix()
		if rest, ok := strings.CutPrefix(prefix, folded); ok {
			prefix = rest
		} else if prefix = ""; !strings.HasPrefix(folded, c.tally.Prefix()) {
			continue
		}
		if strings.HasPrefix(c.tally.Key(), prefix) {
			prefix = c.tally.Key()
		}
		if err := c.namespace(ctx, query.Field{Name: name}, named, prefix); err != nil {
			return err
		}
	}
	return nil
}

// namespace counts the tags of one field, including those that rules add.
func (c *valueCounter) namespace(ctx context.Context, field query.Field, named, prefix string) error {
	more := map[string]int64{}
	if c.corpus.Overlay != nil && len(c.corpus.Overlay.Tags) > 0 {
		members, err := c.corpus.tagMembers(ctx, field.Name)
		if err != nil {
			return err
		}
		byKeyword := map[string][]*member{}
		for _, m := range members {
			if strings.HasPrefix(m.keyword, prefix) {
				byKeyword[m.keyword] = append(byKeyword[m.keyword], m)
			}
		}
		for keyword, members := range byKeyword {
			for _, m := range c.parts {
				n, err := c.added(ctx, m, field.Name, keyword, members)
				if err != nil {
					return err
				}
				if n > 0 {
					more[keyword] += n
				}
			}
		}
	}
	return c.terms(ctx, field, named, prefix, more)
}

// added returns the number of matched documents that have a tag only because a rule adds it.
func (c *valueCounter) added(ctx context.Context, m matched, field, keyword string, members []*member) (int64, error) {
	if err := interrupted(ctx); err != nil {
		return 0, err
	}
	sets := make([]set, len(members))
	for i, by := range members {
		docs, err := by.docs(ctx, c.corpus, m.part)
		if err != nil {
			return 0, err
		}
		sets[i] = borrowed(docs)
	}
	found := and(or(sets), borrowed(m.docs.Bitmap))
	if found.isEmpty() {
		return 0, nil
	}
	n := found.bitmap.GetCardinality()
	if f := m.part.Segment.Field(field); f != nil {
		if own, ok := f.Term(keyword); ok {
			n -= found.bitmap.AndCardinality(own.Bitmap())
		}
	}
	return int64(n), nil
}

// units counts the values of a field of units. A document counts once for each distinct value in its list of units.
func (c *valueCounter) units(ctx context.Context, field query.Field) error {
	units, err := c.corpus.unitOverlay(ctx)
	if err != nil {
		return err
	}
	counts := map[string]int64{}
	for _, m := range c.parts {
		shown, err := units.lists(ctx, c.corpus, m.part)
		if err != nil {
			return err
		}
		for list, n := range shown.count(m.docs.Bitmap) {
			if n == 0 {
				continue
			}
			for value := range units.values(shown.units[list], field) {
				counts[value] += n
			}
		}
	}
	for value, n := range counts {
		c.tally.Add(value, n)
	}
	return nil
}

// count returns, for each list, the number of the given documents that show the list.
func (l *unitLists) count(docs *roaring.Bitmap) []int64 {
	counts := make([]int64, len(l.docs))
	if len(l.docs) <= fewLists {
		for list, of := range l.docs {
			counts[list] = int64(of.AndCardinality(docs))
		}
		return counts
	}
	for it := docs.Iterator(); it.HasNext(); {
		counts[l.list(it.Next())]++
	}
	return counts
}

// values returns the distinct values of a field in a list of units.
func (o *unitOverlay) values(list []int64, field query.Field) map[string]bool {
	units := make([]item.Unit, len(list))
	for i, id := range list {
		units[i] = *o.byID[id]
	}
	found := map[string]bool{}
	for f, v := range item.UnitValues(units, o.byDefault) {
		switch {
		case f.Name != field.Name:
		case f.Type == query.Keyword:
			found[query.Fold(v.Str)] = true
		default:
			found[f.CountedNumber(v.Int)] = true
		}
	}
	return found
}
