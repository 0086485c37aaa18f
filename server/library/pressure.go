package library

// Pressure is the level of memory pressure of the process. A library that keeps large caches in memory receives a function that returns the
// level. The library calls this function before it adds to a cache.
type Pressure int32

const (
	// Relaxed lets caches grow to their limits.
	Relaxed Pressure = iota
	// Tight makes caches shrink to the entries in use.
	Tight
	// Full has the effect of Tight, and also makes writes of items fail with ErrUnavailable, so that the kernel does not kill the process.
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
