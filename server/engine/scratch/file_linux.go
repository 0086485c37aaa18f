package scratch

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// File is a file without a name that is mapped into memory. It only grows. A File is safe for concurrent use, except for Close.
type File struct {
	mu     sync.Mutex
	file   *os.File
	mapped []byte
	used   int
}

// New creates a File on the disk of a directory. capacity is the maximum number of bytes that Append can store in total. The file takes only
// as much disk space as it has data.
func New(dir string, capacity int) (*File, error) {
	f, err := os.CreateTemp(dir, "scratch-*.tmp")
	if err != nil {
		return nil, err
	}
	var mapped []byte
	if err = errors.Join(os.Remove(f.Name()), f.Truncate(int64(capacity))); err == nil {
		mapped, err = unix.Mmap(int(f.Fd()), 0, capacity, unix.PROT_READ, unix.MAP_SHARED)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create a scratch file in %s: %w", dir, err), f.Close())
	}
	// Readers access a few places of the data. Reading the pages around them would displace pages that are in use.
	_ = unix.Madvise(mapped, unix.MADV_RANDOM) // this is only advice
	return &File{file: f, mapped: mapped}, nil
}

// AppendNumbers is like Append, for numbers.
func (f *File) AppendNumbers(data []uint32) ([]uint32, error) {
	if len(data) == 0 {
		return nil, nil
	}
	copied, err := f.Append(unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), 4*len(data)))
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(&copied[0])), len(data)), nil
}

// Append copies data to the end of the file, and returns the copy, which is read-only and valid until Close. Its address is a multiple of 8.
// Append returns ErrFull if the data does not fit, or if the disk has less than 1 GiB of free space.
func (f *File) Append(data []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := (f.used + 7) &^ 7
	if from+len(data) > len(f.mapped) {
		return nil, ErrFull
	}
	var disk unix.Statfs_t
	if err := unix.Fstatfs(int(f.file.Fd()), &disk); err != nil {
		return nil, fmt.Errorf("determine the free space of the disk: %w", err)
	}
	if disk.Bavail*uint64(disk.Bsize) < leastFree {
		return nil, ErrFull
	}
	if _, err := f.file.WriteAt(data, int64(from)); err != nil {
		return nil, fmt.Errorf("write to a scratch file: %w", err)
	}
	f.used = from + len(data)
	return f.mapped[from:f.used:f.used], nil
}

// Close frees the memory and the disk space. Do not use data that Append has returned afterwards.
func (f *File) Close() error { return errors.Join(unix.Munmap(f.mapped), f.file.Close()) }
