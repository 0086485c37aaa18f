package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

func TestDefinitions(t *testing.T) {
	a := newApp(t)
	a.apply(library.Definition{Property: shop, Unit: &library.UnitRule{Unit: item.Unit{ID: 17, Name: "made over HTTP"}}})
	a.table(t, map[string]call{
		"tags": {url: "/v2/content/definitions?kind=tag", token: "rw", contains: []string{
			`{"total_results":5,"_embedded":{"definitions":[`,
			`{"kind":"Tag","managed_by":null,"namespace":"hashtags","key":"beach_2026","ids":[],"id_count":0,"selector":"","items":7},` +
				`{"kind":"Tag","managed_by":"Tag shop/unused","namespace":"kinds","key":"unused","ids":[],"id_count":0,"selector":"text:nowheretobefound","items":0},` +
				`{"kind":"Tag","managed_by":"Tag shop/videos","namespace":"kinds","key":"video","ids":[],"id_count":0,"selector":"content_type:video","items":20},` +
				`{"kind":"Tag","managed_by":"Tag shop/hero","namespace":"marketer_tags","key":"hero","ids":[1003,1007],"id_count":2,"selector":"","items":2},` +
				`{"kind":"Tag","managed_by":null,"namespace":"marketer_tags","key":"summer"`,
			`"_links":{"self":{"href":"/base/v2/content/definitions?kind=tag"}`,
		}, lacks: []string{`"next"`}},
		"units": {url: "/v2/content/definitions?kind=unit", token: "rw", contains: []string{
			`{"total_results":3,`, `{"kind":"ActivateUnit","managed_by":null,"id":17,"name":"made over HTTP","ids":[],"id_count":0,"selector":"","items":0}`,
			fmt.Sprintf(`"managed_by":"ActivateUnit shop/sandals","id":%d,"name":"Shop the sandals","click_through_url":"https://shop.example/sandals","default":true,"ids":[1001,1002],"id_count":2,"selector":"","items":2`, unitID("sandals")),
			`"archived":true,"ids":[],"id_count":0,"selector":"campaign:13 AND content_type:image","items":10`,
		}},
		"a page":        {url: "/v2/content/definitions?kind=tag&page_size=2&page=2", token: "rw", contains: []string{`"total_results":5`, `"key":"video"`, `"key":"hero"`, `"prev":{"href":"/base/v2/content/definitions?kind=tag&page=1&page_size=2"}`, `"next":{"href":"/base/v2/content/definitions?kind=tag&page=3&page_size=2"}`}, lacks: []string{"unused"}},
		"past the last": {url: "/v2/content/definitions?kind=tag&page=9007199254740991", token: "rw", contains: []string{`"definitions":[]`}},
		"none":          {url: "/v2/content/definitions?kind=unit", token: "other-rw", contains: []string{`{"total_results":0,"_embedded":{"definitions":[]}`}},
		"no kind":       {url: "/v2/content/definitions", token: "rw", status: 400, contains: []string{`"parameter":"kind"`}},
		"another kind":  {url: "/v2/content/definitions?kind=filter", token: "rw", status: 400, contains: []string{`"parameter":"kind"`, `must be \"tag\" or \"unit\"`}},
		"read-only":     {url: "/v2/content/definitions?kind=tag", token: "ro", status: 403},
	})
}

// TestDefinitionsAreCountedTogether checks that the number of searches does not depend on the number of definitions.
func TestDefinitionsAreCountedTogether(t *testing.T) {
	a, h := newHookedApp(t)
	h.read = func(context.Context, library.Read) (*library.Page, error) {
		return nil, errors.New("a search for one definition")
	}
	facets := 0
	h.facets = func(context.Context) error { facets++; return nil }
	a.do(call{url: "/v2/content/definitions?kind=tag", token: "rw", contains: []string{`"items":20`}})
	a.do(call{url: "/v2/content/definitions?kind=unit", token: "rw", contains: []string{`"items":10`}})
	if facets != 3 {
		t.Errorf("%d counts, want 3", facets)
	}
}

func TestDefinitionsShowTheFirstIDs(t *testing.T) {
	a := newApp(t)
	ids := make([]item.ID, 150)
	for i := range ids {
		ids[i] = item.ID(2000 + i)
	}
	a.apply(library.Definition{Property: shop, Owner: owner(library.KindTag, "many"), Created: began, Tag: &library.TagRule{
		Tag: item.Tag{Namespace: "kinds", Key: "many"}, Items: ids,
	}})
	a.do(call{url: "/v2/content/definitions?kind=tag", token: "rw", contains: []string{`2098,2099],"id_count":150`}, lacks: []string{"2100"}})
}

// stored is a library with definitions that an earlier version accepted: their selectors contain an expression that is now refused.
type stored struct{ library.Library }

func (s stored) Definitions(p library.PropertyID, k library.Kind) ([]library.Definition, error) {
	defs, err := s.Library.Definitions(p, k)
	defs = slices.Clone(defs)
	for i, d := range defs {
		if d.Tag != nil && d.Tag.Selector != "" {
			rule := *d.Tag
			rule.Selector = "text:/)/"
			defs[i].Tag = &rule
		}
	}
	return defs, err
}

func TestDefinitionsShowUnusableSelectors(t *testing.T) {
	a := newAppOver(t, func(l library.Library) library.Library { return stored{l} })
	a.do(call{url: "/v2/content/definitions?kind=tag", token: "rw", contains: []string{
		`"key":"hero","ids":[1003,1007],"id_count":2,"selector":"","items":2}`,
		`"selector":"text:/)/","problem":"this version of the server cannot use the selector, so it matches no item: change the manifest: `,
	}})
}

func TestSources(t *testing.T) {
	a := newApp(t)
	a.apply(library.Definition{Property: shop, Owner: owner(library.KindTag, "summer"), Created: began, Tag: &library.TagRule{
		Tag: item.Tag{Namespace: "marketer_tags", Key: "summer"}, Items: []item.ID{1001, 1002}, Selector: "id:[1002 TO 1006]",
	}})
	sandals, boots := unitID("sandals"), unitID("boots")
	a.do(call{method: "PATCH", url: "/v2/content/1001", token: "rw", body: fmt.Sprintf(`{"activate_units":[%d,%d]}`, boots, sandals)})
	tag := func(by string) string {
		return `{"kind":"Tag","namespace":"shop","name":"summer","by":"` + by + `"}`
	}
	unit := func(name, by string) string {
		return `{"kind":"ActivateUnit","namespace":"shop","name":"` + name + `","by":"` + by + `"}`
	}
	summer := `{"namespace":"marketer_tags","key":"summer","sources":`
	a.table(t, map[string]call{
		"a caller and a manifest": {url: "/v2/content/items/1001/sources", token: "rw", contains: []string{
			`{"tags":[{"namespace":"hashtags","key":"beach_2026","sources":[{"kind":"caller"}]},` + summer + `[{"kind":"caller"},` + tag("id") + `]}],` +
				fmt.Sprintf(`"units":[{"id":%d,"label":"Shop the boots","sources":[{"kind":"caller"}]},{"id":%d,"label":"Shop the sandals","sources":[{"kind":"caller"},`, boots, sandals) +
				unit("sandals", "id") + `]}],"_links":{"self":{"href":"/base/v2/content/items/1001/sources"}}}`,
		}},
		"by id and by selector":  {url: "/v2/content/items/1002/sources/", token: "rw", contains: []string{summer + `[` + tag("id") + `,` + tag("selector") + `]`, `[{"kind":"Tag","namespace":"shop","name":"videos","by":"selector"}]`}},
		"by selector":            {url: "/v2/content/items/1004/sources", token: "rw", contains: []string{summer + `[` + tag("selector") + `]`, `"units":[]`}},
		"a unit by selector":     {url: "/v2/content/items/1031/sources", token: "rw", contains: []string{`"label":"Shop the boots","sources":[` + unit("boots", "selector") + `]`}},
		"nothing":                {url: "/v2/content/items/7001/sources", token: "other-rw", contains: []string{`{"tags":[],"units":[],`}},
		"of another property":    {url: "/v2/content/items/7001/sources", token: "rw", status: 404, contains: []string{"no item of this property has the id 7001"}},
		"unknown":                {url: "/v2/content/items/17/sources", token: "rw", status: 404},
		"item 0":                 {url: "/v2/content/items/0/sources", token: "rw", status: 404},
		"not an id":              {url: "/v2/content/items/abc/sources", token: "rw", status: 400, contains: []string{`"parameter":"id"`}},
		"read-only":              {url: "/v2/content/items/1001/sources", token: "ro", status: 403},
		"a filter of that name":  {url: "/v2/content/filters/sources", token: "rw", status: 404},
		"explain keeps its path": {url: "/v2/content/items/explain?q=beach&ugc_id=1001", token: "rw"},
	})
}

// TestSourcesOfLargeSelectors checks the sources of an item with a tag whose selector has as many clauses as a query can have.
func TestSourcesOfLargeSelectors(t *testing.T) {
	a := newApp(t)
	clauses := make([]string, query.MaxClauses)
	for i := range clauses {
		clauses[i] = fmt.Sprintf("id:%d", 1001+i)
	}
	a.apply(library.Definition{Property: shop, Owner: owner(library.KindTag, "many"), Created: began, Tag: &library.TagRule{
		Tag: item.Tag{Namespace: "kinds", Key: "many"}, Selector: strings.Join(clauses, " OR "),
	}})
	a.do(call{url: "/v2/content/items/1001/sources", token: "rw", contains: []string{`[{"kind":"Tag","namespace":"shop","name":"many","by":"selector"}]`}})
}
