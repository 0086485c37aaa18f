package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// overlaps is a script with a function that reports whether two rectangles overlap.
const overlaps = `const overlaps = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;`

// TestMarksCoverNoText checks that the marks of a text item, such as the star of a featured item, do not cover its text.
func TestMarksCoverNoText(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t)
	var lines strings.Builder
	for i, status := range []string{"app", "pen", "rej"} {
		fmt.Fprintf(&lines, `{"id":%d,"approval_status":%q,"featured":true,"created_on":"2026-01-01T00:00:00Z","content":{"content_type":"text","text":%q}}`+"\n",
			firstID+i, status, strings.Repeat("New sandals for the summer. ", 20))
	}
	s.bulk(t, lines.String())
	s.createFilter(t, "Everything", "*:*")
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open("wall")
	eval[any](tab, `localStorage.setItem('vitrine.size', 'small'); true`)
	for _, page := range []string{"wall", "filters/edit?q=*:*", "moderation", "moderation?filter="} {
		if strings.HasSuffix(page, "=") {
			page += eval[string](tab, `[...document.querySelectorAll('select[aria-label=Queue] option')].find((o) => o.text === 'Everything').value`)
		}
		tab.open(page)
		tab.wait(`document.querySelector('.picture.text p') && document.querySelector('.star')`)
		tab.wait(`!location.pathname.endsWith('/moderation') || document.querySelector('select[aria-label=Queue] option:nth-child(2)')`)
		if covered := eval[string](tab, `(() => { `+overlaps+`
			for (const picture of document.querySelectorAll('.picture.text:has(+ .marks)')) {
				const range = document.createRange();
				range.selectNodeContents(picture.querySelector('p'));
				const line = range.getClientRects()[0];
				const tile = picture.parentElement;
				for (const mark of tile.querySelectorAll('.marks .badge')) if (mark.checkVisibility() && overlaps(line, mark.getBoundingClientRect())) return mark.className + ' of ' + tile.className;
			}
			return '';
		})()`); covered != "" {
			t.Errorf("%s: the text is below %s", page, covered)
		}
	}
}

// TestPhone checks the controls on a narrow screen: none covers another one, and decisions are large enough for a finger.
func TestPhone(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t)
	s.queue(t, 3)
	tab := startBrowser(t, s).logIn(t).tab(t, 390, 844, "light")
	tab.open("wall?explain=1")
	tab.wait(`document.querySelector('.explainbar:not([hidden])')`)
	if covered := eval[bool](tab, `(() => { `+overlaps+`
		const button = document.querySelector('.toolbar [aria-pressed]').getBoundingClientRect();
		return ['.explainbar', '.options summary', '.querybar'].some((other) => overlaps(button, document.querySelector(other).getBoundingClientRect()));
	})()`); covered {
		t.Error("the button Explain covers another control")
	}
	tab.click(tab.button("Explain"))
	tab.wait(`document.querySelector('.explainbar').hidden`)
	tab.open("moderation")
	tab.wait(`document.querySelector('[role=option]')`)
	if low := eval[int](tab, `[...document.querySelectorAll('.decisions .button')].filter((b) => b.getBoundingClientRect().height < 44).length`); low > 0 {
		t.Errorf("%d decisions are lower than 44 pixels", low)
	}
}

// TestBrokenPicture checks that a text replaces a picture that cannot be loaded.
func TestBrokenPicture(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t)
	b := startBrowser(t, s).logIn(t)
	s.bulk(t, fmt.Sprintf(`{"id":%d,"approval_status":"pen","created_on":"2026-01-01T00:00:00Z","content":{"content_type":"image","media":{"original_url":%q}}}`+"\n", firstID, s.url+"/missing.jpg"))
	tab := b.tab(t, 1280, 800, "light")
	tab.allowed = append(tab.allowed, "/missing.jpg")
	tab.open("wall")
	tab.waitText(".tile", "The picture cannot be loaded")
	tab.open("moderation")
	tab.waitText(".stage", "The picture cannot be loaded")
	tab.waitText("[role=option]", "The picture cannot be loaded")
}

// TestTextItem checks that the details of an item without media do not show the placeholder that the API uses for their URL.
func TestTextItem(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t)
	res := s.send(t, "POST", "/v2/content/", `{"content_type":"text","caption":"The first tram"}`)
	defer res.Body.Close()
	var item struct{ ID int }
	if err := json.NewDecoder(res.Body).Decode(&item); err != nil || item.ID == 0 {
		t.Fatalf("POST /v2/content/: %s %v", res.Status, err)
	}
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open(fmt.Sprintf("wall?item=%d", item.ID))
	tab.waitText("dialog .facts", "Last changed")
	if text := eval[string](tab, `document.querySelector('dialog .facts').innerText`); strings.Contains(text, "about:blank") {
		t.Errorf("the details are %q", text)
	}
}

// TestLastChanged checks that the wall can list first what a caller changed last.
func TestLastChanged(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t)
	var lines strings.Builder
	for i, text := range []string{"The first tram", "The second tram", "The third tram"} {
		fmt.Fprintf(&lines, `{"id":%d,"created_on":"2026-01-0%dT00:00:00Z","content":{"content_type":"text","text":%q}}`+"\n", firstID+i, i+1, text)
	}
	s.bulk(t, lines.String())
	res := s.send(t, "PATCH", fmt.Sprintf("/v2/content/%d", firstID+1), `{"campaign":4711}`)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("change an item: %s", res.Status)
	}
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open("wall?sort_by=last_modified:desc")
	tab.wait(`document.querySelectorAll('.tile').length === 3`)
	if first := eval[string](tab, `document.querySelector('.tile').innerText`); !strings.Contains(first, "The second tram") {
		t.Errorf("the first tile is %q", first)
	}
	if orders := eval[string](tab, `[...document.querySelectorAll('option:checked')].map((o) => o.innerText).join()`); !strings.Contains(orders, "Last changed first") {
		t.Errorf("the orders are %q", orders)
	}
}

// TestTables checks the rows of tables and the search field above them.
func TestTables(t *testing.T) {
	t.Parallel()
	browserPath(t)
	tab := startBrowser(t, startServer(t)).logIn(t).tab(t, 1280, 800, "light")
	for _, page := range []string{"filters", "tags"} {
		tab.open(page)
		tab.wait(`document.querySelectorAll('tbody tr').length >= 2`)
		if wrong := eval[string](tab, `(() => {
			const top = (cell) => {
				const range = document.createRange();
				range.selectNodeContents(cell);
				return range.getClientRects()[0].top;
			};
			for (const row of document.querySelectorAll('tbody tr')) {
				const [name, owner] = [row.cells[0].querySelector('bdi'), row.cells[1].querySelector('span')].map(top);
				if (Math.abs(name - owner) > 1) return 'the name is ' + (name - owner) + ' pixels lower than its row';
			}
			const last = [...document.querySelector('tbody').lastElementChild.cells].map((c) => getComputedStyle(c).borderBottomWidth);
			if (last.some((width) => width !== '0px')) return 'the last row has the lines ' + last;
			const search = document.querySelector('[type=search]');
			const pen = document.createElement('canvas').getContext('2d');
			pen.font = getComputedStyle(search).font;
			const style = getComputedStyle(search);
			const space = search.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 16;
			return pen.measureText(search.placeholder).width > space ? 'the placeholder of the search is cut' : '';
		})()`); wrong != "" {
			t.Errorf("%s: %s", page, wrong)
		}
	}
}

// TestFindFilterByUUID checks that the search finds a filter by its whole UUID, but not by a part that happens to be the name of another.
func TestFindFilterByUUID(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t)
	var list struct {
		Filters []struct {
			UUID string `json:"filter_uuid"`
		} `json:"_embeded"`
	}
	s.get(t, "/v2/content/filters", &list)
	uuid := list.Filters[0].UUID
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.open("filters?find=" + uuid)
	tab.wait(`document.querySelectorAll('tbody tr').length === 1`)
	tab.open("filters?find=" + uuid[:8])
	tab.waitText("main", "No filter matches")
}

// TestDefaultObjectName checks that the manifest of a filter without a name is named after its query, and that different queries without a
// usable word, or with the same long beginning, lead to different names.
func TestDefaultObjectName(t *testing.T) {
	t.Parallel()
	browserPath(t)
	tab := startBrowser(t, startServer(t)).logIn(t).tab(t, 1280, 800, "light")
	tab.open("filters/edit?tab=manifest&q=beach+AND+sunset")
	tab.waitText(".tabpanel pre", "name: beach-and-sunset\n")
	tab.open("filters/edit?tab=manifest&q=beach&name=" + escape("東京"))
	tab.waitText(".tabpanel pre", "name: beach\n")
	long := strings.Repeat("beach OR ", 10)
	if names := eval[[]string](tab, module("manifest.js", fmt.Sprintf(`(m) => ['東京', '大阪', '*:*', '%[1]s sunset', '%[1]s tram', 'filter'].map((q) => m.objectName('filter', '', q))`, long))); len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) ||
		slices.ContainsFunc(names, func(name string) bool {
			return !regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`).MatchString(name)
		}) {
		t.Errorf("the names are %q", names)
	}
}
