package segment

// Derived is what was worked out of a segment and is kept with it: it is as old as the segment and goes with it.
type Derived interface {
	// Drop is called once, by Close, when the segment is no longer used.
	Drop()
}

// Derived returns what is kept with the segment. The first call makes it with build; a segment has one Derived for its life.
func (s *Segment) Derived(build func() Derived) Derived {
	if d := s.derived.Load(); d != nil {
		return *d
	}
	fresh := build()
	if s.derived.CompareAndSwap(nil, &fresh) {
		return fresh
	}
	return *s.derived.Load()
}

// dropDerived drops what is kept with the segment.
func (s *Segment) dropDerived() {
	if d := s.derived.Swap(nil); d != nil {
		(*d).Drop()
	}
}
