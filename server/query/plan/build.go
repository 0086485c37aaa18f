package plan

import (
	"errors"
	"fmt"
	"math"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// maxExpansions is the maximum number of terms that a fuzzy word expands to (see "Patterns" in the documentation of the query language).
const maxExpansions = 50

var errNoNow = errors.New("plan: Options.Now is required")

// Build plans a query. The errors are those of query.Check: a *query.SyntaxError (a value that does not fit its field, an invalid pattern,
// an exceeded limit) or a *query.ForbiddenFieldError. A nil query matches nothing.
func Build(n query.Node, o Options) (*Plan, error) {
	if o.Now.IsZero() {
		return nil, errNoNow
	}
	if n == nil {
		return &Plan{Root: None{}}, nil
	}
	if _, err := query.Check(n, o.Audience); err != nil {
		return nil, err
	}
	b := &builder{Options: o}
	root, err := b.build(n)
	if err != nil {
		return nil, err
	}
	if root == nil {
		root = None{}
	}
	return &Plan{Root: root}, nil
}

// builder is the state of one Build. Its methods return a nil Node for a clause without words, which the plan omits.
type builder struct {
	Options
	patterns query.Patterns
	clauses  int
	// further is true while the builder builds a leaf on a dynamic field of a field pattern, except on the first one. Such a leaf counts in
	// expanded and not in clauses.
	further  bool
	expanded int
}

func (b *builder) build(n query.Node) (Node, error) {
	switch n := n.(type) {
	case query.Bool:
		return b.group(n)
	case query.Any:
		return b.any(n)
	case query.Boost:
		inner, err := b.build(n.Node)
		if err != nil || inner == nil {
			return nil, err
		}
		return Boost{Node: inner, Factor: float32(n.Factor)}, nil
	case query.All:
		return All{}, b.count(n, 1)
	case query.None:
		return None{}, nil
	case query.Exists:
		return b.exists(n, n.Field)
	case query.Missing:
		return b.missing(n)
	case query.Wildcard:
		if n.Pattern == "*" {
			return b.exists(n, n.Field)
		}
	}
	return b.leaf(n)
}

// count adds to the number of clauses, which query.MaxClauses limits. n is the clause that the error names if the number exceeds the limit.
func (b *builder) count(n query.Node, clauses int) error {
	if b.further {
		return b.expand(n, clauses)
	}
	if b.clauses += clauses; b.clauses <= query.MaxClauses {
		return nil
	}
	return query.ExpandedError(n)
}

// expand adds to the number of dynamic fields of field patterns, which query.MaxExpansion limits.
func (b *builder) expand(n query.Node, fields int) error {
	if b.expanded += fields; b.expanded <= query.MaxExpansion {
		return nil
	}
	err := query.ErrorAt(n, "field patterns of this query match too many fields in total", fmt.Sprintf("at most %d", query.MaxExpansion))
	err.Limit = true
	return err
}

// leaf builds a leaf on every field that the name in n matches.
func (b *builder) leaf(n query.Node) (Node, error) {
	name := query.FieldOf(n)
	if name.Name == "" {
		return b.on(n, query.Field{Name: query.AllField, Type: query.Text})
	}
	fields := query.Resolve(name, b.Audience, b.Fields)
	if len(fields) == 0 {
		return None{}, b.count(n, 1)
	}
	var nodes []Node
	defer func() { b.further = false }()
	for i, f := range fields {
		b.further = i > 0 && query.Dynamic(f.Name) && query.Dynamic(fields[i-1].Name)
		node, err := b.on(n, f)
		if err != nil {
			return nil, err
		}
		if node != nil {
			nodes = append(nodes, node)
		}
	}
	switch len(nodes) {
	case 0:
		return nil, nil
	case 1:
		return nodes[0], nil
	}
	return DisMax{Nodes: nodes}, nil
}

// on builds a leaf on one field.
func (b *builder) on(n query.Node, f query.Field) (Node, error) {
	switch f.Type {
	case query.Text:
		return b.onText(n, f)
	case query.Keyword:
		return b.onKeyword(n, f)
	case query.Double:
		return b.onDouble(n, f)
	case query.Long, query.Boolean, query.Date:
		return b.onInteger(n, f)
	}
	return nil, fmt.Errorf("plan: unknown type %d of field %s", f.Type, f.Name)
}

// onText builds a leaf on a text field.
func (b *builder) onText(n query.Node, f query.Field) (Node, error) {
	switch n := n.(type) {
	case query.Term:
		return b.words(n, f, analysis.Analyze(n.Text))
	case query.Phrase:
		return b.phrase(n, f, analysis.Analyze(n.Text))
	}
	return b.onTerms(n, f)
}

// words builds a clause for a query.Term on a text field. Each word of the analyzed text becomes a separate clause, as in OpenSearch
// without auto_generate_phrase_queries.
func (b *builder) words(n query.Node, f query.Field, tokens []analysis.Token) (Node, error) {
	if err := b.count(n, len(tokens)); err != nil {
		return nil, err
	}
	switch len(tokens) {
	case 0:
		return nil, nil
	case 1:
		return Term{Field: f, Text: tokens[0].Text}, nil
	}
	group := Bool{Should: make([]Node, len(tokens))}
	for i, t := range tokens {
		group.Should[i] = Term{Field: f, Text: t.Text}
	}
	return group, nil
}

// phrase builds a phrase. A phrase of one word becomes a Term.
func (b *builder) phrase(n query.Phrase, f query.Field, tokens []analysis.Token) (Node, error) {
	if err := b.count(n, len(tokens)); err != nil {
		return nil, err
	}
	switch len(tokens) {
	case 0:
		return nil, nil
	case 1:
		return Term{Field: f, Text: tokens[0].Text}, nil
	}
	p := Phrase{Field: f, Words: make([]Word, len(tokens)), Slop: n.Slop}
	for i, t := range tokens {
		p.Words[i] = Word{Text: t.Text, Position: t.Position - tokens[0].Position}
	}
	return p, nil
}

// onKeyword builds a leaf on a keyword field. The values of such a field are compared as a whole and in lower case.
func (b *builder) onKeyword(n query.Node, f query.Field) (Node, error) {
	text := ""
	switch n := n.(type) {
	case query.Term:
		text = n.Text
	case query.Phrase:
		text = n.Text
	default:
		return b.onTerms(n, f)
	}
	if text == "" {
		return None{}, b.count(n, 1)
	}
	return Term{Field: f, Text: query.Fold(text)}, b.count(n, 1)
}

// onTerms builds the leaves of a text or keyword field that compare single terms: patterns, fuzzy words and ranges. It converts the text of
// such a leaf to lower case, but does not split it into words.
func (b *builder) onTerms(n query.Node, f query.Field) (Node, error) {
	if err := b.count(n, 1); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case query.Wildcard:
		a, err := b.patterns.Compile(n)
		return Pattern{Field: f, Automaton: a, Source: n.Pattern}, err
	case query.Regexp:
		a, err := b.patterns.Compile(n)
		return Pattern{Field: f, Automaton: a, Source: "/" + n.Pattern + "/", Regexp: true}, err
	case query.Fuzzy:
		edits := n.Edits
		if edits == query.AutoEdits {
			edits = query.EditsFor(n.Text)
		}
		return Fuzzy{Field: f, Text: query.Fold(n.Text), Edits: edits, MaxExpansions: maxExpansions}, nil
	case query.Range:
		r := TermRange{
			Field:  f,
			LoOpen: n.From.Open, Lo: query.Fold(n.From.Text), LoIncl: n.From.Inclusive,
			HiOpen: n.To.Open, Hi: query.Fold(n.To.Text), HiIncl: n.To.Inclusive,
		}
		return r, nil
	}
	return nil, fmt.Errorf("plan: unknown clause %T", n)
}

// onInteger builds a leaf on a Long, Date or Boolean field. A single number or date becomes a range of one value.
func (b *builder) onInteger(n query.Node, f query.Field) (Node, error) {
	if err := b.count(n, 1); err != nil {
		return nil, err
	}
	lo, hi, err := query.Span(n, f, b.Now)
	if err != nil {
		return nil, err
	}
	if lo > hi {
		return None{}, nil
	}
	if f.Type == query.Boolean && lo == hi {
		// As in OpenSearch, a single boolean value is a term, whose score depends on its IDF, even if the query wrote it as a range.
		return Term{Field: f, Text: []string{"false", "true"}[lo]}, nil
	}
	return IntRange{Field: f, Lo: lo, Hi: hi}, nil
}

// onDouble builds a leaf on a Double field.
func (b *builder) onDouble(n query.Node, f query.Field) (Node, error) {
	if err := b.count(n, 1); err != nil {
		return nil, err
	}
	lo, hi, err := query.FloatSpan(n, f)
	if err != nil {
		return nil, err
	}
	if lo > hi || math.IsInf(lo, 1) || math.IsInf(hi, -1) {
		return None{}, nil
	}
	return FloatRange{Field: f, Lo: lo, Hi: hi}, nil
}
