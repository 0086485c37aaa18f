//go:build unix

package segment

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file for reading.
func mapFile(path string) ([]byte, func() error, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() // the mapping stays valid after this
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() == 0 || int64(int(info.Size())) != info.Size() {
		return readFile(path)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	return b, func() error { return unix.Munmap(b) }, nil
}

// readSingly tells the kernel whether to read only the pages of b that are accessed, or also pages around them.
func readSingly(b []byte, singly bool) {
	advice := unix.MADV_NORMAL
	if singly {
		advice = unix.MADV_RANDOM
	}
	if len(b) > 0 {
		_ = unix.Madvise(b, advice) // this is only advice
	}
}

// prefetch asks the kernel to begin to read b.
func prefetch(b []byte) { _ = unix.Madvise(b, unix.MADV_WILLNEED) }
