package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Options are what a Store is opened with.
type Options struct {
	// Dir is the directory of the store; made (0700) where it is not there. Required.
	Dir string
	// Clock tells the time; nil means time.Now. It dates units. Nothing durable depends on it running forwards.
	Clock func() time.Time
	// Logger takes what an operator may want to know; nil means nothing is logged. No item, token or other personal data
	// is ever logged.
	Logger *slog.Logger
	// EraseWithin is how long the bytes of a deleted item may stay in the store's files; 0 means 10 minutes. A shorter
	// time costs more rewriting of files.
	EraseWithin time.Duration
	// CacheBytes is the memory for blocks of files that were read lately; 0 means 32 MiB, which holds the filters by which
	// writes to a property of ten million items find out that an id is free. A library that serves items from memory or
	// files of its own gains nothing from more.
	CacheBytes int64
	// MemTableBytes is the memory that gathers writes before they become a file; 0 means 16 MiB. Up to three times as
	// much is in use while files are written.
	MemTableBytes int64
	// Pressure says how short of memory the process is; nil means never. Under library.Full mutations of items are
	// refused with library.ErrUnavailable, save for deletions.
	Pressure func() library.Pressure

	// FS is the file system; nil means the operating system's. Tests put a disk of theirs here.
	FS vfs.FS
	// Random is read for what must not be guessed; nil means crypto/rand.
	Random io.Reader
	// RetryAfter is how long after an attempt to open a failed store again the next one is made; 0 means a second.
	RetryAfter time.Duration
}

func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("open a store: no directory given")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.EraseWithin == 0 {
		o.EraseWithin = 10 * time.Minute
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 32 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 16 << 20
	}
	if o.Pressure == nil {
		o.Pressure = func() library.Pressure { return library.Relaxed }
	}
	if o.RetryAfter == 0 {
		o.RetryAfter = time.Second
	}
	if o.FS == nil {
		o.FS = vfs.Default
		// Within a process locks are told apart by name.
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return o, fmt.Errorf("find the directory of the store: %w", err)
		}
		o.Dir = dir
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return o, nil
}
