package read

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/engine/index"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/engine/segment"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// Options are what a Property is made with. All are required.
type Options struct {
	ID library.PropertyID
	// Store has the property, and seals its cursors.
	Store *store.Store
	// Cache keeps what is worked out of segments. All properties share one.
	Cache  *search.Cache
	Logger *slog.Logger
	// RankedHits is how many consecutive hits of a listing by relevance are kept at most; it takes 16 bytes for each.
	RankedHits int
}

// Property remembers what reads of a property have found out, from one state of it to the next. It is safe for concurrent use.
type Property struct {
	Options
	versions *versions

	mu sync.Mutex
	// snapshots are those that readers took lately, the newest at the end.
	snapshots []*Snapshot
	// ruled is the time to which rules were bound last.
	ruled  time.Time
	warned map[*definitions.Rule]bool
}

// NewProperty returns a Property that remembers nothing yet.
func NewProperty(o Options) *Property {
	return &Property{Options: o, versions: newVersions(), warned: map[*definitions.Rule]bool{}}
}

// State is one state of a property. The caller holds Segments.
type State struct {
	Segments  *index.Snapshot
	Catalogue *definitions.Catalogue
	// Version is the batch that last changed anything of the property.
	Version uint64
}

// maxSnapshots is how many snapshots of a property are kept: readers differ in the time at which they read, and in whether they
// began before or after a batch.
const maxSnapshots = 4

// Snapshot returns a state as it is at a time, in milliseconds. It is good for as long as the caller holds the state's segments.
func (p *Property) Snapshot(ctx context.Context, state State, now time.Time) (*Snapshot, error) {
	now = now.Truncate(time.Millisecond) // what a query sees of the time
	if s := p.known(state, now); s != nil {
		return s, nil
	}
	s, err := p.bind(ctx, state, now)
	if err == nil {
		p.keep(s)
	}
	return s, err
}

// bind makes the snapshot of a state. While nothing passes a boundary, rules are bound to the time to which they were bound last,
// so that what is kept of them is found again.
func (p *Property) bind(ctx context.Context, state State, now time.Time) (*Snapshot, error) {
	p.mu.Lock()
	before := p.ruled
	p.mu.Unlock()
	if !before.IsZero() && before.Before(now) {
		if s, err := p.newSnapshot(ctx, state, before); err == nil && s.rules.contains(now) {
			return s, nil
		}
	}
	s, err := p.newSnapshot(ctx, state, now)
	if err == nil && !s.rules.from.IsZero() {
		p.mu.Lock()
		p.ruled = now
		p.mu.Unlock()
	}
	return s, err
}

// known returns the snapshot that is kept of a state at a time, nil for none.
func (p *Property) known(state State, now time.Time) *Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range slices.Backward(p.snapshots) {
		if s.State == state && s.rules.contains(now) {
			return s
		}
	}
	return nil
}

// keep keeps a snapshot for the next reader.
func (p *Property) keep(s *Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.snapshots = slices.DeleteFunc(p.snapshots, func(old *Snapshot) bool {
		return old.Segments != s.Segments || old.Catalogue != s.Catalogue
	})
	if len(p.snapshots) >= maxSnapshots {
		p.snapshots = slices.Delete(p.snapshots, 0, 1)
	}
	p.snapshots = append(p.snapshots, s)
}

// Forget drops all snapshots that are kept: the state of the property has changed. Those in use stay good.
func (p *Property) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.snapshots = nil
}

// Merged carries over what is known of segments to the one that was merged of them, see index.Options.OnMerge.
func (p *Property) Merged(inputs []segment.Part, merged *segment.Segment, maps [][]uint32) {
	p.Cache.Carry(inputs, merged, maps)
	olds := make([]uint64, len(inputs))
	for i, in := range inputs {
		olds[i] = p.Cache.Serial(in.Segment)
	}
	p.versions.merge(olds, p.Cache.Serial(merged))
}

// warnOnce logs that the selector of a rule can no longer be evaluated.
func (p *Property) warnOnce(r *definitions.Rule, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.warned[r] {
		return
	}
	p.warned[r] = true
	p.Logger.Warn("a selector can no longer be evaluated: its rule applies to no item", slog.String("rule", r.Owner.String()), slog.Any("error", err))
}
