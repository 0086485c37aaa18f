package reference

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options are what a Library is opened with.
type Options struct {
	// Dir is the directory of the store; made (0700) where it is not there. Required.
	Dir string
	// Clock tells the time; nil means time.Now. It stands for `now` where a Read names none, limits cursors by relevance
	// to their minute and dates units. Nothing durable depends on it running forwards.
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

	// disk, random and retryAfter are replaced in tests.
	disk   vfs.FS
	random io.Reader
	// retryAfter is how long after an attempt to open a failed store again the next one is made; 0 means a second.
	retryAfter time.Duration
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
	if o.QueryBudget == 0 {
		o.QueryBudget = 2 * time.Second
	}
	if o.CachedResults == 0 {
		o.CachedResults = 64
	}
	if o.EraseWithin == 0 {
		o.EraseWithin = 10 * time.Minute
	}
	if o.retryAfter == 0 {
		o.retryAfter = time.Second
	}
	if o.disk == nil {
		o.disk = vfs.Default
		// Within a process locks are told apart by name.
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return o, fmt.Errorf("find the directory of the store: %w", err)
		}
		o.Dir = dir
	}
	if o.random == nil {
		o.random = rand.Reader
	}
	return o, nil
}
