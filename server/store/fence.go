package store

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// errFenced is the error of file operations of an abandoned database.
var errFenced = errors.New("the store was abandoned after an I/O error")

// fence is the file system of one opening of the database. Pebble cannot be closed safely after a fatal error (its background work
// may be stuck, and would continue once the disk has room), so such an instance is abandoned. Once raised, the fence keeps it from
// changing anything that its successor uses.
//
// Once the database is open, the fence also withholds write errors from Pebble. Pebble handles those that occur while it switches to a new
// log by ending the process, which recover cannot prevent. The fence passes them to onError, and blocks the goroutine permanently.
//
// Files outside the directory of the database, such as those of a checkpoint, are not fenced.
type fence struct {
	vfs.FS
	dir    string
	raised atomic.Bool
	// opened is true once write errors must not be returned. While Pebble opens, they are returned until the fence is raised. After that,
	// they block the goroutine, because Pebble would retry a flush endlessly.
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

// stop returns err while Pebble opens and the fence is not raised. Otherwise, an error blocks the goroutine permanently.
func (f *fence) stop(err error) error {
	if err == nil || !f.opened.Load() && !f.raised.Load() {
		return err
	}
	f.onError(err)
	select {}
}

// change runs an operation on a file. It fails for a file of the database if the fence is raised.
func (f *fence) change(name string, operation func() error) error {
	if !f.outside(name) {
		if err := f.check(); err != nil {
			return err
		}
	}
	return operation()
}

// open opens a file for writing. It wraps a file of the database, but does not return once the fence is raised.
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

// OpenDir also wraps directories, because Sync writes to them.
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

// Lock locks nothing: the directory of the store is locked as a whole, and an abandoned instance could never release its own lock.
func (f *fence) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap returns the underlying file system, which Pebble looks for.
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

// Close also works if the fence is raised, because an abandoned file is closed too. Its error is then ignored.
func (f *fencedFile) Close() error {
	err := f.File.Close()
	if f.fence.raised.Load() {
		return nil
	}
	return f.fence.stop(err)
}
