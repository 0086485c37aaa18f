package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store/synced"
)

// database is one open instance of Pebble. After a fatal error, it can still be read, but not written, and it is abandoned instead of
// closed.
type database struct {
	pebble *pebble.DB
	fence  *fence
	log    *slog.Logger
	// failed is closed on the first fatal error, which is then in err.
	failed chan struct{}
	once   sync.Once
	err    error
	// using is read-locked during every call into Pebble, so that no call reaches a closed database.
	using  sync.RWMutex
	closed bool
	// readOnly is true for a database that was opened only for reading. It has no background work that could get stuck (Pebble does not even
	// collect statistics), so it can always be read and closed.
	readOnly bool
	// found is what was known about the files before they were opened. accepted is the loss that was accepted for them, or nil.
	found    synced.Found
	accepted *synced.DamageError
}

// pebbleFormat is the format version of the database. It is set explicitly, so that a newer version of Pebble never upgrades a store on its
// own.
const pebbleFormat = pebble.FormatValueSeparation

// filterBits is the number of bits in the Bloom filter of a table for each key. With 10 bits, about one in a hundred lookups of a key that
// does not exist reads the table.
const filterBits = 10

// openDatabase opens the database in dir, and creates it if there is none. If readOnly is true, the database must exist, and openDatabase
// changes nothing in it. It fails with a *synced.DamageError if data is missing that had been synced.
func openDatabase(o Options, dir string, readOnly bool) (*database, error) {
	d := &database{log: o.Logger, failed: make(chan struct{}), readOnly: readOnly}
	names, err := databaseFiles(o.FS, dir)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(names, isMarker) && slices.ContainsFunc(names, isData) {
		return nil, errNoMarker // Pebble would create a new database and remove these files
	}
	if len(names) > 0 {
		if d.found, err = synced.Check(o.FS, dir); err != nil {
			return nil, err
		}
	}
	d.fence = newFence(o.FS, dir, d.fail)
	if !readOnly {
		if err := requireRoom(o.FS, o.Dir, dir, names); err != nil {
			return nil, err
		}
		if err := synced.MkdirAll(o.FS, dir); err != nil {
			return nil, fmt.Errorf("create the directory of the database: %w", err)
		}
		if d.fence.ledger, err = synced.Open(o.FS, dir, d.fail); err != nil {
			return nil, err
		}
	}
	settings := d.settings(o)
	settings.ReadOnly = readOnly
	opening := guard(func() (err error) {
		d.pebble, err = pebble.Open(dir, settings)
		return err
	})
	select {
	case err = <-opening:
	case <-d.failed: // do not wait for Open in this case, because the fence blocks it
	}
	if failure := d.failure(); failure != nil {
		err = failure
	}
	if err != nil {
		d.fence.raise()
		if d.fence.ledger != nil && d.failure() == nil {
			err = errors.Join(err, d.fence.ledger.Discard())
		}
		return nil, err
	}
	return d, nil
}

// errNoMarker is the error for a database that has data but lacks the marker file (see markerPrefix).
var errNoMarker = errors.New("the database has tables or logs, but no file marker.manifest.*, which names its newest state: " +
	"restore the newest backup, or move the directory away to start with an empty store")

// databaseFiles lists the files of a database. The list is empty if the directory is missing.
func databaseFiles(disk vfs.FS, dir string) ([]string, error) {
	names, err := disk.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

func isMarker(name string) bool { return strings.HasPrefix(name, markerPrefix) }

func isData(name string) bool {
	return slices.Contains([]string{".sst", ".log", ".blob"}, path.Ext(name))
}

func isTable(name string) bool { return path.Ext(name) == ".sst" }

// Made reports whether a directory contains a store, possibly a damaged one.
func Made(disk vfs.FS, dir string) (bool, error) {
	names, err := databaseFiles(disk, disk.PathJoin(dir, databaseName))
	return slices.ContainsFunc(names, func(name string) bool { return isMarker(name) || isData(name) }), err
}

// markerPrefix is the prefix of the name of the marker file, which identifies the newest state of a database.
const markerPrefix = "marker.manifest."

// requireRoom returns an error if the disk lacks the room for opening a database with these files. Room is needed because Pebble writes the
// content of the logs into tables before it removes the logs. A failed attempt to open a database leaks memory, so requireRoom prevents
// attempts that cannot succeed.
func requireRoom(disk vfs.FS, storeDir, dir string, names []string) error {
	usage, err := disk.GetDiskUsage(storeDir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil
	} else if err != nil {
		return fmt.Errorf("determine the free space of the disk: %w", err)
	}
	need := uint64(probeSize)
	for _, name := range names {
		if path.Ext(name) != ".log" {
			continue
		}
		if info, err := disk.Stat(disk.PathJoin(dir, name)); err == nil {
			need += uint64(info.Size())
		}
	}
	if usage.AvailBytes < need {
		return fmt.Errorf("opening the database needs %d bytes of disk space, but the disk has only %d free: %w",
			need, usage.AvailBytes, syscall.ENOSPC)
	}
	return nil
}

func (d *database) settings(o Options) *pebble.Options {
	s := &pebble.Options{
		FS:                 d.fence,
		FormatMajorVersion: pebbleFormat,
		Logger:             pebbleLog{d},
		Cleaner:            cleaner{},
		// CacheSize includes the memory of the memtables.
		CacheSize:    o.MemoryBytes,
		MemTableSize: uint64(o.MemTableBytes),
		// Up to three memtables exist: one is filled while two others are flushed.
		MemTableStopWritesThreshold: 3,
		// Keep files large, so that a store of millions of items consists of few files.
		LBaseMaxBytes: 4 * o.MemTableBytes,
		EventListener: &pebble.EventListener{
			BackgroundError: d.endBackground,
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				d.fail(fmt.Errorf("corrupt file %s: %w", info.Path, info.Details))
			},
		},
	}
	s.Experimental.SpanPolicyFunc = func(key []byte) (pebble.SpanPolicy, []byte, error) { return pebble.SpanPolicy{}, stretchEnd(key), nil }
	s.TargetFileSizes[0] = 4 << 20
	for i := range s.Levels {
		s.Levels[i].FilterPolicy = bloom.FilterPolicy(filterBits)
		s.Levels[i].BlockSize = 32 << 10 // items have about a kilobyte each, and many of them in one block compress well
		s.Levels[i].IndexBlockSize = 256 << 10
	}
	// Pebble compresses all levels with Zstandard at level 3. Its predefined settings compress the upper levels less. But an import appends, and
	// Pebble moves a table to a lower level without writing it again if no table there overlaps with it. With those settings, most items of a
	// large store would therefore stay as they were compressed first. An import takes the same time. The update of an item that is not in the
	// cache takes about 80 µs longer than without Zstandard, because a block is decompressed. In a build without cgo, half of this is the
	// decoder, which Pebble creates for each block.
	s.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.UniformDBCompressionSettings(block.GoodCompression) })
	return s
}

// cleaner removes obsolete files, including logs. By default, Pebble reuses old log files, which would keep the bytes of erased items. It
// does not reuse them if its cleaner declares, with an unexported method, that it needs the contents of logs. keepsNoLogs embeds
// ArchiveCleaner to get this method. DeleteCleaner is embedded less deeply, so its Clean method takes precedence.
type cleaner struct {
	pebble.DeleteCleaner
	keepsNoLogs
}

type keepsNoLogs struct{ pebble.ArchiveCleaner }

// commit makes a batch durable. If commit fails, only reopening the store shows whether the batch is durable.
func (d *database) commit(b *pebble.Batch) error {
	err := d.call(func() error { return b.Commit(pebble.Sync) })
	if err != nil {
		d.fail(err)
	}
	return err
}

// call runs do, which calls into Pebble. If the database fails, call returns without waiting for do, which may never return.
func (d *database) call(do func() error) error {
	select {
	case err := <-d.start(do):
		if failure := d.failure(); failure != nil {
			return failure
		}
		return err
	case <-d.failed:
		return d.err
	}
}

// readGrace is the time that a read may take after the database has failed.
const readGrace = 2 * time.Second

// read is like call, but for reads. It also works on a database that has failed, because such a database can still be read. If read fails,
// do may still be running, so the caller must not use anything that do writes to.
func (d *database) read(do func() error) error {
	done := d.start(do)
	if d.readOnly {
		return <-done
	}
	select {
	case err := <-done:
		return err
	case <-d.failed:
	}
	grace := time.NewTimer(readGrace)
	defer grace.Stop()
	select {
	case err := <-done:
		return err
	case <-grace.C:
		return d.err
	}
}

// start runs do, which calls into Pebble, in a new goroutine.
func (d *database) start(do func() error) <-chan error {
	return guard(func() error {
		d.using.RLock()
		defer d.using.RUnlock()
		if d.closed {
			return library.ErrClosed
		}
		return do()
	})
}

// endBackground ends the goroutine of a flush or a compaction that has failed, because Pebble would otherwise retry it without a pause, for
// example to compact a damaged table. Pebble holds its mutex meanwhile, so only operations that do not need the mutex, such as lookups and
// iterators, still work on the failed database.
func (d *database) endBackground(err error) {
	d.fail(err)
	select {}
}

// fail records the first fatal error and raises the fence of the database.
func (d *database) fail(err error) {
	d.once.Do(func() {
		d.err = err
		d.fence.raise()
		d.log.Error("the store rejects writes until it can be opened again", slog.Any("error", err))
		close(d.failed)
	})
}

// failure returns the fatal error, or nil if there is none.
func (d *database) failure() error {
	select {
	case <-d.failed:
		return d.err
	default:
		return nil
	}
}

// close waits until no call uses the database, and closes it. It abandons a failed database that is not read-only, because background work
// may be stuck permanently. The fence keeps this work from changing files.
func (d *database) close() error {
	if d.failure() != nil && !d.readOnly {
		return nil
	}
	closed := guard(func() error {
		d.using.Lock()
		defer d.using.Unlock()
		d.closed = true
		if d.readOnly {
			return d.pebble.Close()
		}
		// Write everything into tables, whose blocks have checksums, so that nothing depends on the log. If this fails, the log still
		// contains everything.
		return errors.Join(d.pebble.Flush(), d.pebble.Close(), d.fence.ledger.Close())
	})
	if d.readOnly {
		return <-closed
	}
	select {
	case err := <-closed:
		return err
	case <-d.failed:
		if vfs.IsNoSpaceError(d.err) {
			d.log.Warn("the disk is full, so the newest writes stay in the log of the database until the next start", slog.Any("error", d.err))
			return nil
		}
		return d.err
	}
}

// errGaveUp is the result of guard if Pebble logged a fatal error, which ends the goroutine (see pebbleLog.Fatalf). The log contains the
// cause.
var errGaveUp = errors.New("the database failed: see the log")

// guard runs call, which calls into Pebble, in a new goroutine. Pebble reports some I/O errors with a panic, and others with a fatal log
// line. Both end only that goroutine, not the process.
func guard(call func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		err := errGaveUp
		defer func() {
			switch r := recover().(type) {
			case nil:
			case error:
				err = r
			default:
				err = fmt.Errorf("%v", r)
			}
			done <- err
		}()
		err = call()
	}()
	return done
}

// pebbleLog is the logger that Pebble writes to.
type pebbleLog struct{ d *database }

// Infof logs at debug level.
func (l pebbleLog) Infof(format string, args ...any) {
	if l.d.log.Enabled(context.Background(), slog.LevelDebug) {
		l.d.log.Debug("pebble: " + fmt.Sprintf(format, args...))
	}
}

// Errorf logs an error after which Pebble continues.
func (l pebbleLog) Errorf(format string, args ...any) {
	l.d.log.Warn("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf records the error and ends the goroutine. It must not return, because Pebble's state is inconsistent. The deferred calls of the
// goroutine still run and release Pebble's locks.
func (l pebbleLog) Fatalf(format string, args ...any) {
	err := &fatalError{text: fmt.Sprintf(format, args...)}
	for _, a := range args {
		if cause, ok := a.(error); ok {
			err.cause = cause
		}
	}
	l.d.fail(err)
	runtime.Goexit()
}

// fatalError is a fatal log line. cause is the error among the arguments of the line.
type fatalError struct {
	text  string
	cause error
}

// Error returns the line.
func (e *fatalError) Error() string { return e.text }

// Unwrap returns the error among the arguments of the log line, or nil if there is none.
func (e *fatalError) Unwrap() error { return e.cause }
