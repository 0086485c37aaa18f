package reference

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// database is one opening of Pebble. After a fatal error it is only good for being given up.
type database struct {
	pebble *pebble.DB
	fence  *fence
	log    *slog.Logger
	// failed is closed on the first fatal error, which err then holds.
	failed chan struct{}
	once   sync.Once
	err    error
}

// pebbleFormat is written out, so that a newer Pebble never upgrades a store unasked.
const pebbleFormat = pebble.FormatValueSeparation

// openDatabase opens the database in dir on disk, making it where there is none.
func openDatabase(disk vfs.FS, dir string, log *slog.Logger) (*database, error) {
	d := &database{log: log, failed: make(chan struct{})}
	d.fence = newFence(disk, d.fail)
	o := &pebble.Options{
		FS:                 d.fence,
		FormatMajorVersion: pebbleFormat,
		Logger:             pebbleLog{d},
		Cleaner:            cleaner{},
		// Reading happens at start alone, so that a large cache would hold nothing of use.
		CacheSize: 8 << 20,
	}
	listener := pebble.EventListener{
		BackgroundError: func(err error) { d.fail(err) },
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			d.fail(fmt.Errorf("corrupt file %s: %w", info.Path, info.Details))
		},
	}
	o.EventListener = &listener
	err := guard(func() (err error) {
		d.pebble, err = pebble.Open(dir, o)
		return err
	})
	if failure := d.failure(); failure != nil {
		err = failure
	}
	if err != nil {
		d.fence.raise()
		return nil, err
	}
	d.fence.opened.Store(true)
	return d, nil
}

// cleaner removes files that are no longer needed, old logs too. Pebble would keep those to write over them one day, and
// with them the bytes of erased items, unless the cleaner says that it needs their contents; which can only be said by
// holding one of Pebble's own that does. The deleting one lies less deep, so that it does the cleaning.
type cleaner struct {
	pebble.DeleteCleaner
	keepsNoLogs
}

type keepsNoLogs struct{ pebble.ArchiveCleaner }

// commit makes a batch durable, or says why it may not be: after an error nobody knows, until the store is opened anew.
func (d *database) commit(b *pebble.Batch) error {
	err := d.call(func() error { return b.Commit(pebble.Sync) })
	if err != nil {
		d.fail(err)
	}
	return err
}

// call calls into Pebble, and returns early when the database fails: the call may then never return.
func (d *database) call(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- guard(do) }()
	select {
	case err := <-done:
		if failure := d.failure(); failure != nil {
			return failure
		}
		return err
	case <-d.failed:
		return d.err
	}
}

// fail notes the first fatal error and raises the fence.
func (d *database) fail(err error) {
	d.once.Do(func() {
		d.err = err
		d.fence.raise()
		d.log.Error("the store failed and is opened anew before the next write", slog.Any("error", err))
		close(d.failed)
	})
}

// failure returns the fatal error, nil while all is well.
func (d *database) failure() error {
	select {
	case <-d.failed:
		return d.err
	default:
		return nil
	}
}

// close closes a database that has not failed. One that has is left behind: its background work may be stuck for ever,
// and the fence keeps it from its files.
func (d *database) close() error {
	if d.failure() != nil {
		return nil
	}
	return d.call(d.pebble.Close)
}

// errGaveUp is what guard returns for a fatal error whose cause went to the log.
var errGaveUp = errors.New("the database gave up")

// guard calls into Pebble, which answers some I/O errors with a panic and others with a fatal log line. Either ends the
// goroutine of the call here, not the process.
func guard(call func() error) error {
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
	return <-done
}

// pebbleLog is Pebble's logger.
type pebbleLog struct{ d *database }

// Infof is for those who look closely.
func (l pebbleLog) Infof(format string, args ...any) {
	if l.d.log.Enabled(context.Background(), slog.LevelDebug) {
		l.d.log.Debug("pebble: " + fmt.Sprintf(format, args...))
	}
}

// Errorf is for what Pebble goes on from.
func (l pebbleLog) Errorf(format string, args ...any) {
	l.d.log.Warn("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf may not return: Pebble's state is in between. Its deferred calls run, so that its locks are let go.
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

// fatalError is a fatal log line with the error that it speaks of.
type fatalError struct {
	text  string
	cause error
}

// Error is the line.
func (e *fatalError) Error() string { return e.text }

// Unwrap returns the error that the line speaks of, nil for none.
func (e *fatalError) Unwrap() error { return e.cause }
