package reference

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// errFenced is what a given-up database sees of its files.
var errFenced = errors.New("store was given up after an I/O error")

// fence lies between one opening of the database and its files. Pebble cannot be closed safely after a fatal error (its
// background work may be stuck, and would go on once the disk has room), so such an instance is left behind; once raised,
// the fence keeps it from changing anything that its successor uses.
type fence struct {
	vfs.FS
	raised atomic.Bool
}

func newFence(disk vfs.FS) *fence { return &fence{FS: disk} }

func (f *fence) raise() { f.raised.Store(true) }

func (f *fence) check() error {
	if f.raised.Load() {
		return errFenced
	}
	return nil
}

func (f *fence) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.wrap(f.FS.Create(name, category))
}

func (f *fence) Link(oldname, newname string) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.FS.Link(oldname, newname)
}

func (f *fence) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.wrap(f.FS.OpenReadWrite(name, category, opts...))
}

func (f *fence) Remove(name string) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *fence) RemoveAll(name string) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.FS.RemoveAll(name)
}

func (f *fence) Rename(oldname, newname string) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.FS.Rename(oldname, newname)
}

// ReuseForWrite does not reuse: a recycled log would keep the bytes of erased items until they happen to be overwritten.
func (f *fence) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.Remove(oldname); err != nil {
		return nil, err
	}
	return f.Create(newname, category)
}

func (f *fence) MkdirAll(dir string, perm os.FileMode) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.FS.MkdirAll(dir, perm)
}

// Lock locks nothing: the directory of the store is locked as a whole, and an instance that was given up could never let
// its own lock go.
func (f *fence) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap lets Pebble find the file system underneath.
func (f *fence) Unwrap() vfs.FS { return f.FS }

func (f *fence) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &fencedFile{File: file, fence: f}, nil
}

// fencedFile is a file that is open for writing.
type fencedFile struct {
	vfs.File
	fence *fence
}

func (f *fencedFile) Write(p []byte) (int, error) {
	if err := f.fence.check(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f *fencedFile) WriteAt(p []byte, offset int64) (int, error) {
	if err := f.fence.check(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, offset)
}

func (f *fencedFile) Preallocate(offset, length int64) error {
	if err := f.fence.check(); err != nil {
		return err
	}
	return f.File.Preallocate(offset, length)
}

func (f *fencedFile) Sync() error {
	if err := f.fence.check(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *fencedFile) SyncData() error {
	if err := f.fence.check(); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f *fencedFile) SyncTo(length int64) (fullSync bool, err error) {
	if err := f.fence.check(); err != nil {
		return false, err
	}
	return f.File.SyncTo(length)
}
