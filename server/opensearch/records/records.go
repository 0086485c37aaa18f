// Package records keeps the definitions of a library in the definitions index. Conditional writes detect the changes of other replicas. Each
// replica has all definitions in memory and follows their changes by sequence number.
//
// The package may import cluster, schema, definitions, flight, transfer, library and item.
package records

import (
	"context"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/flight"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// State is the state of the definitions index in memory. It is immutable.
type State struct {
	Set       definitions.Set
	Marks     map[string]string
	AuthorKey []byte
	// copied is true if the library is a copy of another library that was not used yet. use decides whether it can be opened.
	copied bool
}

// Frozen returns the current freeze, or an empty string if there is none.
func (k *State) Frozen() transfer.Freeze { return transfer.Freeze(k.Marks[transfer.MarkFrozen]) }

// Records is the definitions index as this replica sees it.
type Records struct {
	cluster *cluster.Client
	names   schema.Names
	logger  *slog.Logger
	// interval is the time between two checks for changes.
	interval time.Duration
	// limit limits one request for changes.
	limit time.Duration
	// Prepare creates what a property needs before this replica serves a change: its index, if the property is new, and the tags of rules.
	Prepare func(ctx context.Context, p library.PropertyID, isNew bool, tags []item.Tag) error
	// Forget forgets what this replica remembers about a property, because the property may have been created again.
	Forget func(library.PropertyID)

	feed  *definitions.TokenFeed
	state atomic.Pointer[State]

	// changing is held while changes are read from the index, and while the index is changed.
	changing flight.Mutex
	// seen contains the last seen state of every document.
	seen map[string]seenRecord
	// next is the lowest sequence number that may be new. term is the highest primary term that this replica has seen.
	next, term int64
	// gapped is the time at which the operation with the sequence number `next` was first missing, or zero.
	gapped time.Time

	// currency is advanced by the follower and by watch.
	currency  *currency
	problemMu sync.Mutex
	failure   error
	// unreadable contains, by id, the errors of the documents that this version cannot read.
	unreadable map[string]error
}

// seenRecord is one state of a document and the source of the document's definition.
type seenRecord struct {
	cluster.Version
	source definitions.Source
}

// New returns Records without definitions. Open reads them, and Follow follows their changes at an interval. Each request for changes takes
// at most `limit`. The caller sets Prepare and Forget before it calls Open.
func New(c *cluster.Client, n schema.Names, logger *slog.Logger, interval, limit time.Duration) *Records {
	r := &Records{cluster: c, names: n, logger: logger, interval: interval, limit: limit, feed: definitions.NewTokenFeed(), currency: newCurrency(), seen: map[string]seenRecord{}}
	set, _ := definitions.NewSet(nil) // can fail only for entries
	r.state.Store(&State{Set: set, Marks: map[string]string{}})
	return r
}

// Lock keeps this replica from reading and storing changes until the caller calls unlock.
func (r *Records) Lock(ctx context.Context) (unlock func(), err error) {
	return r.cluster.Lock(ctx, &r.changing)
}

// Tokens yields all tokens, and after that their changes. See library.Library.
func (r *Records) Tokens(ctx context.Context) iter.Seq2[library.TokenEvent, error] {
	return r.feed.Listen(ctx)
}

// Now returns the definitions as this replica has read them.
func (r *Records) Now() *State { return r.state.Load() }

// Frozen returns the freeze that this replica has seen, or an empty string if there is none.
func (r *Records) Frozen() transfer.Freeze { return r.Now().Frozen() }

// Checked returns the time up to which the definitions of this replica are known to be complete. The channel is closed when this time
// changes.
func (r *Records) Checked() (at time.Time, changed <-chan struct{}) { return r.currency.get() }
