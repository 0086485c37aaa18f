package search

import (
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// memo caches data of one segment across corpora. Statistics are updated when the tombstones change. Length norms and lists of units stay
// valid for the life of the segment. A memo is safe for concurrent use.
type memo struct {
	mu sync.Mutex
	// dead holds the tombstones from which gone, totals, docFreqs and dynamic were computed.
	dead     *roaring.Bitmap
	gone     []uint64 // the bits of dead, one for each document; nil if no document is dead
	totals   map[string]rank.Field
	docFreqs map[fieldTerm]int64
	dynamic  []string // nil until it is known

	norms map[string]norms
	lists map[string]*unitLists
	// recent holds the keys of lists. The most recently used key is last.
	recent []string
}

type fieldTerm struct{ field, term string }

// A memo keeps the document frequencies of at most maxDocFreqs terms, and unit lists for at most maxLists states of the units.
const (
	maxDocFreqs = 4096
	maxLists    = 2
)

// counted locks the memo and updates its statistics for the tombstones of a part. The caller must unlock m.mu. Updates are cheap, because a
// part usually has only a few tombstones that are not in m.dead.
func (m *memo) counted(p segment.Part) {
	m.mu.Lock()
	if m.totals != nil && m.dead == p.Dead {
		return
	}
	m.docFreqs, m.dynamic = map[fieldTerm]int64{}, nil
	switch {
	case m.totals != nil && p.Dead != nil && (m.dead == nil || m.dead.AndCardinality(p.Dead) == m.dead.GetCardinality()):
		gone := p.Dead
		if m.dead != nil {
			gone = roaring.AndNot(p.Dead, m.dead)
		}
		for name, t := range m.totals {
			m.totals[name] = minus(t, countIn(p.Segment.Field(name), gone))
		}
		m.gone = slices.Clone(m.gone)
		if m.gone == nil {
			m.gone = dense(gone, p.Segment.Len())
		}
		for it := gone.Iterator(); it.HasNext(); {
			doc := it.Next()
			m.gone[doc/64] |= 1 << (doc % 64)
		}
	default:
		m.totals, m.gone = map[string]rank.Field{}, nil
		if p.Dead != nil {
			m.gone = dense(p.Dead, p.Segment.Len())
		}
	}
	m.dead = p.Dead
}

func (m *memo) bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := int64(64*(len(m.docFreqs)+len(m.totals)) + 8*len(m.gone))
	for _, norms := range m.norms {
		n += int64(len(norms.byDoc))
	}
	for _, l := range m.lists {
		n += l.bytes()
	}
	return n
}

func (l *unitLists) bytes() int64 {
	n := int64(len(l.of.bytes)) + l.segment.IndexBytes() + l.segment.ItemBytes()
	for i, docs := range l.docs {
		n += int64(docs.GetSizeInBytes()) + int64(8*len(l.units[i]))
	}
	return n
}

// total returns the number of live documents with a value in a field, and the number of terms of these documents.
func (m *memo) total(p segment.Part, f *segment.Field) rank.Field {
	m.counted(p)
	defer m.mu.Unlock()
	t, ok := m.totals[f.Name()]
	if !ok {
		t = countTotal(p, f)
		m.totals[f.Name()] = t
	}
	return t
}

// countTotal computes the result of total without the memo. It subtracts the counts of the deleted documents from those of all documents.
func countTotal(p segment.Part, f *segment.Field) rank.Field {
	all := rank.Field{Docs: int64(f.Ranked()), Terms: f.Terms()}
	if p.Dead == nil {
		return all
	}
	return minus(all, countIn(f, p.Dead))
}

func minus(a, b rank.Field) rank.Field {
	return rank.Field{Docs: a.Docs - b.Docs, Terms: a.Terms - b.Terms}
}

// countIn returns the number of the given documents that have a value in a field, and the number of their terms.
func countIn(f *segment.Field, docs *roaring.Bitmap) rank.Field {
	docs = roaring.And(f.Present(), docs)
	if f.Type() == query.Text {
		return countWords(f, docs, func(uint32) int64 { return 1 })
	}
	n := rank.Field{Docs: int64(docs.GetCardinality())}
	switch {
	case n.Docs == 0:
	case f.Terms() == int64(f.Present().GetCardinality()):
		n.Terms = n.Docs // each document has exactly one value
	case f.Type() == query.Keyword || f.Type() == query.Boolean:
		for _, postings := range f.Ascend("") {
			if postings.Len() > 1 {
				n.Terms += int64(postings.Bitmap().AndCardinality(docs))
			} else if docs.Contains(first(postings)) {
				n.Terms++
			}
		}
	}
	return n
}

func first(p segment.Postings) uint32 {
	it := p.Iterator()
	doc, _ := it.Next() // every term has at least one document
	return doc
}

// fewLive is the maximum number of documents for which checking each document is cheaper than intersecting bitmaps.
const fewLive = 1024

// liveIn counts the live documents of a term. dead has one bit for each document; nil if there are no tombstones. b is a buffer.
func liveIn(p segment.Part, dead []uint64, postings segment.Postings, b *batch) int64 {
	n := int64(postings.Len())
	switch {
	case dead == nil:
		return n
	case n > fewLive:
		return n - int64(postings.Bitmap().AndCardinality(p.Dead))
	}
	it := postings.Iterator()
	for read := it.NextMany(b.docs[:], b.freqs[:]); read > 0; read = it.NextMany(b.docs[:], b.freqs[:]) {
		for _, doc := range b.docs[:read] {
			n -= int64(dead[doc/64] >> (doc % 64) & 1)
		}
	}
	return n
}

// deadWords returns the tombstones of a part with one bit for each document, or nil if there are none.
func (m *memo) deadWords(p segment.Part) []uint64 {
	if p.Dead == nil {
		return nil
	}
	m.counted(p)
	defer m.mu.Unlock()
	return m.gone
}

// docFreq returns the number of live documents of a part that have a term.
func (m *memo) docFreq(p segment.Part, f *segment.Field, term string) int64 {
	m.counted(p)
	defer m.mu.Unlock()
	key := fieldTerm{f.Name(), term}
	n, ok := m.docFreqs[key]
	if !ok {
		if postings, there := f.Term(term); there {
			n = liveIn(p, m.gone, postings, new(batch))
		}
		if len(m.docFreqs) >= maxDocFreqs {
			clear(m.docFreqs)
		}
		m.docFreqs[key] = n
	}
	return n
}

// dynamicFields lists the dynamic fields in which live documents of a part have values. It ignores the overlay.
func (m *memo) dynamicFields(p segment.Part) []string {
	m.counted(p)
	defer m.mu.Unlock()
	if m.dynamic == nil {
		m.dynamic = []string{}
		for f := range p.Segment.Fields() {
			if query.Dynamic(f.Name()) && p.LiveIn(f.Present()) > 0 {
				m.dynamic = append(m.dynamic, f.Name())
			}
		}
	}
	return m.dynamic
}

// norms holds the length norms of a text field.
type norms struct {
	byDoc []byte
	// longest is the highest norm, which belongs to the longest text.
	longest byte
}

// lengthNorms returns the length norms of a text field.
func (m *memo) lengthNorms(s *segment.Segment, f *segment.Field) norms {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.norms[f.Name()]
	if !ok {
		n = readNorms(s, f)
		m.norms[f.Name()] = n
	}
	return n
}

func readNorms(s *segment.Segment, f *segment.Field) norms {
	n := norms{byDoc: make([]byte, s.Len())}
	f.PrefetchColumn()
	for it := f.Present().Iterator(); it.HasNext(); {
		doc := it.Next()
		norm := rank.EncodeLength(f.Length(doc))
		n.byDoc[doc] = norm
		n.longest = max(n.longest, norm)
	}
	return n
}

// unitLists returns the segment's lists for one state of the units. If the memo does not have them, unitLists calls make and keeps the
// result.
func (m *memo) unitLists(key string, make func() (*unitLists, error)) (*unitLists, error) {
	m.mu.Lock()
	l := m.lists[key]
	m.mu.Unlock()
	if l == nil {
		// make runs without the lock, because it evaluates rules. Two callers may therefore make the same lists at the same time.
		var err error
		if l, err = make(); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists[key] = l
	m.recent = append(slices.DeleteFunc(m.recent, func(k string) bool { return k == key }), key)
	if len(m.recent) > maxLists {
		delete(m.lists, m.recent[0])
		m.recent = slices.Delete(m.recent, 0, 1)
	}
	return l, nil
}

// countWords counts the documents and words of a text field. It counts each document times(doc) times, and ignores documents whose text
// has no words.
func countWords(f *segment.Field, docs *roaring.Bitmap, times func(doc uint32) int64) rank.Field {
	var n rank.Field
	for it := docs.Iterator(); it.HasNext(); {
		doc := it.Next()
		if words := f.Length(doc); words > 0 {
			n.Docs += times(doc)
			n.Terms += times(doc) * int64(words)
		}
	}
	return n
}
