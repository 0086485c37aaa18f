package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vitrine-dev/vitrine/server/feed"
	"github.com/vitrine-dev/vitrine/server/library"
)

// reconnect is the time that a caller should wait before it connects again.
const reconnect = 2 * time.Second

// eventNames are the names of the kinds of events.
var eventNames = map[feed.EventKind]string{feed.Begun: "begin", feed.Changed: "change", feed.Restart: "restart"}

// streamEvents answers GET /v2/content/filters/{filter_uuid}/events (extension) with server-sent events, which tell that the items of a
// filter have changed. The stream ends when the token no longer permits it, when the filter is gone, and when the server stops.
func (s *Server) streamEvents(x *exchange) error {
	f, err := x.readableFilter(x.r.PathValue("filter_uuid"))
	if err != nil {
		return err
	}
	l := feed.Listing{Read: x.seen(library.Read{Filter: &library.FilterRef{UUID: f.UUID}}), Narrowed: x.narrowed(), OnlyIDs: true}
	done, err := x.grant.allowance.hold(&x.grant.allowance.streams, s.options.StreamsPerToken, "open streams of events: close one")
	if err != nil {
		return err
	}
	defer done()
	events, stop := s.feed.Watch(l)
	defer stop()
	// Thousands of streams can wait for the same event. To wait for a single channel, without a timer, costs the least.
	permitted, release := s.permits.hold(x, l)
	defer release()
	defer context.AfterFunc(permitted, stop)()
	defer context.AfterFunc(x.r.Context(), stop)()
	out := &eventStream{x: x, conn: http.NewResponseController(x.ResponseWriter), resumed: x.r.Header.Get("Last-Event-Id")}
	x.warn()
	x.set("Cache-Control", "private, no-store")
	x.set("Content-Type", "text/event-stream")
	x.set("X-Accel-Buffering", "no") // nginx would keep events until its buffer is full
	x.WriteHeader(http.StatusOK)
	if x.r.Method == http.MethodHead {
		return nil
	}
	// The deadline of the server for the whole response must not end the stream.
	defer func() { _ = out.conn.SetWriteDeadline(time.Time{}) }()
	_ = out.conn.SetReadDeadline(time.Time{})
	if err := out.write(fmt.Appendf(nil, "retry: %d\n\n", reconnect.Milliseconds())); err != nil {
		return err
	}
	for e := range events {
		if err := out.send(e, l); err != nil {
			return err
		}
	}
	return nil // if the token no longer permits the stream, the response to the next request says why
}

// eventStream is one open stream of events.
type eventStream struct {
	x    *exchange
	conn *http.ResponseController
	// resumed is the id of the last event that the caller has, or "".
	resumed string
	// deadline is the time until which a write may take.
	deadline time.Time
}

// send writes an event. The first one also tells a caller that connects again whether it has missed something.
func (o *eventStream) send(e feed.Event, l feed.Listing) error {
	if o.resumed == "" || e.Kind == feed.Quiet {
		return o.write(e.Text(func() []byte { return eventText(e) }))
	}
	missed, err := o.missed(l)
	if err != nil {
		return err // the caller connects again with the same id, and gets the error if it persists
	}
	o.resumed = ""
	if missed != feed.Begun {
		e.Kind, e.Tags = max(e.Kind, missed), e.Tags[:1]
	}
	return o.write(eventText(e))
}

// missed returns the kind of the event that tells what has happened since the event that the caller has.
func (o *eventStream) missed(l feed.Listing) (feed.EventKind, error) {
	page, err := o.x.server.feed.Read(o.x.r.Context(), feed.Request{
		Listing: func() (feed.Listing, error) { return l, nil }, Since: o.resumed, Limit: feed.MaxEventItems,
	})
	switch {
	case errors.As(err, new(*library.CursorError)):
		return feed.Restart, nil
	case err != nil:
		return feed.Begun, err
	case page.Reset:
		return feed.Restart, nil
	case len(page.Changes) > 0 || page.More || l.Narrowed:
		return feed.Changed, nil
	}
	return feed.Begun, nil
}

// eventText returns an event in the format of a stream of server-sent events.
func eventText(e feed.Event) []byte {
	if e.Kind == feed.Quiet {
		return []byte(":\n\n") // a comment, so that neither proxies nor callers take the stream for broken
	}
	data := marshal(struct {
		Tags  []string `json:"tags"`
		Total int64    `json:"total_results"`
	}{e.Tags, e.Total})
	return fmt.Appendf(nil, "event: %s\nid: %s\ndata: %s\n\n", eventNames[e.Kind], e.Cursor, data)
}

// write sends a part of the stream at once.
func (o *eventStream) write(text []byte) error {
	// A new deadline for each event would cost more than the rest of the write, apart from the system call.
	now, idle := time.Now(), o.x.server.options.StreamIdle
	if o.deadline.Sub(now) < idle {
		o.deadline = now.Add(2 * idle)
		_ = o.conn.SetWriteDeadline(o.deadline)
	}
	if _, err := o.x.Write(text); err != nil {
		return err //nolint:wrapcheck // a lost connection, which fail recognizes
	}
	_ = o.conn.Flush()
	return nil
}

// seesAsBefore reports whether the token of a long request still permits to read a listing, with the same items and members.
func (x *exchange) seesAsBefore(l feed.Listing) (bool, error) {
	if err := x.admitAgain(); err != nil {
		return false, err
	}
	if _, err := x.readableFilter(l.Read.Filter.UUID); err != nil {
		return false, err
	}
	return x.audience() == l.Read.Audience && x.scope.String() == l.Read.Scope.String() && x.baseURL() == l.Read.BaseURL &&
		x.narrowed() == l.Narrowed, nil
}
