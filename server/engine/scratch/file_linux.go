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

// Append copies bytes and numbers to the end of the file, and returns the copies, which are read-only and valid until Close. It copies
// nothing and returns ErrFull if they do not fit, or if the disk has less than 1 GiB of free space. Empty slices result in nil.
func (f *File) Append(bytes []byte, numbers []uint32) ([]byte, []uint32, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.fits(len(bytes) + 4*len(numbers)) {
		return nil, nil, ErrFull
	}
	b, err := f.write(bytes)
	if err != nil || len(numbers) == 0 {
		return b, nil, err
	}
	n, err := f.write(unsafe.Slice((*byte)(unsafe.Pointer(&numbers[0])), 4*len(numbers)))
	if err != nil {
		return nil, nil, err
	}
	return b, unsafe.Slice((*uint32)(unsafe.Pointer(&n[0])), len(numbers)), nil
}

// Fits reports whether Append can store this number of bytes.
func (f *File) Fits(bytes int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fits(bytes)
}

func (f *File) fits(bytes int) bool {
	var disk unix.Statfs_t
	return f.used+bytes+2*alignment <= len(f.mapped) && unix.Fstatfs(int(f.file.Fd()), &disk) == nil && disk.Bavail*uint64(disk.Bsize) >= leastFree
}

// alignment is the number of bytes of which each address in the file is a multiple.
const alignment = 8

// write copies bytes to the end of the file. The caller holds mu.
func (f *File) write(bytes []byte) ([]byte, error) {
	if len(bytes) == 0 {
		return nil, nil
	}
	from := (f.used + alignment - 1) / alignment * alignment
	if _, err := f.file.WriteAt(bytes, int64(from)); err != nil {
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
			err = ErrFull
		}
		return nil, fmt.Errorf("write to a scratch file: %w", err)
	}
	f.used = from + len(bytes)
	return f.mapped[from:f.used:f.used], nil
}

// Close frees the memory and the disk space. Do not use data that Append has returned afterwards.
func (f *File) Close() error { return errors.Join(unix.Munmap(f.mapped), f.file.Close()) }
