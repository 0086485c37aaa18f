package query_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

func TestAnd(t *testing.T) {
	a, b := parse(t, "a OR b"), parse(t, "-c")
	cases := map[string]struct {
		parts []query.Node
		want  string
	}{
		"two":               {[]query.Node{a, b}, "+(a b) +(-c)"},
		"with nil":          {[]query.Node{nil, a, nil}, "a b"},
		"nothing":           {[]query.Node{query.None{}, a}, "+(-*:*) +(a b)"},
		"everything":        {[]query.Node{query.All{}, b}, "+*:* +(-c)"},
		"a field of spaces": {[]query.Node{a, query.FieldTerm("tags.my ns.key", "x, OR y")}, `+(a b) +tags.my\ ns.key:x\,\ OR\ y`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := query.And(c.parts...)
			if got.String() != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if query.And() != nil || query.And(nil, nil) != nil {
		t.Error("And of nothing is not nil")
	}
}

func TestNot(t *testing.T) {
	if got := query.Not(query.Not(parse(t, "a OR b"))).String(); got != "-(-(a b))" {
		t.Errorf("got %s", got)
	}
	if _, err := query.Check(query.Not(parse(t, strings.Repeat("a ", query.MaxClauses))), query.Public); err != nil {
		t.Errorf("with the maximum number of clauses: %v", err)
	}
}

func TestFieldTermIsOneValue(t *testing.T) {
	for _, value := range []string{"app", "a b", "a,b", ">5", "*", "-x", `a"b\c`, "AND", "[a TO b]", "日本", "~2", "", "/x/"} {
		n := query.FieldTerm("approval_status", value)
		again := parse(t, n.String())
		if diff := cmp.Diff(n, again); diff != "" {
			t.Errorf("%q is written %s (-made +parsed):\n%s", value, n, diff)
		}
	}
}

func TestNames(t *testing.T) {
	n := parse(t, `a text:b (id:(1,2) OR -text:c)^2 _exists_:tags _missing_:tags.\* campaign:[1 TO 2] author:x* author:y~ author:/z/ text:"p"`)
	want := []query.FieldName{{Name: "text"}, {Name: "id"}, {Name: "tags"}, {Name: "tags.*", Pattern: true}, {Name: "campaign"}, {Name: "author"}}
	if diff := cmp.Diff(want, query.Names(n)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWalkSkipsSubtrees(t *testing.T) {
	count := 0
	whole := query.Walk(parse(t, "a (b c)^2 d"), func(n query.Node) bool {
		count++
		_, boost := n.(query.Boost)
		return !boost
	})
	if whole || count != 4 { // the visited nodes are the group, a, the boost and d
		t.Errorf("visited %d nodes, whole %v", count, whole)
	}
	if !query.Walk(nil, func(query.Node) bool { return false }) {
		t.Error("a nil tree is not whole")
	}
}
