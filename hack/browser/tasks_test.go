package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// person is a user who does not know the query language: a person clicks on what the page shows, and types words of the task.
type person struct {
	*tab
	actions int
}

// clicks clicks on an element.
func (p *person) clicks(selector string) {
	p.t.Helper()
	p.actions++
	p.clickChip(selector)
}

// types types words, or presses one key.
func (p *person) types(words string) {
	p.t.Helper()
	p.actions++
	p.keys(words)
}

// picks clicks on the first suggestion, which must have the text.
func (p *person) picks(text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`document.querySelector('.completions:not([hidden]) li')?.innerText.includes(%q)`, text))
	p.clicks(".completions li")
}

// TestTasks performs ten tasks of a person who does not know the query language. Each needs at most 8 actions.
func TestTasks(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t, "--samples")
	b := startBrowser(t, s).logIn(t)
	month := time.Now().UTC().AddDate(0, 0, 1-time.Now().UTC().Day()).AddDate(0, -1, 0)
	var one struct {
		Embedded struct {
			Items []struct {
				ID      int
				Content struct{ Author struct{ Username string } }
				Hashtag struct {
					Text string `json:"hashtag_text"`
				}
			} `json:"ugc:item"`
		} `json:"_embedded"`
	}
	s.get(t, "/v2/content/items?page_size=1&q="+escape("approval_status:pen AND _exists_:author AND _exists_:hashtag.hashtag_text"), &one)
	item := one.Embedded.Items[0]
	author, hashtag := item.Content.Author.Username, item.Hashtag.Text
	bar := ".querybar textarea"

	for name, task := range map[string]func(*person){
		"show the videos": func(p *person) {
			p.clicks(bar)
			p.types("videos")
			p.picks("Type is video")
			p.waitQuery("content_type:video")
		},
		"show what is approved on instagram": func(p *person) {
			p.clicks(bar)
			p.types("approved instagram")
			p.picks("Instagram")
			p.waitQuery("approval_status:app AND social_platform:instagram")
		},
		"show the items of a month": func(p *person) {
			p.clicks(bar)
			p.types(strings.ToLower(month.Format("January 2006")))
			p.picks(month.Format("January 2006"))
			p.waitQuery("created_on:" + month.Format("2006-01"))
		},
		"open an item by its number": func(p *person) {
			p.clicks(bar)
			p.types(fmt.Sprint(item.ID))
			p.picks(fmt.Sprint(item.ID))
			p.waitQuery(fmt.Sprintf("id:%d", item.ID))
			p.clicks(".tile a")
			p.waitText("dialog h2", fmt.Sprint(item.ID))
		},
		"show the items of an author": func(p *person) {
			p.clicks(bar)
			p.types("@" + author)
			p.picks(author)
			p.waitQuery("author:" + author)
		},
		"show the items of a hashtag": func(p *person) {
			p.clicks(bar)
			p.types("#" + hashtag)
			p.picks(hashtag)
			p.waitQuery("hashtag.hashtag_text:" + hashtag)
		},
		"find pending pictures without those of twitter": func(p *person) {
			p.clicks(chip("approval_status", "pen"))
			p.clicks(chip("content.content_type", "image"))
			p.clicks(chip("content.social_platform", "twitter"))
			p.clicks(chip("content.social_platform", "more"))
			p.wait(`document.querySelector('dialog[open] .form > .check input')`)
			p.clicks("dialog .form > .check input")
			p.waitQuery("approval_status:pen AND content_type:image AND NOT social_platform:twitter")
		},
		"approve two pending items": func(p *person) {
			p.clicks(chip("approval_status", "pen"))
			p.waitQuery("approval_status:pen")
			before := s.total(t, "approval_status:pen")
			p.clicks(p.button("Select"))
			p.clicks(".tile[data-index='0'] a")
			p.clicks(".tile[data-index='1'] a")
			p.clicks(p.buttonIn(".selectionbar", "Approve"))
			waitFor(p.t, "two items less are pending", func() bool { return s.total(t, "approval_status:pen") == before-2 })
		},
		"tag an item": func(p *person) {
			p.clicks(chip("approval_status", "rej"))
			p.waitQuery("approval_status:rej")
			id := eval[int](p.tab, `Number(new URL(document.querySelector(".tile[data-index='0'] a").href).searchParams.get('item'))`)
			p.clicks(p.button("Select"))
			p.clicks(".tile[data-index='0'] a")
			p.waitText(".selectionbar strong", "1 selected")
			p.clicks(p.buttonIn(".selectionbar", "Tag…"))
			p.wait(`document.activeElement.id === 'tagname'`)
			p.types("summer")
			p.types(kb.Enter)
			p.waitTag(id, "summer", true)
		},
		"propose a filter": func(p *person) {
			p.clicks(chip("content.content_type", "video"))
			p.clicks(chip("content.social_platform", "instagram"))
			p.waitQuery("content_type:video AND social_platform:instagram")
			p.clicks(p.button("New filter from this query…"))
			p.wait(`document.querySelector('.editor')`)
			p.clicks(p.button("Manifest"))
			p.waitText("pre.code", "query: 'content_type:video AND social_platform:instagram'")
			p.clicks(p.button("Copy the manifest"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &person{tab: b.tab(t, 1440, 900, "light")}
			p.open("")
			p.waitTotal("*:*")
			p.wait(`document.querySelectorAll('.chipbar [data-chip^="hashtag"] .count').length > 1`)
			task(p)
			if p.actions > 8 {
				t.Errorf("%d actions, want at most 8", p.actions)
			}
			t.Logf("%d actions", p.actions)
		})
	}
}
