package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// within waits until done is true.
func within(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("this did not happen: %s", what)
		}
	}
}

// TestRejectedFilter checks that the list of filters, the wall of the filter and the navigation show that a manifest is rejected, while the
// server serves the earlier one.
func TestRejectedFilter(t *testing.T) {
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
	within(t, "the manifest is rejected", func() bool {
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
	within(t, "the manifest is accepted", func() bool {
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
	browserPath(t)
	axe := axeScript(t)
	s, _ := withFilter(t, "query: beach, readAccess: ReadOnly")
	tab := startBrowser(t, s).logIn(t).tab(t, 390, 844, "light")
	tab.open("filters")
	tab.click("[aria-label='URL of Mine']")
	path := "/v2/content/filters/" + s.filter(t, "Mine").UUID
	tab.waitText("dialog", s.url+path)
	tab.waitText("dialog", "curl -H")
	list := func(token string) (total int) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var page struct {
			Total int `json:"total_results"`
		}
		if err := json.NewDecoder(res.Body).Decode(&page); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s %v", res.Status, err)
		}
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
	within(t, "the manifest adopts the filter", func() bool { return s.filter(t, "Trams").ManagedBy == "ContentFilter shop/trams" })
	if after := s.filter(t, "Trams"); after.UUID != before.UUID || after.ID != before.ID {
		t.Errorf("the filter is %v, want the ID and the UUID of %v", after, before)
	}
	tab.click(".tabpanel .check input")
	tab.wait(`!document.querySelector('.tabpanel pre').textContent.includes('adopt')`)
}

// TestManyFilters checks that the list counts the items of the filters whose rows are almost visible, and says why it could not count.
func TestManyFilters(t *testing.T) {
	browserPath(t)
	s := startServer(t, "--samples")
	const filters = 150
	for i := range filters {
		s.createFilter(t, fmt.Sprintf("Filter %03d", i), "beach")
	}
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.allowed = append(tab.allowed, "503")
	tab.open("wall")
	tab.wait(`document.querySelector('.tile')`)
	tab.failOnce(`String(url).includes('info=1')`)
	eval[any](tab, `window.counted = 0, new PerformanceObserver((list) => { window.counted += list.getEntries().filter((e) => e.name.includes('info=1')).length; }).observe({ type: 'resource' }), true`)
	tab.keys("gf")
	tab.wait(`document.querySelectorAll('tbody tr').length > 150 && [...document.querySelectorAll('td.number')].filter((c) => c.getBoundingClientRect().bottom < innerHeight).every((c) => /\d|not counted/.test(c.innerText))`)
	tab.waitText("tbody", "not counted")
	tab.waitText("tbody", "Unavailable")
	if counted := eval[int](tab, `window.counted`); counted > 100 {
		t.Errorf("the page has counted the items of %d filters, of which it shows a few", counted)
	}
	tab.wait(`[...document.querySelectorAll('td.number')].at(-1).innerText === 'counting…'`)
	eval[any](tab, `document.querySelector('tbody tr:last-child').scrollIntoView(), true`)
	tab.wait(`/\d/.test([...document.querySelectorAll('td.number')].at(-1).innerText)`)
	tab.wait(settled)
}

// TestFilterActions checks that all actions of the list of filters are visible without horizontal scrolling, also at 200 percent zoom, which
// makes a screen half as wide.
func TestFilterActions(t *testing.T) {
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
