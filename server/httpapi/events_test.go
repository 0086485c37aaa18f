package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/library"
)

// event is an event of a stream.
type event struct {
	Kind, ID string
	Tags     []string
	Total    int64 `json:"total_results"`
}

// stream is an open stream of events.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
}

// eventsOf returns the URL of the events of a filter.
func eventsOf(filter string) string { return "/v2/content/filters/" + filterUUID(filter) + "/events" }

// serveHTTP starts a real server for an app, with timeouts that a stream must outlast.
func serveHTTP(t *testing.T, a *app) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(a.server)
	s.Config.ReadTimeout, s.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	s.Start()
	t.Cleanup(func() {
		a.server.Drain()
		s.Close()
	})
	return s
}

// open opens a stream of events. last is the id of the last event that the caller has, or "".
func open(t *testing.T, s *httptest.Server, path, as, last string) *stream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path+"?access_token="+token(as), nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "private, no-store", "X-Accel-Buffering": "no", "Content-Encoding": ""} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	return &stream{t, bufio.NewScanner(resp.Body)}
}

// next returns the next event, or false at the end of the stream.
func (s *stream) next() (e event, more bool) {
	s.t.Helper()
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "event":
			e.Kind = value
		case "id":
			e.ID = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				s.t.Fatal(err)
			}
		case "":
			if e.Kind != "" {
				return e, true
			}
		}
	}
	if err := s.lines.Err(); err != nil {
		s.t.Fatalf("the stream broke: %v", err)
	}
	return e, false
}

// expect reads an event and checks its kind.
func (s *stream) expect(kind string) event {
	s.t.Helper()
	e, more := s.next()
	if !more || e.Kind != kind {
		s.t.Fatalf("event %+v, want %q", e, kind)
	}
	return e
}

// ends checks that the stream ends without a further event.
func (s *stream) ends() {
	s.t.Helper()
	if e, more := s.next(); more {
		s.t.Errorf("event %+v, want the end of the stream", e)
	}
}

func TestEvents(t *testing.T) {
	a := newScopedApp(t)
	s := serveHTTP(t, a)
	wall := eventsOf("summer-wall")
	shown := a.do(call{url: "/v2/content/filters/" + filterUUID("summer-wall"), token: "ro"}).header.Get("Surrogate-Key")
	all, scoped := open(t, s, wall, "ro", ""), open(t, s, wall, "published", "")
	begun := all.expect("begin")
	scoped.expect("begin")
	if !strings.HasSuffix(shown, " "+begun.Tags[0]) || len(begun.Tags) != 1 {
		t.Errorf("the event has the tags %q, and the page has %q", begun.Tags, shown)
	}

	a.patch(1001, `{"featured":false}`)
	e := all.expect("change")
	one := strings.Fields(a.do(call{url: "/v1/ugc/1001/", token: "ro"}).header.Get("Surrogate-Key"))
	if len(e.Tags) != 2 || e.Tags[0] != begun.Tags[0] || e.Tags[1] != one[1] {
		t.Errorf("the event has the tags %q, and the item has %q", e.Tags, one)
	}
	scoped.expect("change")
	// The id of an event is a cursor of the changes.
	a.tells(changesOf(following("summer-wall"), "since="+begun.ID), "ro", "+1001")
	a.tells(changesOf(following("summer-wall"), "since="+e.ID), "ro", "")

	// A caller that connects again learns whether it has missed something.
	open(t, s, wall, "ro", e.ID).expect("begin")
	open(t, s, wall, "ro", begun.ID).expect("change")
	open(t, s, wall, "ro", "unknown").expect("restart")
	open(t, s, wall, "published", e.ID).expect("restart")

	// Changes that a caller may not see make no event.
	a.patch(1003, `{"submission":{"email":"new@mail.example"}}`)
	a.patch(1002, `{"featured":true}`)
	if e := all.expect("change"); len(e.Tags) != 2 {
		t.Errorf("a private change is in the event %+v", e)
	}

	a.apply(manifestFilter("summer-wall", "approval_status:app", "created_on:desc", true))
	all.expect("restart")

	// A stream ends when the short links in the items change. A caller that connects again lists the items again.
	settings, err := a.lib.Property(shop)
	if err != nil {
		t.Fatal(err)
	}
	before := open(t, s, wall, "ro", "")
	last := before.expect("begin").ID
	settings.ExternalURL = "https://elsewhere.example"
	a.apply(library.Definition{Property: shop, Owner: owner(library.KindProperty, "default"), PropertySpec: &settings})
	before.ends()
	all = open(t, s, wall, "ro", last)
	all.expect("restart")

	// A stream ends within a second when the rights of its token change, and when its filter is gone.
	if _, err := a.lib.Remove(t.Context(), []library.Owner{owner(library.KindToken, "published")}); err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		_, more = scoped.next() // the filter has changed before
	}
	if _, err := a.lib.Remove(t.Context(), []library.Owner{owner(library.KindFilter, "summer-wall")}); err != nil {
		t.Fatal(err)
	}
	all.ends()

	hero := open(t, s, eventsOf("hero-first"), "ro", "")
	hero.expect("begin")
	a.server.Drain()
	hero.ends()
}

// forgetful is a library that fails to read the changes after the first position that was asked for.
type forgetful struct {
	library.Library
	first atomic.Pointer[library.Position]
	fails atomic.Bool
}

func (f *forgetful) Changes(ctx context.Context, r library.ChangesRead) (*library.ItemChanges, error) {
	if r.After != "" && !f.first.CompareAndSwap(nil, &r.After) && f.fails.Load() && *f.first.Load() == r.After {
		return nil, library.ErrUnavailable
	}
	return f.Library.Changes(ctx, r)
}

// TestEventsAfterAFailure checks that a stream ends if the server cannot tell what the caller has missed. Otherwise, the caller would never
// learn it.
func TestEventsAfterAFailure(t *testing.T) {
	lib := &forgetful{}
	a := newAppOver(t, func(l library.Library) library.Library { lib.Library = l; return lib })
	s, wall := serveHTTP(t, a), eventsOf("summer-wall")
	all := open(t, s, wall, "ro", "")
	begun := all.expect("begin")
	a.patch(1001, `{"featured":false}`)
	all.expect("change")
	lib.fails.Store(true)
	again := open(t, s, wall, "ro", begun.ID)
	a.patch(1001, `{"featured":true}`)
	for again.lines.Scan() {
		if strings.HasPrefix(again.lines.Text(), "event") {
			t.Fatalf("the stream goes on with %q", again.lines.Text())
		}
	}
	lib.fails.Store(false)
	open(t, s, wall, "ro", begun.ID).expect("change")
}

// TestEventsOfASlowCaller checks that a caller that connects again learns what it has missed, even if further changes follow before it gets the
// first event.
func TestEventsOfASlowCaller(t *testing.T) {
	a := newApp(t)
	s, wall := serveHTTP(t, a), eventsOf("summer-wall")
	all := open(t, s, wall, "ro", "")
	all.expect("begin")
	r := call{url: wall, token: "ro", header: map[string]string{"Last-Event-ID": "unknown"}}.request()
	caller := slowCaller{httptest.NewRecorder(), make(chan struct{}, 1), make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.server.ServeHTTP(caller, r)
	}()
	<-caller.began
	a.patch(1001, `{"featured":false}`)
	all.expect("change")
	a.patch(1001, `{"featured":true}`)
	all.expect("change") // so the slow caller has been told of the change before
	close(caller.released)
	a.patch(1001, `{"featured":false}`)
	all.expect("change")
	a.server.Drain()
	<-ended
	first := &stream{t, bufio.NewScanner(caller.Body)}
	if e := first.expect("restart"); len(e.Tags) != 1 {
		t.Errorf("the tags %q do not cover what the caller has missed", e.Tags)
	}
}

func TestEventsRequests(t *testing.T) {
	a := newScopedApp(t)
	wall := eventsOf("summer-wall")
	a.table(t, map[string]call{
		"HEAD":                    {method: "HEAD", url: wall, token: "ro", want: map[string]string{"Content-Type": "text/event-stream"}},
		"POST":                    {method: "POST", url: wall, token: "rw", status: 405},
		"no token":                {url: wall, status: 403},
		"unknown filter":          {url: eventsOf("none"), token: "ro", status: 404},
		"no public read access":   {url: eventsOf("private"), token: "ro", status: 403},
		"a token without filters": {url: eventsOf("hero-first"), token: "walled", status: 403},
	})
}

func TestEventLimit(t *testing.T) {
	a := newApp(t, func(o *httpapi.Options) { o.StreamsPerToken = 1 })
	s := serveHTTP(t, a)
	wall := eventsOf("summer-wall")
	open(t, s, wall, "ro", "").expect("begin")
	a.do(call{url: wall, token: "ro", status: 429, contains: []string{"problems/too-many-queries"}})
	open(t, s, wall, "rw", "").expect("begin")
}
