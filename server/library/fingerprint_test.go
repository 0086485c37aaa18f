package library

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
)

func full() map[string]Definition {
	return map[string]Definition{
		"property": {
			Property: shop, Owner: ownerOf(KindProperty, "p"), Created: early,
			PropertySpec: &Property{PlatformPageID: 4711, AllowedOrigins: []string{"https://shop.example"}, Cache: &Cache{MaxAge: time.Minute}, Maintenance: &Maintenance{Message: "back soon"}},
		},
		"token": {
			Property: shop, Owner: ownerOf(KindToken, "t"), Created: early,
			Token: &Token{
				ReadWrite: true, Values: []TokenValue{{Digest: Digest{1, 2}, Expires: late, Since: late}},
				Replaced: []TokenValue{{Digest: Digest{3}, Since: early}}, Filters: []string{"u"},
				Subjects: []Subject{{Group: "team"}, {User: "an"}},
			},
		},
		"filter": filterDef("f", 7, early),
		"tag":    tagDef("t", "summer", early),
		"unit": {
			Property: shop, Owner: ownerOf(KindUnit, "u"), Created: early,
			Unit: &UnitRule{Unit: item.Unit{ID: 5, Name: "Sandals", CatalogItem: json.RawMessage(`{"a":1}`)}, Items: []item.ID{3, 4}, Selector: "campaign:12"},
		},
	}
}

func TestDefinitionsRoundTrip(t *testing.T) {
	for name, d := range full() {
		t.Run(name, func(t *testing.T) {
			text, err := EncodeDefinition(d)
			if err != nil {
				t.Fatal(err)
			}
			back, err := DecodeDefinition(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(d, back); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			before, err := Fingerprint(d)
			if err != nil {
				t.Fatal(err)
			}
			after, err := Fingerprint(back)
			if err != nil {
				t.Fatal(err)
			}
			if before != after {
				t.Error("the fingerprint changed on the way")
			}
		})
	}
}

func TestFingerprintDistinguishesMeanings(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Definition)
		of     string
		same   bool
	}{
		"another zone":               {of: "filter", same: true, change: func(d *Definition) { d.Created = d.Created.In(time.FixedZone("x", 3600)) }},
		"empty origins":              {of: "property", same: false, change: func(d *Definition) { d.PropertySpec.AllowedOrigins = []string{} }},
		"another query":              {of: "filter", change: func(d *Definition) { d.Filter.Query = "a" }},
		"another age":                {of: "filter", change: func(d *Definition) { d.Created = late }},
		"another property":           {of: "filter", change: func(d *Definition) { d.Property = "shop/other" }},
		"fewer items":                {of: "tag", change: func(d *Definition) { d.Tag.Items = nil }},
		"a value less":               {of: "token", change: func(d *Definition) { d.Token.Values = nil }},
		"a replaced value less":      {of: "token", change: func(d *Definition) { d.Token.Replaced = nil }},
		"an expiry in another zone":  {of: "token", same: true, change: func(d *Definition) { d.Token.Values[0].Expires = late.In(time.FixedZone("x", 3600)) }},
		"a value brought earlier":    {of: "token", change: func(d *Definition) { d.Token.Values[0].Since = early }},
		"a time in another zone":     {of: "token", same: true, change: func(d *Definition) { d.Token.Values[0].Since = late.In(time.FixedZone("x", 3600)) }},
		"every filter, not none":     {of: "token", change: func(d *Definition) { d.Token.Filters = nil }},
		"a subject less":             {of: "token", change: func(d *Definition) { d.Token.Subjects = d.Token.Subjects[1:] }},
		"a group, not a user":        {of: "token", change: func(d *Definition) { d.Token.Subjects[1] = Subject{Group: "an"} }},
		"null for an absent catalog": {of: "unit", same: true, change: func(d *Definition) { d.Unit.Unit.CatalogImageURLSrc = json.RawMessage("null") }},
		"archived":                   {of: "unit", change: func(d *Definition) { d.Unit.Unit.Archived = true }},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := Fingerprint(full()[c.of])
			if err != nil {
				t.Fatal(err)
			}
			d := full()[c.of]
			c.change(&d)
			after, err := Fingerprint(d)
			if err != nil {
				t.Fatal(err)
			}
			if (before == after) != c.same {
				t.Errorf("the same fingerprint: %t, want %t", before == after, c.same)
			}
		})
	}
}
