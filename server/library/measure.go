package library

// Measure is one metric of a library, for example about its store, its caches or its read views.
type Measure struct {
	// Name is in snake case and ends with the unit, or with _total for a counter. Examples are store_wal_bytes and view_hits_total. It is the
	// same on every call.
	Name string
	// Help is the help text of the metric, one sentence.
	Help string
	// Counter is true if the value never decreases.
	Counter bool
	Value   float64
}

// Measurer is a Library that reports metrics in addition to State. The set of names depends on the implementation.
type Measurer interface {
	// Measures returns the current values, always under the same names. Its cost does not depend on the amount of stored data. After the
	// library is closed or its store has failed, Measures returns nothing.
	Measures() []Measure
}
