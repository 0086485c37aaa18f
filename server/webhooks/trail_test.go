package webhooks

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// tested waits for the outcome of a request for a test.
func (w *world) tested(name, request string) Tested {
	w.t.Helper()
	return *w.awaitState(name, func(s State) bool { return s.Test != nil && s.Test.Request == request }).Test
}

// TestTest checks that a test reaches the receiver whatever the deliveries do, and does not affect them.
func TestTest(t *testing.T) {
	w, r, elsewhere := newWorld(t), receive(t), receive(t)
	w.backoff = time.Hour
	w.start()
	w.serve("moderator", r.URL, nil)
	r.expect("reset")
	w.request("moderator", r.URL, nil, Webhook{Test: "first"})
	d := r.next()
	if d.body.Type != typeTest || !strings.Contains(d.text, `"tags":[],"changes":[]`) {
		t.Errorf("%s", d.text)
	}
	if outcome := w.tested("moderator", "first"); outcome.Problem != "" || outcome.At.IsZero() {
		t.Errorf("%+v", outcome)
	}
	for range 3 {
		w.request("moderator", r.URL, nil, Webhook{Test: "first"})
	}
	for name, respond := range map[string]func(http.ResponseWriter){
		"500": status(http.StatusInternalServerError), "410": status(http.StatusGone),
		"307": func(rw http.ResponseWriter) {
			rw.Header().Set("Location", elsewhere.URL)
			rw.WriteHeader(http.StatusTemporaryRedirect)
			_, _ = io.WriteString(rw, "a secret of the receiver")
		},
	} {
		r.answer(respond)
		w.request("moderator", r.URL, nil, Webhook{Test: name})
		r.expect("test") // each request causes one test
		if outcome := w.tested("moderator", name); outcome.Problem != "the receiver responded with "+name {
			t.Errorf("%+v", outcome)
		}
	}
	r.answer(nil)
	w.write(put(1, "pen", "a", ""))
	r.expect("1 entered")
	w.await("moderator", Delivered)

	r.answer(status(http.StatusServiceUnavailable))
	w.write(put(2, "pen", "a", ""))
	r.expect("2 entered")
	before := w.await("moderator", Failed)
	hostile := strings.Repeat("\r\n\x00'\";%s{{", 5)
	w.request("moderator", r.URL, nil, Webhook{Test: hostile})
	r.expect("test") // the next attempt is hours away
	w.tested("moderator", hostile)
	if s := w.deliverer.State(owner(library.KindWebhook, "moderator")); s.Result != before.Result || s.Problem != before.Problem {
		t.Errorf("%+v, and after a test: %+v", before, s)
	}

	r.answer(status(http.StatusGone))
	w.serve("moderator", r.URL, func(h *library.Webhook) { h.MaxItems = 5 })
	r.expect("2 entered")
	w.await("moderator", Stopped)
	r.answer(nil)
	w.request("moderator", r.URL, func(h *library.Webhook) { h.MaxItems = 5 }, Webhook{Test: "stopped"})
	r.expect("test")
	if outcome := w.tested("moderator", "stopped"); outcome.Problem != "" {
		t.Errorf("%+v", outcome)
	}
	w.await("moderator", Stopped)
	if len(r.got)+len(elsewhere.got) > 0 {
		t.Error("further deliveries")
	}

	var err error
	if w.policy, err = ParsePolicy(nil); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.request("moderator", strings.Replace(r.URL, "http:", "https:", 1), nil, Webhook{Test: "private"})
	if outcome := w.tested("moderator", "private"); !strings.Contains(outcome.Problem, "not public") || len(r.got) > 0 {
		t.Errorf("%+v", outcome)
	}
}

// later sets the clock forward, after the trail of a webhook has a number of points.
func (w *world) later(name string, points int, d time.Duration) {
	w.t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		var got trail
		if err := w.deliverer.read(trailName(owner(library.KindWebhook, name)), &got); err != nil {
			w.t.Fatal(err)
		}
		if len(got.Points) == points {
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			w.t.Fatalf("the trail has %d points, want %d", len(got.Points), points)
		}
	}
	w.ahead.Add(int64(d))
}

// replayed waits until a replay has begun.
func (w *world) replayed(name, request string) Replayed {
	w.t.Helper()
	return *w.awaitState(name, func(s State) bool { return s.Replay != nil && s.Replay.Request == request }).Replay
}

func TestReplay(t *testing.T) {
	w, r := newWorld(t), receive(t)
	r.timeless.Store(true)
	begin := time.Now()
	at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
	replay := func(request string, since time.Time) {
		t.Helper()
		w.request("moderator", r.URL, nil, Webhook{Replay: request, ReplaySince: since})
	}
	w.serve("moderator", r.URL, nil)
	r.expect("reset")
	w.later("moderator", 1, 10*time.Minute)
	w.write(put(1, "pen", "a", ""))
	r.expect("1 entered")
	w.later("moderator", 2, time.Hour)
	w.write(put(2, "pen", "a", ""))
	r.expect("2 entered")
	w.later("moderator", 3, time.Minute)
	w.write(put(3, "pen", "a", ""))
	r.expect("3 entered")

	// The trail is stored without the later points, and the mark is not. The replay then begins again at the same point.
	refused := markName(owner(library.KindWebhook, "moderator"))
	w.refused.Store(&refused)
	replay("half an hour", at(40))
	if s := w.await("moderator", Failed); !strings.Contains(s.Problem, "the disk is full") || s.Replay != nil {
		t.Errorf("%+v", s)
	}
	w.refused.Store(nil)
	if from := w.replayed("moderator", "half an hour").From; from.Before(at(10)) || from.After(at(11)) {
		t.Errorf("from %v, want the second point", from)
	}
	r.expect("2 entered, 3 entered")

	// A receiver that fails gets what the replay has not sent yet, even if a further replay requests less.
	r.answer(status(http.StatusServiceUnavailable))
	replay("everything after the reset", at(5))
	r.expect("1 entered, 2 entered, 3 entered")
	w.await("moderator", Failed)
	replay("less", w.now())
	first := w.replayed("moderator", "less")
	if from := first.From; from.Before(begin) || from.After(at(1)) {
		t.Errorf("from %v, want the first point", from)
	}
	r.answer(nil)
	for d := r.next(); len(r.got) > 0; d = r.next() {
		if d.String() != "1 entered, 2 entered, 3 entered" {
			t.Fatalf("%s", d)
		}
	}
	w.await("moderator", Delivered)

	// A restart does not repeat the replay.
	w.write(put(4, "pen", "a", ""))
	for d := r.next(); d.String() != "4 entered"; d = r.next() {
		if d.String() != "1 entered, 2 entered, 3 entered" {
			t.Fatalf("%s", d)
		}
	}
	w.start()
	replay("less", at(0))
	if again := w.replayed("moderator", "less"); !again.At.Equal(first.At) || !again.From.Equal(first.From) {
		t.Errorf("%+v, and after the restart: %+v", first, again)
	}
	w.write(put(5, "pen", "a", ""))
	for d := r.next(); !strings.HasSuffix(d.String(), "5 entered"); d = r.next() {
		if d.String() != "4 entered" {
			t.Fatalf("after the restart: %s", d)
		}
	}

	// Before the first point, and with another query, the changes are not known.
	replay("older", begin.Add(-time.Hour))
	if from := w.replayed("moderator", "older").From; !from.IsZero() {
		t.Errorf("from %v", from)
	}
	r.expect("reset")
	w.later("moderator", 1, time.Hour)
	w.request("moderator", r.URL, func(h *library.Webhook) { h.Query = "approval_status:app" }, Webhook{Replay: "another query", ReplaySince: w.now()})
	r.expect("reset")

	// A replay restarts a webhook that the receiver has stopped. The same content from the same cursor has another id, or a receiver that
	// knows the id would ignore it.
	r.answer(status(http.StatusGone))
	w.write(put(6, "app", "a", ""))
	first410 := r.next()
	w.await("moderator", Stopped)
	r.answer(nil)
	w.request("moderator", r.URL, func(h *library.Webhook) { h.Query = "approval_status:app" }, Webhook{Replay: "stopped", ReplaySince: w.now()})
	if again := r.next(); again.String() != "6 entered" || again.String() != first410.String() || again.id == first410.id {
		t.Errorf("%s %s, and then %s %s", first410.id, first410, again.id, again)
	}
	w.await("moderator", Delivered)
}

// TestReplayAfterRuleChange checks that a replay from a time at which other rules of manifests applied begins with a reset.
func TestReplayAfterRuleChange(t *testing.T) {
	w, r := newWorld(t), receive(t)
	r.timeless.Store(true)
	query := func(h *library.Webhook) { h.Query = "tags.marketer_tags.key:beach" }
	w.serve("moderator", r.URL, query)
	r.expect("reset")
	w.later("moderator", 1, 10*time.Minute)
	w.apply(library.Definition{Owner: owner(library.KindTag, "beach"), Tag: &library.TagRule{Tag: item.Tag{Namespace: "marketer_tags", Key: "beach"}, Selector: "text:beach"}})
	r.expect("reset")
	w.write(put(1, "pen", "beach", ""))
	r.expect("1 entered")
	w.request("moderator", r.URL, query, Webhook{Replay: "before the rule", ReplaySince: w.now().Add(-5 * time.Minute)})
	if w.replayed("moderator", "before the rule").From.IsZero() {
		t.Error("the cursor of that time has to be known")
	}
	r.expect("reset")
}

// TestThin checks the size of a trail, and that it contains a point close to each requested time.
func TestThin(t *testing.T) {
	random := rand.New(rand.NewPCG(rand.Uint64(), 0))
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	begin := now
	var points []point
	for range 10_000 {
		now = now.Add(trailEvery + time.Duration(random.Int64N(int64(trailEvery))))
		points = thin(append(points, point{now, fmt.Sprint(now.Unix())}), now)
		if len(points) > 64 {
			t.Fatalf("%d points", len(points))
		}
		requested := time.Duration(random.Int64N(int64(min(trailAge*3/4, now.Sub(begin)))))
		since := now.Add(-requested)
		n := len(before(points, since))
		if n == 0 && now.Sub(begin) > requested+4*trailEvery+requested/trailPart {
			t.Fatalf("no point for %v ago", requested)
		}
		// The age of a point is at most a quarter more than that of the next one, apart from the distance of new points.
		if n > 0 && since.Sub(points[n-1].At) > 2*trailEvery+requested/trailPart {
			t.Fatalf("the point for %v ago is %v older", requested, since.Sub(points[n-1].At))
		}
	}
}
