package eval

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
	"github.com/vitrine-dev/vitrine/server/query/rank"
)

// Values of library.Explanation.Occur.
const (
	occurMust    = "must"
	occurShould  = "should"
	occurMustNot = "must not"
)

// Explain explains clause by clause whether a document matches a plan, which score it gets, and which values were compared. The scores are
// those that Match would return in a corpus with these statistics. The score of a clause includes the boosts of all clauses that contain
// it. Errors are those of Compile.
func Explain(ctx context.Context, s rank.Statistics, n plan.Node, d *Doc) (library.Explanation, error) {
	x, err := explainer{newCompiler(s), d}.explain(ctx, part{n, "", 1})
	if err != nil {
		return library.Explanation{}, fmt.Errorf("explain: %w", err)
	}
	return x, nil
}

type explainer struct {
	compiler
	doc *Doc
}

// part is a node with its role in its parent node, and with the product of the boosts of all nodes that contain it.
type part struct {
	node  plan.Node
	occur string
	boost float32
}

func (e explainer) explain(ctx context.Context, p part) (library.Explanation, error) {
	match, err := e.compile(ctx, p.node, p.boost)
	if err != nil {
		return library.Explanation{}, err
	}
	x := library.Explanation{Clause: describe(p.node), Occur: p.occur, Detail: e.detail(p.node)}
	score, ok := match(e.doc)
	if x.Matched = ok; ok && p.occur != occurMustNot {
		x.Score = float64(score)
	}
	for _, below := range p.below() {
		child, err := e.explain(ctx, below)
		if err != nil {
			return library.Explanation{}, err
		}
		if _, constant := p.node.(plan.Const); constant {
			child = unscored(child)
		}
		x.Children = append(x.Children, child)
	}
	return x, nil
}

// below lists the parts of a node: the clauses of a group, or the inner node of a boost or a constant.
func (p part) below() []part {
	var parts []part
	add := func(nodes []plan.Node, occur string, boost float32) {
		for _, n := range nodes {
			parts = append(parts, part{n, occur, boost})
		}
	}
	switch n := p.node.(type) {
	case plan.Bool:
		add(n.Must, occurMust, p.boost)
		add(n.Should, occurShould, p.boost)
		add(n.MustNot, occurMustNot, p.boost)
	case plan.DisMax:
		add(n.Nodes, occurShould, p.boost)
	case plan.Boost:
		add([]plan.Node{n.Node}, occurMust, n.Factor*p.boost)
	case plan.Const:
		if !isAll(n.Node) {
			add([]plan.Node{n.Node}, occurMust, 1)
		}
	default: // other nodes have no parts
	}
	return parts
}

func isAll(n plan.Node) bool {
	_, all := n.(plan.All)
	return all
}

// unscored removes the scores from the explanation of a clause that must match but is not scored.
func unscored(x library.Explanation) library.Explanation {
	x.Score = 0
	for i := range x.Children {
		x.Children[i] = unscored(x.Children[i])
	}
	return x
}

// describe returns the clause for a node as text. For a group, it omits the clauses, which are children in the explanation.
func describe(n plan.Node) string {
	switch n := n.(type) {
	case plan.All:
		return "*:*"
	case plan.None:
		return "nothing"
	case plan.Bool:
		return "all of"
	case plan.DisMax:
		return "the best of"
	case plan.Boost:
		return "boost " + plan.NumberText(float64(n.Factor))
	case plan.Const:
		if isAll(n.Node) {
			return "*:*"
		}
		return "constant " + plan.NumberText(float64(n.Score))
	case plan.Leaf:
		return n.String()
	}
	return fmt.Sprintf("%T", n)
}

// maxDetail is the maximum number of values in the detail of an explanation.
const maxDetail = 12

// detail describes the values that the document has in the field of a leaf.
func (e explainer) detail(n plan.Node) string {
	leaf, ok := n.(plan.Leaf)
	if !ok {
		return ""
	}
	f := leaf.LooksAt()
	at := e.doc.fields[f.Name]
	if at == nil {
		return "the item has no " + f.Name
	}
	switch n := n.(type) {
	case plan.Term:
		if f.Type == query.Text {
			return fmt.Sprintf("%d of %d words", len(at.terms[n.Text]), at.words)
		}
	case plan.Phrase:
		parts := make([]string, len(n.Words))
		for i, w := range n.Words {
			parts[i] = fmt.Sprintf("%s %d", w.Text, len(at.terms[w.Text]))
		}
		return fmt.Sprintf("of %d words: %s", at.words, strings.Join(parts, ", "))
	default: // the list of values is sufficient
	}
	return at.list(f)
}

// list formats the first maxDetail values of a field, and counts the others.
func (f *field) list(of query.Field) string {
	values := slices.Sorted(maps.Keys(f.terms))
	for _, v := range f.numbers {
		values = append(values, plan.ValueText(of, v))
	}
	for _, v := range f.floats {
		values = append(values, plan.NumberText(v))
	}
	if rest := len(values) - maxDetail; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(values[:maxDetail], ", "), rest)
	}
	return strings.Join(values, ", ")
}
