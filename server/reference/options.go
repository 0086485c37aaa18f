package reference

import (
	"log/slog"
	"time"

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
	// QueryBudget is how long a Read with Budgeted may look; 0 means 2 seconds, the limit of the HTTP interface.
	QueryBudget time.Duration
	// CachedResults is how many listings are kept in order between reads, so that paging does not walk all items for
	// each page; 0 means 64. A listing costs 8 bytes an item.
	CachedResults int
	// EraseWithin is how long the bytes of a deleted item may stay in the store's files; 0 means 10 minutes. A shorter
	// time costs more rewriting of files.
	EraseWithin time.Duration
	// Pressure says how short of memory the process is; nil means never. See store.Options.
	Pressure func() library.Pressure
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.QueryBudget == 0 {
		o.QueryBudget = 2 * time.Second
	}
	if o.CachedResults == 0 {
		o.CachedResults = 64
	}
	return o
}

// store returns what the store is opened with.
func (o Options) store() store.Options {
	return store.Options{Dir: o.Dir, Clock: o.Clock, Logger: o.Logger, EraseWithin: o.EraseWithin, Pressure: o.Pressure}
}
