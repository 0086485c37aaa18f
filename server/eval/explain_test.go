package eval_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// TestExplainScores checks, for all queries in the golden file, that the score at the root of the explanation equals the score in a search.
func TestExplainScores(t *testing.T) {
	g, corpus := readGolden(t)
	for _, q := range g.Queries {
		n, err := decodeDSL(q.Query)
		if err != nil {
			t.Fatal(err)
		}
		want := scores(t, corpus, n)
		for d := range corpus.Docs() {
			x, err := eval.Explain(t.Context(), corpus, n, d)
			if err != nil {
				t.Fatal(err)
			}
			score, ok := want[d.ID()]
			if x.Matched != ok || x.Score != float64(score) {
				t.Errorf("%s, item %d: explained as %v %v, found as %v %v", q.Name, d.ID(), x.Matched, x.Score, ok, score)
			}
			if x.Occur != "" || x.Clause == "" {
				t.Errorf("%s: root %q, occur %q", q.Name, x.Clause, x.Occur)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	c := eval.NewCorpus()
	d := eval.NewDoc(1, 0, pairs(
		str(text, "summer beach summer"), str(keyword, "app"), pair{long, query.Value{Int: 3}}, pair{truth, query.Value{Int: 1}},
		pair{latitude, query.Value{Float: 1.5}}, pair{query.Field{Name: "created_on", Type: query.Date}, query.Value{Int: 1714521600000}},
	))
	c.Put(d)
	c.Put(eval.NewDoc(2, 0, pairs(str(text, "city"))))
	wild, err := automaton.Wildcard("sum*")
	if err != nil {
		t.Fatal(err)
	}
	date := query.Field{Name: "created_on", Type: query.Date}
	n := plan.Bool{
		Must: []plan.Node{
			plan.Term{Field: text, Text: "summer"},
			plan.Const{Node: plan.Bool{Should: []plan.Node{plan.Term{Field: keyword, Text: "app"}, plan.None{}}}, Score: 2},
		},
		Should: []plan.Node{
			phrase(1, "summer", "beach"),
			plan.Boost{Node: plan.Pattern{Field: text, Automaton: wild, Source: "sum*"}, Factor: 3},
			plan.DisMax{Nodes: []plan.Node{plan.IntRange{Field: long, Lo: math.MinInt64, Hi: 2}, plan.FloatRange{Field: latitude, Lo: 1, Hi: math.Inf(1)}}},
			plan.Fuzzy{Field: keyword, Text: "apps", Edits: 1, MaxExpansions: 50},
			plan.IntRange{Field: date, Lo: 1714521600000, Hi: 1717199999999},
			plan.TermRange{Field: keyword, Lo: "b c", HiOpen: true},
			plan.Term{Field: truth, Text: "true"},
			plan.Exists{Field: query.Field{Name: "campaigns", Type: query.Long}},
			plan.Const{Node: plan.All{}},
		},
		MustNot: []plan.Node{plan.Term{Field: keyword, Text: "a \"b\""}},
	}
	got, err := eval.Explain(t.Context(), c, n, d)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Compile(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	score, ok := m.Match(d)
	if !ok || !got.Matched || got.Score != float64(score) {
		t.Errorf("explained as %v %v, matched as %v %v", got.Matched, got.Score, ok, score)
	}
	leaf := func(occur, clause string, matched bool, detail string) library.Explanation {
		return library.Explanation{Clause: clause, Occur: occur, Matched: matched, Detail: detail}
	}
	below := func(x library.Explanation, children ...library.Explanation) library.Explanation {
		x.Children = children
		return x
	}
	want := below(leaf("", "all of", true, ""),
		leaf("must", "content.text:summer", true, "2 of 3 words"),
		below(leaf("must", "constant 2", true, ""),
			below(leaf("must", "all of", true, ""),
				leaf("should", "approval_status:app", true, "app"),
				leaf("should", "nothing", false, ""))),
		leaf("should", `content.text:"summer beach"~1`, true, "of 3 words: summer 2, beach 1"),
		below(leaf("should", "boost 3", true, ""), leaf("must", "content.text:sum*", true, "beach, summer")),
		below(leaf("should", "the best of", true, ""),
			leaf("should", "campaign:[* TO 2]", false, "3"),
			leaf("should", latitude.Name+":[1 TO *]", true, "1.5")),
		leaf("should", "approval_status:apps~1", true, "app"),
		leaf("should", "created_on:[2024-05-01T00:00:00Z TO 2024-05-31T23:59:59.999Z]", true, "2024-05-01T00:00:00Z"),
		leaf("should", `approval_status:{"b c" TO *]`, false, "app"),
		leaf("should", "featured:true", true, "true"),
		leaf("should", "_exists_:campaigns", false, "the item has no campaigns"),
		leaf("should", "*:*", true, ""),
		leaf("must not", `approval_status:"a \"b\""`, false, "app"),
	)
	scoreless := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Score" }, cmp.Ignore())
	if diff := cmp.Diff(want, got, scoreless); diff != "" {
		t.Error(diff)
	}
	if got := got.Children[1].Children[0].Children[0].Score; got != 0 {
		t.Errorf("within a constant a clause has score %v", got)
	}
	if got := got.Children[3].Score; got != 3 {
		t.Errorf("a boosted pattern has score %v, want 3", got)
	}
}

// TestExplainManyValues checks that a detail lists a dozen values and counts the others.
func TestExplainManyValues(t *testing.T) {
	var list []pair
	for i := range 20 {
		list = append(list, str(keyword, strings.Repeat("a", i+1)))
	}
	c := eval.NewCorpus()
	d := eval.NewDoc(1, 0, pairs(list...))
	c.Put(d)
	x, err := eval.Explain(t.Context(), c, plan.Term{Field: keyword, Text: "b"}, d)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(x.Detail, " and 8 more") || strings.Count(x.Detail, ",") != 11 {
		t.Errorf("detail %q", x.Detail)
	}
}

// elsewhere implements rank.Statistics without a Corpus.
type elsewhere struct {
	total    rank.Field
	docFreqs map[string]int64
	asked    int
}

func (s *elsewhere) Field(_ context.Context, _ string, terms []string) (rank.Field, []int64, error) {
	s.asked++
	docFreqs := make([]int64, len(terms))
	for i, term := range terms {
		docFreqs[i] = s.docFreqs[term]
	}
	return s.total, docFreqs, nil
}

func (s *elsewhere) Similar(_ context.Context, _ plan.Fuzzy, offer func(string, int64)) error {
	s.asked++
	for term, n := range s.docFreqs {
		offer(term, n)
	}
	return nil
}

// TestExplainWithoutDocuments checks that Explain needs only the statistics of the other documents: the explanation must be the same as
// with the whole corpus.
func TestExplainWithoutDocuments(t *testing.T) {
	c := eval.NewCorpus()
	texts := []string{"beach beech sun", "beach", "sun sun city", "city"}
	for i, s := range texts {
		c.Put(eval.NewDoc(int64(i+1), 0, pairs(str(text, s))))
	}
	n := plan.Bool{Must: []plan.Node{
		plan.Term{Field: text, Text: "sun"},
		plan.Fuzzy{Field: text, Text: "beach", Edits: 1, MaxExpansions: 50},
	}}
	want, err := eval.Explain(t.Context(), c, n, c.Doc(1))
	if err != nil {
		t.Fatal(err)
	}
	s := &elsewhere{
		total:    rank.Field{Docs: 4, Terms: 8},
		docFreqs: map[string]int64{"beach": 2, "beech": 1, "sun": 2, "city": 2},
	}
	got, err := eval.Explain(t.Context(), s, n, c.Doc(1))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || !got.Matched {
		t.Errorf("with statistics alone (-corpus +statistics):\n%s", diff)
	}
	if s.asked > 3 {
		t.Errorf("the statistics were asked %d times for one field and one fuzzy word", s.asked)
	}
}
