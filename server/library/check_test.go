package library

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

func TestCheckAcceptsEveryKind(t *testing.T) {
	for name, d := range full() {
		t.Run(name, func(t *testing.T) {
			if d.Token != nil {
				d.Token.Subjects = nil // a token with filters has none
			}
			if err := Check(d); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		of     string
		change func(*Definition)
		syntax bool
	}{
		"nothing":                    {of: "tag", change: func(d *Definition) { d.Tag = nil }},
		"two things":                 {of: "tag", change: func(d *Definition) { d.Token = &Token{} }},
		"no property":                {of: "tag", change: func(d *Definition) { d.Property = "" }},
		"an owner of another kind":   {of: "tag", change: func(d *Definition) { d.Owner.Kind = KindFilter }},
		"a tag over HTTP":            {of: "tag", change: func(d *Definition) { d.Owner = Owner{} }},
		"page id 0":                  {of: "property", change: func(d *Definition) { d.PropertySpec.PlatformPageID = 0 }},
		"a token without digest":     {of: "token", change: func(d *Definition) { d.Token.Values[0].Digest = Digest{} }},
		"a filter without name":      {of: "filter", change: func(d *Definition) { d.Filter.Name = "" }},
		"a filter without ids":       {of: "filter", change: func(d *Definition) { d.Filter.UUID = "" }},
		"a filter id past 2^53":      {of: "filter", change: func(d *Definition) { d.Filter.ID = item.MaxID + 1 }},
		"a filter's broken query":    {of: "filter", syntax: true, change: func(d *Definition) { d.Filter.Query = "a AND" }},
		"a filter's unknown order":   {of: "filter", syntax: true, change: func(d *Definition) { d.Filter.Order = "colour:desc" }},
		"a reserved namespace":       {of: "tag", change: func(d *Definition) { d.Tag.Tag.Namespace = "ugc" }},
		"an upper-case key":          {of: "tag", change: func(d *Definition) { d.Tag.Tag.Key = "Summer" }},
		"a tag on item 0":            {of: "tag", change: func(d *Definition) { d.Tag.Items = []item.ID{0} }},
		"a tag's broken selector":    {of: "tag", syntax: true, change: func(d *Definition) { d.Tag.Selector = "(" }},
		"a unit without name":        {of: "unit", change: func(d *Definition) { d.Unit.Unit.Name = "" }},
		"a unit with id 0":           {of: "unit", change: func(d *Definition) { d.Unit.Unit.ID = 0 }},
		"a unit over HTTP by a rule": {of: "unit", change: func(d *Definition) { d.Owner = Owner{} }},
	} {
		t.Run(name, func(t *testing.T) {
			d := full()[c.of]
			c.change(&d)
			err := Check(d)
			var syntax *query.SyntaxError
			if errors.As(err, &syntax) != c.syntax || errors.Is(err, ErrInvalid) == c.syntax {
				t.Errorf("error %v; want a syntax error: %t", err, c.syntax)
			}
		})
	}
}

func TestSelectorsCannotFormCycles(t *testing.T) {
	for selector, refused := range map[string]struct{ tag, unit bool }{
		"":                                      {},
		"beach OR sunset":                       {},
		"approval_status:app AND campaign:12":   {},
		"text:tags":                             {},
		"submission.tags:x":                     {},
		`_exists_:c\*`:                          {},
		`content.media.\*_url:x`:                {},
		"tags.marketer_tags.key:summer":         {tag: true},
		"tags.marketer_tags:summer":             {tag: true},
		"_exists_:tags.vibe.key":                {tag: true},
		"_missing_:tags":                        {tag: true},
		`tags.\*:x`:                             {tag: true},
		`t\*:x`:                                 {tag: true},
		`ta\*.key:x`:                            {tag: true},
		`\*:x`:                                  {tag: true, unit: true},
		`\*.key:x`:                              {tag: true, unit: true},
		"activate_units.id:5":                   {tag: true, unit: true},
		"_exists_:activate_units":               {tag: true, unit: true},
		`activate_\*:5`:                         {tag: true, unit: true},
		"default_activate_unit.archived:true":   {tag: true, unit: true},
		"a AND NOT (b OR activate_units.id:5)":  {tag: true, unit: true},
		"tags.vibe.key:(bold,calm) AND beach^2": {tag: true},
		"*:*":                                   {},
	} {
		t.Run(selector, func(t *testing.T) {
			if _, _, err := ParseSelector(KindTag, selector); (err != nil) != refused.tag {
				t.Errorf("a Tag's: %v, want refused: %t", err, refused.tag)
			}
			if _, _, err := ParseSelector(KindUnit, selector); (err != nil) != refused.unit {
				t.Errorf("an ActivateUnit's: %v, want refused: %t", err, refused.unit)
			}
		})
	}
}

func TestNewListing(t *testing.T) {
	parse := func(q string) query.Node {
		t.Helper()
		parsed, err := query.Parse(q)
		if err != nil {
			t.Fatal(err)
		}
		return parsed.Root
	}
	f, err := ParseFilter(Filter{Query: "submission.email:a", Order: "", Favourite: &item.Tag{Namespace: "marketer_tags", Key: "hero"}})
	if err != nil {
		t.Fatal(err)
	}

	t.Run("a filter's own", func(t *testing.T) {
		l, err := NewListing(Read{Where: parse("beach")}, &f, "u")
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Parts) != 2 || l.Parts[0].Audience != query.Private || l.Parts[1].Audience != query.Public {
			t.Errorf("parts %v, want the filter with its author's rights and the rest with the caller's", l.Parts)
		}
		if diff := cmp.Diff(query.Order{{Field: "created_on", Desc: true}}, l.Order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if l.Favourite == nil || l.Favourite.Key != "hero" {
			t.Errorf("favourite %v, want the filter's", l.Favourite)
		}
	})
	t.Run("a query by relevance", func(t *testing.T) {
		l, err := NewListing(Read{Query: parse("beach")}, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if !l.Order.Scored() || l.Order.Random() {
			t.Errorf("order %v, want by relevance", l.Order)
		}
	})
	forbidden := map[string]Read{
		"a private query":           {Query: parse("submission.email:a")},
		"a private additional part": {Query: parse("beach"), Where: parse("_exists_:submission.email")},
		"a private order":           {Query: parse("beach"), Order: query.Order{{Field: "submission.email"}}},
	}
	for name, r := range forbidden {
		t.Run(name, func(t *testing.T) {
			_, err := NewListing(r, nil, "")
			if e := (*query.ForbiddenFieldError)(nil); !errors.As(err, &e) {
				t.Errorf("error %v, want a forbidden field", err)
			}
			r.Audience = query.Private
			if _, err := NewListing(r, nil, ""); err != nil {
				t.Errorf("with a READ-WRITE token: %v", err)
			}
		})
	}
	t.Run("identities", func(t *testing.T) {
		seen := map[string]string{}
		for name, r := range map[string]Read{
			"itself":            {Query: parse("beach")},
			"another query":     {Query: parse("sunset")},
			"an added part":     {Query: parse("beach"), Where: parse("sunset")},
			"another order":     {Query: parse("beach"), Order: query.Order{{Field: "id"}}},
			"descending":        {Query: parse("beach"), Order: query.Order{{Field: "id", Desc: true}}},
			"a favourite":       {Query: parse("beach"), Favourite: &item.Tag{Namespace: "a", Key: "b"}},
			"random":            {Query: parse("beach"), Order: query.Order{{Field: query.RandomKey}}},
			"another seed":      {Query: parse("beach"), Order: query.Order{{Field: query.RandomKey}}, Seed: "1"},
			"another property":  {Query: parse("beach"), Property: "shop/other"},
			"a part as a query": {Query: parse("beach sunset")},
		} {
			l, err := NewListing(r, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			if other, taken := seen[l.Identity]; taken {
				t.Errorf("%s has the identity of %s", name, other)
			}
			seen[l.Identity] = name
		}
		a, errA := NewListing(Read{Query: parse("beach"), Offset: 5, Limit: 9}, nil, "")
		b, errB := NewListing(Read{Query: parse("beach"), Seed: "unused"}, nil, "")
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if a.Identity != b.Identity {
			t.Error("a page or an unused seed makes another listing")
		}
	})
}
