package eval_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// pair is one value of a field.
type pair struct {
	field query.Field
	value query.Value
}

func pairs(list ...pair) iter.Seq2[query.Field, query.Value] {
	return func(yield func(query.Field, query.Value) bool) {
		for _, p := range list {
			if !yield(p.field, p.value) {
				return
			}
		}
	}
}

var (
	text    = query.Field{Name: "content.text", Type: query.Text}
	keyword = query.Field{Name: "approval_status", Type: query.Keyword}
	long    = query.Field{Name: "campaign", Type: query.Long}
	double  = query.Field{Name: "latitude", Type: query.Double}
	truth   = query.Field{Name: "featured", Type: query.Boolean}
)

func str(f query.Field, s string) pair { return pair{f, query.Value{Str: s}} }

// matches reports whether a document that is alone in its corpus matches a plan.
func matches(t *testing.T, d *eval.Doc, n plan.Node) bool {
	t.Helper()
	c := eval.NewCorpus()
	c.Put(d)
	m, err := c.Compile(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	_, ok := m.Match(d)
	return ok
}

func phrase(slop int, words ...string) plan.Phrase {
	p := plan.Phrase{Field: text, Slop: slop}
	for i, w := range words {
		p.Words = append(p.Words, plan.Word{Text: w, Position: i})
	}
	return p
}

func TestDoc(t *testing.T) {
	d := eval.NewDoc(7, 1000, pairs(
		str(text, "Summer in the City"), str(keyword, "APP"), str(text, "..."), str(text, ""), str(text, "beach day"),
		pair{long, query.Value{Int: 5}}, pair{long, query.Value{Int: -3}}, pair{double, query.Value{Float: -1.5}},
		str(keyword, "app"), str(keyword, ""), pair{truth, query.Value{Int: 1}},
	))
	tests := map[string]struct {
		node plan.Node
		want bool
	}{
		"word":                               {plan.Term{Field: text, Text: "summer"}, true},
		"word in another case":               {plan.Term{Field: text, Text: "Summer"}, false},
		"word of a second value":             {plan.Term{Field: text, Text: "beach"}, true},
		"phrase":                             {phrase(0, "summer", "in", "the"), true},
		"phrase over values":                 {phrase(0, "city", "beach"), false},
		"phrase over values, slop too small": {phrase(199, "city", "beach"), false},
		"phrase over two gaps":               {phrase(200, "city", "beach"), true},
		"phrase of one word":                 {phrase(0, "city"), true},
		"phrase of no word":                  {phrase(0), false},
		"keyword in lower case":              {plan.Term{Field: keyword, Text: "app"}, true},
		"number":                             {plan.IntRange{Field: long, Lo: 5, Hi: 5}, true},
		"second number":                      {plan.IntRange{Field: long, Lo: -3, Hi: -3}, true},
		"number between":                     {plan.IntRange{Field: long, Lo: -2, Hi: 4}, false},
		"negative floating point":            {plan.FloatRange{Field: double, Lo: -2, Hi: -1}, true},
		"truth":                              {plan.Term{Field: truth, Text: "true"}, true},
		"untruth":                            {plan.Term{Field: truth, Text: "false"}, false},
		"truth as a range":                   {plan.IntRange{Field: truth, Lo: 0, Hi: 1}, true},
		"present":                            {plan.Exists{Field: long}, true},
		"absent":                             {plan.Exists{Field: query.Field{Name: "created_on", Type: query.Date}}, false},
		"a number is no term":                {plan.TermRange{Field: long, LoOpen: true, HiOpen: true}, false},
		"a word is no number":                {plan.IntRange{Field: text, Lo: 0, Hi: 1 << 40}, false},
		"nothing":                            {plan.None{}, false},
		"everything":                         {plan.All{}, true},
		"empty group":                        {plan.Bool{}, false},
		"only ranking clauses fail":          {plan.Bool{Must: []plan.Node{plan.All{}}, Should: []plan.Node{plan.None{}}}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := matches(t, d, tc.node); got != tc.want {
				t.Errorf("matches: %v, want %v", got, tc.want)
			}
		})
	}
	if d.ID() != 7 || d.Created() != 1000 {
		t.Errorf("id %d, created %d", d.ID(), d.Created())
	}
	want := []string{"approval_status", "campaign", "content.text", "featured", "latitude"}
	if diff := cmp.Diff(want, slices.Sorted(d.Names())); diff != "" {
		t.Error(diff)
	}
}

// TestMissing checks that an empty text and an empty keyword count as missing.
func TestMissing(t *testing.T) {
	d := eval.NewDoc(1, 0, pairs(str(text, ""), str(keyword, "")))
	for _, f := range []query.Field{text, keyword} {
		if matches(t, d, plan.Exists{Field: f}) || d.Has(f.Name) {
			t.Errorf("%s is present", f.Name)
		}
	}
	if names := slices.Collect(d.Names()); len(names) > 0 {
		t.Errorf("fields %q", names)
	}
}

// TestWordless checks that a text without words is present, but that no word or term range finds it, and that ranking ignores it.
func TestWordless(t *testing.T) {
	c := eval.NewCorpus()
	wordless := eval.NewDoc(1, 0, pairs(str(text, "... !")))
	c.Put(wordless)
	c.Put(eval.NewDoc(2, 0, pairs(str(text, "beach day"))))
	for name, n := range map[string]plan.Node{"presence": plan.Exists{Field: text}, "range": plan.TermRange{Field: text, LoOpen: true, HiOpen: true}} {
		if got, want := matches(t, wordless, n), name == "presence"; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	total, _, err := c.Field(t.Context(), text.Name, nil)
	if diff := cmp.Diff(rank.Field{Docs: 1, Terms: 2}, total); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestTermRange(t *testing.T) {
	d := eval.NewDoc(1, 0, pairs(str(keyword, "Beach")))
	tests := map[string]struct {
		r    plan.TermRange
		want bool
	}{
		"open":               {plan.TermRange{LoOpen: true, HiOpen: true}, true},
		"within":             {plan.TermRange{Lo: "a", Hi: "c"}, true},
		"below":              {plan.TermRange{Lo: "c", HiOpen: true}, false},
		"above":              {plan.TermRange{LoOpen: true, Hi: "b", HiIncl: true}, false},
		"at the lower end":   {plan.TermRange{Lo: "beach", LoIncl: true, HiOpen: true}, true},
		"past the lower end": {plan.TermRange{Lo: "beach", HiOpen: true}, false},
		"at the upper end":   {plan.TermRange{LoOpen: true, Hi: "beach", HiIncl: true}, true},
		"past the upper end": {plan.TermRange{LoOpen: true, Hi: "beach"}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.r.Field = keyword
			if got := matches(t, d, tc.r); got != tc.want {
				t.Errorf("matches: %v, want %v", got, tc.want)
			}
		})
	}
}
