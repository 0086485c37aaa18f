package query_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

// TestParts checks the clauses of queries, as role, text and choice.
func TestParts(t *testing.T) {
	for q, want := range map[string]string{
		"":                              "",
		"*:*":                           "must `*:*`",
		"beach":                         "must `beach`",
		"  beach  ":                     "must `beach`",
		"(-beach)":                      "must `(-beach)`",
		"-beach":                        "not `beach`",
		"beach -rain":                   "must `beach`; not `rain`",
		"beach sunset":                  "should `beach`; should `sunset`",
		"+beach sunset NOT rain":        "must `beach`; should `sunset`; not `rain`",
		"approval_status:app":           "must `approval_status:app` approval_status=app",
		"social_platform:(a,\"b\")":     "must `social_platform:(a,\"b\")` content.social_platform=a|b",
		"campaign:1,2 AND 😍":            "must `campaign:1,2` campaign=1|2; must `😍`",
		"campaign:1 OR campaign:2":      "must `campaign:1 OR campaign:2` campaign=1|2",
		"x AND (campaign:1 campaign:2)": "must `x`; must `(campaign:1 campaign:2)` campaign=1|2",
		"x AND campaign:(1 OR 2)":       "must `x`; must `campaign:(1 OR 2)` campaign=1|2",
		"campaign:1 OR featured:true":   "should `campaign:1` campaign=1; should `featured:true` featured=true",
		"tags.marketer_tags:a OR tags.b.key:\"c:d\"":              "must `tags.marketer_tags:a OR tags.b.key:\"c:d\"` tags=marketer_tags:a|b:c:d",
		"NOT created_on:[2026-10-01 TO 2026-10-07]":               "not `created_on:[2026-10-01 TO 2026-10-07]` created_on=2026-10-01..2026-10-07",
		"created_on:>=now-7d":                                     "must `created_on:>=now-7d` created_on=now-7d..",
		"approval_status:app^2 AND text:a* AND nosuch:1 AND a~":   "must `approval_status:app^2`; must `text:a*`; must `nosuch:1`; must `a~`",
		"+campaign:{1 TO 2} -_exists_:text (approval_status:app)": "must `campaign:{1 TO 2}`; not `_exists_:text`; should `(approval_status:app)` approval_status=app",
	} {
		parsed, err := query.Parse(q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range parsed.Parts() {
			s := []string{"should", "must", "not"}[p.Occur] + " `" + string([]rune(q)[p.Start:p.End]) + "`"
			if c, ok := query.ChoiceOf(p.Node); ok {
				s += " " + c.Field.Name + "=" + strings.Join(c.Values, "|")
				if len(c.Values) == 0 {
					s += c.From.Text + ".." + c.To.Text
				}
			}
			got = append(got, s)
		}
		if diff := cmp.Diff(want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", q, diff)
		}
	}
}

func TestRefine(t *testing.T) {
	app := query.FieldTerm("approval_status", "app")
	for _, c := range []struct {
		q     string
		at    int
		occur query.Occur
		node  query.Node
		want  string
	}{
		{"", -1, query.Must, app, "approval_status:app"},
		{"*:*", -1, query.Must, app, "approval_status:app"},
		{"*:*", -1, query.MustNot, app, "*:* AND NOT approval_status:app"},
		{"beach", -1, query.Must, app, "beach AND approval_status:app"},
		{"beach", -1, query.MustNot, app, "beach AND NOT approval_status:app"},
		{"beach sunset", -1, query.Must, app, "(beach OR sunset) AND approval_status:app"},
		{"beach sunset", -1, query.MustNot, app, "beach sunset -approval_status:app"},
		{"beach -rain", -1, query.Must, app, "beach AND NOT rain AND approval_status:app"},
		{"+beach sunset", -1, query.Must, app, "+beach sunset +approval_status:app"},
		{"+beach +sunset", -1, query.Must, app, "+beach +sunset +approval_status:app"},
		{"campaign:1 OR campaign:2", -1, query.Must, app, "(campaign:1 OR campaign:2) AND approval_status:app"},
		{"a AND b AND approval_status:(app,rej)", 2, query.Must, app, "a AND b AND approval_status:app"},
		{"a  AND  approval_status:rej  AND  b", 1, query.Must, app, "a  AND  approval_status:app  AND  b"},
		{"a AND approval_status:app AND b", 1, query.Must, nil, "a AND b"},
		{"a AND approval_status:app AND b", 1, query.MustNot, app, "a AND NOT approval_status:app AND b"},
		{"approval_status:app", 0, query.Must, nil, ""},
		{"+approval_status:app beach sunset", 0, query.Must, nil, "+*:* beach sunset"},
		{"approval_status:app -beach", 0, query.Must, nil, "NOT beach"},
		{`"..." AND x`, -1, query.Must, app, `"..." AND x AND approval_status:app`},
	} {
		got, err := query.Refine(c.q, c.at, c.occur, c.node)
		if err != nil || got != c.want {
			t.Errorf("Refine(%q, %d, %d, %v) = %q, %v; want %q", c.q, c.at, c.occur, c.node, got, err, c.want)
		}
	}
	for q, at := range map[string]int{"a (": -1, "a": 1, strings.Repeat("a ", query.MaxClauses): -1} {
		if got, err := query.Refine(q, at, query.Must, app); err == nil {
			t.Errorf("Refine(%.20q) = %.20q", q, got)
		}
	}
}

// holds reports whether a query matches an item that has exactly the leaves in the set.
func holds(n query.Node, has func(leaf string) bool) bool {
	switch n := n.(type) {
	case query.Bool:
		must, should, some := false, false, false
		for _, c := range n.Clauses {
			is := holds(c.Node, has)
			switch c.Occur {
			case query.Must:
				must = true
				if !is {
					return false
				}
			case query.MustNot:
				if is {
					return false
				}
			case query.Should:
				should, some = true, some || is
			}
		}
		return must || !should || some
	case query.Any:
		for _, v := range n.Values {
			if has(v.String()) {
				return true
			}
		}
		return false
	case query.Boost:
		return holds(n.Node, has)
	case query.All:
		return true
	}
	return has(n.String())
}

// TestRefineKeepsMeaning refines random queries. A further clause restricts the query, and without that clause, the query means what it
// meant before.
func TestRefineKeepsMeaning(t *testing.T) {
	for seed := range uint64(5_000) {
		r := trees{rand.New(rand.NewPCG(seed, 1))}
		before, err := query.Parse(r.node(3).String())
		if err != nil {
			t.Fatal(err)
		}
		q := before.String()
		choice, occur := r.choice(), pick(r.Rand, query.Must, query.MustNot)
		if r.IntN(2) == 0 {
			q = strings.Join(strings.Fields(q), "  ")
			if before, err = query.Parse(q); err != nil {
				continue // the white space was part of a value
			}
		}
		refined, err := query.Refine(q, -1, occur, choice.Node())
		if err != nil {
			t.Fatalf("seed %d: Refine(%q): %v", seed, q, err)
		}
		after, err := query.Parse(refined)
		if err != nil {
			t.Fatalf("seed %d: %q: %v", seed, refined, err)
		}
		parts := after.Parts()
		last := len(parts) - 1
		if got, ok := query.ChoiceOf(parts[last].Node); !ok || cmp.Diff(choice, got) != "" || parts[last].Occur != occur {
			t.Fatalf("seed %d: %q + %s = %q, whose last clause is %v", seed, q, choice.Node(), refined, parts[last])
		}
		removed, err := query.Refine(refined, last, query.Must, nil)
		if err != nil {
			t.Fatalf("seed %d: %q without clause %d: %v", seed, refined, last, err)
		}
		back, err := query.Parse(removed)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			truth := map[string]bool{}
			has := func(leaf string) bool {
				is, known := truth[leaf]
				if !known {
					is = r.IntN(2) == 0
					truth[leaf] = is
				}
				return is
			}
			was := holds(before.Root, has)
			if now, want := holds(after.Root, has), was && holds(choice.Node(), has) == (occur == query.Must); now != want {
				t.Fatalf("seed %d: %q became %q, which matches: %t", seed, q, refined, now)
			}
			if now := removed == "" || holds(back.Root, has); now != was {
				t.Fatalf("seed %d: %q became %q and then %q, which matches: %t", seed, q, refined, removed, now)
			}
		}
	}
}

// choice returns a random choice of values of a field, of tags, or a range.
func (r trees) choice() query.Choice {
	field := func(name string) query.Field { f, _ := query.Lookup(name); return f }
	switch r.IntN(4) {
	case 0:
		return query.Choice{Field: field("created_on"), From: query.Bound{Text: "2026-10-01", Inclusive: true}, To: query.Bound{Open: true, Inclusive: true}}
	case 1:
		c := query.Choice{Field: query.Field{Name: query.AllTags}}
		for range 1 + r.IntN(3) {
			c.Values = append(c.Values, pick(r.Rand, "marketer_tags", "a:b", "山 海")+":"+strings.NewReplacer(":", "", ".", "").Replace(r.text(1))+"x")
		}
		return c
	}
	c := query.Choice{Field: field(pick(r.Rand, "content.social_platform", "approval_status", "author", "submission.a b"))}
	for range 1 + r.IntN(3) {
		c.Values = append(c.Values, r.text(0))
	}
	return c
}
