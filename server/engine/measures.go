package engine

import "github.com/vitrine-dev/vitrine/server/library"

var _ library.Measurer = (*Library)(nil)

// Measures tells of the store and of the views, see library.Measurer.
func (l *Library) Measures() []library.Measure {
	store := l.Store.Measures()
	if store == nil {
		return nil
	}
	return append(store, l.follower.views.measures()...)
}

func (v *views) measures() []library.Measure {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	for _, of := range v.bySegment {
		n += len(of)
	}
	return []library.Measure{
		{Name: "views", Help: "Views that are kept: what matches a query in a segment, and orders.", Value: float64(n)},
		{Name: "view_bytes", Help: "Size of the views that are kept.", Value: float64(v.bytes)},
		{Name: "view_hits_total", Help: "Looks for a view that found one.", Counter: true, Value: float64(v.hits)},
		{Name: "view_misses_total", Help: "Looks for a view that had to make it.", Counter: true, Value: float64(v.misses)},
		{Name: "view_evictions_total", Help: "Views that had to go for others.", Counter: true, Value: float64(v.evicted)},
	}
}
