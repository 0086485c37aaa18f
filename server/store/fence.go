package store

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/store/synced"
)

// errFenced is the error of file operations of an abandoned database.
var errFenced = errors.New("the store was abandoned after an I/O error")

// fence is the file system of one open instance of Pebble. After a fatal error, the instance cannot be closed safely, because its
// background work may be stuck, and would continue when the disk has room again. The store therefore abandons the instance and raises its
// fence. From then on, the fence keeps the instance from changing any file, because the next instance uses the same files.
//
// The fence also withholds write errors from Pebble. The reason is that a write error while Pebble switches to a new log ends the process,
// which recover cannot prevent, and that Pebble retries a failed flush endlessly. The fence therefore passes write errors to onError, and
// blocks the goroutine that wrote permanently.
//
// Files outside the directory of the database, such as the files of a checkpoint, are not fenced.
type fence struct {
	vfs.FS
	dir     string
	raised  atomic.Bool
	onError func(error)
	// ledger records how much of the files has been synced. It is nil for a database that is only read.
	ledger *synced.Ledger
	// marked is the name of the MANIFEST that the newest marker file names. The ledger records it when the directory is synced.
	marked atomic.Pointer[string]
}

func newFence(disk vfs.FS, dir string, onError func(error)) *fence {
	return &fence{FS: disk, dir: dir, onError: onError}
}

// outside reports whether a file is outside the directory of the database.
func (f *fence) outside(name string) bool {
	return name != f.dir && f.PathDir(name) != f.dir
}

func (f *fence) raise() {
	f.raised.Store(true)
	if f.ledger != nil {
		f.ledger.Abandon()
	}
}

func (f *fence) check() error {
	if f.raised.Load() {
		return errFenced
	}
	return nil
}

// stop handles the error of a file operation. It returns nil for nil. Otherwise, it passes err to onError and blocks the goroutine
// permanently.
func (f *fence) stop(err error) error {
	if err == nil {
		return nil
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

// open opens a file for writing, and wraps it if it belongs to the database. For a file of the database, it never returns once the fence is
// raised.
func (f *fence) open(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if f.outside(name) {
		return open()
	}
	if err := f.check(); err != nil {
		return nil, f.stop(err)
	}
	return f.wrap(name, open)
}

// Create changes no file of the database once the fence is raised.
func (f *fence) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(name, func() (vfs.File, error) { return f.FS.Create(name, category) })
}

// OpenDir also wraps the directory of the database, because its Sync method writes.
func (f *fence) OpenDir(name string) (vfs.File, error) {
	if f.outside(name) {
		return f.FS.OpenDir(name)
	}
	return f.wrap(name, func() (vfs.File, error) { return f.FS.OpenDir(name) })
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

// Lock locks nothing. The store locks its whole directory, and an abandoned instance of Pebble could never release a lock of its own.
func (f *fence) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap returns the underlying file system, for which Pebble asks.
func (f *fence) Unwrap() vfs.FS { return f.FS }

func (f *fence) wrap(name string, open func() (vfs.File, error)) (vfs.File, error) {
	file, err := open()
	if err != nil {
		return nil, f.stop(err)
	}
	base := f.PathBase(name)
	if marker, ok := strings.CutPrefix(base, markerPrefix); ok {
		_, manifest, _ := strings.Cut(marker, ".")
		f.marked.Store(&manifest)
	}
	return &fencedFile{File: file, fence: f, name: base, isDir: name == f.dir}, nil
}

// fencedFile is a file of the database that is open for writing.
type fencedFile struct {
	vfs.File
	fence *fence
	name  string // without the directory
	isDir bool
	// written is the number of bytes that Write has written. Pebble never calls Write and a method that syncs at the same time.
	written int64
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
	f.written += int64(n)
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
func (f *fencedFile) Sync() error { return f.sync(f.File.Sync) }

// SyncData changes nothing once the fence is raised.
func (f *fencedFile) SyncData() error { return f.sync(f.File.SyncData) }

// sync syncs the file, and records its length in the ledger.
func (f *fencedFile) sync(sync func() error) error {
	return f.do(func() error {
		err := sync()
		switch {
		case err != nil || f.fence.ledger == nil:
			return err
		case f.isDir:
			if manifest := f.fence.marked.Load(); manifest != nil {
				err = f.fence.ledger.Marked(*manifest)
			}
			return err
		default:
			return f.fence.ledger.Grew(f.name, f.written)
		}
	})
}

// SyncTo changes nothing once the fence is raised.
func (f *fencedFile) SyncTo(length int64) (fullSync bool, err error) {
	err = f.do(func() error { fullSync, err = f.File.SyncTo(length); return err })
	return fullSync, err
}

// Close closes the file even if the fence is raised, because the files of an abandoned database need not stay open. If the fence is raised,
// Close ignores the error.
func (f *fencedFile) Close() error {
	err := f.File.Close()
	if f.fence.raised.Load() {
		return nil
	}
	return f.fence.stop(err)
}
