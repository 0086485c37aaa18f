package search

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// unitLists records which units the documents of one segment show. There are few distinct lists, so queries evaluate each list only once,
// in a small segment in which document i stands for list i.
type unitLists struct {
	// of holds the list of each document. It is empty if all documents show list 0.
	of narrow
	// units holds the IDs of the units of each list in the order in which items show them. List 0 is empty.
	units [][]int64
	// docs holds the documents that show each list. The bitmaps are read-only.
	docs    []*roaring.Bitmap
	segment *segment.Segment
	// numbers holds all whole numbers and dates of the lists by field. They are not in the segment, because a list can have a number for
	// each of its units, but a document of a segment has at most one number in each field.
	numbers map[string][]listNumber
	kept    atomic.Pointer[keptFor]
}

// keptFor is the value that UnitLists.Keep keeps, with its owner.
type keptFor struct{ owner, made any }

type listNumber struct {
	list  uint32
	value int64
}

func (l *unitLists) list(doc uint32) uint32 {
	if len(l.of.bytes) == 0 {
		return 0
	}
	return l.of.at(int(doc))
}

// narrow is a list of numbers that each take as many bytes as the highest one needs. There are usually fewer than 256 lists of units, and a
// large library has millions of documents.
type narrow struct {
	width int // 1, 2 or 4
	bytes []byte
}

func newNarrow(numbers []uint32, highest int) narrow {
	n := narrow{width: 4}
	switch {
	case highest <= math.MaxUint8:
		n.width = 1
	case highest <= math.MaxUint16:
		n.width = 2
	}
	n.bytes = make([]byte, 0, n.width*len(numbers))
	for _, number := range numbers {
		for range n.width {
			n.bytes = append(n.bytes, byte(number))
			number >>= 8
		}
	}
	return n
}

func (n narrow) at(i int) uint32 {
	switch n.width {
	case 1:
		return uint32(n.bytes[i])
	case 2:
		return uint32(binary.LittleEndian.Uint16(n.bytes[2*i:]))
	default:
		return binary.LittleEndian.Uint32(n.bytes[4*i:])
	}
}

func (n narrow) len() int { return len(n.bytes) / max(n.width, 1) }

// find returns the lists that pass a test on a field.
func (l *unitLists) find(ctx context.Context, f query.Field, t test) (set, error) {
	between, ok := t.(*intRange)
	if !ok || f.Type == query.Boolean {
		return findIn(ctx, l.segment, f, t, nil)
	}
	var lists []uint32
	for _, n := range l.numbers[f.Name] {
		if between.lo <= n.value && n.value <= between.hi {
			lists = append(lists, n.list)
		}
	}
	if len(lists) == 0 {
		return set{}, nil
	}
	return owned(roaring.BitmapOf(lists...)), nil
}

// documents returns the documents that show any of the lists.
func (l *unitLists) documents(lists set) set {
	if lists.isEmpty() {
		return set{}
	}
	if lists.bitmap.GetCardinality() > fewLists {
		return l.scan(lists.bitmap)
	}
	var sets []set
	for it := lists.bitmap.Iterator(); it.HasNext(); {
		sets = append(sets, borrowed(l.docs[it.Next()]))
	}
	return or(sets)
}

// fewLists is the maximum number of lists whose bitmaps are combined. For more lists, scanning all documents is cheaper.
const fewLists = 16

func (l *unitLists) scan(lists *roaring.Bitmap) set {
	passing := make([]bool, len(l.units))
	for it := lists.Iterator(); it.HasNext(); {
		passing[it.Next()] = true
	}
	words := make([]uint64, (l.of.len()+63)/64)
	for doc := range l.of.len() {
		if passing[l.of.at(doc)] {
			words[doc/64] |= 1 << (doc % 64)
		}
	}
	return owned(roaring.FromDense(words, false))
}

// group fills l.of and l.docs, and removes the lists that no document shows, except list 0. of holds the list of each document; nil means
// that all documents show list 0.
func (l *unitLists) group(of []uint32, docs int) {
	if of == nil {
		l.docs = []*roaring.Bitmap{everything(docs).published()}
		return
	}
	ends := make([]int, len(l.units)) // first the number of documents of each list, then the end of these documents in members
	for _, list := range of {
		ends[list]++
	}
	renumbered := make([]uint32, len(l.units))
	kept, sum := l.units[:0], 0
	for list, n := range ends {
		if list == 0 || n > 0 {
			renumbered[list] = uint32(len(kept))
			kept = append(kept, l.units[list])
		}
		if list > 0 { // most documents show list 0, so its bitmap is made from plain bits
			sum += n
		}
		ends[list] = sum
	}
	members, empty := make([]uint32, sum), make([]uint64, (docs+63)/64)
	for doc := len(of) - 1; doc >= 0; doc-- {
		list := of[doc]
		if of[doc] = renumbered[list]; list == 0 {
			empty[doc/64] |= 1 << (doc % 64)
			continue
		}
		ends[list]-- // after the loop, the begin of the documents of the list
		members[ends[list]] = uint32(doc)
	}
	l.of, l.units, l.docs = newNarrow(of, len(kept)-1), kept, []*roaring.Bitmap{roaring.FromDense(empty, false)}
	for list := 1; list < len(ends); list++ {
		end := sum
		if list+1 < len(ends) {
			end = ends[list+1]
		}
		if ends[list] < end {
			b := roaring.New()
			b.AddMany(members[ends[list]:end])
			l.docs = append(l.docs, b)
		}
	}
	for _, b := range l.docs {
		b.RunOptimize()
	}
}

// index builds the segment of the lists.
func (l *unitLists) index(o *unitOverlay) error {
	docs := make([]segment.Doc, len(l.units))
	l.numbers = map[string][]listNumber{}
	for i, ids := range l.units {
		units := make([]item.Unit, len(ids))
		for j, id := range ids {
			units[j] = *o.byID[id]
		}
		// Segments number documents by descending ID, so the document of list i gets the i-th highest ID.
		docs[i] = segment.Doc{ID: item.ID(len(l.units) - i), Created: math.MinInt64}
		for f, v := range item.UnitValues(units, o.byDefault) {
			if kindOf(f.Name) != ofUnits {
				continue
			}
			if f.Type == query.Long || f.Type == query.Date {
				of := l.numbers[f.Name]
				l.numbers[f.Name] = append(of, listNumber{uint32(i), v.Int})
				if len(of) > 0 && of[len(of)-1].list == uint32(i) {
					continue
				}
			}
			docs[i].Values = append(docs[i].Values, segment.Value{Field: f, Value: v})
		}
	}
	var err error
	if l.segment, err = segment.Build(docs); err != nil {
		return fmt.Errorf("index the lists of units: %w", err)
	}
	return nil
}

// liveDocs returns, for each list, the number of live documents that show it.
func (l *unitLists) liveDocs(p segment.Part) []int64 {
	n := make([]int64, len(l.docs))
	for i, docs := range l.docs {
		n[i] = p.LiveIn(docs)
	}
	return n
}

// lists returns the lists of a part. They are kept with the segment.
func (o *unitOverlay) lists(ctx context.Context, c *Corpus, p segment.Part) (*unitLists, error) {
	return c.of(p).unitLists(o.key, func() (*unitLists, error) { return o.gather(ctx, c, p) })
}

// gather computes the lists of a part. A list has the item's own units in their order, followed by the units that rules attach, by ID. It
// does not include own units that the property no longer has.
func (o *unitOverlay) gather(ctx context.Context, c *Corpus, p segment.Part) (*unitLists, error) {
	l := &unitLists{units: [][]int64{nil}}
	type step struct {
		list uint32
		unit int64
	}
	known := map[step]uint32{}
	// with returns the list that results from appending a unit to the given list.
	with := func(list uint32, unit int64) uint32 {
		s := step{list, unit}
		next, ok := known[s]
		if !ok {
			next = uint32(len(l.units))
			l.units = append(l.units, append(slices.Clip(l.units[list]), unit))
			known[s] = next
		}
		return next
	}
	var of []uint32
	attach := func(doc uint32, unit int64) {
		if of == nil {
			of = make([]uint32, p.Segment.Len())
		}
		of[doc] = with(of[doc], unit)
	}
	for doc, units := range p.Segment.OwnUnits() {
		for _, unit := range units {
			if o.byID[unit] != nil {
				attach(doc, unit)
			}
		}
	}
	for _, m := range o.members {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		docs, err := m.docs(ctx, c, p)
		if err != nil {
			return nil, err
		}
		for it := docs.Iterator(); it.HasNext(); {
			doc := it.Next()
			if of == nil || !slices.Contains(l.units[of[doc]], m.unit) {
				attach(doc, m.unit)
			}
		}
	}
	l.group(of, p.Segment.Len())
	return l, l.index(o)
}

// UnitLists holds the lists of units that the documents of one part show. The few distinct lists are numbered from 0. List 0 is empty.
type UnitLists struct{ lists *unitLists }

// UnitLists returns the lists of a part. They contain the same units as the result of Corpus.Units. If the overlay has no units, there is
// only the empty list.
func (c *Corpus) UnitLists(ctx context.Context, p segment.Part) (UnitLists, error) {
	if c.Overlay == nil || len(c.Overlay.Units) == 0 {
		return UnitLists{}, nil
	}
	l, err := c.shown(ctx, p)
	if err != nil {
		return UnitLists{}, fmt.Errorf("list the units of items: %w", err)
	}
	return UnitLists{l}, nil
}

// Keep returns the result of make and keeps it with the lists. A later call with the same owner returns the kept result. The owner must
// be a pointer. Keep remembers only the result for the latest owner.
func (l UnitLists) Keep(owner any, make func() any) any {
	if l.lists == nil {
		return make()
	}
	if k := l.lists.kept.Load(); k != nil && k.owner == owner {
		return k.made
	}
	made := make()
	l.lists.kept.Store(&keptFor{owner, made})
	return made
}

// Len returns the number of lists, at least 1.
func (l UnitLists) Len() int {
	if l.lists == nil {
		return 1
	}
	return len(l.lists.units)
}

// List returns the list that a document shows.
func (l UnitLists) List(doc uint32) int {
	if l.lists == nil {
		return 0
	}
	return int(l.lists.list(doc))
}

// Units returns the IDs of a list's units in the order in which items show them. The slice is read-only.
func (l UnitLists) Units(list int) []int64 {
	if l.lists == nil {
		return nil
	}
	return l.lists.units[list]
}
