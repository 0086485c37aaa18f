package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// holdAnswers delays the responses to requests whose URL contains part, until the test calls releaseAnswers. The page gets a delayed
// response even if it has aborted the request, as if the response had arrived just before the abort.
func (tab *tab) holdAnswers(part string) {
	tab.t.Helper()
	eval[any](tab, `(() => {
		const send = window.fetch;
		const gate = new Promise((done) => { window.release = done; });
		window.held = 0;
		window.fetch = async (url, options) => {
			if (!String(url).includes('`+part+`')) return send(url, options);
			const response = await send(url, { ...options, signal: undefined });
			const text = await response.text();
			window.held++;
			await gate;
			return new Response(text, { status: response.status, headers: response.headers });
		};
	})(); true`)
}

// releaseAnswers passes the delayed responses to the page.
func (tab *tab) releaseAnswers() {
	tab.t.Helper()
	eval[any](tab, `window.release(); true`)
	tab.frames()
}

// failOnce makes the next request fail for which condition is true. condition is a JavaScript expression that can use url and options.
func (tab *tab) failOnce(condition string) {
	tab.t.Helper()
	eval[any](tab, `(() => {
		const send = window.fetch;
		let fail = true;
		window.fetch = (url, options) => {
			if (!fail || !(`+condition+`)) return send(url, options);
			fail = false;
			return Promise.resolve(new Response('{"title":"Unavailable"}', { status: 503 }));
		};
		return true;
	})()`)
}

// frames waits until the page has drawn some frames. After that, the page has processed every response that it had received before the
// call.
func (tab *tab) frames() {
	tab.t.Helper()
	eval[bool](tab, `(async () => {
		for (let i = 0; i < 5; i++) await new Promise((done) => requestAnimationFrame(done));
		return true;
	})()`)
}

// TestLateAnswer checks that a late response to an older query does not replace the response to a newer query.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	browserPath(t)
	b := startBrowser(t, startServer(t, "--samples")).logIn(t)
	for page, queue := range map[string]string{"wall": "", "moderation": "approval_status:pen AND "} {
		t.Run(page, func(t *testing.T) {
			tab := b.tab(t, 1280, 800, "light")
			tab.open(page)
			tab.wait(`document.querySelector('.tile')`)
			tab.holdAnswers("sunset")
			tab.keys("/sunset" + kb.Enter)
			tab.wait(`window.held > 0`)
			tab.click("[aria-label='Clear the query']")
			tab.keys("beach" + kb.Enter)
			tab.waitTotal(queue + "beach")
			before := eval[string](tab, `document.querySelector('.querybar .result').innerText`)
			tab.releaseAnswers()
			if after := eval[string](tab, `document.querySelector('.querybar .result').innerText`); after != before {
				t.Errorf("the page shows %q after the older answer arrived, want %q", after, before)
			}
		})
	}
}

// TestLateEnd checks that the page shows only one login form if the server rejects several concurrent requests because the session has
// ended.
func TestLateEnd(t *testing.T) {
	t.Parallel()
	browserPath(t)
	r := &relay{latency: func() time.Duration { return 0 }, log: &writeLog{}}
	r.deaf.Store(true) // otherwise, the page can learn of the end before the test presses a key
	b := startBrowser(t, startRelay(t, startServer(t, "--samples"), r)).logIn(t)
	tab := b.tab(t, 1280, 800, "light")
	tab.allowed = append(tab.allowed, "/console/") // the browser logs each rejected request
	tab.open("moderation")
	tab.wait(`document.querySelector('.tile')`)
	eval[int](tab, `fetch('/console/session', { method: 'DELETE', headers: { 'X-Vitrine-Console': '1' } }).then((r) => r.status)`)
	eval[any](tab, `(() => {
		const send = window.fetch;
		window.patches = 0;
		window.fetch = (url, options) => {
			if (options?.method === 'PATCH') window.patches++;
			return send(url, options);
		};
		return true;
	})()`)
	tab.keys("A")
	tab.keys("a")
	tab.wait(`document.activeElement?.id === 'token'`)
	tab.waitText(".toasts", "Your session ended before the server saved")
	tab.frames()
	if logins := eval[int](tab, `document.querySelectorAll('main.login').length`); logins != 1 {
		t.Errorf("the page shows %d logins, want 1", logins)
	}
	if requests := eval[int](tab, `window.patches`); requests > 8 {
		t.Errorf("the page sent %d requests after the end of its session, want only those that were already in progress", requests)
	}
}

// code returns a one-time code for the token of the server.
func (s *server) code(t *testing.T) string {
	t.Helper()
	res := s.send(t, http.MethodPost, "/console/codes", "")
	defer res.Body.Close()
	var answer struct{ Code string }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Code == "" {
		t.Fatalf("POST /console/codes: %s %v", res.Status, err)
	}
	return answer.Code
}

// TestLoginLink checks that a link with a code works only for the login page, and logs in only after the user has confirmed.
func TestLoginLink(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	b := startBrowser(t, s)
	tab := b.tab(t, 1280, 800, "light")
	tab.open("wall#code=" + s.code(t))
	tab.wait(`document.querySelector('#token') && location.hash === ''`)
	tab.open("login#code=" + s.code(t))
	tab.waitText(".login", "with a READ-WRITE token?")
	tab.waitText(".login", "The commands kubectl vitrine console and vitrine dev")
	if hash := eval[string](tab, `location.href`); strings.Contains(hash, "code=") {
		t.Errorf("the code is still in the URL %s", hash)
	}
	if status := eval[int](tab, `fetch('/console/session', { headers: { 'X-Vitrine-Console': '1' } }).then((r) => r.status)`); status != http.StatusNoContent {
		t.Errorf("GET /console/session before the user agreed: status %d, want 204", status)
	}
	tab.wait(`document.activeElement?.innerText === 'Log in'`)
	tab.keys(kb.Enter)
	tab.waitText(".querybar .result", "item")
}

// TestOtherSession checks that a page does not use a session that another tab has begun.
func TestOtherSession(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	b := startBrowser(t, s).logIn(t)
	tab := b.tab(t, 1280, 800, "light")
	tab.allowed = append(tab.allowed, "/console/api/") // the browser logs each rejected request
	tab.open("moderation")
	tab.wait(`document.querySelector('.tile')`)
	pending := s.total(t, "approval_status:pen")
	// Log in again in the same browser.
	status := eval[int](tab, fmt.Sprintf(`fetch('/console/session', { method: 'POST', headers: { 'X-Vitrine-Console': '1', 'Content-Type': 'application/json' }, body: JSON.stringify({ code: %q }) }).then((r) => r.status)`, s.code(t)))
	if status != http.StatusCreated {
		t.Fatalf("POST /console/session: status %d, want 201", status)
	}
	tab.keys("a")
	tab.wait(`document.activeElement?.id === 'token'`)
	if now := s.total(t, "approval_status:pen"); now != pending {
		t.Errorf("%d items are pending after a key in the tab of the old session, want %d", now, pending)
	}
}

// TestUndoOfOthers checks that Undo does not overwrite a later decision of another user.
func TestUndoOfOthers(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	b := startBrowser(t, s).logIn(t)
	tab := b.tab(t, 1280, 800, "light")
	tab.open("moderation")
	tab.wait(`document.querySelector('.tile')`)
	approved := s.total(t, "approval_status:app")
	var list struct {
		Embedded struct {
			Items []struct{ ID int } `json:"ugc:item"`
		} `json:"_embedded"`
	}
	s.get(t, "/v2/content/items?q=approval_status:pen&sort_by=created_on:asc&page_size=2", &list)
	tab.keys("xx")
	tab.wait(`document.querySelectorAll('.tile[aria-selected=true]').length === 2`)
	tab.keys("a")
	tab.waitText(".toasts", "Approved: 2 items")
	tab.saved()
	// Another user rejects the first item.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, fmt.Sprintf("%s/v2/content/%d", s.url, list.Embedded.Items[0].ID), strings.NewReader(`{"approval_status":"rej"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("reject an item: %s", res.Status)
	}
	rejected := s.total(t, "approval_status:rej")
	tab.keys("z")
	tab.waitText(".toasts", "Changed by another user")
	if now := s.total(t, "approval_status:rej"); now != rejected {
		t.Errorf("%d items are rejected after Undo, want %d", now, rejected)
	}
	if now := s.total(t, "approval_status:app"); now != approved {
		t.Errorf("%d items are approved after Undo, want %d", now, approved)
	}
}

// TestFailedDecision checks a decision on two items that fails for one of them. That item must stay selected, and the decision must apply
// to the other item.
func TestFailedDecision(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open("moderation")
	tab.wait(`document.querySelector('.tile')`)
	approved := s.total(t, "approval_status:app")
	tab.failOnce(`options?.method === 'PATCH'`)
	tab.keys("xx")
	tab.waitText(".selection", "2 selected")
	tab.keys("a")
	tab.waitText(".toast", "Unavailable")
	tab.waitText(".selection", "1 selected")
	if now := s.total(t, "approval_status:app"); now != approved+1 {
		t.Errorf("%d items are approved, want %d", now, approved+1)
	}
}

// TestSpace checks that the space bar activates the focused control of the moderation page, and not a shortcut.
func TestSpace(t *testing.T) {
	t.Parallel()
	browserPath(t)
	b := startBrowser(t, startServer(t, "--samples")).logIn(t)
	tab := b.tab(t, 1280, 800, "light")
	tab.open("moderation")
	tab.wait(`document.querySelector('.tile')`)
	eval[any](tab, `document.querySelector('.decisions button').focus(); true`)
	tab.keys(" ")
	tab.waitText(".toasts", "Approved: 1 item")
	eval[any](tab, `document.querySelector('.settings input').focus(); true`)
	tab.keys(" ")
	tab.wait(`!document.querySelector('.settings input').checked`)
}

// TestReadOnly checks that the console sends no request that the API rejects for a READ-ONLY session. A rejected request makes the test
// fail, because the browser logs it.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	b := startBrowser(t, s).logInWith(t, s.tokens["storefront"])
	tab := b.tab(t, 1280, 800, "light")
	tab.open("wall?explain=1")
	tab.wait(`document.querySelector('.tile')`)
	tab.waitText(".property", "READ-ONLY")
	for _, text := range []string{"Explain", "New filter from this query…"} {
		if title := eval[string](tab, fmt.Sprintf(`(() => { const b = document.querySelector(%q); return b.disabled ? b.title : ''; })()`, tab.button(text))); !strings.Contains(title, "READ-WRITE token") {
			t.Errorf("the button %s is not disabled with a reason: %q", text, title)
		}
	}
	if eval[bool](tab, `document.querySelector('.explainbar').checkVisibility()`) {
		t.Error("the URL turns on Explain for a READ-ONLY session")
	}
	if eval[bool](tab, `!!document.querySelector('option[value^=last_modified]')`) {
		t.Error("the wall offers a READ-ONLY session to sort by a private field")
	}
	tab.keys("i" + kb.Enter)
	tab.wait(`document.querySelector('dialog .facts')`)
	if text := eval[string](tab, `document.querySelector('dialog .facts').innerText`); strings.Contains(text, "Last changed") {
		t.Errorf("a READ-ONLY session sees when an item last changed: %q", text)
	}
	tab.click("#tab-sources")
	tab.waitText("dialog .tabpanel", "This tab needs a READ-WRITE token")
	for _, page := range []string{"filters", "filters/edit?q=beach", "tags", "moderation", "status"} {
		tab.open(page)
		tab.waitText("main", "This page needs a READ-WRITE token")
	}
}

// TestOldLink checks the message for a login link whose code is no longer valid.
func TestOldLink(t *testing.T) {
	t.Parallel()
	browserPath(t)
	b := startBrowser(t, startServer(t))
	tab := b.tab(t, 1280, 800, "light")
	tab.allowed = append(tab.allowed, "/console/codes/lookup") // the browser logs the rejected code
	tab.open("login#code=USED")
	tab.waitText("#login-message", "This link no longer works")
}
