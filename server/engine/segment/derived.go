package segment

// Derived is data that was computed from a segment. The segment keeps it until Close.
type Derived interface {
	// Segment.Close calls Drop once.
	Drop()
}

// Derived returns the Derived of the segment. A segment has at most one, which the first call creates with build. If the first calls are
// concurrent, several of them may call build, but the segment keeps only one result.
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

func (s *Segment) dropDerived() {
	if d := s.derived.Swap(nil); d != nil {
		(*d).Drop()
	}
}
