package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// pending imports pending items with the given IDs, as another user does.
func (s *server) pending(t *testing.T, ids ...int) {
	t.Helper()
	for _, id := range ids {
		s.bulk(t, fmt.Sprintf(`{"id":%d,"approval_status":"pen","created_on":%q,"content":{"content_type":"text","text":"A new item","social_platform":"direct","author":{"username":"new"}}}`+"\n",
			id, time.Date(2026, 2, 1, 0, 0, id-firstID, 0, time.UTC).Format(time.RFC3339)))
	}
}

// follows waits until the page waits for changes.
func (tab *tab) follows() {
	tab.t.Helper()
	waitFor(tab.t, "the page follows its list", func() bool { return tab.waits.Load() > 0 })
}

// news waits until the page says what is new in its list.
func (tab *tab) news(text string) {
	tab.t.Helper()
	tab.wait(fmt.Sprintf(`document.querySelector('.news').innerText.trim() === %q`, text))
}

// setHidden makes the page believe that it is hidden or visible.
func (tab *tab) setHidden(hidden bool) {
	tab.t.Helper()
	eval[any](tab, fmt.Sprintf(`Object.defineProperty(document, 'hidden', { value: %t, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`, hidden))
}

// TestNewItems checks that the wall says how many items are new, shows them when the user asks for them, and shows what others have changed in
// place: the items and the focus stay where they are.
func TestNewItems(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t)
	s.queue(t, 40)
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open("wall?q=approval_status:pen&sort_by=created_on:desc")
	tab.wait(`document.querySelectorAll('.tile').length > 8`)
	tab.follows()
	tab.keys("i" + kb.ArrowRight)
	const place = `JSON.stringify([document.activeElement.closest('.tile')?.dataset.index, document.activeElement.getBoundingClientRect(), document.querySelector('.grid').getBoundingClientRect()])`
	before := eval[string](tab, place)
	s.pending(t, firstID+100, firstID+101)
	tab.news("2 new items")
	if got := eval[string](tab, `document.querySelector('.news').getAttribute('role')`); got != "status" {
		t.Errorf("the role of the number is %q", got)
	}
	s.patch(t, 39, `{"approval_status":"rej"}`)
	s.patch(t, 38, `{"approval_status":"app"}`) // the item with the focus
	tab.wait(`document.querySelector(".tile.gone[data-index='0'] .badge.rej") && document.querySelector(".tile.gone[data-index='1']:not(:has(.badge))")`)
	s.patch(t, 38, `{"approval_status":"pen"}`)
	tab.wait(`document.querySelector(".tile[data-index='1']:not(.gone) .badge.pen")`)
	s.patch(t, 0, `{"featured":true}`) // an item that the page has not loaded
	s.pending(t, firstID+102)
	tab.news("3 new items")
	if after := eval[string](tab, place); after != before {
		t.Errorf("the focus or the grid moved from %s to %s", before, after)
	}
	tab.check(axeScript(t))
	eval[any](tab, `document.querySelector('.news button').focus()`)
	tab.keys(kb.Enter)
	tab.news("")
	tab.waitText(".querybar .result", "42 items")
	tab.wait(`document.activeElement.closest('.tile')?.dataset.index === '0'`)
	if got := eval[string](tab, `document.activeElement.href`); got != fmt.Sprintf("%s/console/wall?q=approval_status%%3Apen&sort_by=created_on%%3Adesc&item=%d", s.url, firstID+102) {
		t.Errorf("the first item is %s", got)
	}
}

// TestOwnDecisions checks that the page counts no decision of its user as new.
func TestOwnDecisions(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t)
	s.queue(t, 120)
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	for _, page := range []string{"moderation", "moderation?q=author.username:author_1"} {
		tab.open(page)
		tab.wait(`document.querySelector('[role=option]')`)
		tab.keys("aarzz")
		tab.saved()
		s.pending(t, firstID+200+len(page))
	}
	tab.open("moderation")
	tab.wait(`document.querySelector('[role=option]')`)
	tab.waits.Store(0)
	tab.follows()
	tab.keys("aarzarz")
	tab.saved()
	s.pending(t, firstID+300)
	tab.news("1 new item")
	tab.keys("zz")
	tab.saved()
	s.pending(t, firstID+301)
	tab.news("2 new items")
	tab.waitText(".progress", "1 decided")
	tab.click(".news button")
	tab.news("")
	tab.waitText(".querybar .result", fmt.Sprintf("%d items", s.total(t, "approval_status:pen")))
}

// TestHiddenTab checks that a hidden page does not wait for changes, and later shows what it has missed.
func TestHiddenTab(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t)
	s.queue(t, 3)
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open("moderation")
	tab.wait(`document.querySelectorAll('[role=option]').length === 3`)
	tab.follows()
	// Count the pauses between two requests.
	eval[any](tab, `{ const set = setTimeout; window.pauses = 0; window.setTimeout = (run, ms) => set(() => { if (ms === 1000) window.pauses++; run(); }, ms); }`)
	tab.setHidden(true)
	s.patch(t, 1, `{"approval_status":"app"}`) // ends the request in progress
	tab.wait(`document.querySelector("[role=option][data-index='1']").matches('.app') && window.pauses === 1`)
	tab.frames()
	requests := tab.waits.Load()
	s.patch(t, 2, `{"approval_status":"rej"}`)
	if eval[bool](tab, `document.querySelector("[role=option][data-index='2']").matches('.rej')`) || tab.waits.Load() != requests {
		t.Error("the hidden page follows its list")
	}
	tab.setHidden(false)
	tab.wait(`document.querySelector("[role=option][data-index='2']").matches('.rej')`)
	tab.open("status")
	tab.waitText("h1", "Status")
	requests = tab.waits.Load()
	s.patch(t, 0, `{"approval_status":"rej"}`)
	tab.frames()
	if tab.waits.Load() != requests {
		t.Error("the page follows a list that it does not show")
	}
}

// TestChangedFilter checks what the wall does if a filter changes: it shows the new list if nothing moves under the user, and otherwise says
// that the list has changed.
func TestChangedFilter(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t)
	s.queue(t, 9)
	res := s.send(t, http.MethodPost, "/v2/content/filters", `{"q":"author.username:author_1","name":"Changing","sort_by":"created_on:asc"}`)
	defer res.Body.Close()
	var filter struct {
		ID   int64
		UUID string `json:"filter_uuid"`
	}
	if err := json.NewDecoder(res.Body).Decode(&filter); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("POST: %s %v", res.Status, err)
	}
	change := func(q string) {
		t.Helper()
		res := s.send(t, http.MethodPut, fmt.Sprintf("/v2/content/filters?filter_id=%d", filter.ID), fmt.Sprintf(`{"q":%q,"name":"Changing","sort_by":"created_on:asc"}`, q))
		res.Body.Close()
		if res.StatusCode != http.StatusNoContent {
			t.Fatalf("PUT: %s", res.Status)
		}
	}
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open("wall?filter=" + filter.UUID)
	tab.wait(`document.querySelector('.tile')`)
	tab.follows()
	change("author.username:(author_1,author_2)")
	tab.waitText(".querybar .result", "3 items")
	tab.wait(`document.querySelectorAll('.tile').length === 3`)
	tab.keys("s") // the user selects items
	tab.wait(`document.querySelector('.tile .choose')`)
	change("author.username:author_3")
	tab.news("The list has changed")
	if got := eval[int](tab, `document.querySelectorAll('.tile').length`); got != 3 {
		t.Errorf("the wall shows %d items before the user asks for the new list, want 3", got)
	}
	tab.click(".news button")
	tab.wait(`document.querySelectorAll('.tile').length === 1`)
	tab.news("")
	// Narrowed by a query, the filter tells changes of items that the list does not contain.
	tab.open("wall?q=approval_status:pen&filter=" + filter.UUID)
	tab.wait(`document.querySelector('.tile')`)
	tab.waits.Store(0)
	tab.follows()
	s.bulk(t, fmt.Sprintf(`{"id":%d,"approval_status":"app","content":{"content_type":"text","text":"x","author":{"username":"author_3"}}}`+"\n", firstID+50))
	s.bulk(t, fmt.Sprintf(`{"id":%d,"approval_status":"pen","content":{"content_type":"text","text":"x","author":{"username":"author_3"}}}`+"\n", firstID+51))
	tab.news("1 new item")
	s.patch(t, 3, `{"approval_status":"rej"}`)
	tab.wait(`document.querySelector(".tile.gone[data-index='0'] .badge.rej")`)
}
