package query_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

// trees makes random trees that Parse can return.
type trees struct{ *rand.Rand }

// pick returns one of the values.
func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func (r trees) node(depth int) query.Node {
	if depth == 0 || r.IntN(3) == 0 {
		return r.leaf(r.field())
	}
	switch r.IntN(5) {
	case 0:
		return query.Boost{Node: r.node(depth - 1), Factor: pick(r.Rand, 0, 0.5, 1, 2, 1234.5678, 1e-9)}
	case 1:
		f := query.FieldName{Name: "campaign"}
		if r.IntN(2) == 0 {
			f = query.FieldName{Name: "tags.*", Pattern: true}
		}
		n := query.Any{}
		for range 2 + r.IntN(3) {
			n.Values = append(n.Values, r.value(f))
		}
		return n
	default:
		return r.group(depth)
	}
}

func (r trees) group(depth int) query.Node {
	var n query.Bool
	for range 1 + r.IntN(4) {
		n.Clauses = append(n.Clauses, query.Clause{Occur: pick(r.Rand, query.Should, query.Must, query.MustNot), Node: r.node(depth - 1)})
	}
	if len(n.Clauses) == 1 {
		n.Clauses[0].Occur = pick(r.Rand, query.Must, query.MustNot)
	}
	return n
}

func (r trees) field() query.FieldName {
	return pick(r.Rand, query.FieldName{}, query.FieldName{}, query.FieldName{Name: "text"}, query.FieldName{Name: "tags.*", Pattern: true},
		query.FieldName{Name: "AND"}, query.FieldName{Name: `a b:"c\`}, query.FieldName{Name: "山,-"}, query.FieldName{Name: "*", Pattern: true})
}

// leaf returns a random leaf, usually of the field f.
func (r trees) leaf(f query.FieldName) query.Node {
	switch r.IntN(10) {
	case 0:
		return query.Exists{Leaf: query.Leaf{Field: query.FieldName{Name: "a,*", Pattern: true}}}
	case 1:
		return query.Missing{Leaf: query.Leaf{Field: query.FieldName{Name: "<text"}}}
	case 2:
		return query.All{}
	}
	return r.value(f)
}

// value returns a random leaf of the field f that can also be a value in a list.
func (r trees) value(f query.FieldName) query.Node {
	switch r.IntN(6) {
	case 0:
		return query.Phrase{Leaf: query.Leaf{Field: f}, Text: r.text(0), Slop: r.IntN(3)}
	case 1:
		return query.Wildcard{Leaf: query.Leaf{Field: f}, Pattern: r.escaped(`*?\`) + "x" + pick(r.Rand, "*", "?") + r.escaped(`*?\`)}
	case 2:
		return query.Fuzzy{Leaf: query.Leaf{Field: f}, Text: r.text(1), Edits: r.IntN(4) - 1}
	case 3:
		return query.Regexp{Leaf: query.Leaf{Field: f}, Pattern: r.escaped(`/\`)}
	case 4:
		return query.Range{Leaf: query.Leaf{Field: f}, From: r.bound(), To: r.bound()}
	default:
		return query.Term{Leaf: query.Leaf{Field: f}, Text: r.text(1)}
	}
}

func (r trees) bound() query.Bound {
	if r.IntN(3) == 0 {
		return query.Bound{Open: true, Inclusive: r.IntN(2) == 0}
	}
	text := r.text(1)
	if text == "*" {
		text = "TO"
	}
	return query.Bound{Text: text, Inclusive: r.IntN(2) == 0}
}

// text returns a random text, often with special characters. It is empty only if least is 0.
func (r trees) text(least int) string {
	if r.IntN(8) == 0 {
		return pick(r.Rand, "AND", "OR", "NOT", "&&", "||", "TO", "-", "+", "!", ">", ">=", "<x", ",", "now", "auto")
	}
	var b strings.Builder
	for range least + r.IntN(5) {
		b.WriteString(pick(r.Rand, "a", "u", "1", "山", "😍", "é", " ", "\t", "\n", "\u3000", "+", "-", "!", "(", ")", ":", "^", "[", "]", `"`, "{", "}",
			"~", "*", "?", `\`, "/", "&", "|", ",", "<", ">", "=", "'", "_", ".", "#", "@", "\x00"))
	}
	return b.String()
}

// escaped returns a random text with a backslash before each character that is in special.
func (r trees) escaped(special string) string {
	var b strings.Builder
	for _, c := range r.text(0) {
		if strings.ContainsRune(special, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

func TestRandomTreesRoundTrip(t *testing.T) {
	for seed := range uint64(5_000) {
		r := trees{rand.New(rand.NewPCG(seed, 0))}
		n := r.node(4)
		q, err := query.Parse(n.String())
		if err != nil {
			t.Fatalf("seed %d: Parse(%q): %v", seed, n, err)
		}
		if diff := cmp.Diff(n, q.Root); diff != "" {
			t.Fatalf("seed %d: %s (-made +parsed):\n%s", seed, n, diff)
		}
	}
}
