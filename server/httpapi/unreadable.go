package httpapi

import (
	"fmt"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// maxUnreadableRanges is the maximum number of ranges of ids that a trailer and a log line name.
const maxUnreadableRanges = 100

// unreadableItems are the items that an export lacks, as ranges of ids in which no item was exported.
type unreadableItems struct {
	count  int64
	ranges []idRange
	// open is true if the next item extends the last range.
	open bool
	// first is the reason why the first of them cannot be read.
	first error
}

type idRange struct{ first, last item.ID }

// add adds the next item.
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

// closeRange ends the last range: a readable item follows.
func (u *unreadableItems) closeRange() { u.open = false }

// String lists the ids, such as "7, 1200-1231"; with more than maxUnreadableRanges it ends with "and more".
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
