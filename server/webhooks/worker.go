package webhooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/vitrine-dev/vitrine/server/feed"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

const (
	// poll is the time that a worker waits for a change before it asks again, and with this notices a changed filter or rule.
	poll = 10 * time.Second
	// saveEvery is the time after which a worker stores a cursor that has moved without a delivery.
	saveEvery = time.Minute
	// listPage is the number of ids in a page of a list.
	listPage = 5000
)

// worker delivers one webhook, as one revision of its definition says.
type worker struct {
	d        *Deliverer
	hook     atomic.Pointer[Webhook]
	state    atomic.Pointer[State]
	revision [sha256.Size]byte
	// gone is true after the webhook was removed.
	gone atomic.Bool
	// before is closed when the worker of the previous revision has ended; nil if there is none. ended is closed when this one has.
	before, ended chan struct{}
	// cancel ends the worker; nil before it starts. The Deliverer guards it with its mutex.
	cancel context.CancelFunc
	// asked receives a value when the hook has changed, which may request a test.
	asked    chan struct{}
	tested   atomic.Pointer[Tested]
	replayed atomic.Pointer[Replayed]

	// Only run uses the following fields.
	mark  mark
	trail []point
	saved time.Time
	// members are the items that were in the listing at the cursor, as far as this is known; nil before learn. For the items in unknown, the
	// receiver may or may not have them: they have changed after the cursor and before the worker listed them, or an attempt has failed.
	members, unknown *roaring64.Bitmap
	// waiting is the time since which changes wait for delivery, or zero if none do.
	waiting time.Time
}

func newWorker(d *Deliverer, hook Webhook, revision [sha256.Size]byte) *worker {
	w := &worker{d: d, revision: revision, ended: make(chan struct{}), asked: make(chan struct{}, 1)}
	w.hook.Store(&hook)
	w.state.Store(&State{})
	return w
}

// stop ends the worker. The caller holds the mutex of the Deliverer.
func (w *worker) stop() {
	if w.cancel == nil {
		close(w.ended) // the worker never started
		return
	}
	w.cancel()
}

// run delivers until ctx ends. process lives longer than ctx if the webhook is removed.
func (w *worker) run(ctx, process context.Context) {
	defer close(w.ended)
	if w.before != nil {
		select {
		case <-w.before:
		case <-process.Done():
			return
		}
	}
	owner := w.hook.Load().Owner
	defer func() {
		w.d.o.Metrics.forget(owner)
		if w.gone.Load() {
			_ = w.d.forget(process, owner) // if this fails, the next Run prunes the mark
		}
	}()
	var tests sync.WaitGroup
	tests.Go(func() { w.test(ctx) })
	defer tests.Wait()
	failures := 0
	for ctx.Err() == nil {
		err := w.step(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			failures = 0
			continue
		}
		failed := attempt(err)
		w.count(ctx, failed)
		w.report(failed)
		if failed.result == Stopped {
			<-ctx.Done()
			return
		}
		w.pause(ctx, w.backoff(failures, failed))
		failures++
	}
}

// failure is why an attempt did not succeed.
type failure struct {
	result  Result
	problem string
	// after is the time that the receiver asks the server to wait, or 0.
	after time.Duration
	// soon is true if the cause is in this server, where a retry costs little.
	soon bool
	// code is the status code of the response, or 0.
	code int
	// waiting and more are State.Waiting and State.More.
	waiting int
	more    bool
}

func (f *failure) Error() string { return f.problem }

// attempt returns the failure that err describes.
func attempt(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	return &failure{result: Failed, problem: "the server cannot read the changes: " + err.Error(), soon: true}
}

// backoff returns the time to wait after an attempt that failed, after a number of others that failed. Half of it is random, so that the
// server does not retry all webhooks of a receiver at once.
func (w *worker) backoff(failures int, f *failure) time.Duration {
	d := w.d.o.MaxBackoff
	if f.soon {
		d = min(d, poll)
	}
	if failures < 32 {
		d = min(d, w.d.o.MinBackoff<<failures)
	}
	d = d/2 + rand.N(d/2+1)
	return max(d, min(f.after, w.d.o.MaxBackoff))
}

// pause waits for a time, or until ctx ends.
func (w *worker) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// report counts an attempt, and publishes the State. f is nil after a success.
func (w *worker) report(f *failure) {
	result := Delivered
	if f != nil {
		result = f.result
	}
	w.d.o.Metrics.attempted(w.hook.Load().Owner, result)
	w.publish(f)
}

// publish publishes the State. f is nil if no changes wait for delivery.
func (w *worker) publish(f *failure) {
	owner, next := w.hook.Load().Owner, State{Result: Delivered}
	if f == nil {
		w.waiting = time.Time{}
	} else {
		if w.waiting.IsZero() {
			w.waiting = w.d.o.Clock()
		}
		next = State{Result: f.result, Problem: f.problem, Waiting: f.waiting, More: f.more}
	}
	w.d.o.Metrics.waits(owner, w.waiting, next.Waiting)
	if before := w.state.Swap(&next); *before != next {
		w.d.changed(owner)
	}
}

// step waits for a batch of changes, and delivers it.
func (w *worker) step(ctx context.Context) error {
	if err := w.prepare(ctx); err != nil {
		return err
	}
	page, err := w.read(ctx, poll)
	if err != nil {
		return err
	}
	hook := w.hook.Load()
	if delay := hook.Webhook.MaxDelay; delay > 0 && len(page.Changes) > 0 && !page.More && !page.Reset {
		if w.waiting.IsZero() {
			w.waiting = w.d.o.Clock()
		}
		w.pause(ctx, delay)
		if page, err = w.read(ctx, 0); err != nil {
			return err
		}
	}
	if page.Reset {
		if err := w.deliver(ctx, typeReset, page.Next, nil); err != nil {
			return err
		}
		w.members, w.unknown = nil, nil
		return w.moved(ctx, page.Next)
	}
	if changes := w.events(page.Changes); len(changes) > 0 {
		if err := w.deliver(ctx, typeChanged, w.mark.Cursor, changes); err != nil {
			w.doubt(changes)
			return err
		}
		w.note(page.Changes)
		return w.moved(ctx, page.Next)
	}
	w.note(page.Changes)
	w.mark.Cursor = page.Next
	w.publish(nil)
	if w.d.o.Clock().Sub(w.saved) < saveEvery {
		return nil
	}
	return w.moved(ctx, page.Next)
}

// prepare reads the mark and learns which items are in the listing, before the first batch and after a reset.
func (w *worker) prepare(ctx context.Context) error {
	if w.members != nil {
		return nil
	}
	hook := w.hook.Load()
	if w.saved.IsZero() {
		if err := w.load(); err != nil {
			return err
		}
		w.saved = w.d.o.Clock()
	}
	if err := w.replay(ctx); err != nil {
		return err
	}
	if w.mark.Stopped == hex.EncodeToString(w.revision[:]) {
		return &failure{result: Stopped, problem: stopped}
	}
	if w.mark.Stopped != "" {
		w.mark.Stopped = ""
		if err := w.d.save(ctx, hook.Owner, w.mark); err != nil {
			return err
		}
	}
	return w.learn(ctx)
}

// moved stores a new cursor.
func (w *worker) moved(ctx context.Context, cursor string) error {
	w.mark.Cursor = cursor
	if err := w.d.save(ctx, w.hook.Load().Owner, w.mark); err != nil {
		return err
	}
	w.saved = w.d.o.Clock()
	return w.remember(ctx)
}

// load reads the mark and the trail.
func (w *worker) load() error {
	hook := w.hook.Load()
	var m mark
	var t trail
	if err := w.d.read(markName(hook.Owner), &m); err != nil {
		return fmt.Errorf("read the cursor: %w", err)
	}
	if err := w.d.read(trailName(hook.Owner), &t); err != nil {
		return fmt.Errorf("read the past cursors: %w", err)
	}
	if w.mark, w.trail = (mark{Created: hook.Created}), nil; m.Created.Equal(hook.Created) {
		w.mark = m
	}
	if t.Created.Equal(hook.Created) {
		w.trail = t.Points
	}
	w.publishReplay()
	return nil
}

// publishReplay publishes the newest replay.
func (w *worker) publishReplay() {
	if w.mark.Replayed != nil {
		w.replayed.Store(w.mark.Replayed)
		w.d.changed(w.hook.Load().Owner)
	}
}

// remember adds the current cursor to the trail if the newest point is old enough.
func (w *worker) remember(ctx context.Context) error {
	now := w.d.o.Clock()
	// The clock may have been set back.
	if n := len(w.trail); n > 0 && now.Sub(w.trail[n-1].At).Abs() < trailEvery {
		return nil
	}
	w.trail = thin(append(w.trail, point{now, w.mark.Cursor}), now)
	return w.saveTrail(ctx)
}

// saveTrail stores the trail.
func (w *worker) saveTrail(ctx context.Context) error {
	owner := w.hook.Load().Owner
	if err := w.d.write(ctx, trailName(owner), trail{w.mark.Created, w.trail}); err != nil {
		return fmt.Errorf("store the past cursors of %s: %w", owner, err)
	}
	return nil
}

// replay moves the cursor back if the hook requests a replay that has not begun yet. The next request then sends the changes since the newest
// point that is not later than the requested time. If there is none, it sends a reset, because it cannot tell all changes.
//
// The points after that one are removed: their cursors are ahead of the current one now, so a later replay from there would leave out changes
// that this replay has yet to send. If the server stops before the mark is stored, it repeats the replay with the same result.
func (w *worker) replay(ctx context.Context) error {
	hook := w.hook.Load()
	if hook.Replay == "" || w.mark.Replayed != nil && w.mark.Replayed.Request == hook.Replay {
		return nil
	}
	points, next := before(w.trail, hook.ReplaySince), w.mark
	next.Cursor, next.Stopped, next.Replayed = "", "", &Replayed{Request: hook.Replay, At: w.d.o.Clock()}
	if n := len(points); n > 0 {
		next.Cursor, next.Replayed.From = points[n-1].Cursor, points[n-1].At
	}
	if len(points) < len(w.trail) {
		w.trail = points
		if err := w.saveTrail(ctx); err != nil {
			return err
		}
	}
	if err := w.d.save(ctx, hook.Owner, next); err != nil {
		return err
	}
	w.mark = next
	w.publishReplay()
	return nil
}

// listing returns the listing that the webhook follows.
func (w *worker) listing() (l feed.Listing, err error) {
	hook := w.hook.Load()
	l.Read = library.Read{Property: hook.Property, Audience: query.Public, BaseURL: hook.BaseURL}
	if uuid := hook.Webhook.FilterUUID; uuid != "" {
		l.Read.Filter = &library.FilterRef{UUID: uuid}
		if _, err := w.d.o.Source.Filter(hook.Property, *l.Read.Filter); errors.Is(err, library.ErrNotFound) {
			return l, &failure{result: FilterAbsent, problem: "the ContentFilter in spec.filterRef does not exist or is not served", soon: true}
		}
		return l, nil
	}
	q, err := query.ParseFor(hook.Webhook.Query, query.Public)
	if err != nil {
		return l, fmt.Errorf("parse the query: %w", err)
	}
	l.Read.Query = q.Root
	return l, nil
}

// read reads the changes after the cursor. A cursor of another listing counts as no cursor: the filter or the query has been replaced.
func (w *worker) read(ctx context.Context, wait time.Duration) (*feed.Page, error) {
	r := feed.Request{Listing: w.listing, Since: w.mark.Cursor, Limit: w.hook.Load().Webhook.MaxItems, Wait: wait}
	page, err := w.d.feed.Read(ctx, r)
	if _, foreign := errors.AsType[*library.CursorError](err); foreign {
		w.mark.Cursor, r.Since = "", ""
		page, err = w.d.feed.Read(ctx, r)
	}
	if err != nil {
		return nil, fmt.Errorf("read the changes: %w", err)
	}
	return page, nil
}

// maxCounted is the maximum number of changes that count reads, because it reads them after each attempt that fails.
const maxCounted = 1000

// count counts the changes that wait after a request to the receiver. If it cannot read them, the number stays unknown.
func (w *worker) count(ctx context.Context, f *failure) {
	if w.members == nil || f.soon || f.result == Stopped {
		return // the worker has not read the changes, or will send none
	}
	l, err := w.listing()
	if err != nil {
		return
	}
	l.OnlyIDs = true
	r := feed.Request{Listing: func() (feed.Listing, error) { return l, nil }, Since: w.mark.Cursor, Limit: library.MaxWebhookItems}
	n, more := 0, true
	for counted := 0; more && counted < maxCounted; {
		page, err := w.d.feed.Read(ctx, r)
		if err != nil || page.Reset {
			return
		}
		n += len(w.events(page.Changes))
		counted += len(page.Changes)
		r.Since, more = page.Next, page.More
	}
	f.waiting, f.more = n, more
}

// learn lists the items in the listing, and removes those that have changed since the cursor, because it is not known whether they were in
// the listing at that time. Without a cursor, the next page is a reset, which needs no members.
func (w *worker) learn(ctx context.Context) error {
	members, unknown := roaring64.New(), roaring64.New()
	l, err := w.listing()
	if err != nil {
		return err
	}
	if w.mark.Cursor != "" {
		r := l.Read
		r.Order, r.Limit, r.OnlyIDs = query.Order{{Field: "id"}}, listPage, true
		for more := true; more; more = r.After != "" {
			page, err := w.d.o.Source.Read(ctx, r)
			if err != nil {
				return fmt.Errorf("list the items: %w", err)
			}
			for _, id := range page.IDs {
				members.Add(uint64(id))
			}
			r.After = page.Next
		}
		l.OnlyIDs = true
		changes := feed.Request{Listing: func() (feed.Listing, error) { return l, nil }, Since: w.mark.Cursor, Limit: library.MaxWebhookItems}
		for more := true; more; {
			page, err := w.d.feed.Read(ctx, changes)
			if _, foreign := errors.AsType[*library.CursorError](err); foreign || err == nil && page.Reset {
				break // the next page is a reset
			}
			if err != nil {
				return fmt.Errorf("read the changes: %w", err)
			}
			for _, c := range page.Changes {
				unknown.Add(uint64(c.ID))
			}
			changes.Since, more = page.Next, page.More
		}
		members.AndNot(unknown)
	}
	w.members, w.unknown = members, unknown
	return nil
}

// The events.
const (
	eventEntered = "entered"
	eventChanged = "changed"
	eventLeft    = "left"
)

// change is one change in the body of a delivery.
type change struct {
	ID    item.ID `json:"id"`
	Event string  `json:"event"`
	// Item is the item, if it is in the listing. It is sent only if the webhook sends items.
	Item json.RawMessage `json:"item,omitempty"`
}

// events returns the changes to send. Whether an item in unknown was in the listing is not known, so it counts as entered or left.
func (w *worker) events(changes []feed.Change) (out []change) {
	spec := w.hook.Load().Webhook
	for _, c := range changes {
		was, unknown := w.members.Contains(uint64(c.ID)), w.unknown.Contains(uint64(c.ID))
		event, sent := "", false
		switch {
		case c.In && was:
			event, sent = eventChanged, spec.Changed
		case c.In:
			event, sent = eventEntered, spec.Entered
		case was || unknown:
			event, sent = eventLeft, spec.Left
		}
		if sent {
			out = append(out, change{ID: c.ID, Event: event, Item: c.Item})
		}
	}
	return out
}

// doubt records that the receiver may have processed changes although it has not accepted them. If the items have changed again until the next
// attempt, that attempt must undo what the receiver may have done.
func (w *worker) doubt(changes []change) {
	for _, c := range changes {
		w.unknown.Add(uint64(c.ID))
		if c.Event == eventLeft {
			w.members.Remove(uint64(c.ID))
		}
	}
}

// note records which of the items are in the listing after a batch.
func (w *worker) note(changes []feed.Change) {
	for _, c := range changes {
		w.unknown.Remove(uint64(c.ID))
		if c.In {
			w.members.Add(uint64(c.ID))
		} else {
			w.members.Remove(uint64(c.ID))
		}
	}
}
