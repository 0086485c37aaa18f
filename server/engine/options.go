package engine

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// Options are what a Library is opened with.
type Options struct {
	// Dir is the directory of the store; made (0700) where it is not there. Required.
	Dir string
	// Clock tells the time; nil means time.Now. It stands for `now` where a Read names none, and dates units. Nothing durable
	// depends on it being monotonic.
	Clock func() time.Time
	// Logger takes what an operator may want to know; nil means nothing is logged. No item, token or other personal data
	// is ever logged.
	Logger *slog.Logger
	// EraseWithin is how long the bytes of a deleted item may stay in files; 0 means 10 minutes. A shorter time costs more
	// rewriting of files.
	EraseWithin time.Duration
	// MemoryLimit is what the process may take, 0 for no limit. It gives CacheBytes its default, and where it is small it
	// bounds what is gathered in memory before it is written into files.
	MemoryLimit int64
	// CacheBytes is what may be kept of segments in memory besides them: which documents match which query, and their
	// orders; 0 means a fifth of MemoryLimit, and 128 MiB without one.
	CacheBytes int64
	// Pressure says how short of memory the process is; nil means never. When it is library.Tight, no more than a fourth of
	// CacheBytes is kept; see store.Options for library.Full.
	Pressure func() library.Pressure

	// Tests put disks of theirs here, and make segments small.
	fs                                    vfs.FS
	sealDocs, memoryParts, fanIn, maxDocs int
	// rankedHits is how many hits a run of a listing by relevance has at most, see ranked.
	rankedHits int
	// patience is how long Open waits for indexes that are rebuilt, and retryAfter how long after a failure the next
	// attempt follows.
	patience, retryAfter time.Duration
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.CacheBytes = cmp.Or(o.CacheBytes, o.MemoryLimit/5, 128<<20)
	o.rankedHits = cmp.Or(o.rankedHits, 4096)
	o.patience = cmp.Or(o.patience, 5*time.Second)
	o.retryAfter = cmp.Or(o.retryAfter, 10*time.Second)
	if o.Pressure == nil {
		o.Pressure = func() library.Pressure { return library.Relaxed }
	}
	return o
}

// share returns a share of the memory limit, one in so many, between what makes sense at least and what is of use at most;
// the most where there is no limit.
func (o Options) share(of, least, most int64) int64 {
	if o.MemoryLimit == 0 {
		return most
	}
	return min(max(o.MemoryLimit/of, least), most)
}

// sealBytes is how much gathers in memory before it becomes a segment file. Writers may be twice as far ahead, and a merge
// takes as much again.
func (o Options) sealBytes() int64 { return o.share(16, 2<<20, 64<<20) }

// store returns what the store is opened with.
func (o Options) store() store.Options {
	return store.Options{
		MemoryBytes: o.share(8, 8<<20, 64<<20),

		Dir: o.Dir, Clock: o.Clock, Logger: o.Logger, EraseWithin: o.EraseWithin, Pressure: o.Pressure, FS: o.fs,
	}
}
