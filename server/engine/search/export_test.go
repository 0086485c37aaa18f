package search

import "github.com/RoaringBitmap/roaring/v2"

// Kept returns the documents of all cached views, except those of plain bits.
func (c *Cache) Kept() map[*View]*roaring.Bitmap {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := map[*View]*roaring.Bitmap{}
	for v := c.ring.next; v != &c.ring; v = v.next {
		if v.docs != nil {
			kept[v] = v.docs
		}
	}
	return kept
}

// Sum returns the sum of the counts that Top returns.
func Sum(counts []int64) (total int) {
	for _, n := range counts {
		total += int(n)
	}
	return total
}
