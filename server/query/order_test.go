package query_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

func TestParseOrder(t *testing.T) {
	cases := map[string]struct {
		sort string
		want query.Order
		text string // "" for the sort string itself
	}{
		"descending": {sort: "created_on:desc", want: query.Order{{Field: "created_on", Desc: true}}},
		"ascending":  {sort: "id:asc", want: query.Order{{Field: "id"}}},
		"short name": {sort: "author.username:asc", want: query.Order{{Field: "content.author.username"}}, text: "content.author.username:asc"},
		"list": {
			sort: "featured:desc, campaign:asc,_score:desc",
			want: query.Order{{Field: "featured", Desc: true}, {Field: "campaign"}, {Field: query.ScoreKey, Desc: true}},
			text: "featured:desc,campaign:asc,_score:desc",
		},
		"relevance":  {sort: "_score:desc", want: query.Order{{Field: query.ScoreKey, Desc: true}}},
		"random":     {sort: "random", want: query.Order{{Field: query.RandomKey}}},
		"submission": {sort: "submission.a:b:asc", want: query.Order{{Field: "submission.a:b"}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := query.ParseOrder(c.sort)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.text == "" {
				c.text = c.sort
			}
			if got.String() != c.text {
				t.Errorf("String is %s, want %s", got, c.text)
			}
			again, err := query.ParseOrder(got.String())
			if diff := cmp.Diff(got, again); err != nil || diff != "" {
				t.Errorf("read again: %v (-first +again):\n%s", err, diff)
			}
		})
	}
}

func TestParseOrderErrors(t *testing.T) {
	list := "one of " + strings.Join(query.SortableFields(query.Private), ", ")
	cases := map[string]struct{ sort, want string }{
		"blank":         {" ", `the sort order is empty at position 1, at the end: expected <field>:asc, <field>:desc or random`},
		"no direction":  {"created_on", `a sort key without a direction at position 0, near "created_on": expected created_on:asc or created_on:desc`},
		"bad direction": {"id:asc,created_on:down", `a bad sort direction at position 18, near "down": expected asc or desc`},
		"capitals":      {"id:ASC", `a bad sort direction at position 3, near "ASC": expected asc or desc`},
		"unknown":       {"id:asc, colour:asc", `cannot sort by the field "colour" at position 8, near "colour:asc": expected ` + list},
		"another name":  {"date:desc", `cannot sort by the field "date" (did you mean "created_on"?) at position 0, near "date:desc": expected ` + list},
		"private":       {"changed:desc", `cannot sort by the field "changed" (did you mean "last_modified"?) at position 0, near "changed:desc": expected ` + list},
		"not sortable":  {"tag:desc", `cannot sort by the field "tag" at position 0, near "tag:desc": expected ` + list},
		"text":          {"text:asc", `cannot sort by the field "text" at position 0, near "text:asc": expected ` + list},
		"many values":   {"activate_units.id:asc", `cannot sort by the field "activate_units.id" at position 0, near "activate_units.id:as": expected ` + list},
		"tags":          {"tags.vibe:asc", `cannot sort by the field "tags.vibe" at position 0, near "tags.vibe:asc": expected ` + list},
		"upwards":       {"_score:asc", `relevance can only be sorted in descending order at position 7, near "asc": expected _score:desc`},
		"random list":   {"id:asc,random", `random is combined with other sort keys at position 7, near "random": expected random alone`},
		"random sign":   {"random:asc", `random has no direction at position 0, near "random:asc": expected random alone`},
		"twice":         {"text:asc,text:asc", `cannot sort by the field "text" at position 0, near "text:asc,text:asc": expected ` + list},
		"same field":    {"author.id:asc,content.author.id:desc", `the sort key content.author.id occurs twice at position 14, near "content.author.id:de": expected each field at most once`},
		"empty key":     {"id:asc,,", `a sort key without a direction at position 7, near ",": expected <field>:asc or <field>:desc`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := query.ParseOrder(c.sort)
			var syntax *query.SyntaxError
			if !errors.As(err, &syntax) || syntax.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestCheckOrder(t *testing.T) {
	order, err := query.ParseOrder("submission.email:asc")
	if err != nil {
		t.Fatal(err)
	}
	var forbidden *query.ForbiddenFieldError
	if err := query.CheckOrder(order, query.Public); !errors.As(err, &forbidden) {
		t.Errorf("public: %v", err)
	}
	if err := query.CheckOrder(order, query.Private); err != nil {
		t.Errorf("private: %v", err)
	}
}

// TestOrderErrorsForPublic checks that the errors for READ-ONLY callers propose no private field.
func TestOrderErrorsForPublic(t *testing.T) {
	for _, name := range []string{"changed", "last_modifed"} {
		_, err := query.ParseOrderFor(name+":desc", query.Public)
		if err == nil || strings.Contains(err.Error(), `"last_modified"`) || strings.Contains(err.Error(), ", last_modified,") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err = query.ParseOrderFor(name+":desc", query.Private); err == nil || !strings.Contains(err.Error(), `mean "last_modified"`) {
			t.Errorf("%s for a READ-WRITE caller: %v", name, err)
		}
	}
}

func TestSortableFields(t *testing.T) {
	if fields := query.SortableFields(query.Private); !slices.Contains(fields, query.LastModified) {
		t.Errorf("for READ-WRITE callers: %v", fields)
	}
	fields := query.SortableFields(query.Public)
	for _, name := range []string{"id", "created_on", "content.author.username", query.ScoreKey, query.RandomKey} {
		if !slices.Contains(fields, name) {
			t.Errorf("%s is not among %v", name, fields)
		}
	}
	for _, name := range fields {
		f, ok := query.Lookup(name)
		if name != query.ScoreKey && name != query.RandomKey && (!ok || !f.Sortable || f.Private || f.Type == query.Text) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
