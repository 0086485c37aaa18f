package index

import (
	"cmp"
	"slices"
)

// policy decides which segments to merge and when to seal memory. It depends only on sizes and on burst.
type policy struct {
	sealDocs  int
	sealBytes int64
	// memoryParts, fanIn and maxDocs are those of Options.
	memoryParts, fanIn, maxDocs int
	// burst is true during a write burst, when merges are postponed to take more segments at once.
	burst bool
}

// size is the size of a segment in documents, live documents and bytes.
type size struct {
	docs, live int
	bytes      int64
}

// burstFactor multiplies, during a burst, the number of files that a merge waits for. It divides the size from which a segment in memory is
// large.
const burstFactor = 4

// journalFactor·sealDocs is the length of the journal at which memory is sealed. Deletions, and repeated changes of the same items, make
// the journal long although memory holds few documents.
const journalFactor = 4

// seal reports whether memory must be sealed, because a restart would otherwise take too long.
func (p policy) seal(docs int, bytes, journaled int64) bool {
	return docs >= p.sealDocs || bytes >= p.sealBytes || journaled >= journalFactor*int64(p.sealDocs)
}

// large reports whether a segment in memory is sealed without being merged first, which would write its documents twice.
func (p policy) large(s size) bool {
	share := 2 * p.memoryParts
	if p.burst {
		share *= burstFactor
	}
	return s.docs*share >= p.sealDocs || s.bytes*int64(share) >= p.sealBytes
}

// memory returns the indexes of the segments in memory to merge. It returns none unless more than memoryParts segments are not large. It
// chooses the max(2, memoryParts/2) smallest segments, and further ones in ascending order while each is no larger than the sum of the
// chosen ones.
func (p policy) memory(sizes []size) []int {
	var small []int
	for i, s := range sizes {
		if !p.large(s) {
			small = append(small, i)
		}
	}
	if len(small) <= p.memoryParts {
		return nil
	}
	slices.SortStableFunc(small, func(i, j int) int { return cmp.Compare(sizes[i].docs, sizes[j].docs) })
	n, sum := 0, 0
	for n < len(small) && (n < max(2, p.memoryParts/2) || sizes[small[n]].docs <= sum) {
		sum += sizes[small[n]].docs
		n++
	}
	return small[:n]
}

// files returns the indexes of the files to merge, or none if no merge is due. A file with more dead than live documents is rewritten
// alone.
func (p policy) files(sizes []size) []int {
	for i, s := range sizes {
		if (s.docs-s.live)*2 > s.docs {
			return []int{i}
		}
	}
	return p.tier(sizes)
}

// tier chooses files of one tier. Tier n has the files with at most 2·sealDocs·fanInⁿ live documents that are not in a lower tier. Files
// with more than maxDocs/2 live documents are in no tier. tier chooses from the lowest tier that has at least fanIn files, or
// fanIn·burstFactor in a burst. It takes fanIn files, and more while the result has at most maxDocs documents, so that documents are
// written fewer times after a backlog.
func (p policy) tier(sizes []size) []int {
	var tiers [][]int
	for i, s := range sizes {
		if s.live*2 > p.maxDocs {
			continue
		}
		tier := 0
		for limit := p.sealDocs * 2; s.live > limit; limit *= p.fanIn {
			tier++
		}
		for len(tiers) <= tier {
			tiers = append(tiers, nil)
		}
		tiers[tier] = append(tiers[tier], i)
	}
	enough := p.fanIn
	if p.burst {
		enough *= burstFactor
	}
	for _, same := range tiers {
		if len(same) < enough {
			continue
		}
		docs, n := 0, 0
		for n < len(same) && (n < p.fanIn || docs+sizes[same[n]].live <= p.maxDocs) {
			docs += sizes[same[n]].live
			n++
		}
		return same[:n]
	}
	return nil
}
