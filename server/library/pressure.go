package library

// Pressure says how short of memory the process is. A library that keeps much in memory is given a function that tells
// it, and asks before it keeps more.
type Pressure int32

const (
	// Relaxed lets caches grow to their limits.
	Relaxed Pressure = iota
	// Tight has caches shrink to what is in use.
	Tight
	// Full has writes of items refused with ErrUnavailable besides, before the kernel ends the process.
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
