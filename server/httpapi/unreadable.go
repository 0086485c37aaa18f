package httpapi

import (
	"fmt"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// maxUnreadableRanges is the maximum number of ranges of ids in a trailer and in a log line.
const maxUnreadableRanges = 100

// unreadableItems describes the items that an export lacks, as ranges of ids in which no item was exported.
type unreadableItems struct {
	count  int64
	ranges []idRange
	// open is true if the next item extends the last range.
	open bool
	// first is the error about the first of these items.
	first error
}

type idRange struct{ first, last item.ID }

// add adds the next unreadable item.
func (u *unreadableItems) add(err *library.UnreadableItemError) {
	if u.count++; u.count == 1 {
		u.first = err
	}
	if !u.open {
		u.open = true
		u.ranges = append(u.ranges, idRange{first: err.ID})
	}
	u.ranges[len(u.ranges)-1].last = err.ID
}

// closeRange ends the last range, because a readable item follows.
func (u *unreadableItems) closeRange() { u.open = false }

// String returns the ranges of ids, such as "7, 1200-1231". If there are more than maxUnreadableRanges, it ends with "and more".
func (u *unreadableItems) String() string {
	var parts []string
	for _, r := range u.ranges[:min(len(u.ranges), maxUnreadableRanges)] {
		if r.first == r.last {
			parts = append(parts, fmt.Sprint(r.first))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", r.first, r.last))
		}
	}
	if len(u.ranges) > maxUnreadableRanges {
		parts = append(parts, "and more")
	}
	return strings.Join(parts, ", ")
}
