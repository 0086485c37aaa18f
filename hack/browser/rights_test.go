package browser

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// withTokens starts a server with an AccessToken of the class ReadWrite for each name. The values are the other fields of the spec. The
// second result changes the spec of a token while the server runs. args are further arguments of the server.
func withTokens(t *testing.T, tokens map[string]string, args ...string) (*server, func(name, spec string)) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, spec string) {
		t.Helper()
		manifest := fmt.Sprintf("apiVersion: vitrine.dev/v1alpha1\nkind: AccessToken\nmetadata: {name: %s, namespace: shop}\nspec: {class: ReadWrite, %s}\n", name, spec)
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, spec := range tokens {
		write(name, spec)
	}
	return startServer(t, append([]string{dir}, args...)...), write
}

// moderator is the spec of a token that decides on pending items. A decision moves an item out of the scope of the token.
const moderator = "query: 'approval_status:pen', allow: [Moderate]"

// decisions returns the texts of the buttons of the moderation page.
func (tab *tab) decisions() string {
	tab.t.Helper()
	return eval[string](tab, `[...document.querySelectorAll('.decisions > button')].map((b) => b.innerText.split('\n')[0]).join(' ')`)
}

// openQueue opens the moderation page with a queue.
func (tab *tab) openQueue() {
	tab.t.Helper()
	tab.open("moderation")
	tab.wait(`document.querySelector('[role=option]') && document.querySelector('.info .facts')`)
}

// TestModerator checks the console with a token that only moderates pending items. Each decision moves its item out of the scope.
func TestModerator(t *testing.T) {
	t.Parallel()
	browserPath(t)
	axe := axeScript(t)
	s, _ := withTokens(t, map[string]string{"moderator": moderator})
	s.queue(t, 10)
	private := s.send(t, http.MethodPost, "/v2/content/filters", `{"name":"Adults","q":"submission.age:adult","sort_by":"created_on:desc"}`)
	private.Body.Close()
	if private.StatusCode != http.StatusCreated {
		t.Fatalf("create a filter: %s", private.Status)
	}
	r := &relay{latency: func() time.Duration { return 0 }, log: &writeLog{}}
	tab := startBrowser(t, startRelay(t, s, r)).logInWith(t, s.tokens["moderator"]).tab(t, 1280, 800, "light")
	tab.allowed = append(tab.allowed, "404", "net::ERR") // the browser logs them
	tab.openQueue()
	if got := tab.decisions(); got != "Approve Reject Pending Feature Undo" {
		t.Errorf("the decisions are %q", got)
	}
	tab.check(axe)

	// A key of an action that the token does not allow does nothing, and the list of keys does not contain it.
	tab.keys("t?")
	tab.waitText("dialog", "Approve")
	if keys := eval[string](tab, `[...document.querySelectorAll('dialog dt')].map((k) => k.innerText).join(',')`); !strings.Contains(keys, "a,r,R,p,f,z,") {
		t.Errorf("the keys are %s", keys)
	}
	tab.keys(kb.Escape)
	tab.wait(`!document.querySelector('dialog')`)

	// A change that leaves the item in the scope can be undone, but a decision cannot.
	tab.keys("f")
	tab.saved()
	tab.keys("z")
	tab.saved()
	if featured := s.item(t, firstID)["featured"]; featured != false {
		t.Errorf("after undo, the item is featured: %v", featured)
	}
	tab.keys("a")
	tab.saved()
	tab.wait(`document.querySelector('.progress').innerText === '2 of 10 · 1 decided · 9 left'`)
	if got := s.status(t, 0); got != "app" {
		t.Errorf("the item is %s, want app", got)
	}
	tab.wait(`document.querySelector('[data-index="0"]').matches('.app:not(.failed)')`)
	tab.keys("z")
	tab.waitText(".toast.bad", fmt.Sprintf("The item is no longer visible: Since your decision, your access token does not show item %d. The decision was not undone.", firstID))
	tab.saved()
	if got := s.status(t, 0); got != "app" || len(tab.selection()) > 0 || !eval[bool](tab, `document.querySelector('.decisions [aria-keyshortcuts=z]').disabled`) {
		t.Errorf("after undo, the item is %s, and the items %v are selected", got, tab.selection())
	}
	tab.keys("r" + kb.Enter)
	tab.waitText(".toast.bad", "Your decision changed nothing.")
	tab.saved()
	if got := s.status(t, 0); got != "app" {
		t.Errorf("after a second decision, the item is %s, want app", got)
	}

	// Several items, and an undo before the server has answered.
	tab.click("[role=option][data-index='1']")
	tab.keys("xx")
	tab.waitText(".selection", "2 selected")
	tab.keys("r")
	tab.keys("z")
	tab.waitText(".toast.bad", "2 items not changed")
	tab.saved()
	if got := s.status(t, 1) + s.status(t, 2); got != "rejrej" {
		t.Errorf("the items are %s, want rejrej", got)
	}

	// Another user has decided on the item. The message is that for an erased item.
	tab.click("[role=option][data-index='3']")
	s.patch(t, 3, `{"approval_status":"rej"}`)
	tab.keys("a")
	tab.waitText(".toast.bad", fmt.Sprintf("Not found: No item of this property has the id %d.", firstID+3))
	tab.saved()
	if got := s.status(t, 3); got != "rej" {
		t.Errorf("the item is %s, want rej", got)
	}
	tab.keys(kb.Escape)

	// The connection breaks before the response. The console cannot find out what has become of the item.
	tab.click("[role=option][data-index='4']")
	r.lose = func(in *http.Request) bool { return in.Method == http.MethodPatch }
	tab.keys("a")
	tab.waitText(".toast.bad", "The server may have saved the decision.")
	r.lose = nil
	tab.check(axe)

	// Items outside the scope, and filters.
	tab.open(fmt.Sprintf("wall?item=%d", firstID))
	tab.waitText("dialog", "This item is not visible")
	tab.check(axe)
	tab.open("filters?find=adults")
	tab.waitText("tbody", "Uses private fields")
	if text := eval[string](tab, `document.querySelector('tbody').innerText`); strings.Contains(text, "Propose") || strings.Contains(text, "submission") {
		t.Errorf("the row of a filter with private fields contains %q", text)
	}
	tab.check(axe)
	tab.open("filters/edit?q=item&tab=manifest")
	tab.waitText(".tabpanel", "kind: ContentFilter")
	if eval[bool](tab, `document.body.innerText.includes('Create over HTTP')`) {
		t.Error("the editor offers to create a filter")
	}
	tab.check(axe)
	tab.open("status")
	tab.waitText(".status", "Your session allows Moderate.")
	tab.waitText("tbody", "only items that match approval_status:pen")
	tab.check(axe)
}

// TestTagger checks the moderation page with a token that only tags items, and that other limited tokens cannot open it.
func TestTagger(t *testing.T) {
	t.Parallel()
	browserPath(t)
	axe := axeScript(t)
	s, _ := withTokens(t, map[string]string{
		"tagger": "query: 'NOT tags.marketer_tags.key:done', allow: [Tag]",
		"editor": "allow: [ManageFilters]",
	})
	s.queue(t, 3)
	tab := startBrowser(t, s).logInWith(t, s.tokens["tagger"]).tab(t, 1280, 800, "light")
	tab.allowed = append(tab.allowed, "404")
	tab.openQueue()
	if got := tab.decisions(); got != "Tag Undo" {
		t.Errorf("the decisions are %q", got)
	}
	tab.check(axe)
	tag := func(name string) {
		t.Helper()
		tab.keys("t")
		tab.wait(`document.activeElement.id === 'tagname'`)
		tab.chooseTag(name)
		tab.waitText(".toast", "Tagged "+name)
		tab.saved()
	}
	tab.keys("arpf")
	tag("sunny")
	tab.keys("z")
	tab.waitText(".toast", "Undone")
	tab.saved()
	if n := s.total(t, "tags.marketer_tags.key:sunny"); n != 0 || s.status(t, 0) != "pen" {
		t.Errorf("after undo, %d items have the tag, and the item is %s", n, s.status(t, 0))
	}
	tag("done") // moves the item out of the scope
	tab.keys("z")
	tab.waitText(".toast.bad", fmt.Sprintf("Since your decision, your access token does not show item %d. The decision was not undone.", firstID))
	if n := s.total(t, "tags.marketer_tags.key:done"); n != 1 {
		t.Errorf("%d items have the tag, want 1", n)
	}

	tab = startBrowser(t, s).logInWith(t, s.tokens["editor"]).tab(t, 1280, 800, "light")
	tab.open("moderation")
	tab.waitText("main", "This page needs a token that allows the action Moderate or Tag")
	tab.check(axe)
	tab.open("filters/edit?q=item&tab=manifest")
	tab.waitText(".tabpanel", "Create over HTTP")
}

// TestNarrowedSession checks that a session whose token loses an action reports it with the next decision, keeps the item selected, and
// shows the buttons of the remaining actions on the next page.
func TestNarrowedSession(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s, change := withTokens(t, map[string]string{"helper": "allow: [Moderate, Tag]"})
	s.queue(t, 3)
	tab := startBrowser(t, s).logInWith(t, s.tokens["helper"]).tab(t, 1280, 800, "light")
	tab.allowed = append(tab.allowed, "403")
	tab.openQueue()
	tab.keys("a")
	tab.saved()
	change("helper", "allow: [Tag]")
	tab.wait(`(fetch('/console/session').then((r) => r.json()).then((s) => { window.allows = s.actions.join(); }), window.allows === 'Tag')`)
	tab.keys("a")
	tab.waitText(".toast.bad", "Your access token does not allow this: This operation needs a token that allows the action Moderate")
	if got := tab.selection(); len(got) != 1 || got[0] != 1 || s.status(t, 1) != "pen" {
		t.Errorf("the items %v are selected, and item 1 is %s", got, s.status(t, 1))
	}
	tab.keys("k")
	tab.waitText(".info .problem", "Moderate")
	tab.keys("gw")
	tab.wait(`document.querySelector('.wall .tile')`)
	tab.keys("gm")
	tab.wait(`document.querySelector('.moderation [role=option]')`)
	if got := tab.decisions(); got != "Tag Undo" {
		t.Errorf("on the next page, the decisions are %q", got)
	}
}
