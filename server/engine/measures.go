package engine

import (
	"slices"

	"github.com/vitrine-dev/vitrine/server/library"
)

var _ library.Measurer = (*Library)(nil)

// Measures returns the measures of the store, the views and the segments. See library.Measurer.
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
		{Name: "segment_files", Help: "Segments of the index on disk.", Value: files},
		{Name: "segment_memory_parts", Help: "Segments of the index that are still in memory because they are not yet written to a file.", Value: parts},
		{Name: "segment_merges_total", Help: "Index files created by merging several files.", Counter: true, Value: merges},
		{Name: "segment_rebuilds_total", Help: "Damaged index files that were rebuilt from the store.", Counter: true, Value: rebuilt},
		{Name: "segment_rebuild_items", Help: "Items that a rebuild in progress still has to read.", Value: left},
	}
}

// viewMeasures returns the measures of the cached views.
func (l *Library) viewMeasures() []library.Measure {
	s := l.follower.cache.Stats()
	return []library.Measure{
		{Name: "views", Help: "Number of cached views. A view is either the set of documents in a segment that match a query, or a sort order of a segment.", Value: float64(s.Views)},
		{Name: "view_bytes", Help: "Size of the cached views, in bytes.", Value: float64(s.Bytes)},
		{Name: "view_file_bytes", Help: "Size of the files without names that contain large views, in bytes.", Value: float64(s.Shelved)},
		{Name: "view_hits_total", Help: "View cache hits.", Counter: true, Value: float64(s.Hits)},
		{Name: "view_misses_total", Help: "View cache misses.", Counter: true, Value: float64(s.Misses)},
		{Name: "view_evictions_total", Help: "Evictions of the view cache.", Counter: true, Value: float64(s.Evicted)},
	}
}
