package engine

import (
	"slices"

	"github.com/vitrine-dev/vitrine/server/library"
)

var _ library.Measurer = (*Library)(nil)

// Measures returns the measures of the store, the views and the segments, see library.Measurer.
func (l *Library) Measures() []library.Measure {
	stored := l.store.Measures()
	if stored == nil {
		return nil
	}
	return slices.Concat(stored, l.viewMeasures(), l.follower.measures())
}

// measures returns the measures of the segments of all properties.
func (f *follower) measures() []library.Measure {
	var files, parts, merges, rebuilt, left float64
	for _, p := range f.all() {
		if x := p.segments(); x != nil {
			s := x.Stats()
			files, parts = files+float64(s.Files), parts+float64(s.MemoryParts)
			merges, rebuilt = merges+float64(s.Merges), rebuilt+float64(s.Rebuilt)
			left += float64(s.RebuildLeft)
		}
	}
	return []library.Measure{
		{Name: "unindexed_properties", Help: "Properties that answer 503 because their index cannot be opened.", Value: float64(len(f.failures(false)))},
		{Name: "segment_files", Help: "Segments of the index that are files.", Value: files},
		{Name: "segment_memory_parts", Help: "Segments of the index that are in memory until they become a file.", Value: parts},
		{Name: "segment_merges_total", Help: "Files of the index that were made from several.", Counter: true, Value: merges},
		{Name: "segment_rebuilds_total", Help: "Damaged index files that were rebuilt from the store.", Counter: true, Value: rebuilt},
		{Name: "segment_rebuild_items", Help: "Items that are still to be read again for damaged files.", Value: left},
	}
}

// viewMeasures returns the measures of the cached views.
func (l *Library) viewMeasures() []library.Measure {
	s := l.follower.cache.Stats()
	return []library.Measure{
		{Name: "views", Help: "Views that are kept: what matches a query in a segment, and orders.", Value: float64(s.Views)},
		{Name: "view_bytes", Help: "Size of the views that are kept.", Value: float64(s.Bytes)},
		{Name: "view_hits_total", Help: "View cache hits.", Counter: true, Value: float64(s.Hits)},
		{Name: "view_misses_total", Help: "View cache misses.", Counter: true, Value: float64(s.Misses)},
		{Name: "view_evictions_total", Help: "Views evicted to make room for others.", Counter: true, Value: float64(s.Evicted)},
	}
}
