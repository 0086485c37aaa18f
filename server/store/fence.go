package store

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
//
// It also keeps errors of writing from Pebble once the database is open. Pebble answers those that it meets while it
// changes to a new log by ending the process, in a way that cannot be recovered from; here they are told to onError, and
// the goroutine that met them stops where it is.
//
// Files outside the directory of the database, such as those of a checkpoint, are none of its business.
type fence struct {
	vfs.FS
	dir    string
	raised atomic.Bool
	// opened is true once errors of writing may no longer be returned. Those that Pebble meets while it opens are, until the
	// fence is raised: then they stop the goroutine as well, as Pebble would retry a flush endlessly.
	opened  atomic.Bool
	onError func(error)
}

func newFence(disk vfs.FS, dir string, onError func(error)) *fence {
	return &fence{FS: disk, dir: dir, onError: onError}
}

// outside reports whether a file is not one of the database's.
func (f *fence) outside(name string) bool {
	return name != f.dir && f.PathDir(name) != f.dir
}

func (f *fence) raise() { f.raised.Store(true) }

func (f *fence) check() error {
	if f.raised.Load() {
		return errFenced
	}
	return nil
}

// stop returns no error of writing once the database is open or the fence is raised: it stops the goroutine for good.
func (f *fence) stop(err error) error {
	if err == nil || !f.opened.Load() && !f.raised.Load() {
		return err
	}
	f.onError(err)
	select {}
}

// change runs an operation on a file, unless that is one of the database's and the fence is raised.
func (f *fence) change(name string, operation func() error) error {
	if !f.outside(name) {
		if err := f.check(); err != nil {
			return err
		}
	}
	return operation()
}

// open opens a file for writing. One of the database's does not pass a raised fence, and is wrapped.
func (f *fence) open(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if f.outside(name) {
		return open()
	}
	if err := f.check(); err != nil {
		return nil, f.stop(err)
	}
	return f.wrap(open())
}

// Create does not pass a raised fence.
func (f *fence) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(name, func() (vfs.File, error) { return f.FS.Create(name, category) })
}

// OpenDir wraps directories as well: they are written to by Sync alone.
func (f *fence) OpenDir(name string) (vfs.File, error) {
	if f.outside(name) {
		return f.FS.OpenDir(name)
	}
	return f.wrap(f.FS.OpenDir(name))
}

// OpenReadWrite does not pass a raised fence.
func (f *fence) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.open(name, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, category, opts...) })
}

// ReuseForWrite does not pass a raised fence.
func (f *fence) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(newname, func() (vfs.File, error) { return f.FS.ReuseForWrite(oldname, newname, category) })
}

// Link does not pass a raised fence.
func (f *fence) Link(oldname, newname string) error {
	return f.change(newname, func() error { return f.FS.Link(oldname, newname) })
}

// Remove does not pass a raised fence.
func (f *fence) Remove(name string) error {
	return f.change(name, func() error { return f.FS.Remove(name) })
}

// RemoveAll does not pass a raised fence.
func (f *fence) RemoveAll(name string) error {
	return f.change(name, func() error { return f.FS.RemoveAll(name) })
}

// Rename does not pass a raised fence.
func (f *fence) Rename(oldname, newname string) error {
	return f.change(newname, func() error { return f.FS.Rename(oldname, newname) })
}

// MkdirAll does not pass a raised fence.
func (f *fence) MkdirAll(dir string, perm os.FileMode) error {
	return f.change(dir, func() error { return f.FS.MkdirAll(dir, perm) })
}

// Lock locks nothing: the directory of the store is locked as a whole, and an instance that was given up could never let
// its own lock go.
func (f *fence) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap lets Pebble find the file system underneath.
func (f *fence) Unwrap() vfs.FS { return f.FS }

func (f *fence) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, f.stop(err)
	}
	return &fencedFile{File: file, fence: f}, nil
}

// fencedFile is a file that is open for writing.
type fencedFile struct {
	vfs.File
	fence *fence
}

// do runs an operation that changes the file.
func (f *fencedFile) do(operation func() error) error {
	err := f.fence.check()
	if err == nil {
		err = operation()
	}
	return f.fence.stop(err)
}

// Write does not pass a raised fence.
func (f *fencedFile) Write(p []byte) (n int, err error) {
	err = f.do(func() error { n, err = f.File.Write(p); return err })
	return n, err
}

// WriteAt does not pass a raised fence.
func (f *fencedFile) WriteAt(p []byte, offset int64) (n int, err error) {
	err = f.do(func() error { n, err = f.File.WriteAt(p, offset); return err })
	return n, err
}

// Preallocate does not pass a raised fence.
func (f *fencedFile) Preallocate(offset, length int64) error {
	return f.do(func() error { return f.File.Preallocate(offset, length) })
}

// Sync does not pass a raised fence.
func (f *fencedFile) Sync() error { return f.do(f.File.Sync) }

// SyncData does not pass a raised fence.
func (f *fencedFile) SyncData() error { return f.do(f.File.SyncData) }

// SyncTo does not pass a raised fence.
func (f *fencedFile) SyncTo(length int64) (fullSync bool, err error) {
	err = f.do(func() error { fullSync, err = f.File.SyncTo(length); return err })
	return fullSync, err
}

// Close passes the fence: a file that was given up is closed too, and its error is of interest to nobody.
func (f *fencedFile) Close() error {
	err := f.File.Close()
	if f.fence.raised.Load() {
		return nil
	}
	return f.fence.stop(err)
}
