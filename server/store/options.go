package store

import (
	"cmp"
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
	// MemoryBytes is how much memory the database takes, beside the Go heap, for what was written lately and for blocks of
	// files that were read lately; 0 means 64 MiB. The filters of ten million items take 25 MiB of it, by which a write
	// finds out that an id and a short code are free; a library that serves items from memory or files of its own gains
	// nothing from more.
	MemoryBytes int64
	// MemTableBytes is how much of that gathers writes before they become a file; 0 means 16 MiB, or a quarter of
	// MemoryBytes where that is less. Up to three times as much is taken while files are written.
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
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.EraseWithin = cmp.Or(o.EraseWithin, 10*time.Minute)
	o.MemoryBytes = cmp.Or(o.MemoryBytes, 64<<20)
	o.MemTableBytes = cmp.Or(o.MemTableBytes, min(16<<20, o.MemoryBytes/4))
	o.RetryAfter = cmp.Or(o.RetryAfter, time.Second)
	if o.Pressure == nil {
		o.Pressure = func() library.Pressure { return library.Relaxed }
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
