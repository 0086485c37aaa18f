package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/feed"
	"github.com/vitrine-dev/vitrine/server/query"
)

// recheck is the time between two checks of what the caller of a stream may see.
const recheck = time.Second

// permits checks for open streams whether their callers still may read the listing. One check serves all streams of a caller that show the
// same listing.
type permits struct {
	mu   sync.Mutex
	held map[permitKey]*permit
}

// permitKey identifies the streams that share a check.
type permitKey struct {
	token    string
	person   Person
	filter   string
	audience query.Audience
	scope    string
	narrowed bool
}

// permit is the right of a number of streams to go on. ctx ends when they have lost it.
type permit struct {
	streams int
	ctx     context.Context
}

// hold returns a context that ends within a second after the caller has lost the right to read a listing of a filter, or after this
// right has changed. The caller must call release.
func (p *permits) hold(x *exchange, l feed.Listing) (permitted context.Context, release func()) {
	key := permitKey{x.token, x.person, l.Read.Filter.UUID, l.Read.Audience, l.Read.Scope.String(), l.Narrowed}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.held[key]
	if h == nil {
		ctx, end := context.WithCancel(context.Background())
		h = &permit{ctx: ctx}
		p.held[key] = h
		// The request of x can end before the other streams.
		caller := &exchange{server: x.server, token: x.token, person: x.person, r: &http.Request{}}
		go func() {
			defer end()
			p.check(caller, l, key, h)
		}()
	}
	h.streams++
	return h.ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		h.streams--
	}
}

// check checks once a second, until the right is lost or no stream needs the check.
func (p *permits) check(caller *exchange, l feed.Listing, key permitKey, h *permit) {
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for range tick.C {
		same, err := caller.seesAsBefore(l)
		if !p.keep(key, h, err == nil && same) {
			return
		}
	}
}

// keep forgets a permit, and returns false, if it is lost or no stream needs it.
func (p *permits) keep(key permitKey, h *permit, valid bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if valid && h.streams > 0 {
		return true
	}
	delete(p.held, key)
	return false
}
