package item

import (
	"cmp"
	"math"
)

// CreatedMillis returns the created_on of an item in milliseconds since 1970. For an item without created_on, it returns math.MinInt64: the
// tie rule treats the item as older than all others.
func (it *Item) CreatedMillis() int64 {
	if ms, ok := Millis(it.CreatedOn); ok {
		return ms
	}
	return math.MinInt64
}

// CompareNewest is the tie rule for items with equal sort values. The item with the newer created_on comes first (see CreatedMillis), then
// the item with the higher id. The result is negative if the item a comes first, and 0 only if both are the same item.
func CompareNewest(aCreated int64, a ID, bCreated int64, b ID) int {
	if aCreated != bCreated {
		return cmp.Compare(bCreated, aCreated)
	}
	return cmp.Compare(b, a)
}
