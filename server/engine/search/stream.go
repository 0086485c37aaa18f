package search

import (
	"math"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
)

// stream is a list of live documents of a corpus in one order. It merges a sorted run of each segment. It is safe for concurrent use.
//
// Finding the start of a page costs about the same for all pages. Each run can count its documents before a given document, by rank in
// its bitmap or by binary search. To find the n-th document of the stream, split chooses some documents as probes. For each probe, it
// counts the documents of all runs that come before it.
type stream struct {
	corpus *Corpus
	order  *Order
	// natural is true for the order of the document numbers.
	natural bool
	runs    []run
	total   int
}

// run holds the documents of one segment in a stream.
type run struct {
	part int
	view *View
	// gone holds the deleted documents of the view; nil if there are none. For a sorted view, holes has their indexes in view.sorted
	// instead.
	gone  *roaring.Bitmap
	holes []uint32
	total int
}

// newStream merges views in an order. There is one view for each part of the corpus. A view may be nil if its part has no documents.
func newStream(c *Corpus, order *Order, views []*View) *stream {
	s := &stream{corpus: c, order: order, natural: order.Key() == ""}
	for part, v := range views {
		if v == nil {
			continue
		}
		r := run{part: part}
		s.show(&r, v)
		if r.total = int(v.docs.GetCardinality()) - len(r.holes); r.gone != nil {
			r.total -= int(r.gone.GetCardinality())
		}
		if r.total > 0 {
			s.runs = append(s.runs, r)
			s.total += r.total
		}
	}
	return s
}

// show sets the view of a run, and its deleted documents.
func (s *stream) show(r *run, v *View) {
	r.view = v
	dead := s.corpus.Parts[r.part].Dead
	if v.sorted == nil {
		r.gone = v.gone(dead)
		return
	}
	r.holes = v.holes(dead, func(doc uint32) int {
		return sort.Search(len(v.sorted), func(i int) bool {
			return s.order.Compare(Hit{Part: r.part, Doc: v.sorted[i]}, Hit{Part: r.part, Doc: doc}) >= 0
		})
	})
}

// at returns the i-th live document of the run.
func (r *run) at(i int) uint32 {
	if r.view.sorted != nil {
		return r.view.sorted[r.place(i)]
	}
	if r.gone == nil {
		return selected(r.view.docs, i)
	}
	// The wanted document comes after i live documents and k deleted documents of the view. The loop increases k until this holds. It starts
	// with a guess that is rarely too high. If the guess is too high, the loop starts again with 0.
	share := float64(r.gone.GetCardinality()) / float64(r.view.docs.GetCardinality())
	guess := float64(i) / (1 - share) * share
	k := int(max(0, guess-2*math.Sqrt(guess)))
	for first := true; ; first = false {
		doc := selected(r.view.docs, i+k)
		dead := int(r.gone.Rank(doc))
		switch {
		case dead > k:
			k = dead
		case dead < k || first && k > 0 && r.gone.Contains(doc):
			k = 0 // the guess was too high
		default:
			return doc
		}
	}
}

// place returns the index of the i-th live document in view.sorted.
func (r *run) place(i int) int {
	return i + sort.Search(len(r.holes), func(k int) bool { return int(r.holes[k])-k > i })
}

func selected(docs *roaring.Bitmap, i int) uint32 {
	doc, err := docs.Select(uint32(i))
	if err != nil {
		return math.MaxUint32 // the place after the last document, which no caller requests
	}
	return doc
}

// numbered returns the number of live documents of the run whose number is less than `below`.
func (r *run) numbered(below uint32) int {
	if below == 0 {
		return 0
	}
	n := int(r.view.docs.Rank(below - 1))
	if r.gone != nil {
		n -= int(r.gone.Rank(below - 1))
	}
	return n
}

// before returns the number of documents of run r that come before the hit h, which can belong to any run.
func (s *stream) before(r *run, h Hit) int {
	if s.natural {
		if r.part == h.Part {
			return r.numbered(h.Doc)
		}
		of := s.corpus.Parts[h.Part].Segment
		return r.numbered(s.corpus.Parts[r.part].Segment.Place(of.Created(h.Doc), of.ID(h.Doc)))
	}
	return sort.Search(r.total, func(i int) bool {
		return s.order.Compare(Hit{Part: r.part, Doc: r.at(i)}, h) >= 0
	})
}

// position is a place between documents of a stream.
type position struct {
	// The position comes after the first starts[i] documents of each run i, and after the next skip documents of the stream.
	starts []int
	skip   int
}

// after returns the position after all documents that are at or before a place.
func (s *stream) after(p eval.Place) position {
	starts := make([]int, len(s.runs))
	for i := range s.runs {
		r := &s.runs[i]
		if s.natural {
			// Count the documents before the place of the next lower ID. All of them are at or before p.
			starts[i] = r.numbered(s.corpus.Parts[r.part].Segment.Place(p.Created, p.ID-1))
			continue
		}
		starts[i] = sort.Search(r.total, func(i int) bool {
			return s.order.ComparePlace(Hit{Part: r.part, Doc: r.at(i)}, p) > 0
		})
	}
	return position{starts: starts}
}

// split returns the position after the first n documents of the stream.
func (s *stream) split(n int) position {
	low := make([]int, 3*len(s.runs))
	low, high, counts := low[:len(s.runs):len(s.runs)], low[len(s.runs):2*len(s.runs)], low[2*len(s.runs):]
	open := 0 // number of documents that may or may not be among the first n
	need := n // number of open documents that are among the first n
	for i := range s.runs {
		// At most n documents of a run are among the first n, and at most s.total-n are not.
		total := s.runs[i].total
		low[i], high[i] = max(0, total-(s.total-n)), min(total, n)
		open += high[i] - low[i]
		need -= low[i]
	}
	for probe := 0; need > 0 && need < open; probe++ {
		if need <= fewOpen {
			return position{starts: low, skip: need}
		}
		widest := 0
		for i := range s.runs {
			if high[i]-low[i] > high[widest]-low[widest] {
				widest = i
			}
		}
		at := low[widest] + pivot(high[widest]-low[widest], need, open, probe)
		h := Hit{Part: s.runs[widest].part, Doc: s.runs[widest].at(at)}
		before := 0
		for i := range s.runs {
			switch {
			case i == widest:
				counts[i] = at
			case high[i] == low[i]:
				counts[i] = low[i]
			default:
				counts[i] = min(max(s.before(&s.runs[i], h), low[i]), high[i])
			}
			before += counts[i]
		}
		open, need = 0, n
		for i := range s.runs {
			if before >= n {
				high[i] = counts[i] // all of the first n documents come before the pivot
			} else if low[i] = counts[i]; i == widest {
				low[i]++ // the pivot itself is among the first n documents
			}
			open += high[i] - low[i]
			need -= low[i]
		}
	}
	if need == open {
		return position{starts: high}
	}
	return position{starts: low}
}

// fewOpen is the number of open documents up to which split skips documents one by one instead of probing further. A probe costs about as
// much as skipping ten documents.
const fewOpen = 48

// pivot chooses the next document to probe in a run that has width open documents. need is the number of open documents in all runs that
// are among the first n. If all runs were distributed equally, the last document of the run that is among the first n would be at a
// predictable place. pivot probes alternately a little before and a little after this place, to approach that document from both sides.
// Every fourth probe is in the middle, so that runs with different distributions take at most four times as many probes as bisection.
func pivot(width, need, open, probe int) int {
	if probe%4 == 3 {
		return width / 2
	}
	at := int(float64(width) * (float64(need) / float64(open)))
	slack := int(math.Sqrt(float64(width)))/2 + 1
	if probe%2 == 0 {
		at -= slack
	} else {
		at += slack
	}
	return min(max(at, 0), width-1)
}

// take appends at most `limit` documents after a position to hits.
func (s *stream) take(hits []Hit, from position, limit int) []Hit {
	heads := s.heads(from.starts)
	for ; from.skip > 0; from.skip-- {
		heads = s.next(heads)
	}
	for ; limit > 0 && len(heads) > 0; limit-- {
		hits = append(hits, heads[0].hit)
		heads = s.next(heads)
	}
	return hits
}

// heads returns a heap with the documents at which the runs start. The first head is the next document of the stream.
func (s *stream) heads(starts []int) []streamHead {
	heads := make([]streamHead, 0, len(s.runs))
	for i := range s.runs {
		if starts[i] < s.runs[i].total {
			heads = append(heads, s.head(i, starts[i]))
		}
	}
	for i := len(heads)/2 - 1; i >= 0; i-- {
		s.sink(heads, i)
	}
	return heads
}

// next removes the first document of the stream from the heap.
func (s *stream) next(heads []streamHead) []streamHead {
	if !s.advance(&heads[0]) {
		heads[0] = heads[len(heads)-1]
		heads = heads[:len(heads)-1]
	}
	s.sink(heads, 0)
	return heads
}

// streamHead is the next document of a run.
type streamHead struct {
	hit Hit
	// created is the created_on of the document. It is set only in the natural order.
	created int64
	index   int // index of the run in stream.runs
	left    int // number of remaining documents of the run, including this one
	ahead   *ahead
	place   int // index in view.sorted
	hole    int // index of the next hole in run.holes
}

// ahead holds the next live documents of a view that is not sorted, and their created_on. The times of several documents are read together:
// they are far apart in memory, and the processor then waits for all of them at the same time.
type ahead struct {
	docs, gone   roaring.IntPeekable
	numbers      [mostAhead]uint32
	created      [mostAhead]int64
	next, loaded int
}

// firstAhead is the number of documents that are read ahead at first, and mostAhead is the number after that. Many pages use only a few
// documents of most runs.
const firstAhead, mostAhead = 4, 16

func (s *stream) head(index, start int) streamHead {
	r := &s.runs[index]
	h := streamHead{index: index, left: r.total - start, hit: Hit{Part: r.part}}
	if r.view.sorted != nil {
		h.place = r.place(start)
		h.hole = sort.Search(len(r.holes), func(k int) bool { return int(r.holes[k]) > h.place })
		h.hit.Doc = r.view.sorted[h.place]
	} else {
		h.hit.Doc = r.at(start)
	}
	s.look(&h)
	return h
}

// look loads the value by which the document is compared.
func (s *stream) look(h *streamHead) {
	if s.natural {
		h.created = s.corpus.Parts[h.hit.Part].Segment.Created(h.hit.Doc)
	}
}

// id reads the ID of the document. Use it only to break ties: IDs are stored apart from the times, so each call waits for memory.
func (s *stream) id(h *streamHead) item.ID { return s.corpus.Parts[h.hit.Part].Segment.ID(h.hit.Doc) }

// advance moves to the next document of the run, and reports whether there is one.
func (s *stream) advance(h *streamHead) bool {
	if h.left--; h.left == 0 {
		return false
	}
	r := &s.runs[h.index]
	if r.view.sorted != nil {
		for h.place++; h.hole < len(r.holes) && int(r.holes[h.hole]) == h.place; h.place++ {
			h.hole++
		}
		h.hit.Doc = r.view.sorted[h.place]
		s.look(h)
		return true
	}
	n := mostAhead
	if h.ahead == nil {
		h.ahead = newAhead(r, h.hit.Doc)
		n = firstAhead
	}
	if h.ahead.next == h.ahead.loaded {
		h.ahead.load(s.corpus.Parts[r.part].Segment, min(n, h.left))
	}
	h.hit.Doc, h.created = h.ahead.numbers[h.ahead.next], h.ahead.created[h.ahead.next]
	h.ahead.next++
	return true
}

// newAhead returns an ahead for the live documents after doc.
func newAhead(r *run, doc uint32) *ahead {
	a := &ahead{docs: r.view.docs.Iterator()}
	a.docs.AdvanceIfNeeded(doc + 1)
	if r.gone != nil {
		a.gone = r.gone.Iterator()
		a.gone.AdvanceIfNeeded(doc + 1)
	}
	return a
}

// load reads the next n documents. The view must have that many more live documents.
func (a *ahead) load(of *segment.Segment, n int) {
	for i := range n {
		doc := a.docs.Next()
		for a.gone != nil && a.gone.HasNext() {
			a.gone.AdvanceIfNeeded(doc)
			if !a.gone.HasNext() || a.gone.PeekNext() != doc {
				break
			}
			doc = a.docs.Next()
		}
		a.numbers[i] = doc
	}
	for i, doc := range a.numbers[:n] {
		a.created[i] = of.Created(doc)
	}
	a.next, a.loaded = 0, n
}

func (s *stream) comesFirst(a, b *streamHead) bool {
	if s.natural {
		return a.created > b.created || a.created == b.created && s.id(a) > s.id(b)
	}
	return s.order.Compare(a.hit, b.hit) < 0
}

// sink moves a head down to its place in the heap.
func (s *stream) sink(heads []streamHead, i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heads); child++ {
			if s.comesFirst(&heads[child], &heads[first]) {
				first = child
			}
		}
		if first == i {
			return
		}
		heads[i], heads[first] = heads[first], heads[i]
		i = first
	}
}
