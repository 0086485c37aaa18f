package querystring_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/hack/querystring"
	"github.com/vitrine-dev/vitrine/server/query"
)

var now = time.Date(2026, time.November, 21, 9, 30, 15, 250e6, time.UTC)

func TestRewrite(t *testing.T) {
	tests := map[string]struct{ source, want string }{
		"list":                         {`approval_status:(app,pen)`, `approval_status:app approval_status:pen`},
		"list without brackets":        {`approval_status:app,pen AND love`, `+(approval_status:app approval_status:pen) +love`},
		"list of phrases and patterns": {`text:("a b"~2,c*,/d/)^2`, `(text:"a b"~2 text:c* text:/d/)^2`},
		"missing":                      {`_missing_:campaign`, `+*:* -_exists_:campaign`},
		"missing in a group":           {`love _missing_:campaign`, `love (+*:* -_exists_:campaign)`},
		"missing prohibited":           {`-_missing_:media`, `-(+*:* -_exists_:content.media)`},
		"exists of a short object":     {`_exists_:author`, `_exists_:content.author`},
		"exists of a short name":       {`_exists_:author.username`, `_exists_:content.author.username`},
		"star on an object":            {`author:*`, `content.author:*`},
		"presence of every text":       {`_exists_:_all _missing_:_all`, `_exists_:all (+*:* -_exists_:all)`},
		"every text":                   {`_all:love`, `all:love`},
		"tag namespace":                {`tags.vibe:bold`, `tags.vibe.key:bold`},
		"short name below an object":   {`author.username:foodie*`, `content.author.username:foodie*`},
		"short pattern":                {`author.\*:x`, `content.author.\*:x`},
		"reference on a platform":      {`content.platform_ref\:instagram:5`, `content.platform_ref\:instagram:5`},
		"now":                          {`created_on:[now-30d TO now]`, `created_on:[2026-11-21T09:30:15.250Z||-30d TO 2026-11-21T09:30:15.250Z]`},
		"now alone":                    {`created_on:"now/d"`, `created_on:"2026-11-21T09:30:15.250Z||/d"`},
		"now compared":                 {`created_on:>now-7d`, `created_on:{2026-11-21T09:30:15.250Z||-7d TO *]`},
		"year":                         {`created_on:2024`, `created_on:[2024-01-01T00:00:00.000Z TO 2024-12-31T23:59:59.999Z]`},
		"month":                        {`created_on:"2024-02"`, `created_on:[2024-02-01T00:00:00.000Z TO 2024-02-29T23:59:59.999Z]`},
		"years":                        {`created_on:[2012 TO 2014]`, `created_on:[2012-01-01T00:00:00.000Z TO 2014-12-31T23:59:59.999Z]`},
		"years, exclusive":             {`created_on:{2012 TO 2014}`, `created_on:[2013-01-01T00:00:00.000Z TO 2013-12-31T23:59:59.999Z]`},
		"one partial bound":            {`created_on:[2012 TO 2014-05-05]`, `created_on:[2012-01-01T00:00:00.000Z TO 2014-05-05]`},
		"pattern of dates":             {`activate_units.\*_on:2024-05`, `activate_units.\*_on:[2024-05-01T00:00:00.000Z TO 2024-05-31T23:59:59.999Z]`},
		"words on a keyword":           {`content.platform_data.location.country_code:(us gb)`, `content.platform_data.location.country_code:us content.platform_data.location.country_code:gb`},
		"words on a pattern":           {`tags.\*:(a b)`, `tags.\*:a tags.\*:b`},
		"comparison with quotes":       {`created_on:>"2024-05-05"`, `created_on:{2024-05-05 TO *]`},
		"escaped comparison, keyword":  {`approval_status:\>app`, `approval_status:">app"`},
		"escaped comparison, text":     {`text:\<3`, `text:3`},
		"the name that every text has": {`all:love OR _exists_:all`, `(+*:* -*:*) (+*:* -*:*)`},
		"a name that the index has":    {`_id:5 _missing_:_id`, `(+*:* -*:*) *:*`},
		"a name of dots":               {`...:5`, `+*:* -*:*`},
		"exists of a pattern":          {`_exists_:tags.*`, `_exists_:tags.\*`},
		"exists of everything":         {`_exists_:\* _missing_:\*`, `*:* (+*:* -*:*)`},
		"bounds behind tabs":           {"text:[a\tTO\tc]", `text:[a TO c]`},
		"escaped letters in a pattern": {`l\u006f\Ve*`, `loVe*`},
		"bound with a space":           {`text:[a\ b TO c]`, `text:["a b" TO c]`},
		"negative zero":                {`content.platform_data.geo_data.coordinates.latitude:("-0" OR [-0.0 TO -1])`, `content.platform_data.geo_data.coordinates.latitude:"0" content.platform_data.geo_data.coordinates.latitude:[0.0 TO -1]`},
		"escaped comparison, no words": {`text:\>`, `text:">"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := querystring.Rewrite(parse(t, tt.source), querystring.Options{Now: now, Source: tt.source})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Rewrite(%s): (-want +got)\n%s", tt.source, diff)
			}
		})
	}
}

// TestSourceUnchanged checks that Rewrite does not change constructs that mean the same in both query languages.
func TestSourceUnchanged(t *testing.T) {
	for _, source := range []string{
		`love   AND great OR day`, `text:love`, `author:foodie`, `_exists_:text`, `text:(love great)`, `approval_status:(app OR pen)`,
		`approval_status:(app  || pen AND rej)`, `created_on:[2024-05-05 TO 2024-05-06T10]`, `created_on:1700000000000`, `created_on:>2024-05-05`,
		`tags.\*:summer`, `nosuchfield:x`, `now`, `text:now`, `approval_status:now`, `campaign:2024`, `good\,wine`, `a,b`, `*:*`, `*`, ` `, `<5`, `text:"a > b"`,
		`created_on:"2024-05-05||/M"`,
	} {
		got, err := querystring.Rewrite(parse(t, source), querystring.Options{Now: now, Source: source})
		if err != nil {
			t.Fatal(err)
		}
		want := source
		if source == ` ` {
			want = `+*:* -*:*`
		}
		if got != want {
			t.Errorf("Rewrite(%q) = %q, want %q", source, got, want)
		}
	}
}

func TestRewriteComposed(t *testing.T) {
	n := query.And(parse(t, `love day`), query.FieldTerm("_all", "sea"), query.None{})
	got, err := querystring.Rewrite(n, querystring.Options{Now: now, AllField: "words"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `+(love day) +words:sea +(+*:* -*:*)`; got != want {
		t.Errorf("Rewrite = %s, want %s", got, want)
	}
}

func TestRewriteErrors(t *testing.T) {
	if _, err := querystring.Rewrite(query.All{}, querystring.Options{}); err == nil {
		t.Error("Rewrite without Now: no error")
	}
	_, err := querystring.Rewrite(parse(t, `created_on:[2024-13 TO *]`), querystring.Options{Now: now})
	var syntax *query.SyntaxError
	if !errors.As(err, &syntax) {
		t.Errorf("Rewrite of a bad month: %v, want a *query.SyntaxError", err)
	}
	if n, err := querystring.Rewrite(foreign{}, querystring.Options{Now: now}); err == nil {
		t.Errorf("Rewrite of an unknown leaf: %v", n)
	}
}

// foreign is a leaf that Rewrite does not know.
type foreign struct{ query.Leaf }

func (foreign) String() string { return "foreign" }

// TestRewriteIsStable checks that rewriting a rewritten query changes nothing.
func TestRewriteIsStable(t *testing.T) {
	for _, source := range []string{
		`approval_status:(app,pen)`, `_missing_:campaign`, `tags.vibe:bold`, `created_on:[now-30d TO 2024]`, `tags.\*:(a b)`, `created_on:2024`, `author.\*:x`,
	} {
		o := querystring.Options{Now: now, Source: source}
		once, err := querystring.Rewrite(parse(t, source), o)
		if err != nil {
			t.Fatal(err)
		}
		o.Source = once
		twice, err := querystring.Rewrite(parse(t, once), o)
		if err != nil {
			t.Fatal(err)
		}
		if twice != once {
			t.Errorf("Rewrite(%s) = %s, and that gives %s", source, once, twice)
		}
	}
}

func TestAliases(t *testing.T) {
	want := map[string]string{
		"text": "content.text", "content_type": "content.content_type", "social_platform": "content.social_platform", "author": "content.author.username",
	}
	if diff := cmp.Diff(want, querystring.Aliases()); diff != "" {
		t.Errorf("Aliases (-want +got)\n%s", diff)
	}
}

func parse(t *testing.T, source string) query.Node {
	t.Helper()
	q, err := query.Parse(source)
	if err != nil {
		t.Fatalf("parse %s: %v", source, err)
	}
	return q.Root
}

// TestMapping checks that the mapping contains every field of the catalogue with its type, and every alias.
func TestMapping(t *testing.T) {
	properties := querystring.Mapping()["properties"].(map[string]any)
	want := map[string]string{querystring.DefaultAllField: "text"}
	for _, f := range query.Fields() {
		want[f.Name] = f.Type.String()
	}
	for alias := range querystring.Aliases() {
		want[alias] = "alias"
	}
	got := map[string]string{}
	for name, mapping := range properties {
		got[name] = mapping.(map[string]any)["type"].(string)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types of the fields (-want +got)\n%s", diff)
	}
}
