// Package scratch keeps derived data in files instead of the heap. The kernel holds the parts of a file in memory that are in use, and
// writes the others to the disk. The files have no names, so the kernel frees their disk space when the process ends, also after a crash.
//
// The package may import golang.org/x/sys.
package scratch

import "errors"

// ErrFull means that a File, or the disk, has no room for more data.
var ErrFull = errors.New("the scratch file or its disk is full")

// leastFree is the disk space in bytes that scratch files leave for data that must be durable.
const leastFree = 1 << 30
