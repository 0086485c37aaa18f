package feed

import (
	"runtime"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// next returns the next event of a watch.
func next(t *testing.T, events <-chan Event) Event {
	t.Helper()
	select {
	case e, open := <-events:
		if !open {
			t.Fatal("the watch has ended")
		}
		return e
	case <-t.Context().Done():
		t.Fatal("no event before the end of the test")
	}
	return Event{}
}

// TestWatch checks the events that callers of one listing get, and that the callers share one computation.
func TestWatch(t *testing.T) {
	w := newWorld(t)
	w.apply(library.Definition{Owner: owner(library.KindFilter, "wall"), Filter: &library.Filter{UUID: "u1", ID: 1, Name: "wall", Query: "approval_status:app"}})
	l := Listing{Read: library.Read{Property: shop, Filter: &library.FilterRef{UUID: "u1"}}}
	first, stopFirst := w.feed.Watch(l)
	defer stopFirst()
	begun := next(t, first)
	if begun.Kind != Begun || begun.Total != 0 || len(begun.Tags) != 1 || begun.Tags[0] != w.feed.tags.Filter(shop, "u1") {
		t.Fatalf("the first event is %+v", begun)
	}
	second, stopSecond := w.feed.Watch(l)
	if e := next(t, second); e.Kind != Begun {
		t.Fatalf("the first event of the second caller is %+v", e)
	}
	if n := w.watches(); n != 1 {
		t.Errorf("%d computations for two callers of one listing", n)
	}

	w.write(put(1, item.Approved, ""))
	want := strings.Join([]string{w.feed.tags.Filter(shop, "u1"), w.feed.tags.Item(shop, 1)}, " ")
	var texts int
	for name, events := range map[string]<-chan Event{"first": first, "second": second} {
		e := next(t, events)
		if got := strings.Join(e.Tags, " "); e.Kind != Changed || got != want || e.Total != 1 {
			t.Errorf("%s caller: %+v, want the tags %s", name, e, want)
		}
		e.Text(func() []byte { texts++; return nil })
		// The cursor of an event is one of the feed.
		l := l
		l.OnlyIDs = true
		w.expect(l, e.Cursor, 10, "")
		w.expect(l, begun.Cursor, 10, "+1")
	}
	if texts != 1 {
		t.Errorf("the event was rendered %d times for two callers", texts)
	}
	stopSecond()

	// A caller that does not receive gets all that it missed as one event.
	w.write(put(2, item.Approved, ""))
	w.awaitTotal(2)
	w.apply(library.Definition{Owner: owner(library.KindFilter, "wall"), Filter: &library.Filter{UUID: "u1", ID: 1, Name: "wall", Query: "approval_status:rej"}})
	w.awaitTotal(0)
	if e := next(t, first); e.Kind != Restart || len(e.Tags) != 1 || e.Total != 0 {
		t.Errorf("after a change of the filter: %+v", e)
	}

	// The watch ends with its filter.
	if _, err := w.Remove(t.Context(), []library.Owner{owner(library.KindFilter, "wall")}); err != nil {
		t.Fatal(err)
	}
	for range first {
	}
	if n := w.watches(); n != 0 {
		t.Errorf("%d computations are left", n)
	}
}

// TestQuietWatch checks that callers hear from a watch without news, and that this does not replace an event that a slow caller has missed.
func TestQuietWatch(t *testing.T) {
	w := newWorld(t)
	events, stop := w.feed.Watch(w.listing("*:*"))
	defer stop()
	rest := func() {
		w.feed.mu.Lock()
		defer w.feed.mu.Unlock()
		for _, known := range w.feed.watches {
			known.told = known.told.Add(-quietAfter)
		}
	}
	begun := next(t, events)
	rest()
	if e := next(t, events); e.Kind != Quiet {
		t.Errorf("without news: %+v", e)
	}
	changed := begun
	changed.Kind = Changed
	for _, e := range []Event{changed.after(Event{Kind: Quiet}), Event{Kind: Quiet}.after(changed)} {
		if e.Kind != Changed || e.Cursor != begun.Cursor || len(e.Tags) != 1 {
			t.Errorf("a change and silence make %+v", e)
		}
	}
	stop()
	stop()
	if _, open := <-events; open {
		t.Error("an event after stop")
	}
}

// watches returns the number of computations.
func (w *world) watches() int {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	return len(w.feed.watches)
}

// awaitTotal waits until a caller that joins the only watch would get the total.
func (w *world) awaitTotal(total int64) {
	w.t.Helper()
	for {
		w.feed.mu.Lock()
		var now int64
		for _, known := range w.feed.watches {
			now = known.current.Total
		}
		w.feed.mu.Unlock()
		if now == total {
			return
		}
		runtime.Gosched()
	}
}

// TestWatchOfNarrowedCallers checks that changes of hidden items make no event, except that the total tells that an item has left.
func TestWatchOfNarrowedCallers(t *testing.T) {
	w := newWorld(t)
	scope, err := library.ParseTokenScope("approval_status:app")
	if err != nil {
		t.Fatal(err)
	}
	l := w.listing("*:*")
	l.Read.Scope, l.Narrowed = scope, true
	w.write(put(1, item.Approved, ""))
	events, stop := w.feed.Watch(l)
	defer stop()
	begun := next(t, events)
	w.write(put(2, item.Rejected, ""))
	w.write(put(3, item.Approved, ""))
	e := next(t, events)
	if e.Kind != Changed || len(e.Tags) != 2 || e.Tags[1] != w.feed.tags.Item(shop, 3) || e.Total != 2 || e.Cursor == begun.Cursor {
		t.Errorf("after a hidden and a shown item: %+v", e)
	}
	w.write(put(3, item.Rejected, ""))
	if e := next(t, events); e.Kind != Changed || len(e.Tags) != 1 || e.Total != 1 {
		t.Errorf("after an item has left: %+v", e)
	}
}

// TestWatchOfTotalThatDrifts checks that a private change makes no event, although the total changes.
func TestWatchOfTotalThatDrifts(t *testing.T) {
	w := newWorld(t)
	w.write(put(1, item.Approved, "a"), put(2, item.Approved, "a"))
	events, stop := w.feed.Watch(w.scoped("submission.note:a"))
	defer stop()
	next(t, events)
	w.write(put(1, item.Approved, "b"))
	w.awaitTotal(1)
	w.write(put(3, item.Approved, "a"))
	if e := next(t, events); e.Kind != Changed || len(e.Tags) != 2 || e.Tags[1] != w.feed.tags.Item(shop, 3) || e.Total != 2 {
		t.Errorf("the first event is %+v, want that of the shown item", e)
	}
}
