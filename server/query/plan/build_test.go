package plan_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// now is a Saturday.
var now = time.Date(2026, 11, 21, 10, 30, 15, 0, time.UTC)

// show formats a plan in one line, where + means Must, ? means Should, and - means MustNot.
func show(n plan.Node) string {
	list := func(sign string, nodes []plan.Node) string {
		var b strings.Builder
		for _, n := range nodes {
			b.WriteString(" " + sign + show(n))
		}
		return b.String()
	}
	open := func(incl bool) string { return map[bool]string{true: "[", false: "{"}[incl] }
	end := func(incl bool) string { return map[bool]string{true: "]", false: "}"}[incl] }
	switch n := n.(type) {
	case plan.All:
		return "all"
	case plan.None:
		return "none"
	case plan.Bool:
		return "(" + strings.TrimPrefix(list("+", n.Must)+list("?", n.Should)+list("-", n.MustNot), " ") + ")"
	case plan.Term:
		return fmt.Sprintf("%s=%s", n.Field.Name, n.Text)
	case plan.Phrase:
		var words []string
		for _, w := range n.Words {
			words = append(words, fmt.Sprintf("%s@%d", w.Text, w.Position))
		}
		return fmt.Sprintf("%s=%q~%d", n.Field.Name, strings.Join(words, " "), n.Slop)
	case plan.Pattern:
		return fmt.Sprintf("%s≈%s", n.Field.Name, n.Source)
	case plan.Fuzzy:
		return fmt.Sprintf("%s=%s~%d/%d", n.Field.Name, n.Text, n.Edits, n.MaxExpansions)
	case plan.IntRange:
		if n.Field.Type == query.Date && n.Lo > math.MinInt64 && n.Hi < math.MaxInt64 {
			day := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000") }
			return fmt.Sprintf("%s[%s..%s]", n.Field.Name, day(n.Lo), day(n.Hi))
		}
		return fmt.Sprintf("%s[%d..%d]", n.Field.Name, n.Lo, n.Hi)
	case plan.FloatRange:
		return fmt.Sprintf("%s[%g..%g]", n.Field.Name, n.Lo, n.Hi)
	case plan.TermRange:
		lo, hi := n.Lo, n.Hi
		if n.LoOpen {
			lo = "*"
		}
		if n.HiOpen {
			hi = "*"
		}
		return fmt.Sprintf("%s%s%s..%s%s", n.Field.Name, open(n.LoIncl), lo, hi, end(n.HiIncl))
	case plan.Exists:
		return "exists " + n.Field.Name
	case plan.Const:
		return fmt.Sprintf("const %g %s", n.Score, show(n.Node))
	case plan.Boost:
		return fmt.Sprintf("%s^%g", show(n.Node), n.Factor)
	case plan.DisMax:
		var parts []string
		for _, n := range n.Nodes {
			parts = append(parts, show(n))
		}
		return "max(" + strings.Join(parts, " | ") + ")"
	}
	return fmt.Sprintf("%T", n)
}

// build parses and plans a query.
func build(t *testing.T, q string, o plan.Options) *plan.Plan {
	t.Helper()
	parsed, err := query.Parse(q)
	if err != nil {
		t.Fatalf("Parse(%q): %v", q, err)
	}
	p, err := plan.Build(parsed.Root, o)
	if err != nil {
		t.Fatalf("Build(%q): %v", q, err)
	}
	return p
}

// options returns the options for the test tables: the audience Private, the time now, and the dynamic fields of a corpus with tags of two
// namespaces and two members in submissions.
func options() plan.Options {
	return plan.Options{
		Audience: query.Private,
		Now:      now,
		Fields:   []string{"tags.a.key", "tags.b.key", "submission.email", "submission.name"},
	}
}

// testBuild checks the plan of each query.
func testBuild(t *testing.T, cases map[string]struct{ query, want string }) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := show(build(t, c.query, options()).Root); got != c.want {
				t.Errorf("the plan of %s\n is %s\nwant %s", c.query, got, c.want)
			}
		})
	}
}

func TestTexts(t *testing.T) {
	testBuild(t, map[string]struct{ query, want string }{
		"blank":               {"", "none"},
		"word":                {"Love", "_all=love"},
		"two words in one":    {"wi-fi", "(?_all=wi ?_all=fi)"},
		"stays one clause":    {"wi-fi AND love", "(+(?_all=wi ?_all=fi) +_all=love)"},
		"ideographs":          {"夏海", "(?_all=夏 ?_all=海)"},
		"field":               {"text:Love", "content.text=love"},
		"number on a text":    {"text:2024", "content.text=2024"},
		"phrase":              {`"Happy  Birthday!"`, `_all="happy@0 birthday@1"~0`},
		"phrase with slop":    {`text:"a b"~2`, `content.text="a@0 b@1"~2`},
		"phrase of one word":  {`"love!"~3`, "_all=love"},
		"phrase of ideograph": {`text:"夏の海"`, `content.text="夏@0 の@1 海@2"~0`},
		"wildcard":            {"LOV*", "_all≈LOV*"},
		"regexp":              {"text:/lov./", "content.text≈/lov./"},
		"fuzzy":               {"text:Lvoe~", "content.text=lvoe~1/50"},
		"fuzzy, long":         {"birthdya~", "_all=birthdya~2/50"},
		"fuzzy, short":        {"hi~", "_all=hi~0/50"},
		"fuzzy is not cut":    {"wi-fi~1", "_all=wi-fi~1/50"},
		"range":               {"text:[A TO b}", "content.text[a..b}"},
		"range without field": {"{a TO *]", "_all{a..*]"},
		"star":                {"*", "exists _all"},
		"star of a field":     {"text:*", "exists content.text"},
		"all by name":         {"_all:love", "_all=love"},
	})
}

func TestClausesWithoutWordsVanish(t *testing.T) {
	testBuild(t, map[string]struct{ query, want string }{
		"alone":               {"...", "none"},
		"beside a word":       {"... love", "_all=love"},
		"after and":           {"love AND ...", "_all=love"},
		"before and":          {"... AND love", "_all=love"},
		"between":             {"love OR ... AND great", "(+_all=love +_all=great)"},
		"required":            {`+"..." love`, "_all=love"},
		"prohibited":          {`love -"..."`, "_all=love"},
		"prohibited alone":    {`NOT "..."`, "none"},
		"leaves prohibited":   {"... -love", "(+const 0 all -_all=love)"},
		"in brackets":         {`("..." "!") love`, "_all=love"},
		"boosted":             {`"..."^2 love`, "_all=love"},
		"in a list":           {`text:(a,"...")`, "content.text=a"},
		"not on a keyword":    {"approval_status:... love", "(?approval_status=... ?_all=love)"},
		"field pattern":       {`content.\*text:... love`, "_all=love"},
		"unknown field stays": {"colour:... AND love", "(+none +_all=love)"},
	})
}

func TestGroups(t *testing.T) {
	testBuild(t, map[string]struct{ query, want string }{
		"should":              {"a b", "(?_all=a ?_all=b)"},
		"must":                {"a AND b", "(+_all=a +_all=b)"},
		"one must":            {"+a", "_all=a"},
		"mixed":               {"a OR b AND c -d", "(+_all=b +_all=c ?_all=a -_all=d)"},
		"prohibited alone":    {"-a", "(+const 0 all -_all=a)"},
		"prohibited, nested":  {"a (-b)", "(?_all=a ?(+const 0 all -_all=b))"},
		"prohibited twice":    {"-(-a)", "(+const 0 all -(+const 0 all -_all=a))"},
		"everything":          {"*:*", "all"},
		"everything but":      {"*:* -a", "(?all -_all=a)"},
		"boost":               {"(a b)^2 c^0.5", "(?(?_all=a ?_all=b)^2 ?_all=c^0.5)"},
		"list":                {"approval_status:(app,PEN)", "(?approval_status=app ?approval_status=pen)"},
		"list of everything":  {`text:(a b,c*,"d e")`, `(?content.text=a ?(?content.text=b ?content.text≈c* ?content.text="d@0 e@1"~0))`},
		"composed of nothing": {"(-*:*) AND a", "(+(+const 0 all -all) +_all=a)"},
	})
}

func TestKeywords(t *testing.T) {
	testBuild(t, map[string]struct{ query, want string }{
		"value":        {"approval_status:APP", "approval_status=app"},
		"phrase":       {`approval_status:"App Pen"~2`, "approval_status=app pen"},
		"spaces":       {`approval_status:app\ pen`, "approval_status=app pen"},
		"not cut":      {"activate_units.external_id:SKU-44", "activate_units.external_id=sku-44"},
		"empty":        {`approval_status:""`, "none"},
		"wildcard":     {"approval_status:A?P", "approval_status≈A?P"},
		"fuzzy":        {"approval_status:APB~", "approval_status=apb~1/50"},
		"range":        {"author:[A TO b]", "content.author.username[a..b]"},
		"tag":          {"tags.vibe:Bold", "tags.vibe.key=bold"},
		"submission":   {"submission.email:x@y", "submission.email=x@y"},
		"star":         {"tags.vibe:*", "exists tags.vibe.key"},
		"star, listed": {"tags.vibe:(*,a)", "(?exists tags.vibe.key ?tags.vibe.key=a)"},
	})
}

func TestNumbersBooleansDates(t *testing.T) {
	testBuild(t, map[string]struct{ query, want string }{
		"number":             {"campaign:5", "campaign[5..5]"},
		"number, quoted":     {`campaign:"5"`, "campaign[5..5]"},
		"fraction":           {"campaign:5.5", "none"},
		"range":              {"campaign:{1 TO 5}", "campaign[2..4]"},
		"open range":         {"campaign:>=5", "campaign[5..9223372036854775807]"},
		"empty range":        {"campaign:{1 TO 2}", "none"},
		"double":             {"content.platform_data.geo_data.coordinates.latitude:[-1 TO *]", "content.platform_data.geo_data.coordinates.latitude[-1..+Inf]"},
		"double, empty":      {"content.platform_data.geo_data.coordinates.latitude:[2 TO 1]", "none"},
		"boolean":            {"featured:true", "featured=true"},
		"boolean range":      {"featured:[false TO true]", "featured[0..1]"},
		"boolean half range": {"featured:[* TO true}", "featured=false"},
		"date":               {"created_on:2024-05", "created_on[2024-05-01T00:00:00.000..2024-05-31T23:59:59.999]"},
		"date math":          {"created_on:[now-1d/d TO now/d}", "created_on[2026-11-20T00:00:00.000..2026-11-20T23:59:59.999]"},
		"star":               {"campaign:*", "exists campaign"},
	})
}

func TestPresence(t *testing.T) {
	testBuild(t, map[string]struct{ query, want string }{
		"exists":            {"_exists_:text", "exists content.text"},
		"missing":           {"_missing_:text", "(+all -exists content.text)"},
		"unknown exists":    {"_exists_:colour", "none"},
		"unknown missing":   {"_missing_:colour", "all"},
		"object":            {"_exists_:hashtag", "const 1 (?exists hashtag.hashtag_text ?exists hashtag.id ?exists hashtag.social_platform)"},
		"object, missing":   {"_missing_:submission", "(+all -const 1 (?exists submission.email ?exists submission.name))"},
		"object, short":     {"_exists_:author.profile", "const 1 (?exists content.author.profile.name ?exists content.author.profile.username ?exists content.author.profile.profile_link ?exists content.author.profile.avatar)"},
		"tags":              {"_exists_:tags", "const 1 (?exists tags.a.key ?exists tags.b.key)"},
		"tags of namespace": {"_exists_:tags.a", "exists tags.a.key"},
		"pattern":           {`_exists_:tags.\*`, "const 1 (?exists tags.a.key ?exists tags.b.key)"},
		"pattern and star":  {`tags.\*:*`, "const 1 (?exists tags.a.key ?exists tags.b.key)"},
		"pattern, nothing":  {`_missing_:colour\*`, "all"},
		"star of an object": {"hashtag:*", "const 1 (?exists hashtag.hashtag_text ?exists hashtag.id ?exists hashtag.social_platform)"},
	})
}

func TestFieldPatterns(t *testing.T) {
	testBuild(t, map[string]struct{ query, want string }{
		"values":   {`tags.\*:X`, "max(tags.a.key=x | tags.b.key=x)"},
		"range":    {`tags.\*:[a TO b]`, "max(tags.a.key[a..b] | tags.b.key[a..b])"},
		"wildcard": {`tags.\*:x*`, "max(tags.a.key≈x* | tags.b.key≈x*)"},
		"fuzzy":    {`tags.\*:xyz~`, "max(tags.a.key=xyz~1/50 | tags.b.key=xyz~1/50)"},
		"one":      {`tags.b\*:x`, "tags.b.key=x"},
		"none":     {`colour\*:x`, "none"},
		"static":   {`content.platform_data.location.\*name:x`, "max(content.platform_data.location.name=x | content.platform_data.location.full_name=x)"},
	})
}

func TestPublicPatternsLeaveOutPrivateFields(t *testing.T) {
	o := options()
	o.Audience = query.Public
	for q, want := range map[string]string{
		`sub\*:x`:            "none",
		`_exists_:sub\*`:     "none",
		`_missing_:submis\*`: "all",
		`\*.key:x`:           "max(tags.a.key=x | tags.b.key=x)",
	} {
		if got := show(build(t, q, o).Root); got != want {
			t.Errorf("%s: got %s, want %s", q, got, want)
		}
	}
	_, err := plan.Build(query.FieldTerm("submission.email", "x"), o)
	var forbidden *query.ForbiddenFieldError
	if !errors.As(err, &forbidden) {
		t.Errorf("a private field: %v", err)
	}
}

func TestLimitAfterExpansion(t *testing.T) {
	words := strings.Repeat("海", query.MaxClauses)
	if got := build(t, "text:"+words, options()).Root.(plan.Bool); len(got.Should) != query.MaxClauses {
		t.Errorf("%d clauses", len(got.Should))
	}
	fields := make([]string, 60)
	for i := range fields {
		fields[i] = fmt.Sprintf("tags.n%d.key", i)
	}
	for name, c := range map[string]struct {
		query    string
		position int
	}{
		"words":          {"a " + words, 2},
		"phrase":         {`a "` + words + `"`, 2},
		"field patterns": {strings.Repeat(`tags.\*:x `, 300), query.MaxExpansion/(len(fields)-1)*10 + 8},
		"presence":       {strings.Repeat(`_exists_:tags `, 300), query.MaxExpansion/(len(fields)-1)*14 + 9},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := query.Parse(c.query)
			if err != nil {
				t.Fatal(err)
			}
			_, err = plan.Build(parsed.Root, plan.Options{Now: now, Fields: fields})
			var syntax *query.SyntaxError
			if !errors.As(err, &syntax) || !syntax.Limit || syntax.Position != c.position {
				t.Errorf("%v, want a limit at %d", err, c.position)
			}
		})
	}
}

// TestManyDynamicFields checks that a field pattern is valid with any number of dynamic fields that a property can have. Other clauses of
// the query count as usual.
func TestManyDynamicFields(t *testing.T) {
	fields := make([]string, query.MaxExpansion)
	for i := range fields {
		fields[i] = fmt.Sprintf("tags.n%d.key", i)
	}
	for _, q := range []string{`tags.\*:x`, `tags.\*:/x.*/`, `tags.\*:[a TO b]`, `_exists_:tags`, `_missing_:tags.\*`, `\*ags.\*:x`} {
		parsed, err := query.Parse(q)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Build(parsed.Root, plan.Options{Now: now, Fields: fields})
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		leaves := 0
		plan.Walk(p.Root, func(n plan.Node) {
			if _, ok := n.(plan.Leaf); ok {
				leaves++
			}
		})
		if leaves < len(fields) {
			t.Errorf("%s has %d leaves", q, leaves)
		}
		parsed, err = query.Parse(strings.Repeat("y ", query.MaxClauses) + q)
		if err == nil {
			_, err = plan.Build(parsed.Root, plan.Options{Now: now, Fields: fields})
		}
		var syntax *query.SyntaxError
		if !errors.As(err, &syntax) || !syntax.Limit {
			t.Errorf("%s after %d words: %v", q, query.MaxClauses, err)
		}
	}
}

func TestBuildOfNothing(t *testing.T) {
	p, err := plan.Build(nil, options())
	if err != nil || show(p.Root) != "none" {
		t.Errorf("%v, error %v", p, err)
	}
	if _, err := plan.Build(query.All{}, plan.Options{}); err == nil {
		t.Error("no error without Now")
	}
}

// foreign is a leaf that Build does not know.
type foreign struct{ query.Leaf }

func (foreign) String() string { return "foreign" }

func TestUnknownLeaf(t *testing.T) {
	for _, name := range []string{"", "text", "approval_status", "campaign", "featured"} {
		n := foreign{query.Leaf{Field: query.FieldName{Name: name}}}
		if p, err := plan.Build(n, options()); err == nil {
			t.Errorf("on the field %q: %s", name, show(p.Root))
		}
	}
}

func TestBadValues(t *testing.T) {
	for q, position := range map[string]int{"a campaign:x": 11, "created_on:[now-1 TO *]": 12, "campaign:5~": 9, "/a(/": 3} {
		parsed, err := query.Parse(q)
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Build(parsed.Root, options())
		var syntax *query.SyntaxError
		if !errors.As(err, &syntax) || syntax.Position != position {
			t.Errorf("%s: %v, want a *SyntaxError at %d", q, err, position)
		}
	}
}
