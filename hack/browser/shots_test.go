package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestShots writes the screenshots of the documentation.
func TestShots(t *testing.T) {
	if *shots == "" {
		t.Skip("no -shots: make browser SHOTS=1 writes the pictures of the documentation")
	}
	browserPath(t)
	b := startBrowser(t, startServer(t, "--samples")).logIn(t)
	const latin = "approval_status:app AND -content_type:text AND (beach OR hiking OR coffee) AND text:(the OR la OR der)"
	for name, shot := range map[string]struct {
		path, complete, theme string
		then                  func(*tab)
	}{
		"console-wall": {path: "wall?sort_by=created_on:desc&q=" + escape(latin), complete: `[...document.querySelectorAll('.picture img')].filter((i) => i.naturalWidth > 0).length > 9 && document.querySelectorAll('[data-chip^=hashtag] .count').length > 1`, theme: "light"},
		"console-query": {path: "wall", complete: `document.querySelector('.tile')`, theme: "light", then: func(tab *tab) {
			tab.keys("/approval_status:app AND content_ty")
			tab.wait(`document.querySelector('.completions:not([hidden]) li')`)
			tab.keys(kb.ArrowDown)
		}},
		"console-explain": {path: "wall?sort_by=created_on:desc&explain=1&q=" + escape(latin), complete: `document.querySelector('.picture img')?.naturalWidth > 0`, theme: "light", then: func(tab *tab) {
			tab.keys("i" + kb.Enter)
			tab.wait(`document.querySelector('.verdict') && document.querySelector('.stage img, .stage video')`)
		}},
		"console-compare": {path: "filters", complete: `document.querySelector('tbody')`, theme: "light", then: func(tab *tab) {
			tab.tabTo("Propose a change to Summer wall")
			tab.keys(kb.Enter)
			tab.waitText(".tabpanel", "Nothing changes")
			tab.keys("/" + kb.End + " AND beach" + kb.Enter)
			tab.compared()
		}},
		"console-moderation": {path: "moderation", complete: `[...document.querySelectorAll('.picture img')].filter((i) => i.naturalWidth > 0).length > 9`, theme: "dark", then: func(tab *tab) {
			tab.keys("jjjjxx")
			tab.waitText(".selection", "2 selected")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tab := b.tab(t, 1280, 800, shot.theme)
			tab.open(shot.path)
			tab.wait(shot.complete)
			if shot.then != nil {
				shot.then(tab)
			}
			tab.shot(name)
		})
	}
}
