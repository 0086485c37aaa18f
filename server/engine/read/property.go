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

// Options holds the settings of a Property. All settings are required.
type Options struct {
	ID library.PropertyID
	// Store contains the property, and encrypts and authenticates its cursors.
	Store *store.Store
	// Cache holds the views of segments. All properties share it.
	Cache  *search.Cache
	Logger *slog.Logger
	// RankedHits is the maximum number of hits in a cached run of a listing by relevance. Each hit takes 16 bytes.
	RankedHits int
}

// Property keeps cached data of reads across the states of a property. It is safe for concurrent use.
type Property struct {
	Options
	versions *versions

	mu sync.Mutex
	// snapshots holds the most recent snapshots. The newest is last.
	snapshots []*Snapshot
	// ruled is the latest time to which rules that use `now` were bound.
	ruled time.Time
	// fixed is the overlay of the latest catalogue in which all rules were fixed (see search.Overlay.Fixed); nil if there was none
	fixed  *fixedOverlay
	warned map[*definitions.Rule]bool
}

// NewProperty returns a Property without cached data.
func NewProperty(o Options) *Property {
	return &Property{Options: o, versions: newVersions(), warned: map[*definitions.Rule]bool{}}
}

// State is one state of a property. The caller must hold a reference to Segments.
type State struct {
	Segments  *index.Snapshot
	Catalogue *definitions.Catalogue
	// Version is the batch that last changed the property.
	Version uint64
}

// maxSnapshots is the maximum number of cached snapshots of a property. Concurrent readers need different snapshots if they read at
// different times, or if a batch is committed between their reads.
const maxSnapshots = 4

// Snapshot returns the snapshot of a state at a time, truncated to milliseconds. It is valid as long as the caller holds state.Segments.
func (p *Property) Snapshot(ctx context.Context, state State, now time.Time) (*Snapshot, error) {
	now = now.Truncate(time.Millisecond) // queries see times with this precision
	if s := p.known(state, now); s != nil {
		return s, nil
	}
	s, err := p.bind(ctx, state, now)
	if err == nil {
		p.keep(s)
	}
	return s, err
}

// bind creates the snapshot of a state. If the rules select the same items now as at the time of the previous binding, bind uses that
// time, so that cached results of the rules can be reused.
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

// newSnapshot creates the snapshot of a state, with rules bound to a time.
func (p *Property) newSnapshot(ctx context.Context, state State, now time.Time) (*Snapshot, error) {
	s := &Snapshot{State: state, property: p, listings: map[listingName]*listing{}, slots: map[int]*slotTable{}}
	return s, s.overlay(ctx, now)
}

// known returns the cached snapshot of a state at a time, or nil if there is none.
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

// keep caches a snapshot for later readers.
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

// Forget drops all cached snapshots. The caller uses it when the state of the property has changed. Snapshots that are in use stay valid.
func (p *Property) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.snapshots = nil
}

// Merged carries over cached results from the inputs of a merge to the merged segment. See index.Options.OnMerge.
func (p *Property) Merged(inputs []segment.Part, merged *segment.Segment, maps [][]uint32) {
	p.Cache.Carry(inputs, merged, maps)
	olds := make([]uint64, len(inputs))
	for i, in := range inputs {
		olds[i] = p.Cache.Serial(in.Segment)
	}
	p.versions.merge(olds, p.Cache.Serial(merged))
}

// warnOnce logs once that the selector of a rule can no longer be evaluated.
func (p *Property) warnOnce(r *definitions.Rule, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.warned[r] {
		return
	}
	p.warned[r] = true
	p.Logger.Warn("a selector can no longer be evaluated, so its rule applies to no items", slog.String("rule", r.Owner.String()), slog.Any("error", err))
}
