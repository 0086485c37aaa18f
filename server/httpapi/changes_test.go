package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// changesOf returns the URL of a request for changes.
func changesOf(more ...string) string { return "/v2/content/changes?" + strings.Join(more, "&") }

// following is the parameter that follows a filter.
func following(name string) string { return "filter=" + filterUUID(name) }

// changes sends a request for changes, and returns the changes as text (reset, or +id and -id), with the link to the next ones.
func (a *app) changes(url, as string) (told, next string) {
	a.t.Helper()
	got := a.do(call{url: url, token: as, want: map[string]string{"Cache-Control": "private, no-store", "ETag": ""}})
	return toldBy(a.t, got), got.link(a.t, "next")
}

func toldBy(t testing.TB, got answer) string {
	t.Helper()
	var parts []string
	if got.member(t, "reset") == true {
		parts = append(parts, "reset")
	}
	for _, c := range got.member(t, "_embedded", "changes").([]any) {
		change := c.(map[string]any)
		sign := map[any]string{"upsert": "+", "remove": "-"}[change["change"]]
		if _, has := change["item"]; has != (sign == "+") {
			t.Errorf("a change with or without an item: %v", change)
		}
		parts = append(parts, fmt.Sprint(sign, change["id"]))
	}
	if got.member(t, "more") == true {
		parts = append(parts, "more")
	}
	return strings.Join(parts, " ")
}

// tells checks the changes of a request, and returns the link to the next ones.
func (a *app) tells(url, as, want string) string {
	a.t.Helper()
	told, next := a.changes(url, as)
	if told != want {
		a.t.Fatalf("%s tells %q, want %q", url, told, want)
	}
	return next
}

func (a *app) patch(id item.ID, body string) {
	a.t.Helper()
	a.do(call{method: "PATCH", url: fmt.Sprint("/v2/content/", id), token: "rw", body: body})
}

func TestChangesRequests(t *testing.T) {
	a := newApp(t)
	wall := following("summer-wall")
	first := a.do(call{url: changesOf("q=approval_status:app", "page_size=7"), token: "ro", contains: []string{`{"reset":true,"more":false,"total_results":30,"_embedded":{"changes":[]}`}})
	next := first.link(t, "next")
	since := next[strings.Index(next, "since=")+len("since="):]
	if !strings.HasPrefix(next, "/v2/content/changes?page_size=7&q=approval_status%3Aapp&since=") || strings.Contains(since, "&") {
		t.Fatalf("the next link is %s", next)
	}
	if want := `</base` + next + `>; rel="next"`; first.header.Get("Link") != want {
		t.Errorf("the header Link is %s, want %s", first.header.Get("Link"), want)
	}
	a.table(t, map[string]call{
		"no changes":         {url: next, token: "ro", contains: []string{`{"reset":false,"more":false,"total_results":30,"_embedded":{"changes":[]}`}},
		"with gzip":          {url: next, token: "ro", header: map[string]string{"Accept-Encoding": "gzip"}, contains: []string{`"reset":false`}, want: map[string]string{"Content-Encoding": "gzip"}},
		"filter":             {url: changesOf(wall), token: "ro", contains: []string{`"reset":true`, `"total_results":6`}},
		"numeric filter":     {url: changesOf(fmt.Sprint("filter=", filterID("summer-wall"))), token: "ro"},
		"filter of a token":  {url: changesOf(wall), token: "walled"},
		"a warning":          {url: changesOf("q=nowhere:x"), token: "ro", want: map[string]string{"Warning": "~nowhere"}},
		"blank parameters":   {url: changesOf(wall, "q=", "since=%20", "wait=", "page_size="), token: "ro"},
		"with slash":         {url: "/v2/content/changes/?" + wall, token: "ro"},
		"head":               {method: "HEAD", url: changesOf(wall), token: "ro"},
		"nothing":            {url: changesOf("wait=0"), token: "ro", status: 400, contains: []string{"problems/missing-parameter", `"parameter":"filter"`}},
		"both":               {url: changesOf(wall, "q=a"), token: "rw", status: 400, contains: []string{"problems/invalid-parameter", `"parameter":"q"`}},
		"q broken":           {url: changesOf("q=("), token: "ro", status: 400, contains: []string{"problems/syntax-error", `"parameter":"q"`}},
		"wait too long":      {url: changesOf(wall, "wait=61"), token: "ro", status: 400, contains: []string{`"parameter":"wait"`, "from 0 to 60"}},
		"wait no number":     {url: changesOf(wall, "wait=30s"), token: "ro", status: 400, contains: []string{`"parameter":"wait"`}},
		"page_size 501":      {url: changesOf(wall, "page_size=501"), token: "ro", status: 400, contains: []string{`"parameter":"page_size"`}},
		"damaged cursor":     {url: next + "x", token: "ro", status: 400, contains: []string{"problems/cursor-unusable", `"parameter":"since"`, "begin again without"}},
		"another query":      {url: changesOf("q=approval_status:rej", "since="+since), token: "ro", status: 400, contains: []string{"problems/cursor-unusable"}},
		"another property":   {url: next, token: "other-ro", status: 400, contains: []string{"problems/cursor-unusable"}},
		"another audience":   {url: next, token: "rw", contains: []string{`"reset":true`}},
		"private query":      {url: changesOf("q=submission.age:*"), token: "ro", status: 403, contains: []string{"problems/field-private", `"parameter":"q"`}},
		"private query, rw":  {url: changesOf("q=submission.age:*"), token: "rw", contains: []string{`"total_results":10`}},
		"closed filter":      {url: changesOf(following("private")), token: "ro", status: 403, contains: []string{"problems/class-refused"}},
		"closed filter, rw":  {url: changesOf(following("private")), token: "rw"},
		"secret filter":      {url: changesOf(following("secret-order")), token: "ro", lacks: []string{"submission"}},
		"unknown filter":     {url: changesOf("filter=17"), token: "rw", status: 404},
		"foreign filter":     {url: changesOf(wall), token: "other-rw", status: 404},
		"restricted, query":  {url: changesOf("q=*:*"), token: "walled", status: 403, contains: []string{"problems/class-refused"}},
		"restricted, other":  {url: changesOf(following("hero-first")), token: "walled", status: 403, contains: []string{"problems/class-refused"}},
		"restricted, closed": {url: changesOf(following("private")), token: "walled", status: 403},
		"maintenance":        {url: changesOf("q=*:*"), token: "closed-ro", status: 503, contains: []string{"problems/maintenance"}},
		"another method":     {method: "POST", url: changesOf(wall), token: "rw", status: 405},
	})
}

// TestChanges checks what each kind of change tells.
func TestChanges(t *testing.T) {
	a := newApp(t)
	wall := changesOf(following("summer-wall"))
	next := a.tells(a.tells(wall, "ro", "reset"), "ro", "")
	rw := a.tells(changesOf("q=approval_status:app"), "rw", "reset")
	a.patch(1003, `{"featured":true}`) // not in the filter
	next = a.tells(next, "ro", "-1003")
	a.patch(1001, `{"approval_status":"rej"}`)
	a.patch(1001, `{"featured":false}`)
	a.patch(1006, `{"campaign":99}`)
	next = a.tells(next, "ro", "-1001 +1006")
	a.do(call{method: "POST", url: "/v1/tags/", token: "rw", body: `{"ugc_ids":[1002],"namespace":"marketer_tags","key":"summer"}`, status: 201})
	a.do(call{method: "DELETE", url: "/v2/content/1006", token: "rw", status: 204})
	next = a.tells(next, "ro", "+1002 -1006")
	a.patch(1002, `{"campaign":12}`) // as before
	next = a.tells(next, "ro", "")
	rw = a.tells(rw+"&page_size=2", "rw", "-1001 -1003 more")

	// Only callers who may read private members see their changes.
	rw = a.tells(strings.Replace(rw, "page_size=2", "page_size=100", 1), "rw", "+1002 -1006")
	a.patch(1002, `{"submission":{"email":"new@mail.example"}}`)
	rw = a.tells(rw, "rw", "+1002")
	a.tells(rw, "rw", "")
	next = a.tells(next, "ro", "")

	a.apply(library.Definition{Property: shop, Owner: owner(library.KindTag, "videos"), Created: began, Tag: &library.TagRule{
		Tag: item.Tag{Namespace: "kinds", Key: "video"}, Selector: "content_type:image",
	}})
	next = a.tells(a.tells(next, "ro", "reset"), "ro", "")
	f := manifestFilter("summer-wall", "approval_status:pen", "created_on:desc", true)
	a.apply(f)
	next = a.tells(a.tells(next, "ro", "reset"), "ro", "")
	a.apply(property(shop, "default", library.Property{PlatformPageID: 4711, ReadOnlyQuery: approved}))
	next = a.tells(next, "ro", "reset")
	a.patch(1010, `{"approval_status":"pen"}`) // in the filter, but outside the scope
	a.tells(next, "ro", "")
	f.Filter.Public = false
	a.apply(f)
	a.do(call{url: next, token: "ro", status: 403, contains: []string{"problems/class-refused"}})
}

// TestChangesOfAScope checks that a caller with a scope learns only of items in the scope, and of their number.
func TestChangesOfAScope(t *testing.T) {
	a := newScopedApp(t)
	for _, as := range []string{"published", "editor"} {
		next := a.tells(changesOf("q=campaign:12"), as, "reset")
		a.patch(1003, `{"featured":true}`)
		a.patch(1004, `{"campaign":13}`)
		next = a.tells(next, as, "")
		a.patch(1001, `{"approval_status":"rej"}`)
		got := a.do(call{url: next, token: as, contains: []string{`"total_results":15,`}})
		if told := toldBy(t, got); told != "" {
			t.Errorf("an item that has left: %q", told)
		}
		a.patch(1001, `{"approval_status":"app"}`)
		a.tells(got.link(t, "next"), as, "+1001")
	}
}

// waiter is a request in progress that waits for changes.
type waiter struct {
	a     *app
	ended chan answer
}

// wait begins a request that waits for changes.
func (a *app) wait(url, as string) waiter {
	w := waiter{a, make(chan answer, 1)}
	go func() { w.ended <- a.send(call{url: url + "&wait=60", token: as}) }()
	return w
}

// tells checks the response to the request.
func (w waiter) tells(want string) string {
	w.a.t.Helper()
	got := <-w.ended
	if got.status != 200 {
		w.a.t.Fatalf("status %d: %s", got.status, got.body)
	}
	if told := toldBy(w.a.t, got); told != want {
		w.a.t.Fatalf("the response tells %q, want %q", told, want)
	}
	return got.link(w.a.t, "next")
}

// fails checks the status of the response.
func (w waiter) fails(status int, part string) {
	w.a.t.Helper()
	if got := <-w.ended; got.status != status || !strings.Contains(string(got.body), part) {
		w.a.t.Errorf("status %d, want %d with %s: %s", got.status, status, part, got.body)
	}
}

// TestWaitForChanges checks what ends the wait for a change, and with which response. The requests wait for a minute, so the test takes long
// if something does not end them.
func TestWaitForChanges(t *testing.T) {
	a := newScopedApp(t)
	wall := changesOf(following("summer-wall"))
	next := a.tells(wall, "ro", "reset")
	w := a.wait(next, "ro")
	a.patch(1001, `{"featured":false}`)
	next = w.tells("+1001")

	// Changes that a caller may not see do not end its wait.
	private := a.wait(next, "ro")
	scoped := a.wait(a.tells(changesOf("q=*:*"), "published", "reset"), "published")
	a.patch(1002, `{"submission":{"email":"new@mail.example"}}`)
	a.patch(1003, `{"submission":{"email":"new@mail.example"}}`)
	a.patch(1003, `{"campaign":77}`)
	if next = private.tells("-1003"); len(scoped.ended) > 0 {
		t.Error("a change outside the scope has ended a wait")
	}
	a.patch(1002, `{"featured":true}`)
	scoped.tells("+1002")

	w = a.wait(a.tells(wall, "walled", "reset"), "walled")
	a.apply(tokenDefinition(shop, "walled", library.Token{Filters: []string{filterUUID("hero-first")}}))
	w.fails(403, "problems/class-refused")
	w = a.wait(a.tells(changesOf("q=*:*"), "editor", "reset"), "editor")
	a.apply(tokenDefinition(shop, "editor", library.Token{ReadWrite: true, Query: "approval_status:pen"}))
	w.tells("reset")
	w = a.wait(a.tells(changesOf("q=submission.age:*"), "rw", "reset"), "rw")
	a.apply(tokenDefinition(shop, "rw", library.Token{ReadWrite: true, Allow: []library.Action{library.Moderate}}))
	w.fails(403, "problems/field-private")
	w = a.wait(a.tells(wall, "published", "reset"), "published")
	if _, err := a.lib.Remove(t.Context(), []library.Owner{owner(library.KindToken, "published")}); err != nil {
		t.Fatal(err)
	}
	w.fails(403, "problems/token-refused")
	w = a.wait(a.tells(changesOf("q=*:*"), "expiring-old", "reset"), "expiring-old")
	a.clock.Advance(2 * time.Hour)
	w.fails(403, "problems/token-refused")
	w = a.wait(a.tells(next, "ro", "-1002"), "ro")
	a.apply(manifestFilter("summer-wall", "approval_status:app", "created_on:desc", true))
	next = w.tells("reset")
	w = a.wait(next, "ro")
	a.apply(property(shop, "default", library.Property{PlatformPageID: 4711, Maintenance: &library.Maintenance{Message: "Back soon"}}))
	w.fails(503, "problems/maintenance")
}

// TestDrainEndsWaits checks that waiting requests end with a normal response when the server begins to stop.
func TestDrainEndsWaits(t *testing.T) {
	a := newApp(t)
	next := a.tells(changesOf("q=*:*"), "ro", "reset")
	w := a.wait(next, "ro")
	a.server.Drain()
	next = w.tells("")
	a.do(call{url: next + "&wait=60", token: "ro", want: map[string]string{"Connection": "close"}})
	a.patch(1001, `{"featured":false}`)
	a.tells(next, "ro", "+1001")
}

// waits is a library that announces each call that waits for changes.
type waits struct {
	library.Library
	begun chan struct{}
}

func (w waits) Changes(ctx context.Context, r library.ChangesRead) (*library.ItemChanges, error) {
	if r.Wait > 0 {
		select {
		case w.begun <- struct{}{}:
		default:
		}
	}
	return w.Library.Changes(ctx, r)
}

func TestWaitLimit(t *testing.T) {
	begun := make(chan struct{})
	a := newAppOver(t, func(l library.Library) library.Library { return waits{l, begun} }, func(o *httpapi.Options) { o.WaitsPerToken = 2 })
	var waiting []waiter
	for _, query := range []string{"q=*:*", "q=campaign:12"} {
		waiting = append(waiting, a.wait(a.tells(changesOf(query), "ro", "reset"), "ro"))
		<-begun
	}
	next := a.tells(changesOf("q=*:*"), "ro", "reset")
	a.do(call{url: next + "&wait=60", token: "ro", status: 429, contains: []string{"problems/too-many-queries"}, want: map[string]string{"Retry-After": "1"}})
	a.tells(next, "ro", "")
	a.tells(changesOf("q=*:*", "wait=60"), "rw", "reset")
	a.patch(1001, `{"featured":false}`)
	for _, w := range waiting {
		w.tells("+1001")
	}
	a.tells(next+"&wait=60", "ro", "+1001")
}

// TestWaitOutlastsTimeouts checks that the timeouts of the server do not end a wait.
func TestWaitOutlastsTimeouts(t *testing.T) {
	a := newApp(t)
	s := httptest.NewUnstartedServer(a.server)
	s.Config.ReadTimeout, s.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	s.Start()
	t.Cleanup(s.Close)
	next := a.tells(changesOf("q=*:*"), "ro", "reset")
	resp, err := s.Client().Get(s.URL + next + "&wait=2&access_token=" + token("ro"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"reset":false`) {
		t.Errorf("%s: %s, %v", resp.Status, body, err)
	}
}

// TestChangesCountAsAdHocQuery checks that a request with q has a time budget while it searches, and that a filter has none.
func TestChangesCountAsAdHocQuery(t *testing.T) {
	a, h := newHookedApp(t, func(o *httpapi.Options) { o.QueryBudget = time.Millisecond })
	h.read = func(ctx context.Context, _ library.Read) (*library.Page, error) {
		if _, budgeted := ctx.Deadline(); !budgeted {
			return nil, nil
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	a.do(call{url: changesOf("q=*:*"), token: "ro", status: 400, contains: []string{"problems/query-too-expensive", `"parameter":"q"`}})
	a.do(call{url: changesOf(following("summer-wall")), token: "ro"})
}

// copied is the copy of a listing that a follower has.
type copied struct {
	start, list, token string
	next               string
	items              map[string]string
}

// catchUp applies all changes to the copy.
func (c *copied) catchUp(a *app) {
	a.t.Helper()
	if c.next == "" {
		c.next = c.start
	}
	for {
		got := a.do(call{url: c.next, token: c.token})
		c.next = got.link(a.t, "next")
		var page struct {
			Reset, More bool
			Embedded    struct {
				Changes []struct {
					ID     item.ID
					Change string
					Item   json.RawMessage
				}
			} `json:"_embedded"`
		}
		if err := json.Unmarshal(got.body, &page); err != nil {
			a.t.Fatal(err)
		}
		if page.Reset {
			c.items = c.listed(a)
			continue
		}
		for _, change := range page.Embedded.Changes {
			id := fmt.Sprint(change.ID)
			if delete(c.items, id); change.Change == "upsert" {
				c.items[id] = string(change.Item)
			}
		}
		if !page.More {
			return
		}
	}
}

// listed returns the items of the listing.
func (c *copied) listed(a *app) map[string]string {
	a.t.Helper()
	got := a.do(call{url: c.list + "page_size=500", token: c.token})
	var page struct {
		Embedded struct {
			Items []json.RawMessage `json:"ugc:item"`
		} `json:"_embedded"`
	}
	if err := json.Unmarshal(got.body, &page); err != nil {
		a.t.Fatal(err)
	}
	items := map[string]string{}
	for _, raw := range page.Embedded.Items {
		var it struct{ ID item.ID }
		if err := json.Unmarshal(raw, &it); err != nil {
			a.t.Fatal(err)
		}
		items[fmt.Sprint(it.ID)] = string(raw)
	}
	return items
}

// TestFollowersHaveTheListing changes items, filters and rules at random. Followers must always have the items that a list shows.
func TestFollowersHaveTheListing(t *testing.T) {
	libraries := map[string]func(testing.TB) *app{"library": func(t testing.TB) *app { return newApp(t) }}
	if os.Getenv("VITRINE_TEST_LIBRARY") == "" {
		libraries["reference"] = newReferenceApp
	}
	for name, open := range libraries {
		t.Run(name, func(t *testing.T) {
			a, random := open(t), rand.New(rand.NewPCG(5, 6))
			followers := []*copied{
				{start: changesOf(following("summer-wall"), "page_size=3"), list: "/v2/content/filters/" + filterUUID("summer-wall") + "?", token: "ro"},
				{start: changesOf(following("hero-first")), list: "/v2/content/filters/" + filterUUID("hero-first") + "?", token: "rw"},
				{start: changesOf("q=approval_status:rej", "page_size=1"), list: q("approval_status:rej") + "&", token: "ro"},
				{start: changesOf("q=tags.kinds.key:video"), list: q("tags.kinds.key:video") + "&", token: "rw"},
			}
			id := func() item.ID { return 1001 + random.Int64N(60) }
			steps := []func(){
				func() {
					a.patch(1001+2*random.Int64N(10), fmt.Sprintf(`{"approval_status":%q}`, []string{"app", "rej", "pen"}[random.IntN(3)]))
				},
				func() {
					a.send(call{method: "PATCH", url: fmt.Sprint("/v2/content/", id()), token: "rw", body: `{"submission":{"size":"42"}}`})
				},
				func() {
					a.send(call{method: "DELETE", url: fmt.Sprint("/v2/content/", 1031+random.IntN(30)), token: "rw"})
				},
				func() {
					a.send(call{method: "POST", url: "/v1/tags/", token: "rw", body: fmt.Sprintf(`{"ugc_ids":[%d,%d],"namespace":"marketer_tags","key":"summer"}`, id(), id())})
				},
				func() {
					a.do(call{method: "POST", url: "/v2/content/", token: "rw", status: 201, body: `{"content_type":"text","caption":"x","approval_status":"app","tags":{"marketer_tags":["summer"]}}`})
				},
				func() {
					a.apply(manifestFilter("hero-first", fmt.Sprint("campaign:", 12+random.IntN(2)), "created_on:desc", true))
				},
				func() {
					a.apply(library.Definition{Property: shop, Owner: owner(library.KindTag, "videos"), Created: began, Tag: &library.TagRule{
						Tag: item.Tag{Namespace: "kinds", Key: "video"}, Selector: []string{"content_type:video", "content_type:text"}[random.IntN(2)],
					}})
				},
			}
			for step := range 60 {
				for range 1 + random.IntN(4) {
					steps[random.IntN(len(steps))]()
				}
				for i, f := range followers {
					if step > 0 && random.IntN(2) == 0 {
						continue
					}
					f.catchUp(a)
					if diff := cmp.Diff(f.listed(a), f.items); diff != "" {
						t.Fatalf("step %d, follower %d (-listed +followed):\n%s", step, i, diff)
					}
				}
			}
		})
	}
}

// newReferenceApp is like newApp, over the reference library.
func newReferenceApp(t testing.TB) *app {
	t.Helper()
	a := &app{t: t, clock: librarytest.NewClock(began), log: &librarytest.Output{}, run: make(chan error, 1)}
	var err error
	if a.lib, err = reference.Open(reference.Options{Dir: t.TempDir(), Clock: a.clock.Now}); err != nil {
		t.Fatal(err)
	}
	a.apply(definitions()...)
	a.write(shop, sampleLines()...)
	if a.server, err = httpapi.New(a.lib, httpapi.Options{Clock: a.clock.Now, Logger: slog.New(slog.NewTextHandler(a.log, nil)), ExternalURL: "https://content.example/base"}); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, a.cancel = context.WithCancel(context.Background())
	go func() { a.run <- a.server.Run(ctx) }()
	a.eventually("all tokens are known", a.server.Ready)
	t.Cleanup(a.close)
	return a
}
