package translate

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/automaton"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// TestPatternsMatchOnlyTheirField checks that random patterns on a dynamic field match only terms of this field.
func TestPatternsMatchOnlyTheirField(t *testing.T) {
	t.Parallel()
	g := &patternGenerator{rand.New(rand.NewPCG(3, 4))}
	for range 2000 {
		leaf := g.leaf(t)
		for _, field := range (&Translator{FirstSchema: true}).Indexed(leaf.Field) {
			q, err := pattern(leaf, field)
			if err != nil {
				t.Fatal(err)
			}
			checkField(t, q, []string{field}, schema.PrefixOf(leaf.Field))
		}
	}
}

// foreign is a leaf that the translator does not know.
type foreign struct{ plan.Leaf }

func (foreign) LooksAt() query.Field { return query.Field{Name: "content.text", Type: query.Text} }

func TestUnknownLeaf(t *testing.T) {
	if q, err := (&Translator{}).Query(t.Context(), foreign{}); err == nil {
		t.Errorf("translated to %v", q)
	}
}

// FuzzLeaf checks that the query for a leaf on a dynamic field matches only terms of this field, and that a text of the caller is never
// more than a value in it. The terms of several fields are in one field of the index, so a query that matches terms of another field reads
// private data.
func FuzzLeaf(f *testing.F) {
	for _, value := range []string{
		`love`, `lo*`, `*`, `l?ve\*`, `/a.c/`, `/)|submission.email.*~/`, `/[\--]"])|(submission.email.jane.*["]?/`, `"a b"~2`, `luve~2`, `[a TO b}`, `{* TO b]`,
		`>=a`, `/<1-31>&@/`, `/#/`, `\)\|\(`, `/"a\"b"/`, `/~(a)/`, `/\x/`,
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, name := range []string{"tags.vibe.key", `submission.email`, `content.platform_ref\:a\"b`} {
			parsed, err := query.Parse(name + ":(" + value + ")")
			if err != nil {
				return
			}
			built, err := plan.Build(parsed.Root, plan.Options{Audience: query.Private, Now: time.Unix(0, 0)})
			if err != nil {
				return
			}
			for _, n := range leaves(built.Root) {
				if !query.Dynamic(n.LooksAt().Name) {
					continue
				}
				for _, first := range []bool{false, true} {
					tr := &Translator{FirstSchema: first}
					q, err := tr.own(n)
					if err != nil {
						t.Fatalf("%s: %v", value, err)
					}
					checkField(t, q, tr.Indexed(n.LooksAt()), n.LooksAt().Name+"\x00")
				}
			}
		}
	})
}

// leaves returns the leaves of a plan.
func leaves(n plan.Node) []plan.Leaf {
	var list []plan.Leaf
	switch n := n.(type) {
	case plan.Leaf:
		list = append(list, n)
	case plan.Bool:
		for _, inner := range slices.Concat(n.Must, n.Should, n.MustNot) {
			list = append(list, leaves(inner)...)
		}
	case plan.DisMax:
		for _, inner := range n.Nodes {
			list = append(list, leaves(inner)...)
		}
	case plan.Const:
		list = leaves(n.Node)
	case plan.Boost:
		list = leaves(n.Node)
	}
	return list
}

// checkField checks that a query matches only terms with the prefix, in the given fields of the index.
func checkField(t *testing.T, q object, fields []string, prefix string) {
	t.Helper()
	if len(q) != 1 {
		t.Fatalf("the query has %d members: %v", len(q), q)
	}
	kind := slices.Collect(maps.Keys(q))[0]
	body := q[kind].(object)
	switch kind {
	case "match_none":
		return
	case "constant_score":
		checkField(t, body["filter"].(object), fields, prefix)
		return
	case "dis_max":
		for _, inner := range body["queries"].([]object) {
			checkField(t, inner, fields, prefix)
		}
		return
	}
	for field, body := range body {
		if field == schema.FieldPresent && kind == "term" && body == prefix[:len(prefix)-1] {
			continue
		}
		if !slices.Contains(fields, field) {
			t.Fatalf("%s query for the field %s, want one of %q", kind, field, fields)
		}
		body := body.(object)
		switch kind {
		case "term", "prefix":
			checkPrefix(t, body["value"], prefix)
		case "fuzzy":
			checkPrefix(t, body["value"], prefix)
			if n := len([]rune(prefix)); body["prefix_length"] != n {
				t.Fatalf("the first %v characters of a fuzzy word are fixed, want %d", body["prefix_length"], n)
			}
		case "range":
			for bound, value := range body {
				if bound == "lt" && value == prefix[:len(prefix)-1]+"\x01" {
					continue
				}
				checkPrefix(t, value, prefix)
			}
			if len(body) != 2 {
				t.Fatalf("the range has %d bounds: %v", len(body), body)
			}
		case "regexp":
			if body["flags"] != "INTERSECTION" {
				t.Fatalf("flags %v", body["flags"])
			}
			a, err := automaton.Regexp(body["value"].(string))
			if err != nil {
				t.Fatalf("%q: %v", body["value"], err)
			}
			s := a.Start()
			for i := range len(prefix) {
				for b := range 256 {
					if a.IsMatch(s) || byte(b) != prefix[i] && a.CanMatch(a.Accept(s, byte(b))) {
						t.Fatalf("%q matches terms without the prefix %q", body["value"], prefix)
					}
				}
				s = a.Accept(s, prefix[i])
			}
		default:
			t.Fatalf("unexpected %s query", kind)
		}
	}
}

func checkPrefix(t *testing.T, value any, prefix string) {
	t.Helper()
	if text, ok := value.(string); !ok || len(text) < len(prefix) || text[:len(prefix)] != prefix {
		t.Fatalf("%q has no prefix %q", value, prefix)
	}
}
