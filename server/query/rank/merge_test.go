package rank_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// weights gives every word the IDF 2. It lists the expansions of fuzzy words, which have the IDF 3.
type weights map[string][]string

func (weights) Weigh(_ context.Context, t plan.Term) (rank.WeightedTerm, error) {
	return rank.WeightedTerm{Field: t.Field, Text: t.Text, Boost: 1, IDF: 2}, nil
}

func (w weights) Expand(_ context.Context, n plan.Fuzzy) ([]rank.WeightedTerm, error) {
	words, ok := w[n.Text]
	if !ok {
		return nil, errors.New("no such word")
	}
	var terms []rank.WeightedTerm
	for _, s := range words {
		terms = append(terms, rank.WeightedTerm{Field: n.Field, Text: s, Boost: 0.5, IDF: 3})
	}
	return terms, nil
}

func TestMerge(t *testing.T) {
	text := query.Field{Name: "content.text", Type: query.Text}
	key := query.Field{Name: "approval_status"}
	word := func(s string) plan.Node { return plan.Term{Field: text, Text: s} }
	fuzzy := func(s string) plan.Node { return plan.Fuzzy{Field: text, Text: s} }
	app := plan.Term{Field: key, Text: "app"}
	term := func(s string, boost float64, idf float32) rank.WeightedTerm {
		return rank.WeightedTerm{Field: text, Text: s, Boost: boost, IDF: idf}
	}
	terms := func(list ...rank.WeightedTerm) rank.Merged { return rank.Merged{Terms: list} }
	w := weights{"sun": {"sin", "son", "sun"}, "one": {"won"}, "nothing": nil}
	any := func(nodes ...plan.Node) plan.Node { return plan.Bool{Should: nodes} }
	all := func(nodes ...plan.Node) plan.Node { return plan.Bool{Must: nodes} }
	double := func(n plan.Node) plan.Node { return plan.Boost{Node: n, Factor: 2} }

	tests := map[string]struct {
		nodes []plan.Node
		occur rank.Occur
		want  []rank.Merged
	}{
		"nothing": {},
		"unmerged clauses come first": {
			nodes: []plan.Node{word("a"), app, double(app)},
			want:  []rank.Merged{{Node: app, Factor: 1}, {Node: app, Factor: 2}, terms(term("a", 1, 2))},
		},
		"a word twice": {
			nodes: []plan.Node{word("a"), double(word("a"))},
			want:  []rank.Merged{terms(term("a", 3, 2))},
		},
		"a word without boost only matches": {
			nodes: []plan.Node{plan.Boost{Node: word("a")}},
			want:  []rank.Merged{{Node: plan.Const{Node: word("a")}, Factor: 1}},
		},
		"the statistics of the first": {
			nodes: []plan.Node{fuzzy("one"), word("won")},
			want:  []rank.Merged{terms(term("won", 1.5, 3))},
		},
		"four optional words of one field": {
			nodes: []plan.Node{word("d"), word("b"), word("c"), word("a")},
			want:  []rank.Merged{terms(term("a", 1, 2), term("b", 1, 2), term("c", 1, 2), term("d", 1, 2))},
		},
		"four required ones": {
			nodes: []plan.Node{word("d"), word("b"), word("c"), word("a")},
			occur: rank.Required,
			want:  []rank.Merged{terms(term("d", 1, 2)), terms(term("b", 1, 2)), terms(term("c", 1, 2)), terms(term("a", 1, 2))},
		},
		"an optional fuzzy word": {
			nodes: []plan.Node{fuzzy("sun"), word("sun")},
			want:  []rank.Merged{terms(term("sin", 0.5, 3)), terms(term("son", 0.5, 3)), terms(term("sun", 1.5, 3))},
		},
		"a required fuzzy word": {
			nodes: []plan.Node{fuzzy("sun")}, occur: rank.Required,
			want: []rank.Merged{{Node: fuzzy("sun"), Factor: 1}},
		},
		"a boosted fuzzy word": {
			nodes: []plan.Node{double(fuzzy("sun")), double(fuzzy("one"))},
			want:  []rank.Merged{{Node: fuzzy("sun"), Factor: 2}, terms(term("won", 1, 3))},
		},
		"a fuzzy word without expansions": {
			nodes: []plan.Node{fuzzy("nothing")},
			want:  []rank.Merged{{Node: fuzzy("nothing"), Factor: 1}},
		},
		"groups of the same kind": {
			nodes: []plan.Node{any(word("a"), any(word("b"), all(word("c"))))},
			want:  []rank.Merged{terms(term("a", 1, 2)), terms(term("b", 1, 2)), terms(term("c", 1, 2))},
		},
		"groups of the other kind": {
			nodes: []plan.Node{all(word("a"), word("b")), double(any(word("a"), word("b")))},
			want:  []rank.Merged{{Node: all(word("a"), word("b")), Factor: 1}, {Node: any(word("a"), word("b")), Factor: 2}},
		},
		"required groups": {
			nodes: []plan.Node{all(word("a"), all(word("b"), app)), any(word("c"), word("d"))}, occur: rank.Required,
			want: []rank.Merged{
				{Node: app, Factor: 1}, {Node: any(word("c"), word("d")), Factor: 1}, terms(term("a", 1, 2)), terms(term("b", 1, 2)),
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := rank.Merge(t.Context(), test.nodes, test.occur, w)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(rank.Norms{})); diff != "" {
				t.Errorf("clauses (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := rank.Merge(t.Context(), []plan.Node{all(fuzzy("unknown"))}, rank.Optional, w); err == nil {
		t.Error("the statistics failed, and nobody was told")
	}
}
