package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/chromedp/chromedp/kb"
)

// module returns a script that runs a function with the exports of a module of the console.
func module(name, function string) string {
	return fmt.Sprintf(`import(document.querySelector('script[type=module]').src.replace('main.js', %q)).then(%s)`, name, function)
}

// validManifest fails the test if vitrine validate rejects a manifest together with the sample manifests.
func (tab *tab) validManifest(manifest string) {
	tab.t.Helper()
	file := filepath.Join(tab.t.TempDir(), "exported.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		tab.t.Fatal(err)
	}
	if output, err := exec.CommandContext(tab.t.Context(), program, "validate", "-f", filepath.Join(root, "config/samples"), "-f", file).CombinedOutput(); err != nil {
		tab.t.Errorf("vitrine validate: %v\n%s\n%s", err, output, manifest)
	}
}

// shownManifest returns the manifest in the dialog.
func (tab *tab) shownManifest() string {
	tab.t.Helper()
	tab.wait(`document.querySelector('dialog pre:not([hidden]) code')`)
	return eval[string](tab, `document.querySelector('dialog pre code').textContent`)
}

// TestYAML checks that the YAML of the console means the same as the JSON from which the console makes it.
func TestYAML(t *testing.T) {
	t.Parallel()
	browserPath(t)
	tab := startBrowser(t, startServer(t)).logIn(t).tab(t, 800, 600, "light")
	tab.open("wall")
	texts := []any{
		"", "a", "beach AND sunset", "true", "No", "null", "~", "12", "1e3", "0x1F", "2026-10-01", ".5", "-", "- a", "a: b", "a #b", "#a", "it's", `"quoted"`,
		"a\nb", "a\n", " a", "a ", "\ttab", "{a: b}", "[a]", "&a", "*a", "!a", "%a", "@a", "`a`", "a, b", "?", "東京", "👨‍👩‍👧", "\u202eright", "\x00\x1f\x7f", "\u2028", `\d`,
		strings.Repeat("long text ", 40), 1, -2.5, true, nil, []any{}, map[string]any{},
	}
	object := map[string]any{"list": texts, "empty": map[string]any{}, "metadata": map[string]any{}}
	for i, text := range texts {
		key := fmt.Sprint(text)
		object[fmt.Sprintf("k%d", i)] = map[string]any{"text": text, "nested": map[string]any{key: []any{text, []any{text}, map[string]any{key: text}}}}
	}
	sent, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	text := eval[string](tab, module("manifest.js", `(m) => m.yaml(`+string(sent)+`)`))
	var read any
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(sent) { // both have sorted keys
		t.Errorf("the YAML means\n%s\nwant\n%s\nthe YAML:\n%s", got, sent, text)
	}
}

// TestExportItems exports items as a Tag and as an ActivateUnit, by their IDs and by a query.
func TestExportItems(t *testing.T) {
	t.Parallel()
	browserPath(t)
	axe := axeScript(t)
	tab := startBrowser(t, startServer(t, "--samples")).logIn(t).tab(t, 390, 844, "light")
	tab.open("wall")
	tab.wait(`document.querySelector('.tile')`)
	tab.allowClipboard()
	open := func(what string) {
		eval[any](tab, module("manifest.js", `(m) => m.openExport({ property: 'shop/default', `+what+` })`)+".then(() => true)")
		tab.wait(`document.activeElement.matches('dialog input')`)
	}

	open(`ids: [101419, 101601], query: "approval_status:app AND it's"`)
	tab.waitText("dialog", "Type the key of the tag")
	tab.check(axe)
	tab.keys("harbor!")
	tab.waitText("dialog", "1 to 64 lowercase letters")
	tab.wait(`[...document.querySelectorAll('dialog .row.end button')].every((b) => b.disabled)`)
	tab.keys(kb.Backspace)
	tab.click(tab.button("Copy the manifest"))
	tab.waitText("dialog .toast", "Copied")
	listed := tab.shownManifest()
	if copied := eval[string](tab, `navigator.clipboard.readText()`); copied != listed || !strings.Contains(listed, "  items: [101419, 101601]\n") || strings.Contains(listed, "selector") {
		t.Errorf("the clipboard has %q, and the dialog %q", copied, listed)
	}
	tab.validManifest(listed)
	choose := func(label, value string) {
		eval[any](tab, fmt.Sprintf(`(() => {
			const field = [...document.querySelectorAll('dialog .field')].find((f) => f.innerText.startsWith(%q)).querySelector('select');
			field.value = %q;
			field.dispatchEvent(new Event('change'));
			return true;
		})()`, label, value))
	}
	choose("Items", "query")
	selected := tab.shownManifest()
	if !strings.Contains(selected, "  selector: {query: 'approval_status:app AND it''s'}\n") || strings.Contains(selected, "items:") {
		t.Errorf("the manifest is\n%s", selected)
	}
	tab.validManifest(selected)
	choose("Kind", "ActivateUnit")
	tab.waitText("dialog", "Type the name of the unit")
	tab.click("dialog [placeholder='Shop the sandals']")
	tab.keys("Visit us: 50% off" + kb.Tab + "https://cdn.shop.example/a.png" + kb.Tab + "https://www.shop.example/?a=b#c")
	unit := tab.shownManifest()
	if !strings.Contains(unit, "kind: ActivateUnit\nmetadata:\n  name: visit-us-50-off\n") {
		t.Errorf("the manifest is\n%s", unit)
	}
	tab.validManifest(unit)
	tab.check(axe)
	tab.keys(kb.Escape)
	tab.wait(`!document.querySelector('dialog')`)

	open(`query: 'tags.marketer_tags.key:summer'`)
	tab.keys("beaches")
	tab.waitText("dialog", "cannot use tags or units")
	tab.keys(kb.Escape)
	open(`ids: Array.from({ length: 10001 }, (_, i) => i + 1)`)
	tab.keys("many")
	tab.waitText("dialog", "at most 10,000 items")
}

// TestExportTag exports a tag that was set over HTTP, and checks that only such tags can be exported.
func TestExportTag(t *testing.T) {
	t.Parallel()
	browserPath(t)
	s := startServer(t)
	s.queue(t, 3)
	res := s.send(t, http.MethodPost, "/v1/tags/", fmt.Sprintf(`{"ugc_ids":[%d,%d],"namespace":"team","key":"checked"}`, firstID+2, firstID))
	res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("POST: %s", res.Status)
	}
	tab := startBrowser(t, s).logIn(t).tab(t, 390, 844, "light")
	tab.open("tags")
	tab.click("[aria-label='Export manifest of the tag team: checked']")
	manifest := tab.shownManifest()
	if want := fmt.Sprintf("  namespace: team\n  key: checked\n  items: [%d, %d]\n", firstID, firstID+2); !strings.HasSuffix(manifest, want) {
		t.Errorf("the manifest is\n%s\nwant the end\n%s", manifest, want)
	}
	tab.validManifest(manifest)
	if others := eval[int](tab, `document.querySelectorAll('tbody tr button').length`); others != 1 {
		t.Errorf("%d tags can be exported, want 1", others)
	}
}

// TestProposals checks the pages of the Git hosts, that a manifest that does not fit into the URL is in the clipboard, and that the manifest
// of a changed filter keeps what the console cannot edit.
func TestProposals(t *testing.T) {
	t.Parallel()
	browserPath(t)
	dir := t.TempDir()
	property := "apiVersion: vitrine.dev/v1alpha1\nkind: Property\nmetadata: {name: fair, namespace: shop}\nspec: {displayName: Fair, source: {repository: 'https://github.com/fair/content', path: content/fair}}\n" +
		"---\napiVersion: vitrine.dev/v1alpha1\nkind: AccessToken\nmetadata: {name: editor, namespace: shop}\nspec: {class: ReadWrite, propertyRef: {name: fair}}\n" +
		"---\napiVersion: vitrine.dev/v1alpha1\nkind: AccessToken\nmetadata: {name: helper, namespace: shop}\nspec: {class: ReadWrite, allow: [Moderate], propertyRef: {name: fair}}\n" +
		"---\napiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {name: wall, namespace: shop, labels: {team: brand}, annotations: {vitrine.dev/source-path: walls/main.yaml, kubectl.kubernetes.io/last-applied-configuration: '{}'}}\n" +
		"spec: {query: beach, suspend: false, favoriteTag: {namespace: vibe, key: calm}, propertyRef: {name: fair}} # a comment\n"
	if err := os.WriteFile(filepath.Join(dir, "fair.yaml"), []byte(property), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, dir)
	s.token = s.tokens["editor"]
	tab := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	tab.allowClipboard()
	tab.open("filters/edit?tab=manifest&q=beach&name=Beach")
	tab.wait(`[...document.querySelectorAll('a.button')].some((a) => a.innerText === 'Open a pull request' && a.checkVisibility())`)
	// Stop the link after its own handler, because the page of the Git host is not reachable.
	follow := func() string {
		return eval[string](tab, `(() => {
			const link = [...document.querySelectorAll('a.button')].find((a) => a.innerText === 'Open a pull request');
			link.addEventListener('click', (e) => e.preventDefault(), { once: true });
			link.click();
			return link.href;
		})()`)
	}
	manifest := eval[string](tab, `document.querySelector('.tabpanel pre code').textContent`)
	filled, err := url.Parse(follow())
	if err != nil || !strings.HasPrefix(filled.String(), "https://github.com/fair/content/new/main?") || filled.Query().Get("filename") != "content/fair/beach.yaml" || filled.Query().Get("value") != manifest {
		t.Errorf("the page is %s", filled)
	}
	var list struct {
		Filters []filter `json:"_embeded"`
	}
	s.get(t, "/v2/content/filters", &list)
	tab.open("filters/edit?tab=manifest&q=tram&from=" + list.Filters[0].UUID)
	tab.waitText(".tabpanel pre", "query: tram")
	tab.wait(`[...document.querySelectorAll('a.button')].some((a) => a.innerText === 'Open a pull request' && a.checkVisibility())`)
	if got := follow(); got != "https://github.com/fair/content/edit/main/walls/main.yaml" {
		t.Errorf("the page is %s", got)
	}
	tab.waitText(".toast", "paste it into the page")
	const changed = "apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata:\n  name: wall\n  namespace: shop\n  labels: {team: brand}\n" +
		"  annotations: {vitrine.dev/source-path: walls/main.yaml}\n" +
		"spec:\n  favoriteTag: {key: calm, namespace: vibe}\n  propertyRef: {name: fair}\n  query: tram\n  suspend: false\n"
	if copied := eval[string](tab, `navigator.clipboard.readText()`); copied != changed {
		t.Errorf("the clipboard has\n%s\nwant\n%s", copied, changed)
	}
	tab.waitText(".tabpanel", "It has no comments")
	tab.click(".tabpanel .check input")
	tab.waitText(".tabpanel pre", "name: wall-copy")
	if renamed := eval[string](tab, `document.querySelector('.tabpanel pre code').textContent`); strings.Contains(renamed, "brand") {
		t.Errorf("a new filter has the labels of the filter that it was made from:\n%s", renamed)
	}
	if got := follow(); !strings.HasPrefix(got, "https://github.com/fair/content/new/main?filename=content%2Ffair%2Fwall-copy.yaml&") {
		t.Errorf("the page is %s", got)
	}

	s.token = s.tokens["helper"]
	helper := startBrowser(t, s).logIn(t).tab(t, 1280, 800, "light")
	helper.open("filters/edit?tab=manifest&q=tram&from=" + list.Filters[0].UUID)
	helper.waitText(".tabpanel", "Copy the fields of spec that you changed")
	helper.waitText(".tabpanel", "The reason: The manifest needs a token that allows the action ReadPrivate")

	for draft, want := range map[string]string{
		`{ name: 'Wall', query: 'sea', sortBy: 'id:asc', favoriteTag: 'a:b', readOnly: true }`:  `{"suspend":true,"query":"sea","favoriteTag":{"namespace":"a","key":"b"},"name":"Wall","sortBy":"id:asc","readAccess":"ReadOnly"}`,
		`{ name: 'wall', query: 'sea', sortBy: '', favoriteTag: 'vibe:calm', readOnly: false }`: `{"suspend":true,"query":"sea","favoriteTag":{"namespace":"vibe","key":"calm"}}`,
		`{ name: '', query: '', sortBy: 'created_on:desc', favoriteTag: '', readOnly: false }`:  `{"suspend":true,"query":"*:*"}`,
	} {
		call := `(m) => JSON.stringify(m.changedManifest({ kind: 'K', metadata: { name: 'wall' }, spec: { suspend: true, query: 'beach', favoriteTag: { namespace: 'vibe', key: 'calm' } } }, ` + draft + `))`
		if got := eval[string](tab, module("manifest.js", call)); got != `{"kind":"K","metadata":{"name":"wall"},"spec":`+want+`}` {
			t.Errorf("%s: %s", draft, got)
		}
	}

	for arguments, want := range map[string]string{
		`{ repository: 'https://gitlab.shop.example/a/b', branch: 'x/y' }, 'c/n.yaml', 't', false`: "https://gitlab.shop.example/a/b/-/new/x/y?file_name=c%2Fn.yaml false",
		`{ repository: 'https://git.shop.example/a/b', host: 'GitLab' }, 'n.yaml', 't', true`:      "https://git.shop.example/a/b/-/edit/main/n.yaml false",
		`{ repository: 'https://codeberg.org/a/b', branch: 'x/y' }, 'c/d/n.yaml', 't', false`:      "https://codeberg.org/a/b/_new/x/y/c/d?filename=n.yaml false",
		`{ repository: 'https://codeberg.org/a/b' }, 'n.yaml', 't', false`:                         "https://codeberg.org/a/b/_new/main?filename=n.yaml false",
		`{ repository: 'https://git.shop.example/a/b' }, 'c/n.yaml', 't', true`:                    "https://git.shop.example/a/b/_edit/main/c/n.yaml false",
		`{ repository: 'https://github.shop.example/a/b' }, 'n.yaml', 'a: 1&b#', false`:            "https://github.shop.example/a/b/new/main?filename=n.yaml&value=a%3A+1%26b%23 true",
		`{ repository: 'https://github.com/a/b' }, 'n.yaml', 'x'.repeat(6000), false`:              "https://github.com/a/b/new/main?filename=n.yaml false",
	} {
		if got := eval[string](tab, module("manifest.js", `(m) => { const { url, filled } = m.proposal(`+arguments+`); return url + ' ' + filled; }`)); got != want {
			t.Errorf("%s: %s, want %s", arguments, got, want)
		}
	}
}
