package library

// Trouble is a problem of one property that does not affect the other properties.
type Trouble struct {
	// Unserved is true if the library cannot read the items of the property, so that requests fail with ErrUnavailable. Otherwise, the
	// property is served, but not fully: for example, writes fail.
	Unserved bool
	// Passing is true if the library ends the problem by itself, for example when a rebuild is complete.
	Passing bool
	// Problem describes the problem. It stays the same until the problem changes.
	Problem string
	// Progress describes how far a rebuild has come, such as "5 of 10 items", or is "".
	Progress string
}

// String returns the problem with its progress.
func (t Trouble) String() string {
	if t.Progress == "" {
		return t.Problem
	}
	return t.Problem + ": " + t.Progress
}

// State returns the kind of the problem in one word: rebuilding (the library ends the problem by itself), failed (the property is not
// served), or degraded (the property is served, but not fully).
func (t Trouble) State() string {
	switch {
	case t.Passing:
		return "rebuilding"
	case t.Unserved:
		return "failed"
	}
	return "degraded"
}

// Serving returns the problem that prevents the library from serving a property, or nil if the library serves the property. If the library
// is not ready, it serves no property. Progress of the result is always "".
func (s State) Serving(p PropertyID) *Trouble {
	t := s.Troubles[p]
	switch {
	case t.Unserved:
		t.Progress = ""
		return &t
	case !s.Ready:
		return &Trouble{Unserved: true, Problem: "the content library is not ready"}
	}
	return nil
}
