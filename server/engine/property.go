package engine

import (
	"context"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/engine/index"
	"github.com/vitrine-dev/vitrine/server/engine/read"
	"github.com/vitrine-dev/vitrine/server/library"
)

// property is one property, whether it is served or not: its index, its catalogue, and the cached data of its reads.
type property struct {
	id library.PropertyID
	// reads creates and caches the snapshots that readers use.
	reads *read.Property

	// publishing guards the fields below. A batch changes both the segments and the catalogue, so it is locked for writing while a batch is
	// made visible.
	publishing sync.RWMutex
	index      *index.Index // nil after abandon
	// last is the snapshot that readers use after the index was abandoned and until it is open again.
	last      *index.Snapshot
	catalogue *definitions.Catalogue // nil while the property is not served
	version   uint64
	closed    bool
}

// state returns the current state. The caller must release its segments. It returns ErrClosed, or ErrNotFound if the property is not
// served.
func (p *property) state() (read.State, error) {
	p.publishing.RLock()
	defer p.publishing.RUnlock()
	switch {
	case p.closed:
		return read.State{}, library.ErrClosed
	case p.catalogue == nil:
		return read.State{}, library.UnknownProperty(p.id)
	}
	out := read.State{Segments: p.last, Catalogue: p.catalogue, Version: p.version}
	if p.index != nil {
		out.Segments = p.index.Acquire()
	} else {
		out.Segments.Hold()
	}
	return out, nil
}

// snapshot returns the snapshot of the current state at the time now, and a function that releases it.
func (p *property) snapshot(ctx context.Context, now time.Time) (s *read.Snapshot, release func(), err error) {
	state, err := p.state()
	if err != nil {
		return nil, nil, err
	}
	if s, err = p.reads.Snapshot(ctx, state, now); err != nil {
		state.Segments.Release()
		return nil, nil, err
	}
	return s, state.Segments.Release, nil
}

// publish makes a batch visible.
func (p *property) publish(prepared *index.Prepared, c *definitions.Catalogue, version uint64) {
	p.publishing.Lock()
	prepared.Install()
	p.catalogue, p.version = c, version
	p.publishing.Unlock()
	p.reads.Forget()
}

// segments returns the index, or nil if it was abandoned.
func (p *property) segments() *index.Index {
	p.publishing.RLock()
	defer p.publishing.RUnlock()
	return p.index
}

// abandon abandons the index. Its last snapshot can still be read.
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

// end stops all reads and returns the index, which the caller must close. It returns nil if the index was abandoned.
func (p *property) end() *index.Index {
	p.publishing.Lock()
	x := p.index
	p.closed, p.index, p.catalogue = true, nil, nil
	if p.last != nil {
		p.last.Release()
		p.last = nil
	}
	p.publishing.Unlock()
	p.reads.Forget()
	return x
}
