package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/internal/cli/contentdiff"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// bring stores definitions as if manifests of the test's property had declared them in the namespace shop.
func bring(t *testing.T, dir string, definitions map[string]library.Definition) {
	t.Helper()
	lib, err := reference.Open(reference.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range definitions {
		d.Property, d.Owner.Install, d.Owner.Namespace, d.Owner.Name = property, "test", "shop", name
		results, applyErr := lib.Apply(t.Context(), []library.Definition{d})
		err = errors.Join(err, applyErr, results[0].Err)
	}
	if err := errors.Join(err, lib.Close()); err != nil {
		t.Fatal(err)
	}
}

// storedFilter returns the definition of a filter for bring.
func storedFilter(name string, f library.Filter) library.Definition {
	f.UUID, f.ID = library.FilterIDs(property, library.KindFilter, "shop", name)
	f.Name = name
	return library.Definition{Owner: library.Owner{Kind: library.KindFilter}, Filter: &f}
}

// storedToken returns the definition of a token for bring.
func storedToken(value string, k library.Token) library.Definition {
	k.Values = []library.TokenValue{{Digest: sha256.Sum256([]byte(value))}}
	return library.Definition{Owner: library.Owner{Kind: library.KindToken}, Token: &k}
}

func filterManifest(name, spec string) string {
	return "---\napiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {name: " + name + ", namespace: shop}\nspec: {" + spec + "}\n"
}

func TestDiff(t *testing.T) {
	dir := newStore(t)
	definitions := map[string]library.Definition{}
	for name, f := range map[string]library.Filter{
		"query":     {Query: "id:[1 TO 10]", Order: "id:asc"},
		"order":     {Query: "id:[1 TO 10]", Order: "id:asc"},
		"favourite": {Query: "id:[1 TO 10]", Order: "id:asc"},
		"same":      {Query: "id:[1 TO 10]", Order: "id:asc", Favourite: &item.Tag{Namespace: "marketer_tags", Key: "hero"}},
		"spelling":  {Query: "id:[1 TO 10] AND approval_status:app", Order: "id:asc"},
		"removed":   {Query: "*:*", Order: "id:asc"},
	} {
		definitions[name] = storedFilter(name, f)
	}
	bring(t, dir, definitions)
	s := start(t, dir)
	s.environment(t)
	lines := strings.Replace(itemLines(1, 20), `"key":"summer"`, `"key":"summer"},{"key":"hero"`, 1)
	lines = strings.Replace(lines, "item number 12", "item | number `12` by @somebody "+strings.Repeat("x", 80), 1)
	vitrine(t.Context(), lines, "import", "-").want(t, 0)
	manifests := filterManifest("query", "query: 'id:[4 TO 12]', sortBy: 'id:asc'") +
		filterManifest("order", "query: 'id:[1 TO 10]', sortBy: 'id:desc'") +
		filterManifest("favourite", "query: 'id:[1 TO 10]', sortBy: 'id:asc', favoriteTag: {namespace: vibe, key: x}") +
		filterManifest("same", "query: 'id:[1 TO 10]', sortBy: 'id:asc', favoriteTag: {namespace: marketer_tags, key: hero}") +
		filterManifest("spelling", "query: '+id:[1 TO 10]  +approval_status:app', sortBy: 'id:asc'") +
		filterManifest("fresh", "query: 'id:3', sortBy: random") +
		filterManifest("removed", "query: 'id:3', suspend: true")

	changes := diffed(t, manifests, 2)
	type outcome struct {
		State        string
		Enter, Leave []item.ID
		More         int64
		Reordered    bool
	}
	ids := func(i contentdiff.Items) (ids []item.ID) {
		for _, it := range i.First {
			ids = append(ids, it.ID)
		}
		return ids
	}
	outcomes := map[string]outcome{}
	for _, c := range changes {
		outcomes[c.Name] = outcome{c.State, ids(c.Enter), ids(c.Leave), c.Enter.Total + c.Leave.Total - int64(len(c.Enter.First)+len(c.Leave.First)), c.Reordered}
	}
	want := map[string]outcome{
		"shop/query":     {State: contentdiff.Changed, Enter: []item.ID{11, 12}, Leave: []item.ID{1, 2}, More: 1},
		"shop/order":     {State: contentdiff.Changed, Reordered: true},
		"shop/favourite": {State: contentdiff.Changed},
		"shop/same":      {State: contentdiff.Unchanged},
		"shop/spelling":  {State: contentdiff.Changed},
		"shop/fresh":     {State: contentdiff.New, Enter: []item.ID{3}},
		"shop/removed":   {State: contentdiff.Suspended},
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}

	hero := filterManifest("favourite", "query: 'id:[1 TO 10]', sortBy: 'id:asc', favoriteTag: {namespace: marketer_tags, key: summer}") +
		filterManifest("query", "query: 'id:[4 TO 12]', sortBy: 'id:asc'")
	const page = "### Content filters: 2 changed, 0 unchanged\n\n#### shop/favourite (changed)\n\n" +
		"| | served | new |\n| --- | --- | --- |\n| items | 10 | 10 |\n| query | `id:[1 TO 10]` | `id:[1 TO 10]` |\n| order | `id:asc` | `id:asc` |\n" +
		"| favorite tag |  | `marketer_tags:summer` |\n\nNone enters.\n\nNone leaves.\n\nThe order stays the same.\n" +
		"\n#### shop/query (changed)\n\n" +
		"| | served | new |\n| --- | --- | --- |\n| items | 10 | 9 |\n| query | `id:[1 TO 10]` | `id:[4 TO 12]` |\n| order | `id:asc` | `id:asc` |\n" +
		"\n**2 enter**:\n\n- 11, text, 2026-11-15T20:38:13Z: `item number 11`\n" +
		"- 12, text, 2026-11-15T20:38:13Z: ``item | number `12` by @somebody xxxxxxxxxxxxxxxxxxxxxxxxxxx…``\n" +
		"\n**3 leave**:\n\n- 1, text, 2026-11-15T20:38:13Z: `item number 1`\n- 2, text, 2026-11-15T20:38:13Z: `item number 2`\n- and 1 more\n" +
		"\nThe order stays the same.\n"
	if diff := cmp.Diff(page, vitrine(t.Context(), hero, "diff", "-f", "-", "--items", "2").stdout); diff != "" {
		t.Errorf("Markdown (-want +got):\n%s", diff)
	}

	linked := vitrine(t.Context(), manifests, "diff", "-f", "-", "--links", "--console-url", "https://content.shop.example/").stdout
	if got := strings.Count(linked, "\n[See the items in the console](https://content.shop.example/console/filters/edit?"); got != 5 {
		t.Errorf("the report has %d links, want one for each new or changed filter:\n%s", got, linked)
	}
	vitrine(t.Context(), manifests, "diff", "-f", "-", "--console-url", "https://content.shop.example").want(t, exit.Usage, "needs --links")
	vitrine(t.Context(), manifests, "diff", "-f", "-", "--links", "--console-url", "content.shop.example").want(t, exit.Usage, "--console-url", "https://content.shop.example")

	vitrine(t.Context(), filterManifest("a", "query: 'x AND'"), "diff", "-f", "-").want(t, exit.Manifests, "nothing after AND", "the manifests have errors", "correct them first")
	other := filterManifest("b", "query: x, propertyRef: {name: other}")
	vitrine(t.Context(), manifests+other, "diff", "-f", "-").want(t, exit.Usage, "objects of several properties (shop/default, shop/other)", "--property")
	vitrine(t.Context(), manifests+other, "diff", "-f", "-", "--property", "shop/default").want(t, 0, "4 changed, 1 new, 1 suspended, 1 unchanged")
	vitrine(t.Context(), manifests, "diff", "-f", "-", "--property", "shop/none").want(t, exit.Failed, "no ContentFilter, Property or AccessToken of property shop/none")
	vitrine(t.Context(), other, "diff", "-f", "-").want(t, exit.Failed, "belongs to property shop/default, and the manifests to shop/other")
	vitrine(t.Context(), manifests+other, "diff", "-f", "-", "--property", "shop/other").want(t, exit.Failed, "a READ-WRITE token of shop/other")
	long := filterManifest("query", "query: '"+strings.Repeat("x", 16380)+"'")
	vitrine(t.Context(), long, "diff", "-f", "-").want(t, 0, "None enters", "**10 leave**")
	if out := vitrine(t.Context(), long, "diff", "-f", "-", "--links").stdout; strings.Contains(out, "/console/") {
		t.Errorf("the report has a link that is too long for a comment:\n%.9000s", out)
	}
	wide := filterManifest("query", "query: '"+strings.Repeat("x ", 1024)+"'")
	vitrine(t.Context(), wide, "diff", "-f", "-").want(t, 0, "None enters", "**10 leave**")
	t.Setenv("VITRINE_SERVER", os.Getenv("VITRINE_SERVER")+"/v2")
	vitrine(t.Context(), manifests, "diff", "-f", "-").want(t, exit.Failed, "specify the base URL of the server")
	t.Setenv("VITRINE_SERVER", strings.TrimSuffix(os.Getenv("VITRINE_SERVER"), "/v2"))
	t.Setenv("VITRINE_TOKEN", readOnly)
	vitrine(t.Context(), manifests, "diff", "-f", "-").want(t, exit.Failed, "use a READ-WRITE token of the property")
	t.Setenv("VITRINE_TOKEN", "another-token-that-nobody-has-issued")
	vitrine(t.Context(), manifests, "diff", "-f", "-").want(t, exit.Failed, "pass the current value of an AccessToken")
}

func tokenManifest(name, spec string) string {
	return "---\napiVersion: vitrine.dev/v1alpha1\nkind: AccessToken\nmetadata: {name: " + name + ", namespace: shop}\nspec: {" + spec + "}\n"
}

func propertyManifest(spec string) string {
	return "---\napiVersion: vitrine.dev/v1alpha1\nkind: Property\nmetadata: {name: default, namespace: shop}\nspec: {" + spec + "}\n"
}

func TestDiffOfScopes(t *testing.T) {
	const moderator = "the-token-of-the-moderator-without-private-fields"
	dir := newStore(t)
	bring(t, dir, map[string]library.Definition{
		"default":   {Owner: library.Owner{Kind: library.KindProperty}, PropertySpec: &library.Property{PlatformPageID: 1, ReadOnlyQuery: "approval_status:pen"}},
		"web":       storedToken("web", library.Token{Query: "id:[1 TO 10] OR id:20"}),
		"editor":    storedToken("editor", library.Token{ReadWrite: true, Query: "id:[1 TO 10]"}),
		"same":      storedToken("same", library.Token{Query: "id:7"}),
		"adults":    storedToken("adults", library.Token{Query: "submission.age:30"}),
		"moderator": storedToken(moderator, library.Token{ReadWrite: true, Allow: []library.Action{library.Moderate}}),
		"wall":      storedFilter("wall", library.Filter{Query: "submission.age:30", Order: "id:asc"}),
	})
	s := start(t, dir)
	s.environment(t)
	vitrine(t.Context(), strings.Replace(itemLines(1, 20), `"app"`, `"pen"`, 10), "import", "-").want(t, 0)
	manifests := propertyManifest("displayName: Shop, readOnlyQuery: 'approval_status:app'") +
		tokenManifest("display", "class: ReadOnly") +
		tokenManifest("web", "class: ReadOnly, query: 'id:[2 TO 12] OR id:20'") +
		tokenManifest("editor", "class: ReadWrite") +
		tokenManifest("same", "class: ReadOnly, query: 'id:7'") +
		tokenManifest("fresh", "class: ReadOnly")

	changes := diffed(t, manifests, 1)
	type outcome struct {
		State         string
		Before, After string
		Enter, Leave  int64
	}
	outcomes := map[string]outcome{}
	for _, c := range changes {
		o := outcome{State: c.State, After: c.After.Query, Enter: c.Enter.Total, Leave: c.Leave.Total}
		if c.Before != nil {
			o.Before = c.Before.Query
		}
		outcomes[c.Kind+" "+c.Name] = o
	}
	want := map[string]outcome{
		"Property shop/default":   {contentdiff.Changed, "approval_status:pen", "approval_status:app", 10, 10},
		"AccessToken shop/web":    {contentdiff.Changed, "id:[1 TO 10] OR id:20", "id:[2 TO 12] OR id:20", 2, 1},
		"AccessToken shop/editor": {contentdiff.Changed, "id:[1 TO 10]", "*:*", 10, 0},
		"AccessToken shop/same":   {contentdiff.Unchanged, "id:7", "id:7", 0, 0},
		"AccessToken shop/fresh":  {contentdiff.New, "", "approval_status:app", 10, 0},
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}

	page := vitrine(t.Context(), filterManifest("one", "query: 'id:1'")+tokenManifest("web", "class: ReadOnly, query: 'id:[2 TO 12]'")+
		tokenManifest("fresh", "class: ReadOnly"), "diff", "-f", "-", "--items", "1")
	page.want(t, 0)
	const scopes = "\n### Scopes of tokens: 1 changed, 1 new, 0 unchanged\n\n#### AccessToken shop/fresh (new)\n\n" +
		"| items | 10 |\n| --- | --- |\n| query | `approval_status:pen` |\n\n**10 enter**:\n\n" +
		"- 10, text, 2026-11-15T20:38:13Z: `item number 10`\n- and 9 more\n\nNone leaves.\n" +
		"\n#### AccessToken shop/web (changed)\n\n| | served | new |\n| --- | --- | --- |\n| items | 11 | 11 |\n" +
		"| query | `id:[1 TO 10] OR id:20` | `id:[2 TO 12]` |\n\n**2 enter**:\n\n" +
		"- 12, text, 2026-11-15T20:38:13Z: `item number 12`\n- and 1 more\n\n**2 leave**:\n\n" +
		"- 20, text, 2026-11-15T20:38:13Z: `item number 20`\n- and 1 more\n"
	filters, rest, _ := strings.Cut(page.stdout, "\n### Scopes")
	if diff := cmp.Diff(scopes, "\n### Scopes"+rest); diff != "" || !strings.HasPrefix(filters, "### Content filters: 1 new, 0 unchanged\n") {
		t.Errorf("Markdown (-want +got):\n%s%s", diff, page.stdout)
	}

	// A token without ReadPrivate sees which scopes the server hides. The other comparisons continue.
	t.Setenv("VITRINE_TOKEN", moderator)
	private := tokenManifest("adults", "class: ReadOnly, query: 'submission.age:40'") + filterManifest("wall", "query: 'id:1'") +
		tokenManifest("newer", "class: ReadWrite, query: 'submission.age:40'")
	blind := vitrine(t.Context(), manifests+private, "diff", "-f", "-")
	blind.want(t, exit.Failed, "### Content filters: 1 failed, 0 unchanged", "### Scopes of tokens: 3 changed, 1 new, 2 failed, 1 unchanged",
		"#### AccessToken shop/adults (failed)", "use a token that allows ReadPrivate", "#### AccessToken shop/newer (failed)",
		"3 objects could not be compared")
	if strings.Contains(blind.stdout+blind.stderr, "submission.age:30") {
		t.Errorf("the output shows a hidden query:\n%s", blind.stdout)
	}
}

// diffed returns the output of vitrine diff as JSON. items is the value of --items.
func diffed(t *testing.T, manifests string, items int) []contentdiff.Change {
	t.Helper()
	got := vitrine(t.Context(), manifests, "diff", "-f", "-", "--items", strconv.Itoa(items), "-o", "json")
	got.want(t, 0)
	var changes []contentdiff.Change
	if err := json.Unmarshal([]byte(got.stdout), &changes); err != nil {
		t.Fatal(err)
	}
	return changes
}
