package webhooks

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/reference"
)

const shop library.PropertyID = "shop/default"

// patience is how long a test waits for what must happen.
const patience = time.Minute

var key = []byte("0123456789abcdef0123456789abcdef")

// world is a library, and a Deliverer that a test can restart.
type world struct {
	library.Library
	t         testing.TB
	deliverer *Deliverer
	metrics   *Metrics
	policy    Policy
	// changed receives a value for each changed State.
	changed chan library.Owner
	stop    func()
	// ahead is how far the clock of the Deliverer is ahead.
	ahead atomic.Int64
	// backoff is the time between two attempts of the next Deliverer.
	backoff time.Duration
	refused atomic.Pointer[string]
}

// SetMark fails for the mark whose name is in refused.
func (w *world) SetMark(ctx context.Context, key, value string) error {
	if refused := w.refused.Load(); refused != nil && *refused == key {
		return errors.New("the disk is full")
	}
	return w.Library.SetMark(ctx, key, value)
}

// now is the clock of the Deliverer.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

func newWorld(t *testing.T) *world {
	t.Helper()
	lib, err := reference.Open(reference.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return newWorldOf(t, lib)
}

// newWorldOf is like newWorld, with another library without a property.
func newWorldOf(t testing.TB, lib library.Library) *world {
	t.Helper()
	w := &world{Library: lib, t: t, changed: make(chan library.Owner, 1000), stop: func() {}, backoff: time.Millisecond}
	var err error
	if w.policy, err = ParsePolicy([]string{"127.0.0.0/8"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.stop()
		if err := lib.Close(); err != nil {
			t.Error(err)
		}
	})
	w.apply(library.Definition{Owner: owner(library.KindProperty, "default"), PropertySpec: &library.Property{PlatformPageID: 1}})
	w.start()
	return w
}

// start runs a new Deliverer, as after a restart of the server.
func (w *world) start() {
	w.t.Helper()
	w.stop()
	w.metrics = NewMetrics()
	var err error
	w.deliverer, err = New(Options{
		Source: w, Policy: w.policy, Metrics: w.metrics, Clock: w.now, MinBackoff: w.backoff, MaxBackoff: 10 * w.backoff,
	}, func(o library.Owner) { w.changed <- o })
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.deliverer.Run(ctx) }()
	w.stop = func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
		w.stop = func() {}
	}
}

func owner(k library.Kind, name string) library.Owner {
	return library.Owner{Install: "test", Kind: k, Namespace: "shop", Name: name}
}

func (w *world) apply(d library.Definition) library.Definition {
	w.t.Helper()
	d.Property = shop
	results, err := w.Apply(w.t.Context(), []library.Definition{d})
	if err != nil || results[0].Err != nil {
		w.t.Fatal(err, results)
	}
	return d
}

// serve applies and serves a webhook that sends the pending items to a URL.
func (w *world) serve(name, url string, change func(*library.Webhook)) {
	w.t.Helper()
	w.request(name, url, change, Webhook{})
}

// request is like serve, and requests what r requests.
func (w *world) request(name, url string, change func(*library.Webhook), r Webhook) {
	w.t.Helper()
	hook := &library.Webhook{URL: url, Query: "approval_status:pen", Entered: true, Left: true, Changed: true, Items: true, MaxItems: 10}
	if change != nil {
		change(hook)
	}
	d := w.apply(library.Definition{Owner: owner(library.KindWebhook, name), Webhook: hook})
	r.Definition, r.Keys, r.BaseURL = d, [][]byte{key}, "https://content.example"
	if err := w.deliverer.Serve(r); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(muts ...library.Mutation) {
	w.t.Helper()
	outcomes, err := w.Write(w.t.Context(), shop, muts)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			w.t.Fatal(o.Err)
		}
	}
}

// put creates or replaces an item. The note in its submission is private.
func put(id item.ID, status, text, note string) library.Mutation {
	it := &item.Item{ID: id, ApprovalStatus: status, CreatedOn: "2026-11-20T08:00:00Z", Content: item.Content{ContentType: item.Text, Text: text}}
	if note != "" {
		it.Submission = json.RawMessage(fmt.Sprintf(`{"note":%q}`, note))
	}
	return library.Mutation{Put: it, Replace: true}
}

// await waits until the State of a webhook has a result.
func (w *world) await(name string, r Result) State {
	w.t.Helper()
	return w.awaitState(name, func(s State) bool { return s.Result == r })
}

func (w *world) awaitState(name string, ok func(State) bool) State {
	w.t.Helper()
	deadline := time.After(patience)
	for {
		s := w.deliverer.State(owner(library.KindWebhook, name))
		if ok(s) {
			return s
		}
		select {
		case <-w.changed:
		case <-deadline:
			w.t.Fatalf("the state of %s did not become the expected one: %+v", name, s)
		}
	}
}

// delivery is a request that the receiver got.
type delivery struct {
	id   string
	text string
	body struct {
		Type string `json:"type"`
		Data struct {
			Webhook    string `json:"webhook"`
			FilterUUID string `json:"filter_uuid"`
			Changes    []struct {
				ID    item.ID         `json:"id"`
				Event string          `json:"event"`
				Item  json.RawMessage `json:"item"`
			} `json:"changes"`
		} `json:"data"`
	}
}

// String returns the content in short form, such as "1 entered".
func (d delivery) String() string {
	if kind := d.body.Type; kind != typeChanged {
		return strings.TrimPrefix(kind, "content.")
	}
	var all []string
	for _, c := range d.body.Data.Changes {
		all = append(all, fmt.Sprintf("%d %s", c.ID, c.Event))
	}
	return strings.Join(all, ", ")
}

// receiver is a receiver of deliveries, which verifies them with the library of the Standard Webhooks project.
type receiver struct {
	*httptest.Server
	t   testing.TB
	got chan delivery
	// timeless is true if the clock of the Deliverer is not that of the receiver.
	timeless atomic.Bool

	mu sync.Mutex
	// respond responds to a delivery after it was verified; nil means 204.
	respond func(http.ResponseWriter)
}

func receive(t testing.TB, keys ...[]byte) *receiver {
	t.Helper()
	if len(keys) == 0 {
		keys = [][]byte{key}
	}
	r := &receiver{t: t, got: make(chan delivery, 100_000)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the server has stopped
		}
		for _, k := range keys {
			verifier, err := standardwebhooks.NewWebhook("whsec_" + base64.StdEncoding.EncodeToString(k))
			if err == nil && r.timeless.Load() {
				err = verifier.VerifyIgnoringTimestamp(body, req.Header)
			} else if err == nil {
				err = verifier.Verify(body, req.Header)
			}
			if err != nil {
				t.Errorf("verify %s: %v", body, err)
			}
		}
		d := delivery{id: req.Header.Get("webhook-id"), text: string(body)}
		if err := json.Unmarshal(body, &d.body); err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got <- d
		if r.respond == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		r.respond(w)
	}))
	t.Cleanup(r.Close)
	return r
}

// answer sets the response to all deliveries.
func (r *receiver) answer(respond func(http.ResponseWriter)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.respond = respond
}

func status(code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(code) }
}

func (r *receiver) next() delivery {
	r.t.Helper()
	select {
	case d := <-r.got:
		return d
	case <-time.After(patience):
		r.t.Fatal("there was no delivery")
	}
	return delivery{}
}

func (r *receiver) expect(want ...string) {
	r.t.Helper()
	for _, text := range want {
		if d := r.next(); d.String() != text {
			r.t.Fatalf("delivered %q, want %q", d, text)
		}
	}
}

func TestEvents(t *testing.T) {
	w, r := newWorld(t), receive(t)
	w.write(put(1, "pen", "old", ""))
	w.serve("moderator", r.URL, nil)
	r.expect("reset")

	w.write(put(2, "pen", "beach", "private-note"))
	d := r.next()
	if d.String() != "2 entered" || d.body.Data.Webhook != "shop/moderator" || d.body.Type != typeChanged {
		t.Fatalf("%s", d.text)
	}
	if !strings.Contains(d.text, `"text":"beach"`) || strings.Contains(d.text, "private-note") || strings.Contains(d.text, "submission") {
		t.Errorf("the delivery has to contain the public fields, and no submission: %s", d.text)
	}
	w.write(put(2, "pen", "beach", "another private-note"), put(3, "app", "beach", "")) // neither of them changes the listing
	w.write(put(1, "pen", "new", ""))
	r.expect("1 changed")
	w.write(put(1, "app", "new", ""))
	d = r.next()
	if d.String() != "1 left" || strings.Contains(d.text, `"item"`) {
		t.Errorf("%s", d.text)
	}
	w.write(library.Mutation{Delete: true, ID: 2})
	r.expect("2 left")
	if n := testutil.ToFloat64(w.metrics.attempts.WithLabelValues("shop", "moderator", "delivered")); n < 4 {
		t.Errorf("%v deliveries are counted, want those before the last one", n)
	}
}

func TestSelection(t *testing.T) {
	w := newWorld(t)
	uuid, id := library.FilterIDs(shop, library.KindFilter, "shop", "pending")
	filter := func(text string) {
		w.apply(library.Definition{
			Owner: owner(library.KindFilter, "pending"), Filter: &library.Filter{UUID: uuid, ID: id, Name: "pending", Query: text},
		})
	}
	left, ids, many := receive(t), receive(t), receive(t)
	w.serve("left", left.URL, func(h *library.Webhook) { h.Entered, h.Changed = false, false })
	w.serve("ids", ids.URL, func(h *library.Webhook) { h.Items, h.Query, h.FilterUUID = false, "", uuid })
	w.serve("many", many.URL, func(h *library.Webhook) { h.MaxItems, h.MaxDelay = 2, 50*time.Millisecond })
	left.expect("reset")
	many.expect("reset")
	w.await("ids", FilterAbsent)
	filter("approval_status:pen")
	ids.expect("reset")
	w.await("ids", Delivered)

	w.write(put(1, "pen", "a", ""), put(2, "pen", "a", ""), put(3, "pen", "a", ""))
	many.expect("1 entered, 2 entered", "3 entered")
	d := ids.next()
	if d.String() != "1 entered, 2 entered, 3 entered" || strings.Contains(d.text, `"item"`) || d.body.Data.FilterUUID != uuid {
		t.Errorf("%s", d.text)
	}
	w.write(put(2, "app", "a", ""))
	left.expect("2 left")
	ids.expect("2 left")

	filter("approval_status:app") // the changes of a listing whose filter changes cannot be told one by one
	w.write(put(3, "app", "a", ""))
	for d := ids.next(); d.String() != "reset"; d = ids.next() {
		if d.String() != "3 changed" {
			t.Fatalf("before the reset: %s", d)
		}
	}
	w.write(put(2, "pen", "a", ""))
	for d := ids.next(); !strings.Contains(d.String(), "2 left"); d = ids.next() {
		if d.String() != "3 entered" && d.String() != "3 changed" {
			t.Fatalf("after the reset: %s", d)
		}
	}
}

// TestRetries checks that a failing receiver gets the same batch until it accepts it, and that it delays no other webhook.
func TestRetries(t *testing.T) {
	w, broken, fine := newWorld(t), receive(t), receive(t)
	w.serve("broken", broken.URL, nil)
	w.serve("fine", fine.URL, nil)
	broken.expect("reset")
	fine.expect("reset")
	broken.answer(func(rw http.ResponseWriter) {
		rw.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(rw, "a secret of the receiver")
	})
	w.write(put(1, "pen", "a", ""))
	s := w.await("broken", Failed)
	if s.Problem != "the receiver responded with 503" || s.Waiting != 1 || s.More {
		t.Errorf("%+v", s)
	}
	first, second := broken.next(), broken.next()
	if first.id != second.id || first.String() != "1 entered" {
		t.Errorf("%s %s, and then %s %s", first.id, first, second.id, second)
	}
	fine.expect("1 entered")
	w.write(put(1, "pen", "b", ""))
	fine.expect("1 changed")
	if n := testutil.CollectAndCount(w.metrics.waiting); n != 1 {
		t.Errorf("%d webhooks have a series while their changes wait, want 1", n)
	}
	w.write(put(2, "pen", "a", ""), put(3, "app", "a", ""))
	w.awaitState("broken", func(s State) bool { return s.Waiting == 2 })
	if n := testutil.ToFloat64(w.metrics.changes.WithLabelValues("shop", "broken")); n != 2 {
		t.Errorf("the metric is %v, want 2", n)
	}
	broken.answer(nil)
	w.await("broken", Delivered)
	if n := testutil.CollectAndCount(w.metrics.waiting) + testutil.CollectAndCount(w.metrics.changes); n != 0 {
		t.Errorf("%d webhooks have a series although none waits", n)
	}
	last := first
	for len(broken.got) > 0 {
		last = broken.next()
	}
	if last.id == first.id || !strings.Contains(last.text, `"text":"b"`) {
		t.Errorf("the content has changed, so the delivery must have another id: %s", last.text)
	}
	broken.Close()
	w.write(put(1, "pen", "c", ""))
	if s := w.await("broken", Failed); s.Problem != "the receiver cannot be reached" {
		t.Errorf("%+v", s)
	}
}

// TestWaiting checks that the number of changes that wait has a limit, and counts only what the webhook sends.
func TestWaiting(t *testing.T) {
	w, r := newWorld(t), receive(t)
	w.backoff = time.Hour
	w.start()
	for _, name := range []string{"all", "left"} {
		w.serve(name, r.URL, func(h *library.Webhook) { h.Entered, h.MaxItems = name == "all", 1 })
		r.expect("reset")
	}
	w.write(put(1, "pen", "a", ""))
	r.expect("1 entered")
	w.await("all", Delivered)
	r.answer(status(http.StatusServiceUnavailable))
	many := []library.Mutation{put(1, "app", "a", "")}
	for id := range item.ID(maxCounted) {
		many = append(many, put(2+id, "pen", "a", ""))
	}
	w.write(many...)
	for name, want := range map[string]int{"all": maxCounted, "left": 1} {
		if s := w.await(name, Failed); s.Waiting != want || !s.More {
			t.Errorf("%s: %+v, want %d or more changes", name, s, want)
		}
	}
}

// TestRestart checks that changes that happen while nothing delivers are delivered after the start. An item that was in the listing all the
// time counts as entered, because the Deliverer cannot know this.
func TestRestart(t *testing.T) {
	w, r := newWorld(t), receive(t)
	w.write(put(4, "app", "a", ""))
	w.serve("moderator", r.URL, nil)
	r.expect("reset")
	w.write(put(1, "pen", "a", ""), put(2, "pen", "a", ""), put(3, "pen", "a", ""))
	r.expect("1 entered, 2 entered, 3 entered")
	w.write(put(5, "pen", "a", ""))
	r.expect("5 entered") // the cursor before it is stored, and its own cursor may not be
	w.stop()
	w.write(put(2, "app", "a", ""), put(3, "pen", "b", ""))
	w.start()
	w.serve("moderator", r.URL, nil)
	if d := r.next(); strings.TrimSuffix(d.String(), ", 5 entered") != "2 left, 3 entered" {
		t.Fatalf("after the restart: %s", d)
	}
	w.write(put(1, "pen", "b", ""))
	r.expect("1 changed")
}

func TestGone(t *testing.T) {
	w, r := newWorld(t), receive(t)
	w.serve("moderator", r.URL, nil)
	r.expect("reset")
	r.answer(status(http.StatusGone))
	w.write(put(1, "pen", "a", ""))
	r.expect("1 entered")
	w.await("moderator", Stopped)
	w.start()
	w.serve("moderator", r.URL, nil)
	w.await("moderator", Stopped)
	r.answer(nil)
	w.serve("moderator", r.URL, func(h *library.Webhook) { h.MaxItems = 5 })
	r.expect("1 entered")
	w.await("moderator", Delivered)
}

// latest returns a delivery that began after the call.
func (r *receiver) latest() delivery {
	r.t.Helper()
	for len(r.got) > 0 {
		r.next()
	}
	r.next() // may have begun before
	return r.next()
}

// TestIDs checks that a receiver that ignores deliveries with an id that it knows misses nothing, even if it gets no items: it may have listed
// or read the items at the first attempt, and then failed.
func TestIDs(t *testing.T) {
	w, r := newWorld(t), receive(t)
	r.answer(status(http.StatusInternalServerError))
	w.serve("moderator", r.URL, func(h *library.Webhook) { h.Items = false })
	first, second := r.next(), r.next()
	if first.String() != "reset" || second.String() != "reset" || first.id == second.id {
		t.Errorf("two resets: %s %s and %s %s", first.id, first, second.id, second)
	}
	r.answer(nil)
	w.await("moderator", Delivered)
	w.write(put(1, "pen", "a", ""))
	for r.next().String() != "1 entered" {
	}
	r.answer(status(http.StatusInternalServerError))
	w.write(put(1, "pen", "b", ""))
	first, second = r.next(), r.next()
	if first.String() != "1 changed" || first.id != second.id {
		t.Errorf("two attempts: %s %s and %s %s", first.id, first, second.id, second)
	}
	w.write(put(1, "pen", "c", "private"))
	second = r.latest()
	if second.String() != "1 changed" || first.id == second.id || strings.Contains(second.text, `"item"`) {
		t.Errorf("after another change: %s %s and %s %s", first.id, first.text, second.id, second.text)
	}
	w.write(put(1, "pen", "c", "more private"))
	if last := r.latest(); last.id != second.id {
		t.Errorf("after a change of a private member: %s %s and %s %s", second.id, second.text, last.id, last.text)
	}
}

// TestResetsHaveDifferentIDs checks that the reset after a change of the query has another id than the first one.
func TestResetsHaveDifferentIDs(t *testing.T) {
	w, r := newWorld(t), receive(t)
	seen := map[string]bool{}
	for i, status := range []string{"pen", "app", "pen"} {
		w.serve("moderator", r.URL, func(h *library.Webhook) { h.Query = "approval_status:" + status })
		d := r.next()
		if d.String() != "reset" || seen[d.id] {
			t.Errorf("after a change of the query: %s with the id %s, after the ids %v", d, d.id, seen)
		}
		seen[d.id] = true
		w.write(put(item.ID(i+1), status, "a", ""))
		r.expect(fmt.Sprint(i+1, " entered")) // so the cursor of the reset is stored
	}
}

// TestSwitchedProtocol checks that a receiver cannot hold a worker with a response after which the connection belongs to another protocol.
func TestSwitchedProtocol(t *testing.T) {
	w, r := newWorld(t), receive(t)
	var held sync.WaitGroup
	ended := make(chan struct{})
	t.Cleanup(func() {
		r.answer(nil) // no connection is held from here on
		close(ended)
		held.Wait()
	})
	r.answer(func(rw http.ResponseWriter) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
		held.Go(func() { <-ended; _ = conn.Close() })
	})
	w.serve("moderator", r.URL, nil)
	if s := w.await("moderator", Failed); s.Problem != "the receiver responded with 101" {
		t.Error(s.Problem)
	}
}

// TestKeys checks that a delivery has a signature for each key, and that changed keys need no new worker.
func TestKeys(t *testing.T) {
	before := []byte("fedcba9876543210fedcba9876543210")
	w, r := newWorld(t), receive(t, key, before)
	d := w.apply(library.Definition{Owner: owner(library.KindWebhook, "moderator"), Webhook: &library.Webhook{
		URL: r.URL, Query: "*:*", Entered: true, MaxItems: 1,
	}})
	if err := w.deliverer.Serve(Webhook{Definition: d, Keys: [][]byte{key, before}}); err != nil {
		t.Fatal(err)
	}
	r.expect("reset")
}

func TestRemove(t *testing.T) {
	w, r := newWorld(t), receive(t)
	kept, gone := owner(library.KindWebhook, "kept"), owner(library.KindWebhook, "gone")
	for _, name := range []string{"kept", "gone", "later"} {
		w.serve(name, r.URL, nil)
		r.expect("reset")
	}
	w.write(put(1, "pen", "a", ""))
	r.expect("1 entered", "1 entered", "1 entered") // so the cursors of the resets are stored
	marked := func(o library.Owner) bool {
		text, err := w.Mark(markName(o))
		if err != nil {
			t.Fatal(err)
		}
		return text != ""
	}
	w.deliverer.mu.Lock()
	ended := w.deliverer.workers[gone].ended
	w.deliverer.mu.Unlock()
	w.deliverer.Remove(gone)
	<-ended
	if marked(gone) || !marked(kept) {
		t.Errorf("marks: gone %v, kept %v", marked(gone), marked(kept))
	}
	later := owner(library.KindWebhook, "later")
	if _, err := w.Library.Remove(t.Context(), []library.Owner{later}); err != nil {
		t.Fatal(err)
	}
	w.start() // the object was deleted while nothing delivered
	w.serve("kept", r.URL, nil)
	w.write(put(2, "pen", "a", ""))
	for d := r.next(); !strings.HasSuffix(d.String(), "2 entered"); d = r.next() { // so the Deliverer runs
		if d.String() != "1 entered" {
			t.Fatalf("after the start: %s", d)
		}
	}
	if marked(later) || !marked(kept) {
		t.Errorf("marks after a start: later %v, kept %v", marked(later), marked(kept))
	}
	if list, err := w.deliverer.list(); err != nil || !slices.Equal(list, []library.Owner{kept}) {
		t.Errorf("%v, %v", list, err)
	}
}

// TestFollow checks that a receiver that applies all deliveries has the items of the listing, although it fails at random, and the Deliverer
// restarts.
func TestFollow(t *testing.T) {
	w, r := newWorld(t), receive(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	has := map[item.ID]bool{}
	list := func() []item.ID {
		page, err := w.Read(t.Context(), library.Read{
			Property: shop, Query: mustParse(t, "approval_status:pen"), Order: query.Order{{Field: "id"}}, Limit: 1000, OnlyIDs: true,
		})
		if err != nil {
			t.Error(err)
			return nil
		}
		return page.IDs
	}
	apply := func(d delivery) {
		if d.body.Type == typeReset {
			clear(has)
			for _, id := range list() {
				has[id] = true
			}
			return
		}
		for _, c := range d.body.Data.Changes {
			if delete(has, c.ID); c.Event != "left" {
				has[c.ID] = true
			}
		}
	}
	w.serve("moderator", r.URL, nil)
	apply(r.next())
	failing := rand.New(rand.NewPCG(seed, 1))
	r.answer(func(rw http.ResponseWriter) {
		if failing.IntN(3) == 0 {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	for round := range 60 {
		for range 1 + random.IntN(8) {
			w.write(put(item.ID(1+random.IntN(30)), []string{"pen", "app"}[random.IntN(2)], fmt.Sprint(random.IntN(4)), ""))
		}
		if round%15 == 14 {
			w.start()
			w.serve("moderator", r.URL, nil)
		}
	}
	w.write(put(100, "pen", "last", ""))
	for !has[100] {
		apply(r.next())
	}
	want := map[item.ID]bool{}
	for _, id := range list() {
		want[id] = true
	}
	if diff := cmp.Diff(want, has); diff != "" {
		t.Errorf("the receiver (-want +got):\n%s", diff)
	}
}

func mustParse(t *testing.T, text string) query.Node {
	t.Helper()
	q, err := query.ParseFor(text, query.Public)
	if err != nil {
		t.Fatal(err)
	}
	return q.Root
}

// TestRefused checks that no request reaches a receiver that the policy does not permit, whether the URL has its address, a name that resolves
// to it, or a redirect to it.
func TestRefused(t *testing.T) {
	public := receive(t)
	port := public.URL[strings.LastIndex(public.URL, ":"):]
	for _, tc := range []struct {
		name, url string
		allow     []string
		result    Result
		problem   string
	}{
		{"http", "http://127.0.0.1" + port, nil, Refused, "scheme http"},
		{"address", "https://127.0.0.1" + port, nil, Refused, "not public"},
		{"name", "https://localhost" + port, nil, Refused, "not public"},
		{"another range", "https://localhost" + port, []string{"10.0.0.0/8", "localhost.example"}, Refused, "not public"},
		{"unknown name", "https://vitrine.invalid" + port, nil, Failed, "cannot be resolved"},
		{"no TLS", "https://localhost" + port, []string{"localhost"}, Failed, "cannot be reached"},
		{"named", "http://localhost" + port, []string{"LocalHost"}, Delivered, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			var err error
			if w.policy, err = ParsePolicy(tc.allow); err != nil {
				t.Fatal(err)
			}
			w.start()
			w.serve("moderator", tc.url, nil)
			if tc.result == Delivered {
				public.expect("reset")
				return
			}
			if s := w.await("moderator", tc.result); !strings.Contains(s.Problem, tc.problem) {
				t.Errorf("%+v", s)
			}
			w.stop()
			if len(public.got) > 0 {
				t.Errorf("the receiver got %s", public.next())
			}
		})
	}
	w, redirecting := newWorld(t), receive(t)
	redirecting.answer(func(rw http.ResponseWriter) {
		rw.Header().Set("Location", public.URL)
		rw.WriteHeader(http.StatusTemporaryRedirect)
	})
	w.serve("moderator", redirecting.URL, nil)
	if s := w.await("moderator", Failed); s.Problem != "the receiver responded with 307" || len(public.got) > 0 {
		t.Errorf("%+v, and %d deliveries", s, len(public.got))
	}
}

// TestPermits checks the ranges of addresses.
func TestPermits(t *testing.T) {
	p, err := ParsePolicy([]string{"10.1.0.0/16", "fd00::1", "hooks.internal"})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "10.1.2.3": true, "::ffff:10.1.2.3": true, "fd00::1": true,
		"10.2.0.1": false, "127.0.0.1": false, "::1": false, "0.0.0.0": false, "::": false, "169.254.169.254": false, "fe80::1%eth0": false,
		"172.16.0.1": false, "192.168.1.1": false, "100.64.0.1": false, "224.0.0.1": false, "ff02::1": false, "255.255.255.255": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b:1::a9fe:a9fe": false,
		"2002:7f00:1::1": false, "fd00::2": false, "fec0::1": false, "198.18.0.1": false, "2001:0:1::1": false,
		"::ffff:0:127.0.0.1": false, "::ffff:0:a9fe:a9fe": false, "5f00::1": false, "3fff::1": false, "192.88.99.1": false, "100::1": false,
	} {
		if got := p.permits(netip.MustParseAddr(address)); got != want {
			t.Errorf("permits(%s) = %v", address, got)
		}
	}
	for _, text := range []string{"", "a b", "https://hooks.internal", "*.internal", "10.0.0.0/99", "hooks:8080"} {
		if _, err := ParsePolicy([]string{text}); err == nil {
			t.Errorf("ParsePolicy accepts %q", text)
		}
	}
}

func TestBackoff(t *testing.T) {
	w := &worker{d: &Deliverer{o: Options{MinBackoff: time.Second, MaxBackoff: time.Hour}}}
	for failures, most := range map[int]time.Duration{0: time.Second, 3: 8 * time.Second, 20: time.Hour, 500: time.Hour} {
		if d := w.backoff(failures, &failure{}); d < most/2 || d > most {
			t.Errorf("after %d failures: %v, want %v to %v", failures, d, most/2, most)
		}
	}
	if d := w.backoff(20, &failure{soon: true}); d > poll {
		t.Errorf("a problem of the server itself: %v", d)
	}
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, "-1": 0, "soon": 0, "Fri, 27 Nov 2026 12:05:00 GMT": 5 * time.Minute, "Fri, 27 Nov 2026 11:00:00 GMT": 0,
		"99999999999999999999999": math.MaxInt32 * time.Second,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("Retry-After %q: %v, want %v", header, got, want)
		}
	}
	if d := w.backoff(0, &failure{after: 30 * time.Hour}); d != time.Hour {
		t.Errorf("the receiver asks for 30 hours: %v", d)
	}
	if f := attempt(errors.New("broken")); f.result != Failed || !f.soon {
		t.Errorf("%+v", f)
	}
}
