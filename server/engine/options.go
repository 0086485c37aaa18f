package engine

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// Options holds the settings of Open.
type Options struct {
	// Dir is the directory of the store. Open creates it with mode 0700 if it does not exist. Required.
	Dir string
	// Clock returns the current time; nil means time.Now. The time determines `now` in reads without a time, and the dates of units. The clock
	// need not be monotonic.
	Clock func() time.Time
	// Logger receives messages for the operator; nil disables logging. Items, tokens and other personal data are never logged.
	Logger *slog.Logger
	// MemoryLimit is the memory limit of the process in bytes; 0 means no limit. It determines the default of CacheBytes. A small limit
	// also reduces the amount of data that is buffered in memory before it is written to files.
	MemoryLimit int64
	// CacheBytes limits the memory for cached views of segments (the documents that match a query, and orders). 0 means one tenth of
	// MemoryLimit, or 128 MiB if there is no MemoryLimit. Large views that are needed again are in files instead.
	CacheBytes int64
	// Pressure returns the memory pressure of the process; nil means library.Relaxed. At library.Tight and above, the library shrinks the
	// cache to CacheBytes/tightShare, and drops data derived from segments. For library.Full, see store.Options.
	Pressure func() library.Pressure
	// Crowded is called when the index files no longer fit in the page cache of the container, and when they fit again; nil means that
	// nothing is called. It is never called if there is no MemoryLimit. See segment.Room.
	Crowded func(crowded bool)

	// JournalAge and JournalChanges limit the journal of changes (see store.Options).
	JournalAge     time.Duration
	JournalChanges int64

	// AcceptLoss is the name of a loss that may be accepted (see store.Options).
	AcceptLoss string

	// Only tests set the fields below. fs is the file system. sealDocs, memoryParts, fanIn and maxDocs are passed to index.Options, to make
	// segments small.
	fs                                    vfs.FS
	sealDocs, memoryParts, fanIn, maxDocs int
	// shelfFrom is the value of search.Cache.ShelfFrom.
	shelfFrom int64
	// rankedHits is the value of read.Options.RankedHits.
	rankedHits int
	// patience is the maximum time for which Open waits until indexes are opened or rebuilt. retryAfter is the delay before the next attempt
	// to open an index that failed.
	patience, retryAfter time.Duration
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.CacheBytes = cmp.Or(o.CacheBytes, o.MemoryLimit/10, 128<<20)
	o.rankedHits = cmp.Or(o.rankedHits, 4096)
	if o.Crowded == nil {
		o.Crowded = func(bool) {}
	}
	o.patience = cmp.Or(o.patience, 5*time.Second)
	o.retryAfter = cmp.Or(o.retryAfter, 10*time.Second)
	if o.Pressure == nil {
		o.Pressure = func() library.Pressure { return library.Relaxed }
	}
	return o
}

// share returns MemoryLimit/of, limited to the range from least to most. If there is no MemoryLimit, it returns most.
func (o Options) share(of, least, most int64) int64 {
	if o.MemoryLimit == 0 {
		return most
	}
	return min(max(o.MemoryLimit/of, least), most)
}

// sealBytes returns the size at which segments in memory are sealed into a file. Writers can buffer up to twice this size before they have
// to wait. Sealing needs this much memory in addition.
func (o Options) sealBytes() int64 { return o.share(16, 2<<20, 64<<20) }

// room returns the number of bytes of index files that the page cache of the container can hold, or 0 if there is no MemoryLimit. MemoryLimit
// is usually 80 % of the memory of the container, and the heap is smaller than half of it.
func (o Options) room() int64 { return o.MemoryLimit / 4 * 3 }

func (o Options) store() store.Options {
	return store.Options{
		MemoryBytes: o.share(8, 8<<20, 64<<20),

		JournalAge: o.JournalAge, JournalChanges: o.JournalChanges,

		Dir: o.Dir, Clock: o.Clock, Logger: o.Logger, Pressure: o.Pressure, FS: o.fs, AcceptLoss: o.AcceptLoss,
	}
}
