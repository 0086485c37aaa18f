package read

import (
	"context"
	"crypto/sha256"
	"strconv"
	"sync"
	"time"
)

// versions tells listings that a batch cannot have touched from those that it can: a display that polls goes on getting
// "not modified" while items are written that its filter does not show.
//
// The version of a listing is the batch after which it was seen as it is now. What it shows follows from what its queries,
// its order and the units mean, and from which documents match; an item that changes is another document. So the counts of
// live matching documents tell all: within a segment documents only ever die, and a merged segment holds what lived in
// others. What was merged before the listing was seen with it counts as touched.
type versions struct {
	mu sync.Mutex
	// merged lists what a segment was merged of, by serial number (search.Cache.Serial); recent are its keys, the oldest first.
	merged map[uint64][]uint64
	recent []uint64
	// known is the listings as they were seen last.
	known map[listingName]*seenListing
	// bound is the time that `now` stood for in a listing when it was bound last. As long as nothing passes a boundary the
	// same time is taken again, so that what is kept of segments is found again.
	bound map[listingName]time.Time
}

// seenListing is a listing as it was seen. It is never changed, only replaced.
type seenListing struct {
	meaning [sha256.Size]byte
	// version is the batch after which it was seen to be so first, at that of the snapshot when it was seen last.
	version, at uint64
	// live counts the documents by segment.
	live  map[uint64]int64
	total int64
}

// maxSeen is how many listings are remembered, maxMerged of how many segments it is known what they were merged of.
const (
	maxSeen   = 4096
	maxMerged = 4096
)

func newVersions() *versions {
	return &versions{merged: map[uint64][]uint64{}, known: map[listingName]*seenListing{}, bound: map[listingName]time.Time{}}
}

// merge notes what a segment was merged of, all by their serial numbers.
func (v *versions) merge(olds []uint64, merged uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.merged[merged] = olds
	if v.recent = append(v.recent, merged); len(v.recent) > maxMerged {
		delete(v.merged, v.recent[0])
		v.recent = v.recent[1:]
	}
}

// settle returns the version of a listing, and remembers how it was seen.
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
		return now.version // a read that began later was faster
	case before.meaning == meaning && v.same(before, now):
		now.version = before.version
	}
	v.known[name] = now
	return now.version
}

// lasting is the name of a listing that it keeps when another definition makes all filters of the property anew, most of
// them as they were.
func (n listingName) lasting() listingName {
	if n.filter != nil {
		n.identity, n.filter = n.filter.Record.UUID, nil
	}
	return n
}

// makeRoom deletes any entries until there are fewer than most: what is asked for often comes back.
func makeRoom[V any](m map[listingName]V, most int) {
	for name := range m {
		if len(m) < most {
			return
		}
		delete(m, name)
	}
}

// boundAt returns the time that `now` stood for in a listing when it was bound last; zero for none.
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

// same reports whether a listing shows the documents that it showed before.
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

// count returns how many documents of a segment, or of those that it was merged of, were in the listing; false when that
// was not seen.
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

// version returns Page.Version. Listings by relevance have that of the property: any item may change all scores.
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

// meaning tells what the listing means from all else that it could.
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
