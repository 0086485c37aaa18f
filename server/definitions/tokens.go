package definitions

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

// TokenFeed sends the served tokens to any number of listeners. Each listener has its own pending events, at most one for each owner. A
// slow listener therefore delays no other listener. If a token changes several times before a listener receives an event, the listener
// receives only the newest state.
type TokenFeed struct {
	mu        sync.Mutex
	current   map[library.Owner]library.TokenEvent
	listeners map[*tokenListener]struct{}
	closed    bool
}

type tokenListener struct {
	pending map[library.Owner]library.TokenEvent
	// wake has room for one signal, which means that events may be pending.
	wake chan struct{}
}

// NewTokenFeed returns a feed without tokens.
func NewTokenFeed() *TokenFeed {
	return &TokenFeed{current: map[library.Owner]library.TokenEvent{}, listeners: map[*tokenListener]struct{}{}}
}

// Set replaces all tokens, and queues the differences for every listener.
func (f *TokenFeed) Set(tokens map[library.Owner]library.TokenEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changes := map[library.Owner]library.TokenEvent{}
	for o, e := range tokens {
		// Compare the property too, because a token can move. Tokens are immutable, so events with equal pointers are equal.
		if f.current[o] != e {
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

// Close ends the sequences of all listeners.
func (f *TokenFeed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for l := range f.listeners {
		l.signal()
	}
}

// Listen yields all tokens, then an event with Synced true, then changes, until ctx ends or the feed is closed (see library.Base.Tokens).
func (f *TokenFeed) Listen(ctx context.Context) iter.Seq2[library.TokenEvent, error] {
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

func (f *TokenFeed) take(l *tokenListener) (changes []library.TokenEvent, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changes = sortedEvents(l.pending)
	clear(l.pending)
	return changes, f.closed
}

// sortedEvents sorts events by owner, with revocations first, because nothing may delay them.
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
