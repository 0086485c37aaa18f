package store

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/vitrine-dev/vitrine/server/library"
)

// tokenFeed tells any number of listeners which tokens there are. Each listener has a set of owners that it has not been
// told about yet, so that a slow one holds up nobody and hears of the newest state alone.
type tokenFeed struct {
	mu        sync.Mutex
	current   map[library.Owner]library.TokenEvent
	listeners map[*tokenListener]struct{}
	closed    bool
}

type tokenListener struct {
	pending map[library.Owner]library.TokenEvent
	// wake holds one signal at most.
	wake chan struct{}
}

func newTokenFeed() *tokenFeed {
	return &tokenFeed{current: map[library.Owner]library.TokenEvent{}, listeners: map[*tokenListener]struct{}{}}
}

// tokensOf lists the tokens that are served.
func tokensOf(all entries) map[library.Owner]library.TokenEvent {
	tokens := map[library.Owner]library.TokenEvent{}
	for s, h := range all.of.all() {
		if d := h.served(); d != nil && d.Token != nil && len(d.Token.Values) > 0 {
			tokens[s.owner] = library.TokenEvent{Property: d.Property, Owner: s.owner, Token: d.Token}
		}
	}
	return tokens
}

// set replaces all tokens and tells every listener what changed, before it returns.
func (f *tokenFeed) set(tokens map[library.Owner]library.TokenEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changes := map[library.Owner]library.TokenEvent{}
	for o, e := range tokens {
		// A token is replaced, never written to, so that one that is the same has not changed.
		if f.current[o].Token != e.Token {
			changes[o] = e
		}
	}
	for o, e := range f.current {
		if _, still := tokens[o]; !still {
			changes[o] = library.TokenEvent{Property: e.Property, Owner: o}
		}
	}
	f.current = tokens
	if len(changes) == 0 {
		return
	}
	for l := range f.listeners {
		maps.Copy(l.pending, changes)
		l.signal()
	}
}

func (l *tokenListener) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (f *tokenFeed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for l := range f.listeners {
		l.signal()
	}
}

// listen yields all tokens, the marker, then changes, until ctx ends or the feed is closed.
func (f *tokenFeed) listen(ctx context.Context) iter.Seq2[library.TokenEvent, error] {
	return func(yield func(library.TokenEvent, error) bool) {
		l := &tokenListener{pending: map[library.Owner]library.TokenEvent{}, wake: make(chan struct{}, 1)}
		f.mu.Lock()
		if f.closed {
			f.mu.Unlock()
			yield(library.TokenEvent{}, library.ErrClosed)
			return
		}
		first := sortedEvents(f.current)
		f.listeners[l] = struct{}{}
		f.mu.Unlock()
		defer func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.listeners, l)
		}()
		for _, e := range append(first, library.TokenEvent{Synced: true}) {
			if ctx.Err() != nil || !yield(e, nil) {
				return
			}
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-l.wake:
			}
			changes, closed := f.take(l)
			for _, e := range changes {
				if ctx.Err() != nil || !yield(e, nil) {
					return
				}
			}
			if closed {
				return
			}
		}
	}
}

func (f *tokenFeed) take(l *tokenListener) (changes []library.TokenEvent, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changes = sortedEvents(l.pending)
	clear(l.pending)
	return changes, f.closed
}

// sortedEvents puts revocations first: nothing may delay them.
func sortedEvents(events map[library.Owner]library.TokenEvent) []library.TokenEvent {
	return slices.SortedFunc(maps.Values(events), func(a, b library.TokenEvent) int {
		if (a.Token == nil) != (b.Token == nil) {
			if a.Token == nil {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(a.Owner.Namespace, b.Owner.Namespace), strings.Compare(a.Owner.Name, b.Owner.Name),
			strings.Compare(a.Owner.Install, b.Owner.Install))
	})
}
