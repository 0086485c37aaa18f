package read

import (
	"context"
	"crypto/sha256"
	"strconv"
	"sync"
	"time"
)

// versions determines which listings a batch cannot have changed. A polling display then still receives "not modified" while items
// are written that its filter does not show.
//
// The version of a listing is the batch after which its current content was first seen. The content depends on the meaning of the
// queries, the order and the units, and on which documents match; a changed item is a new document. Within a segment documents only
// die, and a merged segment holds live documents of its inputs. Equal counts of live matching documents in all segments therefore
// prove equal content. If an input of a merge was never counted for the listing, the listing counts as changed.
type versions struct {
	mu sync.Mutex
	// merged maps a segment to the inputs of its merge, by serial number (search.Cache.Serial). recent holds its keys, the oldest
	// first.
	merged map[uint64][]uint64
	recent []uint64
	// known holds the last seen state of listings.
	known map[listingName]*seenListing
	// bound holds the value of `now` when a listing was last bound. Until a boundary passes, the listing is bound to the same time
	// again, so that cached results of segments are found again.
	bound map[listingName]time.Time
}

// seenListing is the state of a listing when it was seen. It is immutable.
type seenListing struct {
	meaning [sha256.Size]byte
	// version is the batch after which this state was first seen. at is the batch of the snapshot in which it was last seen.
	version, at uint64
	// live counts the live matching documents by segment.
	live  map[uint64]int64
	total int64
}

// maxSeen is how many listings known and bound hold. maxMerged is how many segments merged holds.
const (
	maxSeen   = 4096
	maxMerged = 4096
)

func newVersions() *versions {
	return &versions{merged: map[uint64][]uint64{}, known: map[listingName]*seenListing{}, bound: map[listingName]time.Time{}}
}

// merge records the inputs of a merged segment, all by serial number.
func (v *versions) merge(olds []uint64, merged uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.merged[merged] = olds
	if v.recent = append(v.recent, merged); len(v.recent) > maxMerged {
		delete(v.merged, v.recent[0])
		v.recent = v.recent[1:]
	}
}

// settle returns the version of a listing, and records its state.
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
		return now.version // a read of a later snapshot was faster
	case before.meaning == meaning && v.same(before, now):
		now.version = before.version
	}
	v.known[name] = now
	return now.version
}

// lasting returns a name that survives new definitions. They replace all filters of the property, although most do not change, so
// the name identifies a filter by its UUID.
func (n listingName) lasting() listingName {
	if n.filter != nil {
		n.identity, n.filter = n.filter.Record.UUID, nil
	}
	return n
}

// makeRoom deletes arbitrary entries until there are fewer than most. Names in frequent use are soon added again.
func makeRoom[V any](m map[listingName]V, most int) {
	for name := range m {
		if len(m) < most {
			return
		}
		delete(m, name)
	}
}

// boundAt returns the value of `now` when a listing was last bound; zero for none.
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

// same reports whether a listing shows the same documents as before.
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

// count returns how many documents of a segment, or of the inputs of its merge, were in the listing. It returns false if they were
// not counted.
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

// version returns Page.Version. Listings by relevance have the version of the property, because any item may change all scores.
func (l *listing) version(ctx context.Context) (string, error) {
	return l.versioned.Get(ctx, func() (string, error) {
		if l.Order.Scored() {
			return l.versionAt(l.snapshot.Version), nil
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
	version := l.snapshot.property.Store.ID() + "-" + strconv.FormatUint(batch, 36)
	if !l.until.IsZero() {
		version += "-" + strconv.FormatInt(l.until.UnixMilli(), 36)
	}
	return version
}

// meaning returns a hash of everything that determines the meaning of the listing: units, queries and order.
func (l *listing) meaning(ctx context.Context) ([sha256.Size]byte, error) {
	units, err := l.snapshot.corpus.UnitsKey(ctx)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	text := []byte(units)
	for _, q := range l.queries {
		text = append(append(text, 0), q.Key()...)
	}
	text = append(append(text, 0), l.order.Key()...)
	return sha256.Sum256(text), nil
}
