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

// Options contains the settings of Open.
type Options struct {
	// Dir is the directory of the store. Open creates it with mode 0700 if it does not exist. Required.
	Dir string
	// Clock returns the current time, which the store uses, for example, as the creation time of units. It need not be monotonic. nil means
	// time.Now.
	Clock func() time.Time
	// Logger receives messages for the operator. The store never logs items, tokens or other personal data. nil disables logging.
	Logger *slog.Logger
	// EraseWithin is the maximum time for which the bytes of a deleted item may stay in the store's files. With a shorter time, the store
	// rewrites files more often. 0 means 10 minutes.
	EraseWithin time.Duration
	// JournalAge is the time for which the store knows the changes of items (see library.Feed). 0 means seven days.
	JournalAge time.Duration
	// JournalChanges is the number of newest changes of each property that the store knows. 0 means a million. A change needs up to 50 bytes
	// of disk, and about a byte if it is one of a large import.
	JournalChanges int64
	// MemoryBytes is the memory that the database uses outside the Go heap, for recent writes and for recently read blocks of files. 0 means
	// 64 MiB. For ten million items, this includes 25 MiB for the Bloom filters with which writes check that an id and a short code are free.
	// A library that serves items from memory or from its own files does not get faster with more.
	MemoryBytes int64
	// MemTableBytes is the size of a buffer for recent writes. It is a part of MemoryBytes. While buffers are flushed to files, up to three of
	// them exist. 0 means 16 MiB, or MemoryBytes/4 if that is less.
	MemTableBytes int64
	// Pressure returns the memory pressure of the process. At library.Full, the store refuses mutations of items, except deletions, with
	// library.ErrUnavailable. nil means library.Relaxed.
	Pressure func() library.Pressure

	// AcceptLoss is the name of a loss (see synced.DamageError). If exactly this data is missing from the newest log, Open opens the store
	// without it. "" means that Open fails if any data is missing that had been synced.
	AcceptLoss string

	// FS is the file system. nil means that of the operating system. Tests use another one.
	FS vfs.FS
	// Random is a cryptographically secure source of random bytes. nil means crypto/rand.
	Random io.Reader
	// RetryAfter is the delay between two attempts to reopen a failed store. 0 means one second.
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
	o.JournalAge = cmp.Or(o.JournalAge, 7*24*time.Hour)
	o.JournalChanges = cmp.Or(o.JournalChanges, 1_000_000)
	o.MemoryBytes = cmp.Or(o.MemoryBytes, 64<<20)
	o.MemTableBytes = cmp.Or(o.MemTableBytes, min(16<<20, o.MemoryBytes/4))
	o.RetryAfter = cmp.Or(o.RetryAfter, time.Second)
	if o.Pressure == nil {
		o.Pressure = func() library.Pressure { return library.Relaxed }
	}
	if o.FS == nil {
		o.FS = vfs.Default
		// Within a process, two stores lock the same directory only if its name is the same, so make the name absolute.
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
