package store

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// errFenced is the error that file operations of an abandoned database return.
var errFenced = errors.New("the store was abandoned after an I/O error")

// fence is the file system of one open instance of Pebble. After a fatal error, the instance cannot be closed safely, because its
// background work may be stuck, and would continue once the disk has room. The store therefore abandons the instance and raises its fence.
// The fence keeps the instance from changing any file that its successor uses.
//
// Once the database is open, the fence also withholds write errors from Pebble. If a write error occurs while Pebble switches to a new log,
// Pebble ends the process, and recover cannot prevent that. The fence therefore passes write errors to onError, and blocks the goroutine
// permanently.
//
// Files outside the directory of the database, such as the files of a checkpoint, are not fenced.
type fence struct {
	vfs.FS
	dir    string
	raised atomic.Bool
	// opened is true after Pebble has opened the database: from then on, Pebble gets no write errors. While it opens the database, it gets
	// them until the fence is raised. After that, a write error blocks the goroutine, because Pebble would retry a flush endlessly.
	opened  atomic.Bool
	onError func(error)
}

func newFence(disk vfs.FS, dir string, onError func(error)) *fence {
	return &fence{FS: disk, dir: dir, onError: onError}
}

// outside reports whether a file is outside the directory of the database.
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

// stop returns err if Pebble is still opening the database and the fence is not raised. Otherwise, it blocks the goroutine permanently if
// err is not nil.
func (f *fence) stop(err error) error {
	if err == nil || !f.opened.Load() && !f.raised.Load() {
		return err
	}
	f.onError(err)
	select {}
}

// change runs an operation that changes a file. If the fence is raised, the operation fails for files of the database.
func (f *fence) change(name string, operation func() error) error {
	if !f.outside(name) {
		if err := f.check(); err != nil {
			return err
		}
	}
	return operation()
}

// open opens a file for writing, and wraps it if it belongs to the database. For such a file, it does not return once the fence is raised.
func (f *fence) open(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if f.outside(name) {
		return open()
	}
	if err := f.check(); err != nil {
		return nil, f.stop(err)
	}
	return f.wrap(open())
}

// Create changes no file of the database once the fence is raised.
func (f *fence) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(name, func() (vfs.File, error) { return f.FS.Create(name, category) })
}

// OpenDir wraps directories too, because Sync writes to them.
func (f *fence) OpenDir(name string) (vfs.File, error) {
	if f.outside(name) {
		return f.FS.OpenDir(name)
	}
	return f.wrap(f.FS.OpenDir(name))
}

// OpenReadWrite changes no file of the database once the fence is raised.
func (f *fence) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.open(name, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, category, opts...) })
}

// ReuseForWrite changes no file of the database once the fence is raised.
func (f *fence) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(newname, func() (vfs.File, error) { return f.FS.ReuseForWrite(oldname, newname, category) })
}

// Link changes no file of the database once the fence is raised.
func (f *fence) Link(oldname, newname string) error {
	return f.change(newname, func() error { return f.FS.Link(oldname, newname) })
}

// Remove changes no file of the database once the fence is raised.
func (f *fence) Remove(name string) error {
	return f.change(name, func() error { return f.FS.Remove(name) })
}

// RemoveAll changes no file of the database once the fence is raised.
func (f *fence) RemoveAll(name string) error {
	return f.change(name, func() error { return f.FS.RemoveAll(name) })
}

// Rename changes no file of the database once the fence is raised.
func (f *fence) Rename(oldname, newname string) error {
	return f.change(newname, func() error { return f.FS.Rename(oldname, newname) })
}

// MkdirAll changes no file of the database once the fence is raised.
func (f *fence) MkdirAll(dir string, perm os.FileMode) error {
	return f.change(dir, func() error { return f.FS.MkdirAll(dir, perm) })
}

// Lock locks nothing, because the store locks its directory as a whole, and an abandoned instance could never release a lock of its own.
func (f *fence) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap returns the underlying file system. Pebble calls it to find that file system.
func (f *fence) Unwrap() vfs.FS { return f.FS }

func (f *fence) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, f.stop(err)
	}
	return &fencedFile{File: file, fence: f}, nil
}

// fencedFile is a file of the database that is open for writing.
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

// Write changes nothing once the fence is raised.
func (f *fencedFile) Write(p []byte) (n int, err error) {
	err = f.do(func() error { n, err = f.File.Write(p); return err })
	return n, err
}

// WriteAt changes nothing once the fence is raised.
func (f *fencedFile) WriteAt(p []byte, offset int64) (n int, err error) {
	err = f.do(func() error { n, err = f.File.WriteAt(p, offset); return err })
	return n, err
}

// Preallocate changes nothing once the fence is raised.
func (f *fencedFile) Preallocate(offset, length int64) error {
	return f.do(func() error { return f.File.Preallocate(offset, length) })
}

// Sync changes nothing once the fence is raised.
func (f *fencedFile) Sync() error { return f.do(f.File.Sync) }

// SyncData changes nothing once the fence is raised.
func (f *fencedFile) SyncData() error { return f.do(f.File.SyncData) }

// SyncTo changes nothing once the fence is raised.
func (f *fencedFile) SyncTo(length int64) (fullSync bool, err error) {
	err = f.do(func() error { fullSync, err = f.File.SyncTo(length); return err })
	return fullSync, err
}

// Close closes the file even if the fence is raised, because the files of an abandoned database are closed too. It then ignores the error.
func (f *fencedFile) Close() error {
	err := f.File.Close()
	if f.fence.raised.Load() {
		return nil
	}
	return f.fence.stop(err)
}
