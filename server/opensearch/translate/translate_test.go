package translate

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// build returns the plan of a query.
func build(t *testing.T, root query.Node) plan.Node {
	t.Helper()
	p, err := plan.Build(root, plan.Options{Audience: query.Private, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return p.Root
}

// newTranslator returns the translator of a property with a rule for a tag, a rule for a unit, and further tags.
func newTranslator(t *testing.T, keys ...string) *Translator {
	t.Helper()
	const shop library.PropertyID = "shop/default"
	owner := func(kind library.Kind, name string) library.Owner {
		return library.Owner{Install: "one", Kind: kind, Namespace: "shop", Name: name}
	}
	defs := []library.Definition{
		{Property: shop, Owner: owner(library.KindProperty, "default"), PropertySpec: &library.Property{PlatformPageID: 1}},
		{Property: shop, Owner: owner(library.KindTag, "bold"), Tag: &library.TagRule{
			Tag: item.Tag{Namespace: "vibe", Key: "bold"}, Items: []item.ID{7}, Selector: "text:beach",
		}},
		{Property: shop, Owner: owner(library.KindUnit, "sale"), Unit: &library.UnitRule{
			Unit: item.Unit{ID: 9, Name: "Sale", ImageURL: "https://a.example/a.png", ClickThroughURL: "https://a.example/"}, Selector: `tags.vibe.key:bold`,
		}},
	}
	for _, key := range keys {
		defs = append(defs, library.Definition{Property: shop, Owner: owner(library.KindTag, key), Tag: &library.TagRule{
			Tag: item.Tag{Namespace: "further", Key: key}, Items: []item.ID{8},
		}})
	}
	set, err := definitions.NewSet(nil)
	if err != nil {
		t.Fatal(err)
	}
	change, results := definitions.NewChange(set), make([]library.Result, len(defs))
	if err := change.Apply(defs, noon, results); err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return &Translator{
		Documents: NewDocuments(change.Set.Catalogue(shop), nil),
		Selector: func(_ context.Context, r *definitions.Rule) (plan.Node, error) {
			if r.Selector == nil {
				return nil, nil
			}
			return build(t, r.Selector), nil
		},
		Warn: func(r *definitions.Rule, err error) { t.Errorf("%s: %v", r.Owner, err) },
	}
}

// TestQuery checks the queries for plans. Queries for tags and units must also match the items of rules. The selector of a unit must also match
// the items that carry a tag because of a rule.
func TestQuery(t *testing.T) {
	tag := func(key string) string {
		return `{"constant_score":{"boost":1,"filter":{"term":{"dynamic":{"value":"tags.vibe.key\u0000` + key + `"}}}}}`
	}
	anyOf := func(first, second string) string {
		return `{"constant_score":{"boost":1,"filter":{"bool":{"minimum_should_match":1,"should":[` + first + `,` + second + `]}}}}`
	}
	bold := anyOf(tag("bold"), `{"bool":{"minimum_should_match":1,"should":[{"terms":{"id":[7]}},{"bool":{"filter":[{"term":{"content.text":{"value":"beach"}}}]}}]}}`)
	for text, want := range map[string]string{
		`*:*`:                      `{"match_all":{}}`,
		`text:beach`:               `{"term":{"content.text":{"value":"beach"}}}`,
		`text:"big beach"~2`:       `{"match_phrase":{"content.text":{"query":"big beach","slop":2}}}`,
		`text:be*`:                 `{"constant_score":{"boost":1,"filter":{"prefix":{"content.text":{"value":"be"}}}}}`,
		`text:(beach AND sea)`:     `{"bool":{"must":[{"term":{"content.text":{"value":"beach"}}},{"term":{"content.text":{"value":"sea"}}}]}}`,
		`NOT text:beach`:           `{"bool":{"must":[{"constant_score":{"boost":0,"filter":{"match_all":{}}}}],"must_not":[{"term":{"content.text":{"value":"beach"}}}]}}`,
		`beach^2`:                  `{"bool":{"boost":2,"must":{"term":{"all":{"value":"beach"}}}}}`,
		`id:[3 TO 9}`:              `{"constant_score":{"boost":1,"filter":{"range":{"id":{"gte":3,"lte":8}}}}}`,
		`_exists_:text`:            `{"constant_score":{"boost":1,"filter":{"term":{"present":"content.text"}}}}`,
		`tags.other.key:x`:         `{"constant_score":{"boost":1,"filter":{"term":{"dynamic":{"value":"tags.other.key\u0000x"}}}}}`,
		`tags.vibe.key:bold`:       bold,
		`tags.vibe.key:calm`:       tag("calm"),
		`activate_units.name:sale`: anyOf(`{"terms":{"units":["9"]}}`, `{"bool":{"filter":[`+bold+`]}}`),
	} {
		parsed, err := query.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		q, err := newTranslator(t).Query(t.Context(), build(t, parsed.Root))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestManyTags checks that the translation of a leaf on tags does not build the documents of all tags again, because a search for facets has
// a leaf for each of up to thousands of tags. After a change of other definitions, the documents stay.
func TestManyTags(t *testing.T) {
	var keys []string
	for i := range rune(500) {
		keys = append(keys, string([]rune{'a' + i/26, 'a' + i%26}))
	}
	tr := newTranslator(t, keys...)
	leaf := build(t, query.FieldTerm(query.TagFieldName("further"), "ah"))
	translate := func() {
		if _, err := tr.Query(t.Context(), leaf); err != nil {
			t.Error(err)
		}
	}
	if n := testing.AllocsPerRun(10, translate); n > float64(len(keys)) {
		t.Errorf("a leaf takes %.0f allocations with %d tags", n, len(keys))
	}
	other := *tr.Catalogue
	if d := NewDocuments(&other, tr.Documents); d.tags() != tr.tags() || d.Units() != tr.Units() {
		t.Error("the documents were built again, although neither the tags nor the units have changed")
	}
	other.TagRules, other.Units = other.TagRules[1:], nil
	if d := NewDocuments(&other, tr.Documents); d.tags().Doc(int64(len(keys))) != nil || d.Units().Doc(9) != nil {
		t.Error("a removed tag or unit is still there")
	}
}
