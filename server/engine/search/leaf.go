package search

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// test is what a leaf asks of one field. It is immutable.
type test interface {
	// find returns the documents of s that pass; f is the field there, never nil. Where within is not nil, documents
	// outside it may be left out.
	find(ctx context.Context, s *segment.Segment, f *segment.Field, within *roaring.Bitmap) (set, error)
	// holds reports whether a lower-cased keyword passes.
	holds(keyword string) bool
	// appendKey writes what the test asks: equal texts, equal tests.
	appendKey(key []byte) []byte
	// cost is what package eval takes its counterpart to cost: it decides in which order scores are added.
	cost() int
	// price is what find costs here.
	price() int
}

// hasTerms reports whether patterns, ranges of terms and fuzzy words find anything in a field.
func hasTerms(f query.Field) bool { return f.Type == query.Text || f.Type == query.Keyword }

// checkTerms is how many terms are looked at between two looks at the clock.
const checkTerms = 1024

// interrupted returns why a context has ended, nil where it has not.
func interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// words are exact terms of which one is enough: a single one, or the expansions of a fuzzy word; in byte order.
type words struct {
	terms []string
	// fuzzy words cost more in package eval.
	fuzzy bool
}

func (t *words) find(ctx context.Context, s *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	if len(t.terms) == 1 {
		p, ok := f.Term(t.terms[0])
		if !ok {
			return set{}, nil
		}
		return borrowed(p.Bitmap()), nil
	}
	u := newUnion(s.Len())
	for _, term := range t.terms {
		if err := interrupted(ctx); err != nil {
			return set{}, err
		}
		if p, ok := f.Term(term); ok {
			u.add(p)
		}
	}
	return u.set(), nil
}

func (t *words) holds(keyword string) bool { return slices.Contains(t.terms, keyword) }

func (t *words) appendKey(key []byte) []byte {
	key = append(key, '=')
	for i, term := range t.terms {
		if i > 0 {
			key = append(key, ',')
		}
		key = strconv.AppendQuote(key, term)
	}
	return key
}

func (t *words) cost() int {
	if t.fuzzy {
		return 20
	}
	return 2
}

func (t *words) price() int {
	if len(t.terms) == 1 {
		return 1
	}
	return 4 + len(t.terms)/4
}

// phrase is words in a row.
type phrase struct {
	words   []string
	offsets []int
	slop    int
	matcher *rank.Phrase
}

func newPhrase(n plan.Phrase) *phrase {
	t := &phrase{slop: n.Slop}
	for _, w := range n.Words {
		t.words = append(t.words, w.Text)
		t.offsets = append(t.offsets, w.Position)
	}
	t.matcher = rank.NewPhrase(t.words, t.offsets, t.slop)
	return t
}

func (t *phrase) find(ctx context.Context, _ *segment.Segment, f *segment.Field, within *roaring.Bitmap) (set, error) {
	hits := &phraseHits{}
	err := t.walk(ctx, f, within, hits.add)
	return hits.set(), err
}

// phraseHits are the documents that hold a phrase, in order, and how often they do.
type phraseHits struct {
	docs  []uint32
	freqs []float32
}

func (h *phraseHits) add(doc uint32, freq float32) {
	h.docs = append(h.docs, doc)
	h.freqs = append(h.freqs, freq)
}

func (h *phraseHits) set() set {
	if h == nil || len(h.docs) == 0 {
		return set{}
	}
	return owned(roaring.BitmapOf(h.docs...))
}

// phrase looks for a phrase, or knows it already. Documents outside within may be left out, unless it is nil.
func (e *evaluation) phrase(ctx context.Context, f query.Field, p *phrase, within *roaring.Bitmap) (*phraseHits, error) {
	key := string(p.appendKey([]byte(f.Name)))
	if hits := e.phrases[key]; hits != nil {
		return hits, nil
	}
	hits := &phraseHits{}
	if field := e.part.Segment.Field(f.Name); field != nil {
		if err := p.walk(ctx, field, within, hits.add); err != nil {
			return nil, fmt.Errorf("look for %s: %w", f.Name, err)
		}
	}
	if within == nil && e.phrases != nil {
		e.phrases[key] = hits
	}
	return hits, nil
}

// walk yields the documents that hold the phrase, in order, and how often they do. Documents outside within are left out,
// unless it is nil.
func (t *phrase) walk(ctx context.Context, f *segment.Field, within *roaring.Bitmap, yield func(doc uint32, freq float32)) error {
	lists := make([]segment.Postings, len(t.words))
	order := make([]int, len(t.words))
	for i, w := range t.words {
		p, ok := f.Term(w)
		if !ok {
			return nil
		}
		lists[i], order[i] = p, i
	}
	// The rarest words first: what has all of them is soon found.
	slices.SortStableFunc(order, func(i, j int) int { return lists[i].Len() - lists[j].Len() })
	var all set
	if within != nil {
		all = and(borrowed(within), borrowed(lists[order[0]].Bitmap()))
	} else {
		all = borrowed(lists[order[0]].Bitmap())
	}
	for _, i := range order[1:] {
		if all = and(all, borrowed(lists[i].Bitmap())); all.isEmpty() {
			return nil
		}
	}
	if all.isEmpty() {
		return nil
	}
	// A word that stands twice in the phrase is read once.
	cursors := make([]segment.Iterator, len(t.words))
	positions := make([][]uint32, len(t.words))
	buffers := make([][]uint32, len(t.words))
	for i := range cursors {
		if slices.Index(t.words, t.words[i]) == i {
			cursors[i] = lists[i].Iterator()
		}
	}
	looked := 0
	docs := all.bitmap.Iterator()
next:
	for docs.HasNext() {
		if looked++; looked%checkTerms == 0 {
			if err := interrupted(ctx); err != nil {
				return err
			}
		}
		doc := docs.Next()
		for i := range positions {
			first := slices.Index(t.words, t.words[i])
			if first < i {
				positions[i] = positions[first]
				continue
			}
			if at, ok := cursors[i].Seek(doc); !ok || at != doc {
				continue next
			}
			buffers[i] = cursors[i].Positions(buffers[i][:0])
			positions[i] = buffers[i]
		}
		if freq := t.matcher.Freq(positions); freq > 0 {
			yield(doc, freq)
		}
	}
	return nil
}

func (t *phrase) holds(string) bool { return false }

func (t *phrase) appendKey(key []byte) []byte {
	key = append(key, '"')
	for i, w := range t.words {
		key = strconv.AppendInt(key, int64(t.offsets[i]), 10)
		key = strconv.AppendQuote(key, w)
	}
	return strconv.AppendInt(append(key, '~'), int64(t.slop), 10)
}

func (t *phrase) cost() int  { return 4 * len(t.words) }
func (t *phrase) price() int { return 50 }

// pattern is terms that an automaton accepts.
type pattern struct {
	automaton automaton.Automaton
	source    string
	regexp    bool
}

func (t *pattern) find(ctx context.Context, s *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	if !hasTerms(query.Field{Type: f.Type()}) {
		return set{}, nil
	}
	u := newUnion(s.Len())
	looked := 0
	for _, p := range f.Match(t.automaton) {
		if looked++; looked%checkTerms == 0 {
			if err := interrupted(ctx); err != nil {
				return set{}, err
			}
		}
		u.add(p)
	}
	return u.set(), nil
}

func (t *pattern) holds(keyword string) bool { return automaton.Match(t.automaton, keyword) }

func (t *pattern) appendKey(key []byte) []byte {
	sign := byte('*')
	if t.regexp {
		sign = '/'
	}
	return strconv.AppendQuote(append(key, sign), t.source)
}

func (t *pattern) cost() int  { return 40 }
func (t *pattern) price() int { return 40 }

// termRange is terms between two bounds.
type termRange struct{ plan.TermRange }

func (t *termRange) find(ctx context.Context, s *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	if !hasTerms(query.Field{Type: f.Type()}) {
		return set{}, nil
	}
	from := t.Lo
	if t.LoOpen {
		from = ""
	}
	u := newUnion(s.Len())
	looked := 0
	for term, p := range f.Ascend(from) {
		if looked++; looked%checkTerms == 0 {
			if err := interrupted(ctx); err != nil {
				return set{}, err
			}
		}
		if !t.HiOpen && string(term) > t.Hi {
			break
		}
		if t.holds(string(term)) {
			u.add(p)
		}
	}
	return u.set(), nil
}

func (t *termRange) holds(s string) bool {
	above := t.LoOpen || s > t.Lo || t.LoIncl && s == t.Lo
	return above && (t.HiOpen || s < t.Hi || t.HiIncl && s == t.Hi)
}

func (t *termRange) appendKey(key []byte) []byte {
	bound := func(open, included bool, text string) {
		switch {
		case open:
			key = append(key, '*')
			return
		case included:
			key = append(key, '=')
		}
		key = strconv.AppendQuote(key, text)
	}
	key = append(key, '<')
	bound(t.LoOpen, t.LoIncl, t.Lo)
	key = append(key, ',')
	bound(t.HiOpen, t.HiIncl, t.Hi)
	return key
}

func (t *termRange) cost() int  { return 10 }
func (t *termRange) price() int { return 30 }

// intRange is whole numbers, dates or truth values in a closed range.
type intRange struct{ lo, hi int64 }

// itemID is the field by which segments find one document.
const itemID = "id"

func (t *intRange) find(_ context.Context, s *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	switch {
	case hasTerms(query.Field{Type: f.Type()}) || f.Type() == query.Double:
		return set{}, nil
	case f.Type() == query.Boolean: // a term in segments
		var found []set
		for v, term := range []string{"false", "true"} {
			if p, ok := f.Term(term); ok && t.lo <= int64(v) && int64(v) <= t.hi {
				found = append(found, borrowed(p.Bitmap()))
			}
		}
		return or(found), nil
	case f.Name() == query.CreatedOn:
		lo := max(t.lo, math.MinInt64+1) // math.MinInt64 stands for no date
		if t.hi < lo {
			return set{}, nil
		}
		return between(s.Place(t.hi, item.ID(math.MaxInt64)), s.Place(lo, item.ID(math.MinInt64))), nil
	case f.Name() == itemID && t.lo == t.hi:
		// Every answer to a POST is looked up like this: no column is read for it.
		if doc, ok := s.Find(t.lo); ok {
			return between(doc, doc+1), nil
		}
		return set{}, nil
	}
	return owned(f.IntRange(t.lo, t.hi)), nil
}

// inColumn reports whether a look at the numbers of a column finds the range, and nothing else does sooner.
func (t *intRange) inColumn(f *segment.Field) bool {
	return (f.Type() == query.Long || f.Type() == query.Date) && f.Name() != query.CreatedOn && (f.Name() != itemID || t.lo != t.hi)
}

func (t *intRange) holds(string) bool { return false }

func (t *intRange) appendKey(key []byte) []byte {
	key = strconv.AppendInt(append(key, '['), t.lo, 10)
	return strconv.AppendInt(append(key, ','), t.hi, 10)
}

func (t *intRange) cost() int  { return 1 }
func (t *intRange) price() int { return 10 }

// floatRange is the same for floating-point numbers.
type floatRange struct{ lo, hi float64 }

func (t *floatRange) find(_ context.Context, _ *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	if f.Type() != query.Double {
		return set{}, nil
	}
	return owned(f.FloatRange(t.lo, t.hi)), nil
}

func (t *floatRange) holds(string) bool { return false }

func (t *floatRange) appendKey(key []byte) []byte {
	key = strconv.AppendUint(append(key, '('), math.Float64bits(t.lo), 16)
	return strconv.AppendUint(append(key, ','), math.Float64bits(t.hi), 16)
}

func (t *floatRange) cost() int  { return 1 }
func (t *floatRange) price() int { return 10 }

// present is any value at all.
type present struct{}

func (present) find(_ context.Context, _ *segment.Segment, f *segment.Field, _ *roaring.Bitmap) (set, error) {
	return borrowed(f.Present()), nil
}

func (present) holds(string) bool           { return true }
func (present) appendKey(key []byte) []byte { return append(key, '?') }
func (present) cost() int                   { return 1 }
func (present) price() int                  { return 1 }

// kind says where a field's values come from.
type kind uint8

const (
	ofItem  kind = iota // from the item alone
	ofTags              // from the item and from rules
	ofUnits             // from the units that the item shows
)

const tagPrefix = "tags."

func tagFieldName(namespace string) string { return tagPrefix + namespace + ".key" }

func kindOf(field string) kind {
	switch {
	case strings.HasPrefix(field, tagPrefix):
		return ofTags
	case strings.HasPrefix(field, attachedPrefix), strings.HasPrefix(field, defaultPrefix):
		return ofUnits
	}
	return ofItem
}

// leaf is a test of a field, bound to what the overlay adds to the field.
type leaf struct {
	field query.Field
	kind  kind
	test  test
	// members are the rules that put a passing tag on items.
	members []*member
	// units is what units show.
	units *unitOverlay
}

// dear is the price from which on what a leaf found is worth keeping for its scores.
const dear = 8

func (l *leaf) find(ctx context.Context, e *evaluation, within *roaring.Bitmap) (set, error) {
	if e.sets == nil || l.price() < dear {
		return l.look(ctx, e, within)
	}
	key := string(l.appendKey(nil))
	if found, ok := e.sets[key]; ok {
		return borrowed(found.bitmap), nil
	}
	found, err := l.look(ctx, e, within)
	if err != nil || within != nil {
		return found, err
	}
	e.sets[key] = found
	return borrowed(found.bitmap), nil
}

func (l *leaf) look(ctx context.Context, e *evaluation, within *roaring.Bitmap) (set, error) {
	if l.kind == ofUnits && !e.shown {
		return l.findByUnits(ctx, e)
	}
	if p, ok := l.test.(*phrase); ok && within == nil && e.phrases != nil {
		hits, err := e.phrase(ctx, l.field, p, nil)
		return hits.set(), err
	}
	found, err := findIn(ctx, e.part.Segment, l.field, l.test, within)
	if err != nil || len(l.members) == 0 || e.shown {
		return found, err
	}
	sets := []set{found}
	for _, m := range l.members {
		docs, err := m.docs(ctx, e.corpus, e.part)
		if err != nil {
			return set{}, err
		}
		sets = append(sets, borrowed(docs))
	}
	return or(sets), nil
}

// findIn looks at what a segment itself holds.
func findIn(ctx context.Context, s *segment.Segment, f query.Field, t test, within *roaring.Bitmap) (set, error) {
	field := s.Field(f.Name)
	if field == nil {
		return set{}, nil
	}
	if err := interrupted(ctx); err != nil {
		return set{}, err
	}
	found, err := t.find(ctx, s, field, within)
	if err != nil {
		return set{}, fmt.Errorf("look for %s: %w", f.Name, err)
	}
	return found, nil
}

// findByUnits finds the documents that show a passing list of units.
func (l *leaf) findByUnits(ctx context.Context, e *evaluation) (set, error) {
	shown, err := l.units.lists(ctx, e.corpus, e.part)
	if err != nil {
		return set{}, err
	}
	passing, err := shown.find(ctx, l.field, l.test)
	if err != nil {
		return set{}, err
	}
	return shown.documents(passing), nil
}

func (l *leaf) cost() int { return l.test.cost() }

func (l *leaf) price() int {
	price := l.test.price() + 2*len(l.members)
	if l.field.Name == query.CreatedOn {
		price = 1
	}
	return price
}

func (l *leaf) appendKey(key []byte) []byte {
	key = strconv.AppendQuote(key, l.field.Name) // a namespace can hold anything
	key = l.test.appendKey(key)
	switch l.kind {
	case ofTags:
		for i, m := range l.members {
			if i == 0 {
				key = append(key, " by "...)
			} else {
				key = append(key, ',')
			}
			key = strconv.AppendQuote(key, m.key)
		}
	case ofUnits:
		key = append(append(key, " of "...), l.units.key...)
	}
	return key
}
