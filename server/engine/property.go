package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/engine/index"
	"github.com/vitrine-dev/vitrine/server/engine/search"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
)

// property is one property, served or not: its segments, and what it serves besides its items.
type property struct {
	id      library.PropertyID
	storeID string
	log     *slog.Logger
	cache   *search.Cache
	// versions tells which listings a batch has touched.
	versions *versions
	// rankedHits is that of Options.
	rankedHits int

	// publishing is held by whoever makes a batch visible and, for reading, by those who take a moment: both the segments
	// and the catalogue change with it.
	publishing sync.RWMutex
	index      *index.Index // nil once it is given up
	// last is what is read when the index was given up, until it is open anew.
	last      *index.Snapshot
	catalogue *store.Catalogue // nil while the property is not served
	version   uint64
	closed    bool

	// mu guards what follows.
	mu sync.Mutex
	// moments are those that readers took lately, the newest at the end.
	moments []*moment
	// ruled is the time to which rules were bound last.
	ruled  time.Time
	warned map[*store.Rule]bool
}

// seen is one state of a property. Its snapshot is to be released.
type seen struct {
	snapshot  *index.Snapshot
	catalogue *store.Catalogue
	version   uint64
}

// maxMoments is how many moments of a property are kept: readers differ in the time at which they look, and in whether they
// began before or after a batch.
const maxMoments = 4

// look returns the present state. ErrClosed; ErrNotFound while the property is not served.
func (p *property) look() (seen, error) {
	p.publishing.RLock()
	defer p.publishing.RUnlock()
	switch {
	case p.closed:
		return seen{}, library.ErrClosed
	case p.catalogue == nil:
		return seen{}, library.UnknownProperty(p.id)
	}
	out := seen{snapshot: p.last, catalogue: p.catalogue, version: p.version}
	if p.index != nil {
		out.snapshot = p.index.Acquire()
	} else {
		out.snapshot.Hold()
	}
	return out, nil
}

// at returns the moment of the present state at a time, and what lets go of it.
func (p *property) at(ctx context.Context, now time.Time) (*moment, func(), error) {
	now = now.Truncate(time.Millisecond) // what a query sees of the time
	seen, err := p.look()
	if err != nil {
		return nil, nil, err
	}
	let := seen.snapshot.Release
	if m := p.known(seen, now); m != nil {
		return m, let, nil
	}
	m, err := p.newMoment(ctx, seen, now)
	if err != nil {
		let()
		return nil, nil, err
	}
	p.keep(m)
	return m, let, nil
}

// known returns the moment that is kept of a state at a time, nil for none.
func (p *property) known(s seen, now time.Time) *moment {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.moments) - 1; i >= 0; i-- {
		if m := p.moments[i]; m.snapshot == s.snapshot && m.catalogue == s.catalogue && m.version == s.version && m.rules.contains(now) {
			return m
		}
	}
	return nil
}

func (p *property) lastRuled() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ruled
}

func (p *property) setRuled(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ruled = at
}

// keep keeps a moment for the next reader.
func (p *property) keep(m *moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moments = slices.DeleteFunc(p.moments, func(old *moment) bool { return old.snapshot != m.snapshot || old.catalogue != m.catalogue })
	if len(p.moments) >= maxMoments {
		p.moments = slices.Delete(p.moments, 0, 1)
	}
	p.moments = append(p.moments, m)
}

// forget lets go of all moments: those that are held stay good for whoever holds them.
func (p *property) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moments = nil
}

// publish makes a batch visible.
func (p *property) publish(prepared *index.Prepared, c *store.Catalogue, version uint64) {
	p.publishing.Lock()
	prepared.Install()
	p.catalogue, p.version = c, version
	p.publishing.Unlock()
	p.forget()
}

// segments returns the index, nil once it is given up.
func (p *property) segments() *index.Index {
	p.publishing.RLock()
	defer p.publishing.RUnlock()
	return p.index
}

// abandon gives the index up. What it showed last can still be read.
func (p *property) abandon() {
	x := p.segments()
	if x == nil {
		return
	}
	p.publishing.Lock()
	p.last, p.index = x.Acquire(), nil
	p.publishing.Unlock()
	x.Abandon()
}

// end ends all reading, and returns the index that is to be closed; nil when it was given up.
func (p *property) end() *index.Index {
	p.publishing.Lock()
	x := p.index
	p.closed, p.index, p.catalogue = true, nil, nil
	if p.last != nil {
		p.last.Release()
		p.last = nil
	}
	p.publishing.Unlock()
	p.forget()
	return x
}
