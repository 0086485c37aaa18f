package library

// Measure is one number that a library tells of itself for metrics: of its store, its caches, its views.
type Measure struct {
	// Name is in snake case and ends with the unit, that of a counter with _total: store_wal_bytes, view_hits_total. It is
	// the same at every call.
	Name string
	// Help is one sentence.
	Help string
	// Counter is true for a number that only grows.
	Counter bool
	Value   float64
}

// Measurer is a Library that tells more of itself than its State. Which names there are depends on the implementation.
type Measurer interface {
	// Measures returns the present numbers, always of the same names, in a time that does not depend on what is stored. None
	// once the library is closed or its store has failed.
	Measures() []Measure
}
