package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/internal/cli/filterdiff"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/reference"
)

// bring stores filters as if manifests of the test's property had declared them.
func bring(t *testing.T, dir string, filters map[string]library.Filter) {
	t.Helper()
	lib, err := reference.Open(reference.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range filters {
		f.UUID, f.ID = library.FilterIDs(property, library.KindFilter, "shop", name)
		f.Name = name
		results, applyErr := lib.Apply(t.Context(), []library.Definition{{
			Property: property, Owner: library.Owner{Install: "test", Kind: library.KindFilter, Namespace: "shop", Name: name}, Filter: &f,
		}})
		err = errors.Join(err, applyErr, results[0].Err)
	}
	if err := errors.Join(err, lib.Close()); err != nil {
		t.Fatal(err)
	}
}

func filterManifest(name, spec string) string {
	return "---\napiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {name: " + name + ", namespace: shop}\nspec: {" + spec + "}\n"
}

func TestDiff(t *testing.T) {
	dir := newStore(t)
	bring(t, dir, map[string]library.Filter{
		"query":     {Query: "id:[1 TO 10]", Order: "id:asc"},
		"order":     {Query: "id:[1 TO 10]", Order: "id:asc"},
		"favourite": {Query: "id:[1 TO 10]", Order: "id:asc"},
		"same":      {Query: "id:[1 TO 10]", Order: "id:asc", Favourite: &item.Tag{Namespace: "marketer_tags", Key: "hero"}},
		"spelling":  {Query: "id:[1 TO 10] AND approval_status:app", Order: "id:asc"},
		"removed":   {Query: "*:*", Order: "id:asc"},
	})
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

	got := vitrine(t.Context(), manifests, "diff", "-f", "-", "--items", "2", "-o", "json")
	got.want(t, 0)
	var changes []filterdiff.Change
	if err := json.Unmarshal([]byte(got.stdout), &changes); err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		State        string
		Enter, Leave []item.ID
		More         int64
		Reordered    bool
	}
	ids := func(i filterdiff.Items) (ids []item.ID) {
		for _, it := range i.First {
			ids = append(ids, it.ID)
		}
		return ids
	}
	outcomes := map[string]outcome{}
	for _, c := range changes {
		outcomes[c.Filter] = outcome{c.State, ids(c.Enter), ids(c.Leave), c.Enter.Total + c.Leave.Total - int64(len(c.Enter.First)+len(c.Leave.First)), c.Reordered}
	}
	want := map[string]outcome{
		"shop/query":     {State: filterdiff.Changed, Enter: []item.ID{11, 12}, Leave: []item.ID{1, 2}, More: 1},
		"shop/order":     {State: filterdiff.Changed, Reordered: true},
		"shop/favourite": {State: filterdiff.Changed},
		"shop/same":      {State: filterdiff.Unchanged},
		"shop/spelling":  {State: filterdiff.Changed},
		"shop/fresh":     {State: filterdiff.New, Enter: []item.ID{3}},
		"shop/removed":   {State: filterdiff.Suspended},
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

	vitrine(t.Context(), filterManifest("a", "query: 'x AND'"), "diff", "-f", "-").want(t, exit.Manifests, "nothing after AND", "the manifests have errors", "correct them first")
	other := filterManifest("b", "query: x, propertyRef: {name: other}")
	vitrine(t.Context(), manifests+other, "diff", "-f", "-").want(t, exit.Usage, "filters of several properties (shop/default, shop/other)", "--property")
	vitrine(t.Context(), manifests+other, "diff", "-f", "-", "--property", "shop/default").want(t, 0, "4 changed, 1 new, 1 suspended, 1 unchanged")
	vitrine(t.Context(), manifests, "diff", "-f", "-", "--property", "shop/none").want(t, exit.Failed, "no ContentFilter of property shop/none")
	vitrine(t.Context(), other, "diff", "-f", "-").want(t, exit.Failed, "belongs to property shop/default, and the ContentFilters to shop/other")
	vitrine(t.Context(), manifests+other, "diff", "-f", "-", "--property", "shop/other").want(t, exit.Failed, "a READ-WRITE token of shop/other")
	long := filterManifest("query", "query: '"+strings.Repeat("x", 16380)+"'")
	vitrine(t.Context(), long, "diff", "-f", "-").want(t, 0, "None enters", "**10 leave**")
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
