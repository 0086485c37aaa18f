package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// node is a bound plan node without its score. It is immutable.
type node interface {
	// find returns the documents of the segment that match, including deleted ones. If within is not nil, find may leave out documents that
	// are not in within.
	find(ctx context.Context, e *evaluation, within *roaring.Bitmap) (set, error)
	// appendKey appends a description of the node. Nodes with equal descriptions match the same documents in every segment.
	appendKey(key []byte) []byte
	// price is the relative cost of find. Cheap nodes are evaluated first.
	price() int
}

// counter is a node that can be counted without a view.
type counter interface {
	node
	// count returns the number of live documents that match. It returns false if a view is the better way to count, or if ctx ends.
	count(ctx context.Context, e *evaluation) (n int64, counted bool)
}

// evaluation is the state while nodes are evaluated on one segment. The code that creates an evaluation must call release, unless shown is
// true.
type evaluation struct {
	corpus *Corpus
	part   segment.Part
	// shown is true for the segment of unitLists, in which each document stands for a list of units instead of an item.
	shown bool
	// phrases and sets keep the results of expensive leaves by key, so that scoring can reuse the results of matching. The results cover
	// all documents of the segment. Both maps are nil if no scores are needed.
	phrases map[string]*phraseHits
	sets    map[string]set
	// terms caches the first maxLookedUp single-term leaves that were looked up.
	terms []lookedUp
	// pooled holds plain bits in memory from Cache.newBits.
	pooled []pooledBits
}

// pooledBits holds the plain bits of a term, and the key under which the Cache would keep them.
type pooledBits struct {
	key   string
	words *[]uint64
}

// maxLookedUp is the maximum length of evaluation.terms.
const maxLookedUp = 8

// lookedUp is a single-term leaf with its postings. The postings are empty if the part does not contain the term.
type lookedUp struct {
	leaf     *leaf
	postings segment.Postings
}

// term returns the postings of a leaf that tests for a single term and does not depend on the overlay. For other nodes, it returns false.
func (e *evaluation) term(n node) (segment.Postings, bool) {
	l, ok := n.(*leaf)
	if !ok || e.shown || l.kind == ofUnits || len(l.members) > 0 {
		return segment.Postings{}, false
	}
	t, ok := l.test.(*words)
	if !ok || len(t.terms) != 1 {
		return segment.Postings{}, false
	}
	for i := range e.terms {
		if e.terms[i].leaf == l {
			return e.terms[i].postings, true
		}
	}
	var found segment.Postings
	if f := e.part.Segment.Field(l.field.Name); f != nil {
		found, _ = t.in(f, 0)
	}
	if e.terms == nil {
		e.terms = make([]lookedUp, 0, maxLookedUp)
	}
	if len(e.terms) < maxLookedUp {
		e.terms = append(e.terms, lookedUp{l, found})
	}
	return found, true
}

type all struct{}

func (all) find(_ context.Context, e *evaluation, _ *roaring.Bitmap) (set, error) {
	return everything(e.part.Segment.Len()), nil
}

func (all) count(_ context.Context, e *evaluation) (int64, bool) { return int64(e.part.Live()), true }

func (all) appendKey(key []byte) []byte { return append(key, "all"...) }
func (all) price() int                  { return 0 }

type none struct{}

func (none) find(context.Context, *evaluation, *roaring.Bitmap) (set, error) { return set{}, nil }
func (none) count(context.Context, *evaluation) (int64, bool)                { return 0, true }
func (none) appendKey(key []byte) []byte                                     { return append(key, "none"...) }
func (none) price() int                                                      { return 0 }

// conjunction matches the documents that match all nodes of `must` and no node of `not`. `must` is never empty.
type conjunction struct{ must, not []node }

// newConjunction flattens nested conjunctions and puts cheap nodes first.
func newConjunction(must, not []node) node {
	c := &conjunction{not: not}
	for _, n := range must {
		switch n := n.(type) {
		case all:
		case *conjunction:
			c.must = append(c.must, n.must...)
			c.not = append(c.not, n.not...)
		default:
			c.must = append(c.must, n)
		}
	}
	switch {
	case len(must) == 0:
		return none{}
	case len(c.must) == 0 && len(c.not) == 0:
		return all{}
	case len(c.must) == 0:
		c.must = []node{all{}}
	case len(c.must) == 1 && len(c.not) == 0:
		return c.must[0]
	}
	cheapFirst(c.must)
	cheapFirst(c.not)
	return c
}

func cheapFirst(nodes []node) {
	slices.SortStableFunc(nodes, func(a, b node) int { return cmp.Compare(a.price(), b.price()) })
}

func (c *conjunction) find(ctx context.Context, e *evaluation, within *roaring.Bitmap) (set, error) {
	found, must, not, err := c.begin(ctx, e, within)
	if err != nil || found.isEmpty() {
		return set{}, err
	}
	within = found.bitmap
	for _, n := range must {
		s, err := n.find(ctx, e, within)
		if err != nil {
			return set{}, err
		}
		if found = and(found, s); found.isEmpty() {
			return set{}, nil
		}
		within = found.bitmap
	}
	for _, n := range not {
		s, err := n.find(ctx, e, within)
		if err != nil {
			return set{}, err
		}
		if found = andNot(found, s); found.isEmpty() {
			return set{}, nil
		}
		within = found.bitmap
	}
	return found, nil
}

// begin evaluates the first nodes: those with plain bits if frequent can split c, and otherwise the cheapest. It returns the documents that
// match these nodes, and the remaining nodes.
func (c *conjunction) begin(ctx context.Context, e *evaluation, within *roaring.Bitmap) (found set, must, not []node, err error) {
	if within == nil {
		f, err := c.frequent(ctx, e)
		if err != nil {
			return set{}, nil, nil, err
		}
		if f != nil {
			found, err = f.find(e.corpus.Cache)
			return found, f.must, f.not, err
		}
	}
	found, must, err = c.cheapest(ctx, e, within)
	return found, must, c.not, err
}

// cheapest evaluates the nodes of `must` whose price is at most 1, or only the first node if there are none. It intersects the results,
// smallest first, and returns the intersection and the remaining nodes of `must`.
func (c *conjunction) cheapest(ctx context.Context, e *evaluation, within *roaring.Bitmap) (set, []node, error) {
	sets := make([]set, 0, 8)
	for _, n := range c.must {
		if len(sets) > 0 && n.price() > 1 {
			break
		}
		s, err := n.find(ctx, e, within)
		if err != nil || s.isEmpty() {
			return set{}, nil, err
		}
		sets = append(sets, s)
	}
	slices.SortStableFunc(sets, func(a, b set) int {
		return cmp.Compare(a.bitmap.GetCardinality(), b.bitmap.GetCardinality())
	})
	found := sets[0]
	for _, s := range sets[1:] {
		found = and(found, s)
	}
	return found, c.must[len(sets):], nil
}

// count implements counter. It counts only conjunctions of single terms.
func (c *conjunction) count(ctx context.Context, e *evaluation) (int64, bool) {
	steps := make([]segment.Postings, 0, 8)
	for _, nodes := range [][]node{c.must, c.not} {
		for _, n := range nodes {
			p, ok := e.term(n)
			if !ok {
				return 0, false
			}
			steps = append(steps, p)
		}
	}
	if !slices.ContainsFunc(steps[len(c.must):], func(p segment.Postings) bool { return !e.isFrequent(p) }) {
		f, err := c.frequent(ctx, e) // f.must is empty, because c.frequent returns nil if a required term is rare
		if err != nil {
			return 0, false
		}
		if f != nil {
			return int64(f.count(e.corpus.of(e.part).deadWords(e.part))), true
		}
	}
	slices.SortFunc(steps[:len(c.must)], func(a, b segment.Postings) int { return a.Len() - b.Len() })
	found := borrowed(steps[0].Bitmap())
	if e.part.Dead != nil {
		found = andNot(found, borrowed(e.part.Dead))
	}
	for i := 1; i < len(steps) && !found.isEmpty(); i++ {
		next, required := steps[i].Bitmap(), i < len(c.must)
		switch last := i == len(steps)-1; {
		case last && required:
			return int64(found.bitmap.AndCardinality(next)), true
		case last:
			return int64(found.bitmap.GetCardinality() - found.bitmap.AndCardinality(next)), true
		case required:
			found = and(found, borrowed(next))
		default:
			found = andNot(found, borrowed(next))
		}
	}
	return found.len(), true
}

func (c *conjunction) appendKey(key []byte) []byte {
	key = appendKeys(append(key, '('), c.must, '&')
	if len(c.not) > 0 {
		key = appendKeys(append(key, '!'), c.not, '!')
	}
	return append(key, ')')
}
func (c *conjunction) price() int { return prices(c.must) + prices(c.not) }

// disjunction matches the documents that match at least one of its nodes.
type disjunction struct{ nodes []node }

func newDisjunction(nodes []node) node {
	var flat []node
	for _, n := range nodes {
		if inner, ok := n.(*disjunction); ok {
			flat = append(flat, inner.nodes...)
		} else {
			flat = append(flat, n)
		}
	}
	switch len(flat) {
	case 0:
		return none{}
	case 1:
		return flat[0]
	}
	return &disjunction{nodes: flat}
}

func (d *disjunction) find(ctx context.Context, e *evaluation, within *roaring.Bitmap) (set, error) {
	if within == nil && e.caches() && e.hasBits(d) {
		sets, err := e.bits(ctx, d)
		if err != nil {
			return set{}, err
		}
		return (&frequent{in: [][][]uint64{sets}}).find(e.corpus.Cache)
	}
	sets := make([]set, 0, len(d.nodes))
	terms := newUnion(e.part.Segment.Len(), nil)
	for _, n := range d.nodes {
		if err := interrupted(ctx); err != nil {
			return set{}, err
		}
		if p, ok := e.term(n); ok {
			terms.add(p)
			continue
		}
		s, err := n.find(ctx, e, within)
		if err != nil {
			return set{}, err
		}
		sets = append(sets, s)
	}
	return or(append(sets, terms.set())), nil
}

// count implements counter. It counts only disjunctions of two single terms: the sum of the two counts, minus the documents with both.
func (d *disjunction) count(ctx context.Context, e *evaluation) (int64, bool) {
	if len(d.nodes) != 2 {
		return 0, false
	}
	both, counted := (&conjunction{must: d.nodes}).count(ctx, e)
	if !counted {
		return 0, false
	}
	n := -both
	for _, one := range d.nodes {
		p, _ := e.term(one)
		n += liveOf(e.part, p)
	}
	return n, true
}

func (d *disjunction) appendKey(key []byte) []byte {
	return append(appendKeys(append(key, '('), d.nodes, '|'), ')')
}
func (d *disjunction) price() int { return prices(d.nodes) }

func prices(nodes []node) int {
	sum := 0
	for _, n := range nodes {
		sum += n.price()
	}
	return sum
}

// appendKeys appends the sorted keys of nodes without duplicates. The order of the nodes does not matter.
func appendKeys(key []byte, nodes []node, between byte) []byte {
	keys := make([]string, len(nodes))
	for i, n := range nodes {
		keys[i] = string(n.appendKey(nil))
	}
	slices.Sort(keys)
	for i, k := range slices.Compact(keys) {
		if i > 0 {
			key = append(key, between)
		}
		key = append(key, k...)
	}
	return key
}

// release puts the memory of pooled bits back into the Cache. Results of bits and termBits must not be used afterwards.
func (e *evaluation) release() {
	for _, b := range e.pooled {
		e.corpus.Cache.putBits(b.words)
	}
	e.pooled = e.pooled[:0]
}
