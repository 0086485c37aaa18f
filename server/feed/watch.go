package feed

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// EventKind says what an Event tells.
type EventKind uint8

// The kinds of events.
const (
	// Quiet only tells that the watch goes on. The event has no other members.
	Quiet EventKind = iota
	// Begun is the first event of a watch, apart from Quiet. Nothing has changed.
	Begun
	// Changed means that items of the listing have changed.
	Changed
	// Restart means that the caller has to list the items again (see Page.Reset).
	Restart
)

// Event tells that a listing has changed.
type Event struct {
	Kind EventKind
	// Tags are the cache tags of what has changed: that of the filter, and those of the changed items unless they are more than MaxEventItems
	// or not known.
	Tags []string
	// Cursor is the cursor after the changes, for Request.Since.
	Cursor string
	// Total is the number of items in the listing.
	Total int64

	rendered *rendered
}

// rendered is the form of an event that its callers share.
type rendered struct {
	once sync.Once
	text []byte
}

// Text returns the result of render, which runs only once for all callers that get the same event. It must depend on nothing but e.
func (e Event) Text(render func() []byte) []byte {
	e.rendered.once.Do(func() { e.rendered.text = render() })
	return e.rendered.text
}

// after returns the event that tells both of an event that was not received and of e, which follows it.
func (e Event) after(missed Event) Event {
	switch {
	case missed.Kind == Quiet:
		return e
	case e.Kind == Quiet:
		return missed
	case missed.Kind != Begun:
		e.Tags = e.Tags[:1]
	}
	e.Kind, e.rendered = max(e.Kind, missed.Kind), &rendered{}
	return e
}

// MaxEventItems is the maximum number of items whose tags are in an event.
const MaxEventItems = 100

const (
	// eventPause is the minimum time between two events of a listing.
	eventPause = time.Second
	// quietAfter is the time without an event after which callers get an event of the kind Quiet.
	quietAfter = 12 * time.Second
)

// watch follows one listing for all callers that watch it. Feed.mu guards it.
type watch struct {
	stop context.CancelFunc
	// events contains the channel of each caller. Each holds at most one event, so a slow caller gets later events as one.
	events map[chan Event]bool
	// current is the event for a caller that joins. Its Cursor is "" before the watch has begun.
	current Event
	// told is the time of the latest event.
	told time.Time
}

// Watch returns a channel of the events of a listing: one of the kind Begun, and then at most one a second. After at most 15 seconds without
// an event comes one of the kind Quiet. All callers that watch the same listing share one computation. The channel is closed by stop, if the
// filter or the property is gone, and after Stop. The caller must call stop, and can call it more than once. Listing.OnlyIDs is ignored.
func (f *Feed) Watch(l Listing) (events <-chan Event, stop func()) {
	l.OnlyIDs = true
	key := l.digest(fmt.Sprintf("%d %q %q", l.Read.Audience, l.Read.Scope.String(), l.Read.BaseURL))
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.watches[key]
	if w == nil {
		ctx, cancel := context.WithCancel(f.stopped)
		w = &watch{stop: cancel, events: map[chan Event]bool{}, told: time.Now()}
		f.watches[key] = w
		go f.follow(ctx, l, key, w)
	}
	own := make(chan Event, 1)
	w.events[own] = true
	if w.current.Cursor != "" {
		own <- w.current
	}
	return own, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !w.events[own] {
			return
		}
		delete(w.events, own)
		close(own)
		if len(w.events) == 0 {
			f.end(key, w)
		}
	}
}

// end ends a watch, and closes the channels of the callers that are left. The caller must hold f.mu.
func (f *Feed) end(key [sha256.Size]byte, w *watch) {
	w.stop()
	if f.watches[key] == w {
		delete(f.watches, key)
	}
	for own := range w.events {
		close(own)
	}
	clear(w.events)
}

// follow reads the changes of a listing, and sends the events of its watch.
func (f *Feed) follow(ctx context.Context, l Listing, key [sha256.Size]byte, w *watch) {
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.end(key, w)
	}()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for current := (Event{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		next, news, err := f.event(ctx, l, current)
		if errors.Is(err, library.ErrNotFound) || errors.Is(err, library.ErrClosed) {
			return
		}
		wait := eventPause // also after an error, because the library may be unavailable for a moment
		if err == nil {
			current = next
		}
		f.tell(w, current, err == nil && news)
		if err == nil && !news {
			wait = 0 // event has waited
		}
		pause.Reset(wait)
	}
}

// event returns the event after an earlier one, or false if nothing has changed within a second. The event after the zero Event is the first.
func (f *Feed) event(ctx context.Context, l Listing, earlier Event) (e Event, news bool, err error) {
	uuid := ""
	if l.Read.Filter != nil {
		uuid = l.Read.Filter.UUID
	}
	e = Event{Kind: Changed, Tags: []string{f.tags.Listing(l.Read.Property, uuid)}, Cursor: earlier.Cursor, rendered: &rendered{}}
	changed, wait := 0, eventPause
	for more := true; more; wait = 0 {
		page, err := f.Read(ctx, Request{
			Listing: func() (Listing, error) { return l, nil }, Since: e.Cursor, Limit: MaxEventItems, Wait: wait,
		})
		if err != nil {
			return Event{}, false, err
		}
		if page.Reset {
			e.Kind, e.Tags, changed = Restart, e.Tags[:1], changed+1
			if earlier.Cursor == "" {
				e.Kind = Begun
			}
		}
		if changed += len(page.Changes); changed > MaxEventItems {
			e.Tags = e.Tags[:1]
		} else {
			for _, c := range page.Changes {
				e.Tags = append(e.Tags, f.tags.Item(l.Read.Property, c.ID))
			}
		}
		news = news || page.News
		e.Cursor, e.Total, more = page.Next, page.Total, page.More && !page.Reset
	}
	return e, news, nil
}

// tell sends an event to all callers of a watch, if it is news, and keeps its cursor for callers that join later. It sends an event of the kind
// Quiet if there has been no news for long. e is the zero Event until the watch has begun.
func (f *Feed) tell(w *watch, e Event, news bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Cursor != "" {
		w.current = Event{Kind: Begun, Tags: e.Tags[:1], Cursor: e.Cursor, Total: e.Total, rendered: &rendered{}}
	}
	if !news {
		if time.Since(w.told) < quietAfter {
			return
		}
		e = Event{Kind: Quiet, rendered: &rendered{}}
	}
	w.told = time.Now()
	for own := range w.events {
		select {
		case missed := <-own:
			own <- e.after(missed)
		default:
			own <- e
		}
	}
}
