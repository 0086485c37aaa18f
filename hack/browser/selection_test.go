package browser

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// TestSelection decides on items of the wall: on a selection, by mouse and by keyboard, and on the item in the dialog.
func TestSelection(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	b := startBrowser(t, s).logIn(t)
	const query = "approval_status:pen"
	opened := func(t *testing.T) (*tab, []int) {
		tab := b.tab(t, 1280, 800, "light")
		tab.open("wall?sort_by=id:asc&q=" + escape(query))
		tab.waitTotal(query)
		tab.wait(`document.querySelectorAll('.tile').length > 4`)
		return tab, eval[[]int](tab, `[...document.querySelectorAll('.tile a')].slice(0, 5).map((a) => Number(new URL(a.href).searchParams.get('item')))`)
	}
	// waitStatus waits until the server has saved the status of the items.
	waitStatus := func(tab *tab, want string, ids ...int) {
		tab.t.Helper()
		waitFor(tab.t, fmt.Sprintf("items %d have the status %s", ids, want), func() bool {
			return !slices.ContainsFunc(ids, func(id int) bool {
				var item struct {
					Status string `json:"approval_status"`
				}
				s.get(tab.t, fmt.Sprintf("/v2/content/%d", id), &item)
				return item.Status != want
			})
		})
	}

	t.Run("approve and undo", func(t *testing.T) {
		tab, ids := opened(t)
		tab.click(tab.button("Select"))
		tab.click(".tile[data-index='0'] a")
		tab.click(".tile[data-index='1'] .choose")
		tab.waitText(".selectionbar strong", "2 selected")
		tab.check(axeScript(t))
		tab.click(tab.buttonIn(".selectionbar", "Approve"))
		waitStatus(tab, "app", ids[:2]...)
		tab.wait(`document.querySelector(".tile[data-index='0'] .badge.pen") === null && document.querySelector(".tile[data-index='2'] .badge.pen")`)
		waitStatus(tab, "pen", ids[2:]...)
		tab.click(tab.buttonIn(".selectionbar", "Undo"))
		waitStatus(tab, "pen", ids...)
	})

	t.Run("tag", func(t *testing.T) {
		tab, ids := opened(t)
		tab.keys("s")
		tab.keys("i")
		tab.keys(kb.Enter)
		tab.waitText(".selectionbar strong", "1 selected")
		tab.click(tab.buttonIn(".selectionbar", "Tag…"))
		tab.wait(`document.querySelectorAll('dialog datalist option').length > 3`)
		tab.keys("sumer" + kb.Enter)
		tab.waitText("dialog [type=submit]", "Create the tag")
		tab.keys(kb.Backspace + kb.Backspace + kb.Backspace + "mmer" + kb.Enter)
		tab.wait(`!document.querySelector('dialog')`)
		tab.waitTag(ids[0], "summer", true)
		tab.click(tab.buttonIn(".selectionbar", "Remove a tag…"))
		tab.wait(`document.querySelector('dialog .chips button')`)
		tab.click(tab.button("summer (1)"))
		tab.waitTag(ids[0], "summer", false)
		tab.click(tab.buttonIn(".selectionbar", "Undo"))
		tab.waitTag(ids[0], "summer", true)
	})

	// Until another list has arrived, the tiles show the decisions on the items of the list before.
	t.Run("while a list loads", func(t *testing.T) {
		r := &relay{latency: func() time.Duration { return 0 }, log: &writeLog{}}
		tab := startBrowser(t, startRelay(t, s, r)).logIn(t).tab(t, 1280, 800, "light")
		tab.open("wall?sort_by=id:asc&q=" + escape(query))
		tab.waitTotal(query)
		tab.clickChip(chip("approval_status", "pen")) // the wall shows all items, among them the pending ones
		tab.waitTotal("*:*")
		tab.click(tab.button("Select"))
		tab.click(".tile:has(.badge.pen) .choose")
		tab.waitText(".selectionbar strong", "1 selected")
		id := eval[int](tab, `Number(new URL(document.querySelector('.tile.chosen a').href).searchParams.get('item'))`)
		tab.click(tab.buttonIn(".selectionbar", "Approve"))
		waitStatus(tab, "app", id)
		arrived := make(chan struct{})
		r.before = func(in *http.Request) {
			if strings.HasSuffix(in.URL.Path, "/v2/content/items") {
				<-arrived
			}
		}
		tab.clickChip(chip("content.content_type", "image"))
		tab.wait(`document.querySelector('.wall[aria-busy=true]')`)
		if pending := eval[bool](tab, fmt.Sprintf(`document.querySelector('.tile:has(a[href*="item=%d"]) .badge.pen') !== null`, id)); pending {
			t.Errorf("item %d looks pending after its approval", id)
		}
		close(arrived)
		tab.waitTotal("content_type:image")
	})

	t.Run("in the dialog", func(t *testing.T) {
		tab, ids := opened(t)
		tab.click(".tile[data-index='2'] a")
		tab.wait(`document.querySelector('dialog[open] .itemactions')`)
		tab.click(tab.buttonIn("dialog .itemactions", "Reject"))
		tab.waitText("dialog .tabpanel", "Rejected")
		waitStatus(tab, "rej", ids[2])
		tab.click("#tab-history") // the page creates the tabs again when the decision is saved
		tab.waitText(".history", "Pending → Rejected")
		tab.check(axeScript(t))
		tab.keys(kb.Escape)
		tab.keys("z")
		waitStatus(tab, "pen", ids[2])
	})
}

// buttonIn returns the selector of the button with a text in an element.
func (tab *tab) buttonIn(scope, text string) string {
	tab.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((b) => b.innerText.trim() === %q)`, scope+" button", text)
	tab.wait(find)
	return eval[string](tab, fmt.Sprintf(`(() => { %s.dataset.test = %q; return %q; })()`, find, text, fmt.Sprintf("%s [data-test=%q]", scope, text)))
}

// chooseTag answers the dialog that asks for a tag, and creates the tag if no item has it.
func (tab *tab) chooseTag(text string) {
	tab.t.Helper()
	tab.keys(text + kb.Enter)
	tab.wait(`!document.querySelector('dialog') || document.querySelector('dialog [type=submit]').innerText === 'Create the tag'`)
	if eval[bool](tab, `document.querySelector('dialog') !== null`) {
		tab.keys(kb.Enter)
	}
	tab.wait(`!document.querySelector('dialog')`)
}

// waitTag waits until an item has a tag of the namespace marketer_tags that a caller has set, or until it has none.
func (tab *tab) waitTag(id int, key string, want bool) {
	tab.t.Helper()
	type source struct{ Kind string }
	type tag struct {
		Key     string
		Sources []source
	}
	waitFor(tab.t, fmt.Sprintf("item %d has the tag %s: %t", id, key, want), func() bool {
		var got struct{ Tags []tag }
		tab.server.get(tab.t, fmt.Sprintf("/v2/content/items/%d/sources", id), &got)
		return want == slices.ContainsFunc(got.Tags, func(t tag) bool { return t.Key == key && slices.Contains(t.Sources, source{"caller"}) })
	})
}
