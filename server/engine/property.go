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

// property holds the index, the catalogue and the cached data of reads of one property. The property may or may not be served.
type property struct {
	id library.PropertyID
	// reads creates and caches the snapshots that readers use.
	reads *read.Property

	// publishing guards the fields below. A batch changes both the segments and the catalogue, so publishing is locked for writing while a
	// batch becomes visible.
	publishing sync.RWMutex
	index      *index.Index // nil after abandon
	// last is the snapshot that readers use from the time when the index is abandoned until it is open again.
	last      *index.Snapshot
	catalogue *definitions.Catalogue // nil while the property is not served
	version   uint64
	closed    bool
}

// state returns the current state. It returns ErrClosed, or ErrNotFound if the property is not served. The caller must release the
// segments of the state.
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

// snapshot returns the snapshot of the current state at the time `now`, and a function that releases it.
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

// segments returns the index, or nil if the index was abandoned.
func (p *property) segments() *index.Index {
	p.publishing.RLock()
	defer p.publishing.RUnlock()
	return p.index
}

// abandon abandons the index. Reads can still use its last snapshot.
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

// end stops all reads and returns the index. The caller must close the index. If the index was abandoned, end returns nil.
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
