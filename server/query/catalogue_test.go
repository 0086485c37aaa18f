package query_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

func TestLookup(t *testing.T) {
	cases := map[string]query.Field{
		"id":                          {Name: "id", Type: query.Long, Sortable: true},
		"text":                        {Name: "content.text", Type: query.Text},
		"content.text":                {Name: "content.text", Type: query.Text},
		"social_platform":             {Name: "content.social_platform", Sortable: true},
		"content_type":                {Name: "content.content_type", Sortable: true},
		"author":                      {Name: "content.author.username", Sortable: true},
		"content.author":              {Name: "content.author.username", Sortable: true},
		"author.username":             {Name: "content.author.username", Sortable: true},
		"author.profile.name":         {Name: "content.author.profile.name", Type: query.Text},
		"media.id":                    {Name: "content.media.id", Type: query.Long, Sortable: true},
		"tags.vibe":                   {Name: "tags.vibe.key"},
		"tags.vibe.key":               {Name: "tags.vibe.key"},
		"tags.key":                    {Name: "tags.key.key"},
		"tags.my tags.key":            {Name: "tags.my tags.key"},
		"submission.email":            {Name: "submission.email", Private: true, Sortable: true},
		"submission.a.b":              {Name: "submission.a.b", Private: true, Sortable: true},
		"activate_units.name":         {Name: "activate_units.name", Type: query.Text},
		"default_activate_unit.id":    {Name: "default_activate_unit.id", Type: query.Long, Sortable: true},
		"activate_units.id":           {Name: "activate_units.id", Type: query.Long},
		"content.platform_ref:tumblr": {Name: "content.platform_ref:tumblr", Sortable: true},
		"_all":                        {Name: "_all", Type: query.Text},
	}
	for name, want := range cases {
		got, ok := query.Lookup(name)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("Lookup(%q): %v (-want +got):\n%s", name, ok, diff)
		}
		if again, ok := query.Lookup(got.Name); !ok || again != got {
			t.Errorf("Lookup of the canonical name %q: %+v", got.Name, again)
		}
	}
	for _, name := range []string{"", "ID", "tags", "tags.", "tags..key", "tags.a.b", "tags.a.b.key", "submission", "submission.", "content", "content.media", "content.platform_ref:", "_score", "random", "tags.<namespace>.x"} {
		if f, ok := query.Lookup(name); ok {
			t.Errorf("Lookup(%q) is %+v", name, f)
		}
	}
}

func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range query.Rows() {
		if seen[r.Name] {
			t.Errorf("%s stands twice", r.Name)
		}
		seen[r.Name] = true
		if r.About == "" {
			t.Errorf("%s is not described", r.Name)
		}
		if r.Type == query.Text && r.Sortable {
			t.Errorf("the text field %s is sortable", r.Name)
		}
		if (r.Name == query.LastModified || strings.HasPrefix(r.Name, "submission")) != r.Private {
			t.Errorf("%s: private is %v", r.Name, r.Private)
		}
	}
	var inAll []string
	for _, r := range query.Rows() {
		if r.InAll {
			inAll = append(inAll, r.Name)
		}
	}
	want := []string{
		"hashtag.hashtag_text", "content.text", "content.author.username", "content.author.profile.name",
		"content.platform_data.location.name", "content.platform_data.location.full_name", "content.platform_data.location.country",
	}
	if diff := cmp.Diff(want, inAll); diff != "" {
		t.Errorf("fields of _all (-want +got):\n%s", diff)
	}
}

func TestAliases(t *testing.T) {
	if diff := cmp.Diff([]string{"author", "author.username", "content.author"}, query.Aliases("content.author.username")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, f := range query.Fields() {
		for _, a := range query.Aliases(f.Name) {
			if got, ok := query.Lookup(a); !ok || got != f {
				t.Errorf("the alias %s of %s is %+v", a, f.Name, got)
			}
		}
	}
}

func TestPatternsMatchNames(t *testing.T) {
	cases := map[string]struct{ yes, no []string }{
		"*":            {yes: []string{"id", "tags.vibe.key"}},
		"tags.*":       {yes: []string{"tags.vibe.key"}, no: []string{"id", "tags"}},
		"tags.*.key":   {yes: []string{"tags.vibe.key"}, no: []string{"tags.vibe"}},
		"*.author.*id": {yes: []string{"content.author.id", "content.author.platform_id"}, no: []string{"content.author.username"}},
		"author.*":     {yes: []string{"content.author.id"}, no: []string{"content.text"}},
		"med*id":       {yes: []string{"content.media.id"}},
		"tex*":         {yes: []string{"content.text"}, no: []string{"hashtag.hashtag_text"}},
		"auth*r":       {yes: []string{"content.author.username"}, no: []string{"content.author.id"}},
		"a*a":          {no: []string{"a", "ab"}, yes: []string{"aa", "aba"}},
	}
	for pattern, c := range cases {
		f := query.FieldName{Name: pattern, Pattern: true}
		for _, name := range c.yes {
			if !f.Matches(name) {
				t.Errorf("%s does not match %s", pattern, name)
			}
		}
		for _, name := range c.no {
			if f.Matches(name) {
				t.Errorf("%s matches %s", pattern, name)
			}
		}
	}
	if !(query.FieldName{Name: "text"}).Matches("content.text") || (query.FieldName{Name: "text"}).Matches("text") {
		t.Error("a name matches by what it stands for")
	}
}

func TestReaches(t *testing.T) {
	cases := map[string]struct {
		name query.FieldName
		tags bool
	}{
		"object":                  {query.FieldName{Name: "tags"}, true},
		"member":                  {query.FieldName{Name: "tags.vibe.key"}, true},
		"similar":                 {query.FieldName{Name: "tagsy"}, false},
		"other":                   {query.FieldName{Name: "text"}, false},
		"everything":              {query.FieldName{Name: "*", Pattern: true}, true},
		"pattern with its suffix": {query.FieldName{Name: "*.key", Pattern: true}, true},
		"pattern with its middle": {query.FieldName{Name: "*vibe*", Pattern: true}, true},
		"pattern with its prefix": {query.FieldName{Name: "t*x", Pattern: true}, true},
		"another object":          {query.FieldName{Name: "content.*", Pattern: true}, false},
		"other start":             {query.FieldName{Name: "x*tags.a", Pattern: true}, false},
		"without a dot":           {query.FieldName{Name: "tagsy*", Pattern: true}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.name.Reaches("tags"); got != c.tags {
				t.Errorf("%+v reaches tags: %v", c.name, got)
			}
		})
	}
	if !(query.FieldName{Name: "author.id"}).Reaches("content.author") {
		t.Error("a short name does not reach its object")
	}
}

func TestResolve(t *testing.T) {
	dynamic := []string{"tags.a.key", "tags.b.key", "submission.email", "nonsense"}
	names := func(fields []query.Field) []string {
		var out []string
		for _, f := range fields {
			out = append(out, f.Name)
		}
		return out
	}
	cases := map[string]struct {
		field    query.FieldName
		audience query.Audience
		want     []string
	}{
		"name":            {field: query.FieldName{Name: "text"}, want: []string{"content.text"}},
		"unknown":         {field: query.FieldName{Name: "colour"}},
		"tags":            {field: query.FieldName{Name: "tags.*", Pattern: true}, want: []string{"tags.a.key", "tags.b.key"}},
		"public pattern":  {field: query.FieldName{Name: "*email", Pattern: true}},
		"private pattern": {field: query.FieldName{Name: "*email", Pattern: true}, audience: query.Private, want: []string{"submission.email"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, names(query.Resolve(c.field, c.audience, dynamic))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	media := names(query.ResolveObject(query.FieldName{Name: "media"}, query.Public, dynamic))
	if len(media) != 9 || !slices.Contains(media, "content.media.media_urls.large_image") {
		t.Errorf("the object media holds %v", media)
	}
	if got := names(query.ResolveObject(query.FieldName{Name: "tags"}, query.Public, dynamic)); len(got) != 2 {
		t.Errorf("the object tags holds %v", got)
	}
}
