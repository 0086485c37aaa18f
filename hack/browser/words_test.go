package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestWords finds items by words of people who do not know the query language.
func TestWords(t *testing.T) {
	t.Parallel()
	browserPath(t)
	axe := axeScript(t)
	s := startServer(t, "--samples")
	b := startBrowser(t, s).logIn(t)
	const first = `document.querySelector('.completions:not([hidden]) li')`
	at := func(t *testing.T, width int) *tab {
		t.Helper()
		tab := b.tab(t, width, 800, "light")
		tab.open("")
		tab.waitTotal("*:*")
		return tab
	}

	t.Run("mouse", func(t *testing.T) {
		tab := at(t, 1280)
		tab.click(".querybar textarea")
		tab.keys("instagram")
		tab.wait(first + `?.innerText.startsWith('Platform is Instagram')`)
		if shown, want := eval[string](tab, first+`.querySelector('.kind').innerText.replace(/\D/g, '')`), fmt.Sprint(s.total(t, "social_platform:instagram")); shown != want {
			t.Errorf("the completion counts %s items, want %s", shown, want)
		}
		tab.check(axe)
		tab.click(".completions li")
		tab.waitQuery("social_platform:instagram")
		tab.keys(" videos")
		tab.wait(first + `?.innerText.startsWith('Type is video')`)
		tab.click(".completions li")
		tab.waitQuery("social_platform:instagram AND content_type:video")
		tab.wait(`document.querySelectorAll('.mirror .segment.must').length === 2`)
		if height := eval[int](tab, `document.querySelector('.mirror').offsetHeight`); height != 20 {
			t.Errorf("a query of one line has %d pixels, want 20", height)
		}
	})

	t.Run("keyboard", func(t *testing.T) {
		tab := at(t, 1280)
		tab.keys("/aproved")
		tab.wait(first + `?.innerText.startsWith('Status is approved')`)
		tab.keys(kb.ArrowDown)
		tab.wait(`document.activeElement.getAttribute('aria-activedescendant') === document.querySelector('.completions [aria-selected=true]').id`)
		tab.keys(kb.Enter)
		tab.waitQuery("approval_status:app")
	})

	// A person who does not look at the completions submits the words, and finds nothing.
	t.Run("after Enter", func(t *testing.T) {
		tab := at(t, 360)
		tab.keys("/instagram" + kb.Enter)
		tab.wait(`document.querySelector('.proposals .button')?.innerText.startsWith('Platform is Instagram')`)
		tab.check(axe)
		tab.click(".proposals .button")
		tab.waitQuery("social_platform:instagram")
		tab.wait(`!document.querySelector('.proposals .button')`)
	})

	t.Run("an empty bar", func(t *testing.T) {
		tab := at(t, 1280)
		tab.keys("/beach AND sunset" + kb.Enter)
		tab.waitTotal("beach AND sunset")
		tab.wait(`localStorage.getItem('vitrine.queries')?.includes('beach AND sunset')`)
		tab.click("[aria-label='Clear the query']")
		tab.wait(first + `?.innerText.includes('beach AND sunset')`)
		tab.wait(`document.querySelector('.completions li.field code')?.innerText === 'approval_status:'`)
		tab.click(".completions li")
		tab.waitQuery("beach AND sunset")
	})

	// The next user of the browser must not see the queries.
	t.Run("after the logout", func(t *testing.T) {
		tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
		tab.allowed = append(tab.allowed, "/console/api/") // the requests that are in progress at the logout
		tab.open("")
		tab.waitTotal("*:*")
		tab.keys("/beach AND sunset" + kb.Enter)
		tab.wait(`localStorage.getItem('vitrine.queries')?.includes('beach')`)
		tab.click(tab.button("Log out"))
		tab.wait(`document.querySelector('#token') && !localStorage.getItem('vitrine.queries')`)
	})

	t.Run("a long query", func(t *testing.T) {
		tab := at(t, 360)
		query := "approval_status:app AND (" + strings.Repeat("beach OR sunset OR ", 12) + "city) AND -content_type:text"
		tab.keys("/" + query + kb.Enter)
		tab.waitQuery(query)
		tab.wait(`document.querySelectorAll('.mirror .segment').length >= 3`)
		if hidden := eval[bool](tab, `(() => {
			const { scrollHeight, clientHeight, scrollWidth, clientWidth } = document.querySelector('.querybar textarea');
			return scrollHeight > clientHeight || scrollWidth > clientWidth || document.querySelector('.mirror').offsetHeight !== clientHeight;
		})()`); hidden {
			t.Error("a part of the query is hidden")
		}
		tab.check(axe)
	})

	t.Run("problems", func(t *testing.T) {
		tab := at(t, 1280)
		tab.keys("/status:app AND platform:x OR beach and sunset")
		tab.wait(`document.querySelectorAll('.querybar .message > .warning').length === 3 && document.querySelectorAll('.querybar .message > .hint').length === 1`)
		tab.wait(`[...document.querySelectorAll('.mirror mark')].length > 2 && document.querySelector('.caret')`)
		tab.waitText(".querybar .message", `did you mean "social_platform"?`)
		tab.check(axe)
		// The problems of the previous query disappear at the next key.
		tab.keys(kb.Backspace)
		tab.wait(`!document.querySelector('.querybar.error')`)
	})
}
