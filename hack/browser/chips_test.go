package browser

import (
	"fmt"
	"testing"
	"time"
)

// chip returns a selector for the chip of a group that shows a value.
func chip(group, text string) string {
	return fmt.Sprintf(`.chipbar [data-chip="%s %s"]`, group, text)
}

// clickChip waits until the chips have their counts, because a count can move the chips after it, and then clicks on a chip.
func (tab *tab) clickChip(selector string) {
	tab.t.Helper()
	tab.wait(`!document.querySelector('.chipbar[aria-busy]')`)
	tab.click(selector)
}

// waitQuery waits until the wall shows the items of a query that its chips wrote, and no request changes the page any more.
func (tab *tab) waitQuery(query string) {
	tab.t.Helper()
	tab.wait(fmt.Sprintf(`(new URLSearchParams(location.search).get('q') ?? '') === %q`, query))
	tab.wait(fmt.Sprintf(`document.querySelector('.querybar textarea').value === %q`, query))
	if query == "" {
		query = "*:*"
	}
	tab.waitTotal(query)
}

// pressedChips is the expression for the texts of the chips that are pressed.
const pressedChips = `[...document.querySelectorAll('.chipbar [aria-pressed=true]')].map((chip) => chip.innerText.replace(/ [\d,]+$/, '')).join('; ')`

// TestChips narrows the wall by clicks alone, and opens queries that were written by hand.
func TestChips(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	b := startBrowser(t, s).logIn(t)
	month := time.Now().UTC().AddDate(0, 0, 1-time.Now().UTC().Day()).AddDate(0, -1, 0)

	t.Run("five clicks", func(t *testing.T) {
		tab := b.tab(t, 1440, 900, "light")
		tab.open("")
		tab.waitTotal("*:*")
		tab.wait(`document.querySelectorAll('.chipbar [data-chip^="hashtag"] .count').length > 1`)
		hashtag := eval[string](tab, `document.querySelector('.chipbar [data-chip^="hashtag"]').dataset.chip.split(' ')[1]`)
		query := ""
		for i, c := range []struct{ chip, clause string }{
			{chip("hashtag.hashtag_text", hashtag), "hashtag.hashtag_text:" + hashtag},
			{chip("approval_status", "app"), "approval_status:app"},
			{chip("content.social_platform", "instagram"), "social_platform:instagram"},
			{chip("content.content_type", "video"), "content_type:video"},
			{chip("created_on", month.Format("January 2006")), "created_on:" + month.Format("2006-01")},
		} {
			tab.clickChip(c.chip)
			if i > 0 {
				query += " AND "
			}
			query += c.clause
			tab.waitQuery(query)
		}
		tab.wait(`document.querySelectorAll('.chipbar [aria-pressed=true]').length === 5`)
		// The count of a chip is the number of items with the chip in the place of the other chips of its group.
		rest := "hashtag.hashtag_text:" + hashtag + " AND approval_status:%s AND %scontent_type:video AND created_on:" + month.Format("2006-01")
		tab.wait(fmt.Sprintf(`document.querySelector('%s .count')?.innerText.trim() === '%d'`, chip("approval_status", "rej"),
			s.total(t, escape(fmt.Sprintf(rest, "rej", "social_platform:instagram AND ")))))
		tab.clickChip(chip("content.social_platform", "instagram"))
		tab.waitQuery(fmt.Sprintf(rest, "app", ""))
	})

	t.Run("written queries", func(t *testing.T) {
		for query, want := range map[string]string{
			"approval_status:app OR approval_status:pen":                                        "Approved; Pending",
			"beach AND NOT social_platform:(instagram,twitter) AND content_type:VIDEO":          "not Instagram; not Twitter; Video",
			"created_on:[2026-01-01 TO 2026-01-31] AND tags.marketer_tags.key:summer AND be?ch": "2026-01-01 to 2026-01-31; summer",
			"approval_status:app beach":                                                         "",
			"+approval_status:app +content.platform_data.location.country_code:es beach":        "Approved; Spain",
		} {
			tab := b.tab(t, 1280, 800, "dark")
			tab.open("wall?q=" + escape(query))
			tab.waitTotal(query)
			tab.wait(fmt.Sprintf(`%s === %q`, pressedChips, want))
		}
	})

	t.Run("keep the rest of the query", func(t *testing.T) {
		tab := b.tab(t, 1280, 800, "light")
		tab.open("wall?q=" + escape(`beach "blue sky"~3 -rain`))
		tab.waitTotal(`beach "blue sky"~3 -rain`)
		tab.clickChip(chip("approval_status", "pen"))
		tab.waitQuery(`(beach OR "blue sky"~3) AND NOT rain AND approval_status:pen`)
		tab.clickChip(chip("approval_status", "app"))
		tab.waitQuery(`(beach OR "blue sky"~3) AND NOT rain AND approval_status:(pen,app)`)
		tab.clickChip(chip("approval_status", "more"))
		tab.wait(`document.querySelectorAll('dialog[open] .choices input').length === 3`)
		tab.click("dialog .form > .check input")
		tab.waitQuery(`(beach OR "blue sky"~3) AND NOT rain AND NOT approval_status:(pen,app)`)
		tab.click("dialog .form .button.primary")
		tab.wait(`!document.querySelector('dialog')`)
		tab.clickChip(chip("approval_status", "app"))
		tab.clickChip(chip("approval_status", "pen"))
		tab.waitQuery(`(beach OR "blue sky"~3) AND NOT rain`)
	})

	t.Run("more values", func(t *testing.T) {
		tab := b.tab(t, 1280, 800, "light")
		tab.open("")
		tab.waitTotal("*:*")
		tab.clickChip(chip("tags", "more"))
		tab.wait(`document.querySelectorAll('dialog[open] .choices input').length > 5`)
		tab.keys("marketer_tags:summ")
		tab.wait(`document.querySelectorAll('dialog[open] .choices input').length === 1`)
		tab.click("dialog .choices input")
		tab.waitQuery("tags.marketer_tags.key:summer")
		tab.check(axeScript(t))
	})
}

// TestLinksOfAnItem follows the links of an item to the items with the same author, platform and place.
func TestLinksOfAnItem(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	const query = "social_platform:instagram AND _exists_:content.platform_data.location.full_name AND _exists_:hashtag.hashtag_text"
	for _, name := range []string{"Platform", "Author", "Place", "Hashtag", "Campaign"} {
		tab.open("wall?q=" + escape(query))
		tab.waitTotal(query)
		tab.click(".tile a")
		tab.wait(`document.querySelector('dialog[open] .facts')`)
		link := fmt.Sprintf(`[...document.querySelectorAll('dialog .facts div')].find((d) => d.querySelector('dt').innerText === %q)?.querySelector('dd a[href*="wall?q="]')`, name)
		want := eval[string](tab, `new URL(`+link+`.href).searchParams.get('q')`)
		if n := s.total(t, escape(query+" AND "+want)); n == 0 {
			t.Errorf("%s: no item matches %s", name, want)
		}
		eval[bool](tab, link+`.click() === undefined`)
		tab.wait(`!document.querySelector('dialog[open]')`)
		tab.waitTotal(want)
	}
	tab.open("")
	tab.waitTotal("*:*")
	tab.click("label:has(input[type=checkbox]).check:not(.settings *)")
	tab.wait(`document.querySelectorAll('.tile .origin').length > 3 && /·/.test(document.querySelector('.tile .origin').innerText)`)
}

// TestNearMisses lists the items that a query does not find. Items that fail only one clause come first.
func TestNearMisses(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	const query = "beach AND social_platform:instagram AND NOT approval_status:rej"
	tab.open("wall?explain=true&out=true&q=" + escape(query))
	tab.waitTotal("*:* AND NOT (" + query + ")")
	near := []string{
		"NOT (beach) AND (social_platform:instagram) AND NOT (approval_status:rej)",
		"(beach) AND NOT (social_platform:instagram) AND NOT (approval_status:rej)",
		"(beach) AND (social_platform:instagram) AND (approval_status:rej)",
	}
	sum := 0
	for i, q := range near {
		n := s.total(t, escape(q))
		sum += n
		tab.wait(fmt.Sprintf(`document.querySelectorAll('.misses .chip')[%d].querySelector('.count')?.innerText.trim() === '%d'`, i, n))
	}
	ids := eval[[]int](tab, `[...document.querySelectorAll('.tile a')].map((a) => Number(new URL(a.href).searchParams.get('item')))`)
	for i, id := range ids[:min(len(ids), sum)] {
		if s.total(t, escape(fmt.Sprintf("id:%d AND ((%s) OR (%s) OR (%s))", id, near[0], near[1], near[2]))) != 1 {
			t.Errorf("item %d, at place %d of %d, fails more than one clause", id, i, sum)
		}
	}
	tab.check(axeScript(t))
	tab.click(".misses .chip:nth-of-type(3)")
	tab.waitTotal(near[2])
	tab.wait(`new URLSearchParams(location.search).get('miss') === '3'`)
}

// TestOldItems checks that the wall marks its items while the query in the bar has an error.
func TestOldItems(t *testing.T) {
	t.Parallel()
	browserPath(t)
	tab := startBrowser(t, startServer(t, "--samples")).logIn(t).tab(t, 1280, 800, "light")
	tab.open("wall?q=beach")
	tab.waitTotal("beach")
	tab.click(".querybar textarea")
	tab.keys(" AND (sunset")
	tab.waitText(".wall", "These are the items of the last query without an error.")
	tab.wait(`document.querySelector('.wallbody.old .tile')`)
	tab.check(axeScript(t))
	tab.keys(")")
	tab.waitTotal("beach AND (sunset)")
	tab.wait(`!document.querySelector('.wallbody.old')`)
}
