package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// withFilter starts a server with a ContentFilter shop/mine. The second result replaces the spec of the filter.
func withFilter(t *testing.T, spec string) (*server, func(spec string)) {
	t.Helper()
	dir := t.TempDir()
	write := func(spec string) {
		t.Helper()
		manifest := fmt.Sprintf("apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {name: mine, namespace: shop}\nspec: {name: Mine, %s}\n", spec)
		if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(spec)
	return startServer(t, dir, "--samples"), write
}

// filter is a filter in the list of the API.
type filter struct {
	ID        int
	UUID      string `json:"filter_uuid"`
	Name      string
	ManagedBy string `json:"managed_by"`
}

// filter returns the filter with a name.
func (s *server) filter(t *testing.T, name string) filter {
	t.Helper()
	var list struct {
		Filters []filter `json:"_embeded"`
	}
	s.get(t, "/v2/content/filters?page_size=100", &list)
	for _, f := range list.Filters {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("there is no filter %s: %v", name, list.Filters)
	return filter{}
}

// settled is true when the list has counted the items of all filters near the visible ones.
const settled = `document.querySelector('tbody') && [...document.querySelectorAll('td.number')].every((c) => !c.innerText.includes('counting') || Math.abs(c.getBoundingClientRect().top - innerHeight / 2) > 1.4 * innerHeight)`

// TestRejectedFilter checks that the list of filters, the wall of the filter and the navigation show that a manifest is rejected, while the
// server serves the earlier one.
func TestRejectedFilter(t *testing.T) {
	t.Parallel()
	browserPath(t)
	axe := axeScript(t)
	s, write := withFilter(t, "query: beach")
	b := startBrowser(t, s).logIn(t)
	tab := b.tab(t, 1280, 800, "light")
	tab.open("filters")
	tab.wait(`document.querySelector('tbody tr')`)
	if badges := eval[int](tab, `document.querySelectorAll('nav .count:not([hidden])').length`); badges != 0 {
		t.Errorf("%d entries of the navigation have a badge, want none", badges)
	}
	write("query: '(beach'")
	waitFor(t, "the manifest is rejected", func() bool {
		var status struct{ Rejected []struct{ Name string } }
		s.get(t, "/v2/content/status", &status)
		return len(status.Rejected) > 0
	})
	for _, width := range []int{1280, 360} {
		tab := b.tab(t, width, 800, "dark")
		tab.open("filters")
		tab.waitText("tbody .rejection", "Rejected change")
		tab.waitText(".rejected", "ContentFilter shop/mine")
		tab.wait(`[...document.querySelectorAll('nav a')].filter((a) => a.querySelector('.count:not([hidden])')?.innerText.startsWith('1')).map((a) => a.getAttribute('title').split(' ')[0]).join() === 'Filters,Status'`)
		tab.check(axe)
		tab.open("wall?filter=" + s.filter(t, "Mine").UUID)
		tab.click(".filterchip .rejection summary")
		tab.waitText(".filterchip .rejection pre", "position")
		tab.check(axe)
	}
	write("query: beach")
	waitFor(t, "the manifest is accepted", func() bool {
		var status struct{ Rejected []struct{ Name string } }
		s.get(t, "/v2/content/status", &status)
		return len(status.Rejected) == 0
	})
	tab.open("filters")
	tab.wait(`document.querySelector('tbody tr') && !document.querySelector('.rejection, .rejected, nav .count:not([hidden])')`)
	tab.wait(settled)
}

// TestFilterURL checks the URL, the command and the view of READ-ONLY tokens in the dialog of a filter.
func TestFilterURL(t *testing.T) {
	t.Parallel()
	browserPath(t)
	axe := axeScript(t)
	s, _ := withFilter(t, "query: beach, readAccess: ReadOnly")
	tab := startBrowser(t, s).logIn(t).tab(t, 390, 844, "light")
	tab.open("filters")
	tab.click("[aria-label='URL of Mine']")
	path := "/v2/content/filters/" + s.filter(t, "Mine").UUID
	tab.waitText("dialog", s.url+path)
	tab.waitText("dialog", "curl -H")
	list := func(token string) int {
		var page struct {
			Total int `json:"total_results"`
		}
		(&server{url: s.url, token: token}).get(t, path, &page)
		return page.Total
	}
	all, seen := list(s.token), list(s.tokens["storefront"])
	if seen == 0 || seen == all {
		t.Fatalf("the READ-ONLY token sees %d of %d items, so the test checks nothing", seen, all)
	}
	tab.waitText("dialog .seen", fmt.Sprintf("%d of %d items: the Property limits READ-ONLY tokens to approval_status:app.", seen, all))
	tab.check(axe)
	tab.open("filters?find=videos")
	tab.click("tbody button")
	tab.waitText("dialog .seen", "Nothing: the server answers 403")
	tab.check(axe)
	tab.wait(settled)
}

// TestAdopt checks that the exported manifest of a filter that was created over HTTP takes the filter over, so that its URL stays the same.
func TestAdopt(t *testing.T) {
	t.Parallel()
	browserPath(t)
	dir := t.TempDir()
	s := startServer(t, dir)
	s.createFilter(t, "Trams", "tram")
	before := s.filter(t, "Trams")
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open("filters/edit?tab=manifest&from=" + before.UUID)
	tab.waitText(".tabpanel", "adopts the filter")
	tab.waitText(".tabpanel pre", fmt.Sprintf("adopt: {filterID: %d}", before.ID))
	if created := eval[bool](tab, `[...document.querySelectorAll('button')].some((b) => b.innerText === 'Create over HTTP' && b.checkVisibility())`); created {
		t.Error("the page offers to create a second filter")
	}
	manifest := eval[string](tab, `document.querySelector('.tabpanel pre code').textContent`)
	if err := os.WriteFile(filepath.Join(dir, "trams.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the manifest adopts the filter", func() bool { return s.filter(t, "Trams").ManagedBy == "ContentFilter shop/trams" })
	if after := s.filter(t, "Trams"); after.UUID != before.UUID || after.ID != before.ID {
		t.Errorf("the filter is %v, want the ID and the UUID of %v", after, before)
	}
	tab.click(".tabpanel .check input")
	tab.wait(`!document.querySelector('.tabpanel pre').textContent.includes('adopt')`)
}

// TestManyFilters checks that the list of a thousand filters shows the first ones while it loads the others. It counts the items of the
// filters whose rows are almost visible, a few at a time, and says why it could not count.
func TestManyFilters(t *testing.T) {
	t.Parallel()
	browserPath(t)
	dir := t.TempDir()
	const filters = 1000
	var manifests strings.Builder
	for i := range filters {
		fmt.Fprintf(&manifests, "---\napiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {name: filter-%03d, namespace: shop}\nspec: {name: Filter %03d, query: beach}\n", i, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "filters.yaml"), []byte(manifests.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	tab := startBrowser(t, startServer(t, dir, "--samples")).logIn(t).tab(t, 1280, 800, "light")
	tab.allowed = append(tab.allowed, "503")
	tab.open("wall")
	tab.wait(`document.querySelector('.tile')`)
	eval[any](tab, `(() => {
		const send = window.fetch;
		let running = 0;
		Object.assign(window, { counted: 0, most: 0 });
		window.fetch = async (url, options) => {
			if (!String(url).includes('info=1')) return send(url, options);
			window.counted++;
			window.most = Math.max(window.most, ++running);
			return send(url, options).finally(() => running--);
		};
	})(), true`)
	tab.failOnce(`String(url).includes('info=1')`)
	tab.holdAnswers("page=5&")
	tab.keys("gf")
	const rows, visible = `document.querySelectorAll('tbody tr').length`, `[...document.querySelectorAll('td.number')].filter((c) => c.getBoundingClientRect().bottom < innerHeight).every((c) => /\d|not counted/.test(c.innerText))`
	tab.wait(`window.held > 0 && ` + rows + ` === 400 && ` + visible)
	tab.waitText("tbody", "not counted")
	tab.waitText("tbody", "Unavailable")
	find := func(text string) {
		t.Helper()
		eval[any](tab, `(() => { const search = document.querySelector('[type=search]'); search.value = '`+text+`'; search.dispatchEvent(new Event('input')); return true; })()`)
	}
	find("filter-099")
	tab.wait(rows + ` === 1`)
	find("filter-999")
	tab.wait(`document.querySelector('.skeleton')`) // the filter can still arrive
	tab.releaseAnswers()
	tab.wait(rows + ` === 1 && ` + visible)
	find("no such filter")
	tab.waitText("main", "No filter matches")
	find("")
	tab.wait(rows + fmt.Sprintf(` > %d && `, filters) + visible)
	if counted := eval[int](tab, `window.counted`); counted > 100 {
		t.Errorf("the page has counted the items of %d filters, of which it shows a few", counted)
	}
	last := `[...document.querySelectorAll('td.number')].at(-1).innerText`
	tab.wait(last + ` === 'counting…'`)
	eval[any](tab, `document.querySelector('tbody tr:last-child').scrollIntoView(), true`)
	tab.wait(`/\d/.test(` + last + `)`)
	tab.wait(settled)
	if most := eval[int](tab, `window.most`); most > 4 {
		t.Errorf("the page has counted the items of %d filters at the same time", most)
	}
	if counted := eval[int](tab, `window.counted`); counted > 200 {
		t.Errorf("the page has counted the items of %d filters, of which it has shown a few", counted)
	}
}

// TestFilterActions checks that all actions of the list of filters are visible without horizontal scrolling, also at 200 percent zoom, which
// makes a screen half as wide.
func TestFilterActions(t *testing.T) {
	t.Parallel()
	browserPath(t)
	axe := axeScript(t)
	s, _ := withFilter(t, "query: '"+strings.Repeat("beach OR ", 30)+"tram'")
	b := startBrowser(t, s).logIn(t)
	for _, width := range []int{390, 640, 768, 1024, 1260, 1280, 1920} {
		tab := b.tab(t, width, 800, "light")
		tab.open("filters")
		tab.wait(`document.querySelectorAll('tbody tr').length > 5`)
		if hidden := eval[string](tab, `(() => {
			const wrap = document.querySelector('.tablewrap');
			if (wrap.scrollWidth > wrap.clientWidth) return 'the table is ' + wrap.scrollWidth + ' pixels wide';
			const out = [...document.querySelectorAll('.actions .button')].find((b) => { const r = b.getBoundingClientRect(); return r.left < 0 || r.right > innerWidth || r.width === 0; });
			return out ? out.ariaLabel + ' is outside of the screen' : '';
		})()`); hidden != "" {
			t.Errorf("at %d pixels: %s", width, hidden)
		}
		tab.check(axe)
		tab.wait(settled)
	}
}

// TestReviewerLink checks that the link of a draft opens the same comparison in another browser, including values that the draft has
// cleared, and that the list of filters shows the drafts of this browser.
func TestReviewerLink(t *testing.T) {
	t.Parallel()
	browserPath(t)
	axe := axeScript(t)
	s, _ := withFilter(t, "query: 'approval_status:app', favoriteTag: {namespace: marketer_tags, key: hero}, readAccess: ReadOnly")
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.allowClipboard()
	from := s.filter(t, "Mine").UUID
	tab.open("filters/edit?from=" + from)
	tab.waitText(".figures", "Draft")
	if drafts := eval[string](tab, `localStorage.getItem('vitrine.drafts') ?? ''`); drafts != "" {
		t.Errorf("a draft without a change is stored: %s", drafts)
	}
	eval[any](tab, `(() => { const tag = document.querySelector('[placeholder="namespace:key"]'); tag.value = ''; tag.dispatchEvent(new Event('change')); return true; })()`)
	tab.keys("/" + kb.End + " AND beach" + kb.Enter)
	tab.wait(`document.querySelector('.querybar textarea').value === 'approval_status:app AND beach'`)
	eval[any](tab, `(() => { const access = [...document.querySelectorAll('select')].find((s) => s.value === 'ReadOnly'); access.value = ''; access.dispatchEvent(new Event('change')); return true; })()`)
	tab.click(tab.button("Copy link for the reviewer"))
	tab.waitText(".toast", "Copied the link")
	link := eval[string](tab, `navigator.clipboard.readText()`)
	if want := s.url + "/console/filters/edit?from=" + from + "&q=approval_status%3Aapp+AND+beach&without=favorite_tag%2Cread"; link != want {
		t.Errorf("the link is %s, want %s", link, want)
	}
	tab.open("filters")
	tab.click(".drafts summary")
	tab.waitText(".drafts", "Mine")
	tab.check(axe)
	tab.wait(settled)
	tab.click(".drafts a")
	tab.waitText(".figures", "Leave")
	if found := eval[int](tab, `JSON.parse(localStorage.getItem('vitrine.drafts')).length`); found != 1 {
		t.Errorf("the browser has %d drafts, want 1", found)
	}

	reviewer := startBrowser(t, s).logIn(t).tab(t, 390, 844, "light")
	reviewer.open(strings.TrimPrefix(link, s.url+"/console/"))
	reviewer.waitText(".figures", "Leave")
	if shown := eval[string](reviewer, `[document.querySelector('.querybar textarea').value, document.querySelector('[placeholder="namespace:key"]').value, ...[...document.querySelectorAll('.form select')].map((s) => s.value)].join('|')`); shown != "approval_status:app AND beach|||" {
		t.Errorf("the reviewer sees %s", shown)
	}
	reviewer.check(axe)

	tab.open("filters")
	tab.click(".drafts summary")
	tab.click(tab.button("Discard"))
	tab.wait(`!document.querySelector('.drafts')`)
	tab.wait(settled)
}

// TestDiffLink checks that the link of vitrine diff opens the comparison of the served filter with the manifest.
func TestDiffLink(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s, _ := withFilter(t, "query: 'approval_status:app', favoriteTag: {namespace: marketer_tags, key: hero}")
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {name: mine, namespace: shop}\nspec: {name: Mine (new), query: 'approval_status:app AND beach', sortBy: 'id:asc'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "diff", "-f", file, "--links")
	cmd.Env = append(os.Environ(), "VITRINE_SERVER="+s.url, "VITRINE_TOKEN="+s.token)
	report, err := cmd.CombinedOutput()
	link := regexp.MustCompile(`\(` + regexp.QuoteMeta(s.url) + `/console/(\S+)\)`).FindSubmatch(report)
	if err != nil || link == nil {
		t.Fatalf("%v\n%s", err, report)
	}
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open(string(link[1]))
	tab.waitText(".figures", "Leave")
	left := regexp.MustCompile(`\*\*([\d,]+) leave`).FindSubmatch(report)
	if shown := eval[string](tab, `document.querySelector('.figures .bad dd').innerText`); left == nil || shown != string(left[1]) {
		t.Errorf("in the page, %s items leave. The report:\n%s", shown, report)
	}
	if shown := eval[string](tab, `[document.querySelector('.form input').value, document.querySelector('.querybar textarea').value, document.querySelector('[placeholder="namespace:key"]').value].join('|')`); shown != "Mine (new)|approval_status:app AND beach|" {
		t.Errorf("the draft is %s", shown)
	}
}
