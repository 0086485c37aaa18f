package library

// Pressure is the level of memory pressure of the process. A library that keeps large caches in memory is given a function that returns the
// level, and calls it before it caches more.
type Pressure int32

const (
	// Relaxed lets caches grow to their limits.
	Relaxed Pressure = iota
	// Tight makes caches shrink to the entries in use.
	Tight
	// Full also makes writes of items fail with ErrUnavailable, so that the kernel does not kill the process.
	Full
)

func (p Pressure) String() string {
	switch p {
	case Tight:
		return "tight"
	case Full:
		return "full"
	}
	return "relaxed"
}
