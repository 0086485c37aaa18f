package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// firstID is the ID of the first item of a queue.
const firstID = 500_001

// queue imports pending items with the IDs firstID, firstID + 1 and so on, in the order of the queue.
func (s *server) queue(t *testing.T, items int) {
	t.Helper()
	var lines strings.Builder
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range items {
		fmt.Fprintf(&lines, `{"id":%d,"approval_status":"pen","created_on":%q,"content":{"content_type":"text","text":"Item %d of a queue","social_platform":"direct","author":{"username":"author_%d"}}}`+"\n",
			firstID+i, start.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), i, i%7)
	}
	s.bulk(t, lines.String())
}

// item returns an item as the API sends it.
func (s *server) item(t *testing.T, id int) map[string]any {
	t.Helper()
	var item map[string]any
	s.get(t, fmt.Sprintf("/v2/content/%d", id), &item)
	return item
}

// status returns the approval status of an item of the queue.
func (s *server) status(t *testing.T, index int) string {
	t.Helper()
	return fmt.Sprint(s.item(t, firstID+index)["approval_status"])
}

// patch changes an item of the queue, as another user does.
func (s *server) patch(t *testing.T, index int, body string) {
	t.Helper()
	res := s.send(t, http.MethodPatch, fmt.Sprintf("/v2/content/%d", firstID+index), body)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("PATCH: %s", res.Status)
	}
}

// atLatencies runs a test on an own queue for each latency of the network.
func atLatencies(t *testing.T, items int, test func(t *testing.T, tab *tab, s *server, r *relay)) {
	browserPath(t)
	b := startBrowser(t, nil)
	for _, latency := range []time.Duration{0, 250 * time.Millisecond, 800 * time.Millisecond} {
		t.Run(latency.String(), func(t *testing.T) {
			s := startServer(t)
			s.queue(t, items)
			r := &relay{latency: func() time.Duration { return latency }, log: &writeLog{}}
			slow := startRelay(t, s, r)
			tab := (&chromium{b.ctx, slow}).logIn(t).tab(t, 1280, 800, "light")
			tab.open("moderation")
			tab.wait(`document.querySelector('[role=option]')`)
			test(t, tab, s, r)
		})
	}
}

// deafen opens the queue again, without the changes of other users.
func (tab *tab) deafen(r *relay) {
	tab.t.Helper()
	r.deaf.Store(true)
	tab.open("moderation")
	tab.wait(`document.querySelector('[role=option]')`)
}

// saved waits until the server has saved all decisions, or has refused them.
func (tab *tab) saved() {
	tab.t.Helper()
	tab.wait(`!document.querySelector('.saving').innerText.includes('Saving')`)
}

// press presses a key with modifiers. If repeats is not 0, the key is held, so that the keyboard repeats it so many times.
func (tab *tab) press(key rune, modifiers kb.Modifier, repeats int) {
	tab.t.Helper()
	events := kb.Encode(key)
	down, up := events[0], events[len(events)-1]
	if len(events) == 3 {
		down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
	}
	down.Modifiers, up.Modifiers = int64(modifiers), int64(modifiers)
	held := true
	for range repeats + 1 {
		if _, err := chromedp.Call(tab.ctx, input.DispatchKeyEvent, *down); err != nil {
			tab.fail(err)
		}
		down.AutoRepeat = &held
	}
	if _, err := chromedp.Call(tab.ctx, input.DispatchKeyEvent, *up); err != nil {
		tab.fail(err)
	}
}

// withShift presses keys while Shift is pressed.
func (tab *tab) withShift(keys string) {
	tab.t.Helper()
	shift := input.DispatchKeyEventParams{Type: kb.KeyDown, Key: "Shift", Code: "ShiftLeft", WindowsVirtualKeyCode: 16, Modifiers: int64(kb.ModifierShift)}
	if _, err := chromedp.Call(tab.ctx, input.DispatchKeyEvent, shift); err != nil {
		tab.fail(err)
	}
	for _, key := range keys {
		tab.press(key, kb.ModifierShift, 0)
	}
	shift.Type, shift.Modifiers = kb.KeyUp, 0
	if _, err := chromedp.Call(tab.ctx, input.DispatchKeyEvent, shift); err != nil {
		tab.fail(err)
	}
}

// selection returns the indexes of the selected items.
func (tab *tab) selection() []int {
	tab.t.Helper()
	return eval[[]int](tab, `[...document.querySelectorAll('[role=option][aria-selected=true]')].map((e) => Number(e.dataset.index)).sort((a, b) => a - b)`)
}

// current returns the index of the current item.
func (tab *tab) current() int {
	tab.t.Helper()
	return eval[int](tab, `Number(document.querySelector('[role=option][tabindex="0"]').dataset.index)`)
}

// TestOtherModerator checks that the queue shows what another user has decided, and skips it.
func TestOtherModerator(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t)
	s.queue(t, 8)
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open("moderation")
	tab.wait(`document.querySelectorAll('[role=option]').length === 8`)
	tab.follows()
	tab.keys("a")
	tab.saved()
	s.patch(t, 2, `{"approval_status":"rej"}`)
	s.patch(t, 3, `{"approval_status":"app"}`)
	s.patch(t, 4, `{"featured":true}`)
	tab.waitText(".progress", "3 decided · 5 left")
	tab.wait(`document.querySelector("[role=option][data-index='2'] .badge.rej")`)
	tab.keys("a") // decides on the item at index 1, and skips the two items after it
	if at := tab.current(); at != 4 {
		t.Errorf("after a decision, the current item has index %d, want 4", at)
	}
	tab.saved()
	tab.keys("z")
	tab.saved()
	if got := s.status(t, 2); got != "rej" {
		t.Errorf("the decision of the other user became %s", got)
	}
}

// TestRequiredReason checks that the console asks for a reason for each rejection if the property requires one, on all pages, that an undo
// needs none, and that the history shows the reasons.
func TestRequiredReason(t *testing.T) {
	t.Parallel()
	browserPath(t)
	dir := t.TempDir()
	property := "apiVersion: vitrine.dev/v1alpha1\nkind: Property\nmetadata: {name: strict, namespace: shop}\nspec: {displayName: Strict, moderation: {rejectionReason: Required}}\n" +
		"---\napiVersion: vitrine.dev/v1alpha1\nkind: AccessToken\nmetadata: {name: editor, namespace: shop}\nspec: {class: ReadWrite, propertyRef: {name: strict}}\n"
	if err := os.WriteFile(filepath.Join(dir, "strict.yaml"), []byte(property), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, dir)
	s.token = s.tokens["editor"]
	s.queue(t, 6)
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	const ready = `import(document.querySelector('script[type=module]').src.replace('main.js', 'rejected.js')).then((m) => m.propertyStatus()).then(() => true)`
	reasons := func(index int) []string {
		var history struct{ Entries []struct{ Reason string } }
		s.get(t, fmt.Sprintf("/v2/content/items/%d/history", firstID+index), &history)
		all := []string{}
		for _, e := range history.Entries {
			all = append(all, e.Reason)
		}
		return all
	}
	expect := func(index int, want ...string) {
		t.Helper()
		if got := reasons(index); !slices.Equal(got, append(want, "")) { // the last entry is the import
			t.Errorf("the reasons of the item at index %d are %q, want %q", index, got, want)
		}
	}

	tab.open("moderation")
	tab.wait(`document.querySelector('[role=option]')`)
	eval[bool](tab, ready)
	tab.keys("r")
	tab.waitText("dialog", "Reject 1 item")
	tab.check(axeScript(t))
	tab.keys("  " + kb.Enter) // a blank reason
	tab.wait(`document.querySelector('dialog input:invalid')`)
	tab.keys("Logo & <name>" + kb.Enter)
	tab.waitText(".toast", "Rejected: 1 item")
	tab.saved()
	expect(0, "Logo & <name>")
	tab.keys("r")
	tab.waitText("dialog", "Reject 1 item")
	tab.wait(`document.querySelector('dialog option').value === 'Logo & <name>'`)
	tab.keys(kb.Escape)
	tab.wait(`!document.querySelector('dialog')`)
	if got := s.status(t, 1); got != "pen" {
		t.Errorf("after Escape, the item is %s", got)
	}
	tab.keys("k" + "a") // approves the rejected item
	tab.waitText("dialog", "Approve 1 item?")
	tab.keys(kb.Enter)
	tab.waitText(".toast:last-of-type", "Approved: 1 item")
	tab.saved()
	tab.keys("z") // rejects it again
	tab.saved()
	expect(0, "Undone: approved", "", "Logo & <name>")

	tab.open("wall?q=" + url.QueryEscape(fmt.Sprintf("id:%d", firstID+3)))
	tab.click(".tile a")
	tab.wait(`document.querySelector('dialog[open] .itemactions')`)
	eval[bool](tab, ready)
	tab.click(tab.buttonIn("dialog .itemactions", "Reject"))
	tab.waitText("dialog:last-of-type", "Reject 1 item")
	tab.keys("Blurred" + kb.Enter)
	waitFor(t, "the rejection of the item", func() bool { return s.status(t, 3) == "rej" })
	tab.click("#tab-history")
	tab.waitText(".history .reason", "Blurred")
	expect(3, "Blurred")
}

// TestOptionalReason checks that a moderator can give a reason that the property does not require.
func TestOptionalReason(t *testing.T) {
	t.Parallel()
	atLatencies(t, 3, func(t *testing.T, tab *tab, s *server, _ *relay) {
		tab.keys("r")
		tab.waitText(".toast", "Rejected: 1 item")
		tab.withShift("R")
		tab.waitText("dialog", "Reject 1 item")
		tab.keys("Blurred" + kb.Enter)
		tab.saved()
		var history struct{ Entries []struct{ Reason string } }
		s.get(t, fmt.Sprintf("/v2/content/items/%d/history", firstID+1), &history)
		if history.Entries[0].Reason != "Blurred" {
			t.Errorf("the history is %+v", history)
		}
	})
}

// TestRange checks that a range begins at the current item, and that a decision on items that have a decision needs a confirmation.
func TestRange(t *testing.T) {
	t.Parallel()
	atLatencies(t, 20, func(t *testing.T, tab *tab, s *server, _ *relay) {
		tab.keys("aaaaa")
		tab.withShift(kb.ArrowRight)
		if got, want := tab.selection(), []int{5, 6}; !slices.Equal(got, want) {
			t.Fatalf("after 5 decisions, Shift and an arrow key select %v, want %v", got, want)
		}
		tab.keys("r")
		tab.waitText(".toast", "Rejected: 2 items")
		tab.keys("jjj")
		tab.withShift(kb.ArrowRight + kb.ArrowRight)
		if got, want := tab.selection(), []int{10, 11, 12}; !slices.Equal(got, want) {
			t.Errorf("after j, a range selects %v, want %v", got, want)
		}
		tab.keys(kb.Escape + "x")
		tab.withShift(kb.ArrowLeft)
		if got, want := tab.selection(), []int{12, 13}; !slices.Equal(got, want) {
			t.Errorf("after x, a range selects %v, want %v", got, want)
		}
		// Shift and a click select from the current item, too.
		tab.click("[role=option][data-index='9']")
		tab.keys("k")
		eval[any](tab, `document.activeElement.blur(); true`)
		tab.click("[role=option][data-index='6']", func(p *input.DispatchMouseEventParams) { p.Modifiers = int64(kb.ModifierShift) })
		if got, want := tab.selection(), []int{6, 7, 8}; !slices.Equal(got, want) {
			t.Errorf("Shift and a click select %v, want %v", got, want)
		}

		tab.keys("a")
		tab.waitText("dialog", "1 of 3 items already has a decision: 1 rejected.")
		tab.keys(kb.Escape)
		tab.wait(`!document.querySelector('dialog')`)
		tab.saved()
		if got := s.status(t, 6) + s.status(t, 7); got != "rejpen" {
			t.Errorf("after the user has canceled the decision, the states are %s, want rejpen", got)
		}
		tab.keys("a")
		tab.click(tab.button("Only the other 2 items"))
		tab.saved()
		if got := s.status(t, 6) + s.status(t, 7) + s.status(t, 8); got != "rejappapp" {
			t.Errorf("after a decision on the other items, the states are %s, want rejappapp", got)
		}
		tab.press('A', kb.ModifierShift, 0)
		tab.waitText(".toast", "11 selected, without the 9 items that already have a decision")
		tab.keys("r")
		tab.wait(`!document.querySelector('dialog')`)
		tab.saved()
		if got := s.total(t, "approval_status:app"); got != 7 {
			t.Errorf("%d items are approved after all others were rejected, want 7", got)
		}
		// A single item with a decision needs a confirmation, too.
		tab.click("[role=option][data-index='0']")
		tab.keys("r")
		tab.waitText("dialog", "1 of 1 item already has a decision: 1 approved.")
		tab.keys(kb.Enter)
		tab.wait(`!document.querySelector('dialog')`)
		tab.saved()
		if got := s.status(t, 0); got != "rej" {
			t.Errorf("after the confirmation, the item is %s, want rej", got)
		}
	})
}

// TestConflict checks that a decision and its undo change nothing if another user has changed the item in the meantime.
func TestConflict(t *testing.T) {
	t.Parallel()
	atLatencies(t, 6, func(t *testing.T, tab *tab, s *server, r *relay) {
		tab.deafen(r)
		s.patch(t, 0, `{"approval_status":"app"}`)
		tab.keys("r")
		tab.waitText(".toast.bad", fmt.Sprintf("Changed by another user: Item %d is now approved (you saw it pending). Your decision changed nothing.", firstID))
		if got := s.status(t, 0); got != "app" {
			t.Errorf("the item is %s, want app", got)
		}
		if got := tab.selection(); !slices.Equal(got, []int{0}) {
			t.Errorf("the selected items are %v, want the item of the failed decision", got)
		}
		tab.wait(`document.querySelector('[data-index="0"]').matches('.app.failed')`)
		// The user did not select the item, so the next key must not decide on it.
		tab.keys("r")
		tab.waitText("dialog", "The selection contains items that your last decision did not change.")
		tab.keys(kb.Escape)
		tab.wait(`!document.querySelector('dialog')`)
		tab.keys(kb.Escape)
		if got := tab.selection(); len(got) > 0 {
			t.Errorf("after Escape, the items %v are selected", got)
		}

		// Other changes are no conflict.
		s.patch(t, 1, `{"featured":true}`)
		tab.keys("a")
		tab.saved()
		if got := s.status(t, 1); got != "app" {
			t.Errorf("the featured item is %s, want app", got)
		}
		// Undo must not change the decision of another user.
		s.patch(t, 1, `{"approval_status":"rej"}`)
		tab.keys("z")
		tab.waitText(".toast.bad", "is now rejected (you saw it approved). The decision was not undone.")
		if got := s.item(t, firstID+1); got["approval_status"] != "rej" || got["featured"] != true {
			t.Errorf("after undo, the item is %v and featured %v, want rej and true", got["approval_status"], got["featured"])
		}
		tab.keys(kb.Escape)

		// Two users set the same tag. For the second user, there is nothing to undo.
		tab.keys("jt")
		tab.wait(`document.activeElement.id === 'tagname'`)
		tag := s.send(t, http.MethodPost, "/v1/tags/", fmt.Sprintf(`{"ugc_ids":[%d],"namespace":"marketer_tags","key":"theirs"}`, firstID+2))
		tag.Body.Close()
		if tag.StatusCode != http.StatusCreated {
			t.Fatalf("POST /v1/tags/: %s", tag.Status)
		}
		tab.chooseTag("theirs")
		tab.saved()
		if disabled := eval[bool](tab, `document.querySelector('.decisions [aria-keyshortcuts=z]').disabled`); !disabled {
			t.Error("the user can undo a tag that another user has set")
		}

		// Another user changes the item after the console has read it and before the console changes it.
		tab.allowed = append(tab.allowed, "412")
		tab.keys("j")
		var once sync.Once
		r.before = func(in *http.Request) {
			if in.Method == http.MethodPatch {
				once.Do(func() { s.patch(t, 4, `{"approval_status":"rej"}`) })
			}
		}
		tab.keys("a")
		tab.waitText(".toast.bad", fmt.Sprintf("Item %d is now rejected", firstID+4))
		if got := s.status(t, 4); got != "rej" {
			t.Errorf("the item is %s, want rej", got)
		}
		tab.keys(kb.Escape + "j")
		once = sync.Once{}
		r.before = func(in *http.Request) {
			if in.Method == http.MethodPatch {
				once.Do(func() { s.patch(t, 5, `{"featured":true}`) })
			}
		}
		tab.keys("a")
		tab.saved()
		if got := s.item(t, firstID+5); got["approval_status"] != "app" || got["featured"] != true {
			t.Errorf("the item is %v and featured %v, want app and true", got["approval_status"], got["featured"])
		}
	})
}

// TestConflictBeforeUndo checks that an undo that waited for a decision ends with this decision: If another user has changed the item, the
// user cannot undo the earlier decision any more.
func TestConflictBeforeUndo(t *testing.T) {
	t.Parallel()
	atLatencies(t, 3, func(t *testing.T, tab *tab, s *server, r *relay) {
		tab.deafen(r)
		tab.keys("a")
		tab.saved()
		pressed := make(chan struct{})
		var once sync.Once
		r.before = func(*http.Request) {
			once.Do(func() {
				<-pressed
				s.patch(t, 0, `{"approval_status":"rej"}`)
			})
		}
		tab.keys("kp" + kb.Enter)
		tab.wait(`!document.querySelector('dialog')`)
		tab.keys("zz")
		tab.waitText(".toast", fmt.Sprintf("Undone: approved, item %d", firstID))
		close(pressed)
		tab.saved()
		if disabled := eval[bool](tab, `document.querySelector('.decisions [aria-keyshortcuts=z]').disabled`); !disabled {
			t.Error("the user can undo a decision that another user has replaced")
		}
		if got := s.status(t, 0); got != "rej" {
			t.Errorf("the item is %s, want rej", got)
		}
	})
}

// TestNoKeyIsLost checks that every key decides, even while requests are in progress, and that leaving the page loses no decision.
func TestNoKeyIsLost(t *testing.T) {
	t.Parallel()
	atLatencies(t, 30, func(t *testing.T, tab *tab, s *server, r *relay) {
		tab.keys(strings.Repeat("ar", 10))
		if r.latency() > 0 {
			tab.waitText(".saving", "Saving")
		}
		tab.wait(`document.querySelector('.progress').innerText === '21 of 30 · 20 decided · 10 left'`)
		tab.saved()
		if app, rej := s.total(t, "approval_status:app"), s.total(t, "approval_status:rej"); app != 10 || rej != 10 {
			t.Errorf("after 20 keys, %d items are approved and %d rejected, want 10 and 10", app, rej)
		}
		// Several decisions on one item take effect in order.
		tab.keys("a")
		tab.keys("z")
		tab.keys("r")
		tab.keys("k")
		tab.keys("a" + kb.Enter)
		tab.saved()
		if got := s.status(t, 20); got != "app" {
			t.Errorf("the item is %s after its last decision, want app", got)
		}
		// Another page of the console, while requests are in progress.
		tab.keys("aaaa")
		tab.keys("gw")
		tab.wait(`document.querySelector('.wall')`)
		tab.keys("gm")
		tab.wait(`document.querySelector('.moderation [role=option]')`)
		tab.saved()
		if got := s.total(t, "approval_status:app"); got != 15 {
			t.Errorf("%d items are approved after the user has left the page, want 15", got)
		}
		if r.latency() == 0 {
			return
		}
		// The browser asks before it leaves the console while requests are in progress.
		asked := make(chan page.DialogType, 1)
		if err := chromedp.Listen(tab.ctx, func(event any) {
			if e, ok := event.(*page.EventJavascriptDialogOpening); ok {
				asked <- e.Type
			}
		}); err != nil {
			t.Fatal(err)
		}
		tab.keys("a")
		eval[any](tab, `setTimeout(() => location.reload()); true`)
		select {
		case kind := <-asked:
			if kind != page.DialogTypeBeforeunload {
				t.Errorf("the browser asks %s", kind)
			}
		case <-time.After(patience):
			t.Error("the browser does not ask")
		}
		if _, err := chromedp.Call(tab.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: false}); err != nil {
			tab.fail(err)
		}
		tab.saved()
		if got := s.total(t, "approval_status:app"); got != 16 {
			t.Errorf("%d items are approved, want 16", got)
		}
	})
}

// TestLostResponse checks that the console finds out whether the server has saved a decision if the connection breaks before the response.
func TestLostResponse(t *testing.T) {
	t.Parallel()
	atLatencies(t, 3, func(t *testing.T, tab *tab, s *server, r *relay) {
		tab.allowed = append(tab.allowed, "net::ERR")
		var times atomic.Int32
		r.lose = func(in *http.Request) bool { return in.Method == http.MethodPatch && times.Add(1) == 1 }
		tab.keys("a")
		tab.saved()
		if got := tab.selection(); len(got) > 0 || s.status(t, 0) != "app" {
			t.Errorf("the items %v are selected, and the item is %s, want no failure and app", got, s.status(t, 0))
		}
		tab.keys("z")
		tab.saved()
		if got := s.status(t, 0); got != "pen" {
			t.Errorf("after undo, the item is %s, want pen", got)
		}
		r.lose = func(in *http.Request) bool { return true }
		tab.keys("r")
		tab.waitText(".toast.bad", "The server does not respond")
		tab.saved()
		if got := tab.selection(); !slices.Equal(got, []int{0}) || s.status(t, 0) != "pen" {
			t.Errorf("the items %v are selected, and the item is %s, want item 0 and pen", got, s.status(t, 0))
		}
	})
}

// TestHeldKey checks that a key decides once, however long the user holds it.
func TestHeldKey(t *testing.T) {
	t.Parallel()
	atLatencies(t, 30, func(t *testing.T, tab *tab, s *server, _ *relay) {
		for _, key := range "arfz" {
			tab.press(key, 0, 15)
		}
		tab.saved()
		if got := s.status(t, 0) + s.status(t, 1) + s.status(t, 2); got != "apprejpen" {
			t.Errorf("the states are %s, want apprejpen", got)
		}
		if got := s.total(t, "approval_status:pen"); got != 28 {
			t.Errorf("%d items are pending, want 28", got)
		}
		if got := s.total(t, "featured:true"); got != 0 {
			t.Errorf("%d items are featured after one undo, want none", got)
		}
		eval[any](tab, `document.querySelector('.decisions .primary').focus(); true`)
		tab.press([]rune(kb.Enter)[0], 0, 15)
		tab.saved()
		if got := s.total(t, "approval_status:app"); got != 2 {
			t.Errorf("%d items are approved after Enter was held on Approve, want 2", got)
		}
		// Enter opens the confirmation of a decision, but holding it does not confirm.
		tab.keys("kk")
		eval[any](tab, `document.querySelector('.decisions .danger').focus(); true`)
		tab.click("[role=option][data-index='0']")
		eval[any](tab, `document.querySelector('.decisions .danger').focus(); true`)
		tab.press([]rune(kb.Enter)[0], 0, 15)
		tab.waitText("dialog", "already has a decision")
		tab.keys(kb.Escape)
		tab.wait(`!document.querySelector('dialog')`)
		tab.press('j', 0, 4)
		if got := tab.current(); got != 5 {
			t.Errorf("the current item is %d after j was held, want 5", got)
		}
	})
}

// TestProgress checks the numbers of the queue on each of its pages, the end of the queue, and what undo shows.
func TestProgress(t *testing.T) {
	t.Parallel()
	atLatencies(t, 104, func(t *testing.T, tab *tab, s *server, r *relay) {
		shows := func(text string) {
			t.Helper()
			tab.wait(fmt.Sprintf(`document.querySelector('.progress').innerText === %q`, text))
		}
		size := func() {
			t.Helper()
			tab.wait(`[...document.querySelectorAll('[role=option]')].every((e) => e.getAttribute('aria-setsize') === '104' && e.getAttribute('aria-posinset') === String(Number(e.dataset.index) + 1))`)
		}
		shows("1 of 104")
		size()
		tab.press('A', kb.ModifierShift, 0)
		tab.waitText(".selection", "100 selected")
		tab.keys(kb.Escape + "aa")
		tab.saved() // the server does not count the two items in the second page
		eval[any](tab, `document.querySelector('.strips').scrollTop = 1e6; true`)
		tab.wait(`document.querySelector('[data-index="103"]')`) // the second page
		size()
		shows("3 of 104 · 2 decided · 102 left")
		tab.keys("zz")
		tab.saved()
		tab.wait(`document.querySelector('[data-index="0"]').tabIndex === 0`)
		eval[any](tab, `document.querySelector('.strips').scrollTop = 1e6; true`)
		tab.wait(`document.querySelector('[data-index="103"]')`)
		tab.click("[role=option][data-index='103']", func(p *input.DispatchMouseEventParams) { p.Modifiers = int64(kb.ModifierShift) })
		tab.waitText(".selection", "104 selected")
		tab.click("[role=option][data-index='96']")
		tab.keys("aaa")
		shows("100 of 104 · 3 decided · 101 left")
		// A tag and a second decision on an item do not count.
		tab.keys("t")
		tab.wait(`document.activeElement.id === 'tagname'`)
		tab.chooseTag("checked")
		tab.keys("kkr" + kb.Enter)
		tab.wait(`!document.querySelector('dialog')`)
		shows("100 of 104 · 3 decided · 101 left")
		tab.keys("z")
		tab.waitText(".toast", fmt.Sprintf("Undone: rejected, item %d by author_0", firstID+98))
		shows("99 of 104 · 3 decided · 101 left")
		tab.keys("zz")
		tab.waitText(".toast", fmt.Sprintf("Undone: approved, item %d by author_0", firstID+98))
		shows("99 of 104 · 2 decided · 102 left")
		tab.keys("r")
		tab.keys("aaaaa")
		tab.waitText(".toast", "This is the end of the queue, and 96 items before it are left")
		shows("104 of 104 · 8 decided · 96 left")
		size()
		tab.press('A', kb.ModifierShift, 0)
		tab.waitText(".selection", "96 selected")
		tab.saved()
		r.latency = func() time.Duration { return 0 } // 96 decisions would take a minute
		tab.keys("a")
		tab.saved()
		tab.waitText(".over", "All done: 103 approved, 1 rejected")
		shows("97 of 104 · 104 decided · 0 left")
		if app, rej := s.total(t, "approval_status:app"), s.total(t, "approval_status:rej"); app != 103 || rej != 1 {
			t.Errorf("%d items are approved and %d rejected, want 103 and 1", app, rej)
		}
		tab.keys("z")
		tab.waitText(".toast", fmt.Sprintf("Undone: approved, 96 items from item %d on", firstID))
		tab.wait(`!document.querySelector('.over')`)
		shows("1 of 104 · 8 decided · 96 left")
	})
}
