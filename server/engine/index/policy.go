package index

import (
	"cmp"
	"slices"
)

// policy decides which segments to merge and when to seal segments in memory. It depends only on sizes and on the pace of the writes.
type policy struct {
	sealDocs  int
	sealBytes int64
	// memoryParts, fanIn and maxDocs have the values of the Options with these names.
	memoryParts, fanIn, maxDocs int
	// burst is true during a write burst. Merges are then postponed, so that each merge takes more segments.
	burst bool
	// quiet is true while few items change. Merges then leave fewer segments.
	quiet bool
}

// size is the size of a segment: the numbers of documents, live documents and bytes.
type size struct {
	docs, live int
	bytes      int64
}

// burstFactor applies during a write burst. The number of files for which a merge waits is multiplied by it. The size from which a segment in
// memory counts as large is divided by it.
const burstFactor = 4

// journalFactor·sealDocs is the length of the journal at which memory is sealed. If items are deleted, or if the same items change
// repeatedly, the journal is long although memory holds few documents.
const journalFactor = 4

// seal reports whether memory must be sealed, because a restart would otherwise take too long.
func (p policy) seal(docs int, bytes, journaled int64) bool {
	return docs >= p.sealDocs || bytes >= p.sealBytes || journaled >= journalFactor*int64(p.sealDocs)
}

// large reports whether to seal a segment in memory without merging it first. A merge would write the segment's documents once more.
func (p policy) large(s size) bool {
	share := 2 * p.memoryParts
	if p.burst {
		share *= burstFactor
	}
	return s.docs*share >= p.sealDocs || s.bytes*int64(share) >= p.sealBytes
}

// memory returns the indexes of the segments in memory to merge. In a quiet period, it returns p.similar(sizes). Otherwise, it returns segments
// only if more than memoryParts of them are small (not large). It chooses the max(2, memoryParts/2) smallest segments. Then it chooses further
// segments in ascending order of size, as long as each is no larger than the sum of the segments chosen before it.
func (p policy) memory(sizes []size) []int {
	if p.quiet {
		return p.similar(sizes)
	}
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

// files returns the indexes of the files to merge, or none if no merge is due. If a file has more dead than live documents, files returns
// only that file, and the merge rewrites it. In a quiet period, if no tier has enough files, files returns p.similar(sizes).
func (p policy) files(sizes []size) []int {
	for i, s := range sizes {
		if (s.docs-s.live)*2 > s.docs {
			return []int{i}
		}
	}
	if same := p.tier(sizes); same != nil || !p.quiet {
		return same
	}
	return p.similar(sizes)
}

// similarFactor is how many times as many live documents a segment can have as the segments that it joins. It limits the number of times
// that quiet periods merge a document: with each merge, the document's segment grows by a factor of at least 1 + 1/similarFactor.
const similarFactor = 2

// similar returns the indexes of at least two segments, or none. It takes segments in ascending order of live documents, as long as each
// has at most similarFactor times as many live documents as the segments taken before it, and the result has at most maxDocs documents. If
// it has taken only one segment when it reaches one that is too large, it starts again with that segment. It leaves out segments with more
// than maxDocs/2 live documents.
func (p policy) similar(sizes []size) []int {
	var order []int
	for i, s := range sizes {
		if s.live*2 <= p.maxDocs {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(sizes[i].live, sizes[j].live) })
	first, docs := 0, 0
	for n, i := range order {
		live := sizes[i].live
		if live > similarFactor*docs || docs+live > p.maxDocs {
			if n-first > 1 {
				return order[first:n]
			}
			first, docs = n, 0
		}
		docs += live
	}
	if len(order)-first > 1 {
		return order[first:]
	}
	return nil
}

// tier chooses files of one tier. Tier n has the files with at most 2·sealDocs·fanInⁿ live documents that are not in a lower tier. Files
// with more than maxDocs/2 live documents are in no tier. tier chooses from the lowest tier that has at least fanIn files, or
// fanIn·burstFactor files during a write burst. It takes as many of them as fit in maxDocs documents.
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
		for n < len(same) && docs+sizes[same[n]].live <= p.maxDocs {
			docs += sizes[same[n]].live
			n++
		}
		return same[:n]
	}
	return nil
}
