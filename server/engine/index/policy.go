package index

import (
	"cmp"
	"slices"
)

// policy decides which segments are merged and when memory is sealed. Its decisions follow from sizes alone.
type policy struct {
	sealDocs  int
	sealBytes int64
	// memoryParts, fanIn and maxDocs are those of Options.
	memoryParts, fanIn, maxDocs int
	// burst is true while writes come fast, see burst: merges are put off and then take more segments at once.
	burst bool
}

// size is what the policy knows of a segment: its documents, those of them that have no tombstone, and its bytes.
type size struct {
	docs, live int
	bytes      int64
}

// burstFactor is how many times as many files, and as many segments in memory, there may be in a burst.
const burstFactor = 4

// journalFactor is how many changes, as a multiple of sealDocs, the journal may hold: deletions, and changes of the same
// few items, leave little in memory.
const journalFactor = 4

// seal reports whether memory holds so much, or the journal is so long, that a restart would take long.
func (p policy) seal(docs int, bytes, journaled int64) bool {
	return docs >= p.sealDocs || bytes >= p.sealBytes || journaled >= journalFactor*int64(p.sealDocs)
}

// large reports whether a segment in memory waits for being sealed as it is: to merge it before would be to write it twice.
func (p policy) large(s size) bool {
	share := 2 * p.memoryParts
	if p.burst {
		share *= burstFactor
	}
	return s.docs*share >= p.sealDocs || s.bytes*int64(share) >= p.sealBytes
}

// memory chooses segments in memory to merge, by their index, when there are more than memoryParts that are not large: each
// that is no larger than all smaller ones together, and at least so many that there is room again.
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

// files chooses files to merge, by their index; none when all is in order. A file that is mostly dead is rewritten alone.
func (p policy) files(sizes []size) []int {
	for i, s := range sizes {
		if (s.docs-s.live)*2 > s.docs {
			return []int{i}
		}
	}
	return p.tier(sizes)
}

// tier chooses files of about one size, of the lowest tier that has enough: fanIn of them, or, when merging has fallen behind or
// was put off, as many as make a file of at most maxDocs. So each document is written less often. Tier n holds the files of at
// most 2·sealDocs·fanInⁿ live documents; a file of more than maxDocs/2 is not merged any more.
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
