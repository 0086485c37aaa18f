package read

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// versions detects that a batch did not change a listing. A client that polls a filter then receives "not modified" even if other items
// were written.
//
// The version of a listing is the batch after which a read first saw the current content of the listing. The content depends on the
// queries, the order, the units, and the matching documents. A changed item is a new document. Documents of a segment do not change,
// except that they can be deleted. A merged segment holds only documents that were live in its inputs. Therefore, if two reads find equal
// numbers of live matching documents in all segments, the content is equal. If the matches in an input of a merge were never counted for
// the listing, the listing is treated as changed.
type versions struct {
	mu sync.Mutex
	// merged maps a segment to the inputs of its merge, by serial number (search.Cache.Serial). recent holds the keys of merged, the oldest
	// first.
	merged map[uint64][]uint64
	recent []uint64
	// known holds the latest state of each listing.
	known map[listingName]*seenListing
	// bound holds the value of `now` to which each listing was last bound. While that binding is valid, the listing is bound to the same
	// time again, so that cached views can be reused.
	bound map[listingName]time.Time
}

// seenListing is the state of a listing at a read. It is immutable.
type seenListing struct {
	meaning [sha256.Size]byte
	// version is the batch after which this state was first seen. `at` is the batch of the snapshot in which it was last seen.
	version, at uint64
	// live holds the number of live matching documents for each segment, by serial number.
	live  map[uint64]int64
	total int64
}

// maxSeen is the maximum number of listings in known and the maximum number in bound. maxMerged is the maximum number of segments in
// merged.
const (
	maxSeen   = 4096
	maxMerged = 4096
)

func newVersions() *versions {
	return &versions{merged: map[uint64][]uint64{}, known: map[listingName]*seenListing{}, bound: map[listingName]time.Time{}}
}

// merge records the inputs of a merged segment. The parameters are serial numbers of segments.
func (v *versions) merge(olds []uint64, merged uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.merged[merged] = olds
	if v.recent = append(v.recent, merged); len(v.recent) > maxMerged {
		delete(v.merged, v.recent[0])
		v.recent = v.recent[1:]
	}
}

// settle returns the version of a listing and records the current state of the listing. counts holds the number of live matching
// documents for each part.
func (v *versions) settle(l *listing, meaning [sha256.Size]byte, counts []int64) uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := &seenListing{meaning: meaning, version: l.snapshot.Version, at: l.snapshot.Version, live: make(map[uint64]int64, len(counts))}
	for i, n := range counts {
		now.live[l.snapshot.corpus.Cache.Serial(l.snapshot.corpus.Parts[i].Segment)] = n
		now.total += n
	}
	name := l.name.lasting()
	before := v.known[name]
	switch {
	case before == nil:
		makeRoom(v.known, maxSeen)
	case before.at > now.at:
		return now.version // a read of a later snapshot finished first
	case before.meaning == meaning && v.same(before, now):
		now.version = before.version
	}
	v.known[name] = now
	return now.version
}

// lasting returns a name that stays valid when definitions change. Such a change replaces every *definitions.Filter of the property, so
// the name identifies the filter by its UUID instead.
func (n listingName) lasting() listingName {
	if n.filter != nil {
		var filter identity
		filter.add('f', n.filter.Record.UUID)
		n.identity, n.filter = string(filter)+n.identity, nil
	}
	return n
}

// makeRoom deletes arbitrary entries until there are fewer than `most`. If a deleted name is in frequent use, it is soon added again.
func makeRoom[V any](m map[listingName]V, most int) {
	if len(m) < most {
		return // avoids an iteration, which costs more than this check
	}
	for name := range m {
		if len(m) < most {
			return
		}
		delete(m, name)
	}
}

// boundAt returns the value of `now` to which a listing was last bound, or the zero time if there is none.
func (v *versions) boundAt(name listingName) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bound[name.lasting()]
}

func (v *versions) setBound(name listingName, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	makeRoom(v.bound, maxSeen)
	v.bound[name.lasting()] = at
}

// same reports whether two states of a listing have the same documents.
func (v *versions) same(before, now *seenListing) bool {
	if before.total != now.total {
		return false
	}
	for segment, n := range now.live {
		if was, known := v.count(before, segment); n > 0 && (!known || was != n) {
			return false
		}
	}
	return true
}

// count returns the number of documents that the listing had in a segment, or in the inputs of the merge that created the segment. It
// returns false if these documents were not counted.
func (v *versions) count(before *seenListing, segment uint64) (int64, bool) {
	if n, known := before.live[segment]; known {
		return n, true
	}
	of, known := v.merged[segment]
	if !known {
		return 0, false
	}
	var sum int64
	for _, s := range of {
		n, known := v.count(before, s)
		if !known {
			return 0, false
		}
		sum += n
	}
	return sum, true
}

// version returns library.Page.Version. The version of a listing by relevance is that of the property, because a change of any item may
// affect all scores.
func (l *listing) version(ctx context.Context) (string, error) {
	return l.versioned.Get(ctx, func() (string, error) {
		if l.Order.Scored() {
			return l.newest(), nil
		}
		byQuery, err := l.counts(ctx)
		if err != nil {
			return "", err
		}
		counts := make([]int64, len(l.snapshot.corpus.Parts))
		for _, of := range byQuery {
			for part, n := range of {
				counts[part] += n
			}
		}
		meaning, err := l.meaning(ctx)
		if err != nil {
			return "", err
		}
		return l.versionAt(l.snapshot.property.versions.settle(l, meaning, counts)), nil
	})
}

func (l *listing) versionAt(batch uint64) string {
	return l.snapshot.property.Store.PageVersion(batch, l.until)
}

// newest returns the version of the listing if the newest batch has changed it. Each request for a cached page needs this version, and
// computing it takes about two microseconds, so newest computes it once.
func (l *listing) newest() string {
	known := l.newestVersion.Load()
	if known == nil {
		known = new(l.versionAt(l.snapshot.Version))
		l.newestVersion.Store(known)
	}
	return *known
}

// meaning returns a hash of the units, the queries and the order. Together with the documents, these determine the content of the
// listing.
func (l *listing) meaning(ctx context.Context) ([sha256.Size]byte, error) {
	units, err := l.snapshot.corpus.UnitsKey(ctx)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	if err := l.arrange(ctx); err != nil {
		return [sha256.Size]byte{}, err
	}
	text := []byte(units)
	for _, q := range l.queries {
		text = append(append(text, 0), q.Key()...)
	}
	text = append(append(text, 0), l.order.Key()...)
	return sha256.Sum256(text), nil
}
