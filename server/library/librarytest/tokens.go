package librarytest

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// listener receives the events of Library.Tokens in a goroutine. A test takes them one at a time.
type listener struct {
	w      *world
	events chan library.TokenEvent
	cancel context.CancelFunc
	ended  chan struct{}
}

func (w *world) listen() *listener {
	ctx, cancel := context.WithCancel(w.ctx())
	l := &listener{w: w, events: make(chan library.TokenEvent), cancel: cancel, ended: make(chan struct{})}
	seq := w.lib.Tokens(ctx)
	go l.run(ctx, seq)
	w.Cleanup(cancel)
	return l
}

func (l *listener) run(ctx context.Context, seq iter.Seq2[library.TokenEvent, error]) {
	defer close(l.ended)
	for e, err := range seq {
		if err != nil {
			return
		}
		select {
		case l.events <- e:
		case <-ctx.Done():
			return
		}
	}
}

// next waits for an event, and fails the test if none comes within ten seconds. This limit is generous, because a slow machine must not
// fail the test: the documented limit for a revocation is one second.
func (l *listener) next() library.TokenEvent {
	l.w.Helper()
	select {
	case e := <-l.events:
		return e
	case <-l.ended:
		l.w.Fatal("the tokens ended")
	case <-time.After(10 * time.Second):
		l.w.Fatal("no token event came")
	}
	return library.TokenEvent{}
}

// describe returns an event as text.
func describe(e library.TokenEvent) string {
	switch {
	case e.Synced:
		return "synced"
	case e.Token == nil:
		return e.Owner.Name + " gone"
	}
	values := ""
	for _, v := range e.Token.Values {
		values += fmt.Sprintf(" %d", v.Digest[0])
	}
	return fmt.Sprintf("%s of %s:%s", e.Owner.Name, e.Property, values)
}

func (l *listener) expect(want ...string) {
	l.w.Helper()
	for i, text := range want {
		if got := describe(l.next()); got != text {
			l.w.Fatalf("event %d is %q, want %q", i, got, text)
		}
	}
}

var tokenTests = map[string]func(*world){
	"a listener receives all tokens, then synced, then changes": func(w *world) {
		w.serve()
		w.accept(token("a", []byte{1}), token("b", []byte{2, 3}))
		l := w.listen()
		l.expect("a of shop/default: 1", "b of shop/default: 2 3", "synced")
		w.accept(token("c", []byte{4}))
		l.expect("c of shop/default: 4")
		w.accept(token("c", []byte{5}))
		l.expect("c of shop/default: 5")
		w.accept(filter("wall", "*:*"), token("c", []byte{5}))
		w.remove(token("a", nil).Owner)
		l.expect("a gone")
		w.accept(token("b", nil))
		l.expect("b gone")
		l.cancel()
		<-l.ended
	},
	"a token that moves to another property causes one event": func(w *world) {
		w.accept(property(shop), property(wall), token("a", []byte{1}))
		l := w.listen()
		l.expect("a of shop/default: 1", "synced")
		w.accept(token("a", []byte{2}, ofWall))
		l.expect("a of wall/default: 2")
		w.remove(token("a", nil).Owner)
		l.expect("a gone")
	},
	"a deleted property revokes its tokens": func(w *world) {
		w.accept(property(shop), property(wall), token("a", []byte{1}), token("b", []byte{2}, ofWall))
		l := w.listen()
		l.expect("a of shop/default: 1", "b of wall/default: 2", "synced")
		w.remove(property(shop).Owner)
		l.expect("a gone")
		w.serve()
		l.expect("a of shop/default: 1")
	},
	"one value in two tokens: the first token has it": func(w *world) {
		w.accept(property(shop), property(wall))
		first := token("a", []byte{1}, age(1), since(1))
		second := token("b", []byte{1}, age(9), since(2), ofWall)
		l := w.listen()
		l.expect("synced")
		w.accept(first)
		l.expect("a of shop/default: 1")
		conflict := errorAs[*library.ConflictError](w, "the second", w.apply(second)[0].Err)
		if conflict != nil {
			w.equal("the holder", conflict.Holder, first.Owner)
		}
		w.restart()
		l = w.listen()
		l.expect("a of shop/default: 1", "synced")
		r := w.apply(second)[0]
		wantError[*library.ConflictError](w, "the second again", r.Err)
		w.equal("unchanged", r.Changed, false)
		w.remove(first.Owner)
		l.expect("a gone", "b of wall/default: 1")
		w.accept(second)
	},
	"one value in two tokens: the order of arrival does not matter": func(w *world) {
		w.accept(property(shop), property(wall))
		first := token("a", []byte{1}, age(1), since(1))
		second := token("b", []byte{1}, age(9), since(2), ofWall)
		l := w.listen()
		l.expect("synced")
		w.accept(second)
		l.expect("b of wall/default: 1")
		w.equal("displaced", w.accept(first)[0].Displaced, []library.Owner{second.Owner})
		l.expect("b gone", "a of shop/default: 1")
		w.remove(first.Owner, second.Owner)
		l.expect("a gone")
		results := w.apply(second, first)
		wantError[*library.ConflictError](w, "the second, first in a batch", results[0].Err)
		w.equal("the first", results[1].Err, nil)
		l.expect("a of shop/default: 1")
	},
	"one value in two tokens: the first has it again when its property returns": func(w *world) {
		w.accept(property(shop), property(wall))
		first := token("a", []byte{1}, age(1), since(1))
		second := token("b", []byte{1}, age(9), since(2), ofWall)
		w.accept(first)
		wantError[*library.ConflictError](w, "the second", w.apply(second)[0].Err)
		l := w.listen()
		l.expect("a of shop/default: 1", "synced")
		w.remove(property(shop).Owner)
		l.expect("a gone", "b of wall/default: 1")
		w.equal("displaced", w.accept(property(shop))[0].Displaced, []library.Owner{second.Owner})
		l.expect("b gone", "a of shop/default: 1")
	},
	"a replaced value stays with the token that had it": func(w *world) {
		w.accept(property(shop), property(wall))
		thief := token("b", []byte{1}, age(9), since(5), ofWall)
		l := w.listen()
		l.expect("synced")
		w.accept(token("a", []byte{1}, since(1)))
		l.expect("a of shop/default: 1")
		refused := func(when string) {
			conflict := errorAs[*library.ConflictError](w, when, w.apply(thief)[0].Err)
			if conflict != nil {
				w.equal(when+": the holder", conflict.Holder, token("a", nil).Owner)
			}
		}
		refused("while the value is accepted")
		w.accept(token("a", []byte{2}, since(2)))
		l.expect("a of shop/default: 2")
		refused("after the value was replaced")
		w.equal("applied again", w.accept(token("a", []byte{2}, since(2)))[0].Changed, false)
		w.restart()
		refused("after a restart")
		w.accept(token("a", nil))
		refused("after every value was replaced")
		w.accept(token("a", []byte{1}, since(6)))
		refused("after the holder used the value again")
		w.remove(token("a", nil).Owner)
		w.accept(thief)
	},
	"a token does not keep a value for which it was refused": func(w *world) {
		w.accept(property(shop), property(wall))
		first := token("a", []byte{1}, since(1))
		w.accept(first, token("b", []byte{2}, since(2), ofWall))
		wantError[*library.ConflictError](w, "the second", w.apply(token("b", []byte{1}, since(3), ofWall))[0].Err)
		w.accept(token("b", []byte{3}, since(4), ofWall))
		w.remove(first.Owner)
		w.accept(token("c", []byte{1}, since(5)))
		wantError[*library.ConflictError](w, "the value that it had", w.apply(token("d", []byte{2}, since(5)))[0].Err)
	},
	"the newest replaced values are kept": func(w *world) {
		w.serve()
		for i := range library.MaxReplacedValues + 2 {
			w.accept(token("a", []byte{byte(i + 1)}, since(i)))
		}
		w.accept(token("b", []byte{1}, since(500)))
		wantError[*library.ConflictError](w, "the oldest that is kept", w.apply(token("c", []byte{2}, since(500)))[0].Err)
	},
	"a late listener receives the current tokens": func(w *world) {
		w.serve()
		w.accept(token("a", []byte{1}))
		w.remove(token("a", nil).Owner)
		w.accept(token("b", []byte{2}))
		w.restart()
		w.listen().expect("b of shop/default: 2", "synced")
	},
	"a slow listener does not block writers": func(w *world) {
		w.serve()
		l := w.listen()
		l.expect("synced")
		for i := range 50 {
			w.accept(token("a", []byte{byte(i + 1)}))
		}
		w.remove(token("a", nil).Owner)
		for describe(l.next()) != "a gone" {
			continue
		}
	},
	"closing ends the token feed": func(w *world) {
		w.serve()
		l := w.listen()
		l.expect("synced")
		w.restart()
		select {
		case <-l.ended:
		case <-time.After(10 * time.Second):
			w.Error("the tokens of a closed library do not end")
		}
	},
}
