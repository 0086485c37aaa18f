package segment

// Derived is data that was computed from a segment. It is kept with the segment until Close.
type Derived interface {
	// Drop is called once, by Close, when the segment is no longer used.
	Drop()
}

// Derived returns the Derived of the segment, which the first call creates with build. A segment has at most one.
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

// dropDerived drops the Derived of the segment.
func (s *Segment) dropDerived() {
	if d := s.derived.Swap(nil); d != nil {
		(*d).Drop()
	}
}
