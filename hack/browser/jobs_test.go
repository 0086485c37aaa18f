package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestJobs performs the main task of each page on the sample content, once by mouse alone and once by keyboard alone.
func TestJobs(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	b := startBrowser(t, s)
	t.Run("log in", func(t *testing.T) { testLogin(t, b) })
	b.logIn(t)
	for name, job := range map[string]struct{ mouse, keyboard func(*tab) }{
		"find":       {findByMouse, findByKeyboard},
		"complete":   {completeByMouse, completeByKeyboard},
		"explain":    {explainByMouse, explainByKeyboard},
		"compare":    {compareByMouse, compareByKeyboard},
		"export":     {exportByMouse, exportByKeyboard},
		"moderate":   {moderateByMouse, moderateByKeyboard},
		"tags":       {tagsByMouse, tagsByKeyboard},
		"status":     {statusByMouse, statusByKeyboard},
		"navigation": {navigateByMouse, navigateByKeyboard},
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("mouse", func(t *testing.T) { job.mouse(b.tab(t, 1280, 800, "light")) })
			t.Run("keyboard", func(t *testing.T) { job.keyboard(b.tab(t, 1280, 800, "dark")) })
		})
	}
}

func testLogin(t *testing.T, b *chromium) {
	tab := b.tab(t, 1280, 800, "light")
	// The browser logs the status of the rejected login, and of the requests that are in progress at the logout.
	tab.allowed = append(tab.allowed, "/console/session", "/console/api/v2/content/facets")
	tab.open("wall?q=beach")
	tab.wait(`document.activeElement?.id === 'token'`)
	tab.keys("wrong" + kb.Enter)
	tab.wait(`document.querySelector('.login .message').innerText.length > 20`)
	tab.keys(tab.server.token + kb.Enter)
	tab.waitText(".querybar .result", "item")
	if cookies := eval[string](tab, `document.cookie`); cookies != "" {
		t.Errorf("scripts can read the cookie %s", cookies)
	}
	if stored := eval[string](tab, `JSON.stringify([{...localStorage}, {...sessionStorage}, location.href, document.documentElement.outerHTML])`); strings.Contains(stored, tab.server.token) {
		t.Error("the token is in the storage, the URL or the document")
	}
	tab.click(tab.button("Log out"))
	tab.wait(`document.querySelector('#token')`)
}

// escape escapes a text for the query of a URL.
func escape(text string) string { return url.QueryEscape(text) }

// waitTotal waits until the page shows the number of items that the API counts for a query.
func (tab *tab) waitTotal(query string) {
	tab.t.Helper()
	want := tab.server.total(tab.t, escape(query))
	tab.wait(fmt.Sprintf(`Number(document.querySelector('.querybar .result')?.firstChild?.textContent.replace(/\D/g, '')) === %d`, want))
}

func findByMouse(tab *tab) {
	tab.open("")
	tab.waitTotal("*:*")
	tab.click(".querybar textarea")
	tab.keys("approval_status:app AND beach")
	tab.waitTotal("approval_status:app AND beach")
	tab.click(".tile a")
	tab.wait(`document.querySelector('dialog[open] .facts')`)
	tab.click("dialog [aria-label='Next item']")
	tab.wait(`new URLSearchParams(location.search).get('item') === document.querySelector('dialog h2 .mono').innerText`)
	tab.click("dialog header .button:last-child")
	tab.wait(`!document.querySelector('dialog')`)
}

func findByKeyboard(tab *tab) {
	tab.open("")
	tab.waitTotal("*:*")
	tab.keys("/")
	tab.keys("approval_status:app AND sunset" + kb.Enter)
	tab.waitTotal("approval_status:app AND sunset")
	tab.wait(`location.search === '?q=approval_status%3Aapp+AND+sunset'`)
	tab.tabTo("Explain")
	tab.keys("i")
	tab.keys(kb.ArrowRight + kb.ArrowRight + kb.Enter)
	tab.wait(`document.querySelector('dialog[open] .facts')`)
	shown := eval[string](tab, `document.querySelector('dialog h2 .mono').innerText`)
	tab.keys(kb.ArrowRight)
	tab.wait(fmt.Sprintf(`document.querySelector('dialog h2 .mono').innerText !== %q`, shown))
	tab.keys(kb.Escape)
	tab.wait(`!document.querySelector('dialog') && document.activeElement.matches('.tile a')`)
	// After a reload, the wall must show the same items, so that users can share its URL.
	tab.do(chromedp.Reload())
	tab.waitTotal("approval_status:app AND sunset")
}

func completeByMouse(tab *tab) {
	tab.open("")
	tab.waitTotal("*:*")
	tab.click(".querybar textarea")
	tab.keys("approval_sta")
	tab.wait(`document.querySelector('.completions:not([hidden]) li')`)
	tab.click(".completions li")
	tab.wait(`document.querySelector('.querybar textarea').value.startsWith('approval_status:')`)
	tab.click(".completions li")
	tab.wait(`/^approval_status:(app|pen|rej)/.test(document.querySelector('.querybar textarea').value)`)
}

func completeByKeyboard(tab *tab) {
	tab.open("")
	tab.waitTotal("*:*")
	tab.keys("/approval_sta")
	tab.wait(`document.querySelector('.completions:not([hidden]) li')`)
	tab.keys(kb.ArrowDown + kb.Enter)
	tab.wait(`document.querySelector('.querybar textarea').value.startsWith('approval_status:')`)
	tab.keys("app AND (beach")
	tab.wait(`document.querySelector('.querybar.error .caret') && document.querySelector('.querybar .message').innerText.includes('")"')`)
	tab.keys(")")
	tab.wait(`!document.querySelector('.querybar.error')`)
	tab.waitTotal("approval_status:app AND (beach)")
}

func explainByMouse(tab *tab) {
	tab.open("wall?q=approval_status:app+AND+beach")
	tab.waitTotal("approval_status:app AND beach")
	tab.click(tab.button("Explain"))
	tab.wait(`document.querySelector('.explainbar:not([hidden])')`) // wait for the bar, because it moves the tiles when it appears
	tab.click(".tile a")
	tab.waitText(".verdict", "is in the result")
	tab.click("dialog header .button:last-child")
	tab.click(tab.button("Not in the result"))
	tab.waitTotal("*:* AND NOT (approval_status:app AND beach)")
	tab.click(".tile a")
	tab.waitText(".verdict", "is not in the result")
	tab.wait(`document.querySelectorAll('.explanation li.bad').length > 0`)
}

func explainByKeyboard(tab *tab) {
	tab.open("wall?q=approval_status:app+AND+beach")
	tab.waitTotal("approval_status:app AND beach")
	tab.keys("i")
	tab.wait(`document.activeElement.closest('.tile') && (document.activeElement.closest('.tile').dataset.before = 'true')`)
	tab.keys("e")
	// The items are loaded again, which replaces the tiles. The new tile must get the focus.
	tab.wait(`document.querySelector('.explainbar:not([hidden])') && document.querySelector('.tile') && !document.querySelector('[data-before]')`)
	tab.keys(kb.Enter)
	tab.waitText(".verdict", "is in the result")
	tab.keys(kb.Escape)
	tab.wait(`!document.querySelector('dialog')`)
	tab.do(chromedp.Focus(chromedp.CSS("h1")))
	tab.tabTo("ID of the item to explain")
	tab.keys("100001" + kb.Enter)
	tab.wait(`document.querySelector('.verdict')`)
}

// served is the query of the filter with which the tests compare a draft.
const served = "approval_status:app AND tags.marketer_tags.key:summer"

func compareByMouse(tab *tab) {
	tab.open("filters")
	tab.click(`[aria-label="Propose a change to Summer wall"]`)
	tab.waitTotal(served)
	tab.waitText(".tabpanel", "Nothing changes")
	tab.click(".querybar textarea")
	tab.keys(kb.End + " AND beach" + kb.Enter)
	tab.compared()
}

// compared waits until the page shows the correct numbers of the comparison of the served filter with a draft that also requires the word
// beach.
func (tab *tab) compared() {
	tab.t.Helper()
	before, after := tab.server.total(tab.t, escape(served)), tab.server.total(tab.t, escape(served+" AND beach"))
	tab.wait(fmt.Sprintf(`[...document.querySelectorAll('.figures dd')].slice(0, 4).map((d) => d.innerText).join() === '%d,%d,0,%d'`, before, after, before-after))
}

func compareByKeyboard(tab *tab) {
	tab.open("")
	tab.waitTotal("*:*")
	tab.keys("gf")
	tab.wait(`document.activeElement.innerText === 'Filters' && document.querySelector('tbody tr')`)
	tab.tabTo("Propose a change to Summer wall")
	tab.keys(kb.Enter)
	tab.waitText(".tabpanel", "Nothing changes")
	tab.keys("/")
	tab.keys(kb.End + " AND beach" + kb.Enter)
	tab.compared()
}

// exported checks that the manifest on the page can be copied, contains the query, and is valid for vitrine validate.
func (tab *tab) exported(query string) {
	tab.t.Helper()
	tab.wait(`document.querySelector('.tabpanel pre code')`)
	manifest := eval[string](tab, `document.querySelector('.tabpanel pre code').textContent`)
	if copied := eval[string](tab, `navigator.clipboard.readText()`); copied != manifest {
		tab.t.Errorf("the clipboard has %q, want %q", copied, manifest)
	}
	if !strings.Contains(manifest, query) {
		tab.t.Errorf("the manifest does not contain the query %q:\n%s", query, manifest)
	}
	file := filepath.Join(tab.t.TempDir(), "filter.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		tab.t.Fatal(err)
	}
	if output, err := exec.CommandContext(tab.t.Context(), program, "validate", "-f", file).CombinedOutput(); err != nil {
		tab.t.Errorf("vitrine validate: %v\n%s\n%s", err, output, manifest)
	}
}

// allowClipboard lets the tab read the clipboard.
func (tab *tab) allowClipboard() {
	tab.t.Helper()
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		if _, err := chromedp.CallBrowser(tab.ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted, Origin: tab.server.url,
		}); err != nil {
			tab.fail(err)
		}
	}
}

func exportByMouse(tab *tab) {
	tab.open("wall?q=approval_status:app+AND+text:beach&sort_by=created_on:asc&favorite_tag=marketer_tags:hero")
	tab.waitTotal("approval_status:app AND text:beach")
	tab.allowClipboard()
	tab.click(tab.button("New filter from this query…"))
	tab.click(".form input")
	tab.keys("Beach: it's \"café\" #1")
	tab.click("#tab-manifest")
	tab.click(tab.button("Copy the manifest"))
	tab.waitText(".toast", "Copied")
	tab.exported("'approval_status:app AND text:beach'")
}

func exportByKeyboard(tab *tab) {
	tab.open("filters")
	tab.wait(`document.querySelector('tbody tr')`)
	tab.allowClipboard()
	tab.keys("n")
	tab.wait(`document.activeElement.innerText === 'New filter'`)
	tab.keys(kb.Tab + "Running videos" + kb.Tab + "content_type:video AND run*" + kb.Enter)
	tab.waitTotal("content_type:video AND run*")
	tab.tabTo("Items")
	tab.keys(kb.ArrowRight)
	tab.tabTo("Copy the manifest")
	tab.keys(kb.Enter)
	tab.waitText(".toast", "Copied")
	tab.exported("content_type:video AND run*")
}

// TestNarrowedFilter creates a filter from the wall of another filter. It checks that the new query combines the query of that filter with
// the query in the query bar. It also checks the message of a wall that lists the items outside of the result when there are none.
func TestNarrowedFilter(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	type filter struct {
		Query  string
		UUID   string `json:"filter_uuid"`
		SortBy string `json:"sort_by"`
	}
	var list struct {
		Filters []filter `json:"_embeded"`
	}
	s.get(t, "/v2/content/filters?page_size=100", &list)
	i := slices.IndexFunc(list.Filters, func(f filter) bool { return f.Query == served })
	if i < 0 {
		t.Fatalf("no filter has the query %s: %v", served, list.Filters)
	}
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.allowClipboard()
	narrowed := "(" + served + ") AND (beach OR sunset)"
	tab.open("wall?q=beach+OR+sunset&filter=" + list.Filters[i].UUID)
	tab.waitTotal(narrowed)
	tab.click(tab.button("New filter from this query…"))
	tab.wait(`document.querySelector('h1').innerText === 'New filter'`)
	tab.waitTotal(narrowed)
	tab.click("#tab-manifest")
	tab.click(tab.button("Copy the manifest"))
	tab.waitText(".toast", "Copied")
	tab.exported("query: '" + narrowed + "'\n")
	tab.exported("sortBy: '" + list.Filters[i].SortBy + "'\n")
	tab.open("wall?explain=1&out=1&q=*:*")
	tab.waitText(".wallbody", "Every item is in the result")
	// A query without an order lists the best match first. The new filter must have the same order.
	tab.open("wall?q=beach")
	tab.waitTotal("beach")
	tab.click(tab.button("New filter from this query…"))
	tab.wait(`document.querySelector('h1').innerText === 'New filter'`)
	tab.click("#tab-manifest")
	tab.waitText(".tabpanel pre", "sortBy: '_score:desc'\n")
}

// TestCreateOverHTTP creates a filter without a manifest, with the default order of the editor. It checks that Undo deletes the filter, but
// not if another user has changed it in the meantime.
func TestCreateOverHTTP(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	// The browser logs the refused deletion, and requests of the wall for the filter that Undo has deleted.
	tab.allowed = append(tab.allowed, "412", "404")
	tab.open("filters/edit?q=beach&name=Beaches&tab=manifest")
	tab.waitTotal("beach")
	tab.click(tab.button("Create over HTTP"))
	tab.waitText(".filterchip", "Beaches")
	tab.waitTotal("beach")
	path := "/v2/content/filters/" + eval[string](tab, `new URLSearchParams(location.search).get('filter')`)
	var filter struct {
		ID    int
		Query string
	}
	s.get(t, path+"?info=1", &filter)
	res := s.send(t, http.MethodPut, fmt.Sprintf("/v2/content/filters?filter_id=%d", filter.ID), `{"q":"beach AND sunset","sort_by":"created_on:desc"}`)
	res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		t.Fatalf("PUT: %s", res.Status)
	}
	tab.click(".toast .button")
	tab.waitText(".toast.bad", "Nothing was changed")
	if s.get(t, path+"?info=1", &filter); filter.Query != "beach AND sunset" {
		t.Errorf("the filter has the query %q after Undo", filter.Query)
	}

	tab.open("filters/edit?q=beach&name=Beaches&tab=manifest")
	tab.click(tab.button("Create over HTTP"))
	tab.waitText(".filterchip", "Beaches")
	tab.click(".toast .button")
	tab.wait(`document.querySelector('h1').innerText === 'Filters'`)
}

// TestFilterNameAgain checks that the wall requests the name of its filter again after a failed request.
func TestFilterNameAgain(t *testing.T) {
	t.Parallel()
	browserPath(t)
	tab := startBrowser(t, startServer(t, "--samples")).logIn(t).tab(t, 1280, 800, "light")
	tab.open("filters")
	tab.wait(`document.querySelector('td.number') && [...document.querySelectorAll('td.number')].every((c) => /\d/.test(c.innerText))`) // wait until no request is in progress
	tab.failOnce(`String(url).includes('info=1')`)
	tab.click(`[aria-label="Open Summer wall as a wall"]`)
	tab.waitText(".toast", "Unavailable")
	tab.keys("/beach" + kb.Enter)
	tab.waitText(".filterchip", "Summer wall")
}

// TestOtherOrder checks that the text field for an order stays open while the user changes the query.
func TestOtherOrder(t *testing.T) {
	t.Parallel()
	browserPath(t)
	tab := startBrowser(t, startServer(t, "--samples")).logIn(t).tab(t, 1280, 800, "light")
	tab.open("wall")
	tab.waitTotal("*:*")
	eval[any](tab, `(() => {
		const order = document.querySelector('.options select');
		order.value = '?';
		order.dispatchEvent(new Event('change'));
		return true;
	})()`)
	tab.wait(`document.activeElement.getAttribute('aria-label') === 'Fields to sort by'`)
	tab.click(".querybar textarea")
	tab.keys("beach" + kb.Enter)
	tab.waitTotal("beach")
	tab.click("[aria-label='Fields to sort by']")
	tab.keys("id:asc" + kb.Enter)
	tab.wait(`new URLSearchParams(location.search).get('sort_by') === 'id:asc' && document.querySelector("[aria-label='Fields to sort by']").value === 'id:asc'`)
}

// TestTagWithColon checks that the console splits a tag at its last colon, as the server does.
func TestTagWithColon(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open("moderation")
	tab.wait(`document.querySelector('.tile')`)
	tab.keys("t")
	tab.wait(`document.activeElement.id === 'tagname'`)
	tab.chooseTag("team:north:checked")
	tab.waitText(".toast", "Tagged team:north:checked: 1 item")
	tab.saved()
	tagged := escape(`tags.team\:north.key:checked`)
	if got := s.total(t, tagged); got != 1 {
		t.Errorf("%d items have the tag, want 1", got)
	}
	tab.keys("z")
	tab.waitText(".toast", "Undone: tagged")
	tab.saved()
	if got := s.total(t, tagged); got != 0 {
		t.Errorf("%d items have the tag after undo, want 0", got)
	}
	tab.open("filters/edit?tab=manifest&q=beach&favorite_tag=team:north:checked")
	tab.waitText(".tabpanel pre", "favoriteTag: {namespace: 'team:north', key: checked}")
}

// TestFindInURL checks that the URL of a page with a table contains the text that the user searches for in the table.
func TestFindInURL(t *testing.T) {
	t.Parallel()
	browserPath(t)
	b := startBrowser(t, startServer(t, "--samples")).logIn(t)
	for page, text := range map[string]string{"filters": "summer", "tags": "hero"} {
		tab := b.tab(t, 1280, 800, "light")
		tab.open(page)
		tab.wait(`document.querySelectorAll('tbody tr').length > 2`)
		tab.keys("/" + text)
		tab.wait(fmt.Sprintf(`location.search === '?find=%s'`, text))
		tab.do(chromedp.Reload())
		tab.wait(fmt.Sprintf(`document.querySelector('[type=search]')?.value === %q && document.querySelector('tbody') && [...document.querySelectorAll('tbody tr')].every((r) => r.innerText.toLowerCase().includes(%q))`, text, text))
	}
}

// TestPicturesOff checks that the console loads nothing from other sites while the user has turned off pictures.
func TestPicturesOff(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	s.bulk(t, `{"id":700002,"approval_status":"pen","created_on":"2026-01-01T00:00:00Z","content":{"content_type":"video","media":{"mediatype":"video","original_url":"https://media.example.com/v.mp4","media_urls":{"large_image":"https://media.example.com/l.jpg","medium_image":"https://media.example.com/m.jpg","small_image":"https://media.example.com/s.jpg"}}}}`+"\n")
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open("wall")
	tab.wait(`document.querySelector('.picture img')`)
	tab.click(".settings input")
	tab.wait(`document.querySelector('.tile') && !document.querySelector('.picture img')`)
	for _, path := range []string{"wall?q=id:700002", "wall?q=id:700002&item=700002", "moderation?q=id:700002", "filters/edit?q=id:700002"} {
		tab.open(path)
		tab.wait(`document.querySelector('.picture')`)
		if found := eval[int](tab, `document.querySelectorAll('img, video').length`); found > 0 {
			t.Errorf("%s has %d pictures and videos, want none", path, found)
		}
	}
}

// TestManyIDs checks that the page lists only the first IDs of a tag, and says that there are more.
func TestManyIDs(t *testing.T) {
	t.Parallel()
	browserPath(t)
	ids := make([]string, 150)
	for i := range ids {
		ids[i] = strconv.Itoa(100_001 + i)
	}
	file := filepath.Join(t.TempDir(), "tag.yaml")
	manifest := "apiVersion: vitrine.dev/v1alpha1\nkind: Tag\nmetadata: {name: many, namespace: shop}\nspec: {namespace: lists, key: many, items: [" + strings.Join(ids, ", ") + "]}\n"
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	tab := startBrowser(t, startServer(t, file, "--samples")).logIn(t).tab(t, 1280, 800, "light")
	tab.open("tags")
	tab.waitText("tbody", "First 100 of 150 IDs")
}

// TestNarrowKeys checks that the mouse can open the list of keyboard shortcuts on a narrow screen.
func TestNarrowKeys(t *testing.T) {
	t.Parallel()
	browserPath(t)
	tab := startBrowser(t, startServer(t)).logIn(t).tab(t, 360, 740, "light")
	tab.open("filters")
	tab.wait(`document.querySelector('tbody')`)
	tab.click(".settings [aria-label='Keyboard']")
	tab.waitText("dialog", "Find a filter")
}

// states returns the number of items of each approval status.
func (tab *tab) states() [3]int {
	tab.t.Helper()
	return [3]int{
		tab.server.total(tab.t, "approval_status:pen"), tab.server.total(tab.t, "approval_status:app"), tab.server.total(tab.t, "approval_status:rej"),
	}
}

// waitStates waits for the message of a decision, and until it is saved. It then checks that, since before, the number of items in each
// state has changed by the given number.
func (tab *tab) waitStates(message string, before [3]int, pending, approved, rejected int) {
	tab.t.Helper()
	tab.waitText(".toast", message)
	tab.saved()
	if got, want := tab.states(), [3]int{before[0] + pending, before[1] + approved, before[2] + rejected}; got != want {
		tab.t.Errorf("after %q, pending, approved and rejected items are %v, want %v", message, got, want)
	}
}

func moderateByMouse(tab *tab) {
	before := tab.states()
	tab.open("moderation")
	tab.click(".tile[data-index='0']")
	tab.click(".tile[data-index='19']", func(p *input.DispatchMouseEventParams) { p.Modifiers = int64(chromedp.ModifierShift) })
	tab.waitText(".selection", "20 selected")
	tab.click(".decisions .danger")
	tab.waitStates("Rejected: 20 items", before, -20, 0, 20)
	tab.click(".toast .button")
	tab.waitStates("Undone: rejected", before, 0, 0, 0)
	tab.click(".tile[data-index='3']")
	tab.click(".decisions .primary")
	tab.waitStates("Approved: 1 item", before, -1, 1, 0)
	tab.click(tab.button("Undo"))
	tab.waitStates("Undone: approved", before, 0, 0, 0)
}

func moderateByKeyboard(tab *tab) {
	before := tab.states()
	tab.open("")
	tab.waitTotal("*:*")
	tab.keys("gm")
	tab.wait(`document.activeElement.matches('[role=option]')`)
	// Decide items one after the other.
	for i := range 5 {
		tab.keys("a")
		tab.wait(fmt.Sprintf(`document.querySelector('.progress').innerText.includes('%d decided')`, i+1))
	}
	// Decide items in bulk.
	tab.keys(strings.Repeat("x", 15))
	tab.waitText(".selection", "15 selected")
	tab.keys("a")
	tab.waitStates("Approved: 15 items", before, -20, 20, 0)
	tab.keys("z")
	tab.waitStates("Undone: approved", before, -5, 5, 0)
	tab.keys("f")
	tab.waitText(".toast", "Featured: 1 item")
	tab.keys("z")
	tab.waitText(".toast", "Undone: featured")
	tab.keys("t")
	tab.wait(`document.activeElement.id === 'tagname'`)
	tab.chooseTag("moderated")
	tab.waitText(".toast", "Tagged moderated: 1 item")
	tab.saved()
	if got := tab.server.total(tab.t, "tags.marketer_tags.key:moderated"); got != 1 {
		tab.t.Errorf("%d items have the tag, want 1", got)
	}
	tab.keys("z")
	tab.waitText(".toast", "Undone: tagged")
	tab.saved()
	if got := tab.server.total(tab.t, "tags.marketer_tags.key:moderated"); got != 0 {
		tab.t.Errorf("%d items have the tag after undo, want 0", got)
	}
	for i := range 4 {
		tab.keys("z")
		tab.wait(fmt.Sprintf(`document.querySelector('.progress').innerText.includes('%d decided')`, 4-i))
	}
	tab.keys("z")
	tab.wait(`!document.querySelector('.progress').innerText.includes('decided')`)
	tab.waitStates("Undone: approved", before, 0, 0, 0)
}

func tagsByMouse(tab *tab) {
	tab.open("tags")
	tab.waitText("tbody", "marketer_tags: hero")
	tab.click("#tab-unit")
	tab.waitText("tbody", "Shop the sandals")
	tab.click("tbody a")
	tab.waitText(".querybar .result", "item")
}

func tagsByKeyboard(tab *tab) {
	tab.open("")
	tab.waitTotal("*:*")
	tab.keys("gt")
	tab.waitText("tbody", "marketer_tags: hero")
	tab.keys("2")
	tab.waitText("tbody", "Shop the sandals")
	tab.tabTo("Shop the sandals")
	tab.keys(kb.Enter)
	tab.waitText(".querybar .result", "item")
}

func statusByMouse(tab *tab) {
	tab.open("status")
	tab.waitText(".figures", "2,000")
	tab.click(tab.button("Refresh"))
	tab.waitText(".page", "READ-ONLY")
}

func statusByKeyboard(tab *tab) {
	tab.open("")
	tab.waitTotal("*:*")
	tab.keys("gs")
	tab.waitText(".figures", "2,000")
	if text := eval[string](tab, `document.body.innerText`); strings.Contains(text, tab.server.token) {
		tab.t.Error("the page shows the value of a token")
	}
}

func navigateByMouse(tab *tab) {
	tab.open("")
	for _, page := range []string{"Filters", "Tags and units", "Moderation", "Status", "Wall"} {
		tab.click(tab.button(page))
		tab.wait(fmt.Sprintf(`document.querySelector('nav [aria-current]').innerText === %q && document.querySelector('h1').innerText === %q`, page, page))
	}
	tab.do(chromedp.NavigateBack())
	tab.wait(`document.querySelector('h1').innerText === 'Status'`)
}

func navigateByKeyboard(tab *tab) {
	tab.open("")
	tab.waitTotal("*:*")
	tab.keys("?")
	tab.waitText("dialog", "Edit the query")
	tab.keys(kb.Escape)
	tab.wait(`!document.querySelector('dialog')`)
	tab.keys("nothing happens")
	tab.open("nonsense")
	tab.waitText("main", "This page does not exist")
}
