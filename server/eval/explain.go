package eval

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/plan"
)

// The values of library.Explanation.Occur.
const (
	occurMust    = "must"
	occurShould  = "should"
	occurMustNot = "must not"
)

// Explain says clause by clause whether a document matches a plan, with what score, and what was looked at. The scores
// are those of Match among the documents that the statistics are of: the boosts around a clause are multiplied in. Errors
// are those of Compile.
func Explain(ctx context.Context, s Statistics, n plan.Node, d *Doc) (library.Explanation, error) {
	e := explainer{compiler: compiler{known: newKnown(s)}, doc: d}
	if err := e.gather(ctx, n); err != nil {
		return library.Explanation{}, fmt.Errorf("gather statistics: %w", err)
	}
	x, err := e.explain(ctx, n, "", 1)
	if err != nil {
		return library.Explanation{}, fmt.Errorf("explain: %w", err)
	}
	return x, nil
}

type explainer struct {
	compiler
	doc *Doc
}

func (e *explainer) explain(ctx context.Context, n plan.Node, occur string, boost float32) (library.Explanation, error) {
	bound, err := e.compile(ctx, n, boost)
	if err != nil {
		return library.Explanation{}, err
	}
	x := library.Explanation{Clause: describe(n), Occur: occur, Detail: e.detail(n)}
	score, ok := bound.match(e.doc)
	if x.Matched = ok; ok && occur != occurMustNot {
		x.Score = float64(score)
	}
	below := func(nodes []plan.Node, occur string, boost float32) error {
		for _, n := range nodes {
			child, err := e.explain(ctx, n, occur, boost)
			if err != nil {
				return err
			}
			x.Children = append(x.Children, child)
		}
		return nil
	}
	switch n := n.(type) {
	case plan.Bool:
		if err = below(n.Must, occurMust, boost); err == nil {
			err = below(n.Should, occurShould, boost)
		}
		if err == nil {
			err = below(n.MustNot, occurMustNot, boost)
		}
	case plan.DisMax:
		err = below(n.Nodes, occurShould, boost)
	case plan.Boost:
		err = below([]plan.Node{n.Node}, occurMust, n.Factor*boost)
	case plan.Const:
		if _, everything := n.Node.(plan.All); !everything {
			unranked := explainer{compiler: compiler{known: e.known, unscored: true}, doc: e.doc}
			var child library.Explanation
			if child, err = unranked.explain(ctx, n.Node, occurMust, 1); err == nil {
				x.Children = append(x.Children, unscored(child))
			}
		}
	}
	return x, err
}

// unscored takes the scores out of an explanation of which only the match counts.
func unscored(x library.Explanation) library.Explanation {
	x.Score = 0
	for i := range x.Children {
		x.Children[i] = unscored(x.Children[i])
	}
	return x
}

// describe writes a node as the clause that it came from; groups have their clauses below them.
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
		return "boost " + number(float64(n.Factor))
	case plan.Const:
		if _, everything := n.Node.(plan.All); everything {
			return "*:*"
		}
		return "constant " + number(float64(n.Score))
	case plan.Term:
		return n.Field.Name + ":" + quoted(n.Text)
	case plan.Phrase:
		return describePhrase(n)
	case plan.Pattern:
		return n.Field.Name + ":" + n.Source
	case plan.Fuzzy:
		return n.Field.Name + ":" + quoted(n.Text) + "~" + strconv.Itoa(n.Edits)
	case plan.IntRange:
		return describeRange(n.Field.Name, value(n.Field, n.Lo), value(n.Field, n.Hi))
	case plan.FloatRange:
		return describeRange(n.Field.Name, number(n.Lo), number(n.Hi))
	case plan.TermRange:
		return describeTermRange(n)
	case plan.Exists:
		return "_exists_:" + n.Field.Name
	}
	return fmt.Sprintf("%T", n)
}

func describePhrase(n plan.Phrase) string {
	words := make([]string, len(n.Words))
	for i, w := range n.Words {
		words[i] = w.Text
	}
	s := n.Field.Name + ":" + strconv.Quote(strings.Join(words, " "))
	if n.Slop > 0 {
		s += "~" + strconv.Itoa(n.Slop)
	}
	return s
}

func describeRange(name, lo, hi string) string {
	if lo == hi {
		return name + ":" + lo
	}
	return name + ":[" + lo + " TO " + hi + "]"
}

func describeTermRange(n plan.TermRange) string {
	lo, hi, open, end := "*", "*", "[", "]"
	if !n.LoOpen {
		lo = quoted(n.Lo)
		if !n.LoIncl {
			open = "{"
		}
	}
	if !n.HiOpen {
		hi = quoted(n.Hi)
		if !n.HiIncl {
			end = "}"
		}
	}
	return n.Field.Name + ":" + open + lo + " TO " + hi + end
}

// quoted puts quotes around a text that would not be one word in a query.
func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\r\n\u3000+-!():^[]\"{}~*?\\/") {
		return strconv.Quote(s)
	}
	return s
}

// value writes a whole number, date or truth value; the ends of the 64-bit range stand for no bound.
func value(f query.Field, v int64) string {
	switch {
	case f.Type == query.Boolean:
		return booleanTerm(v)
	case v == math.MinInt64 || v == math.MaxInt64:
		return "*"
	case f.Type == query.Date:
		return time.UnixMilli(v).UTC().Format("2006-01-02T15:04:05.999Z")
	}
	return strconv.FormatInt(v, 10)
}

func number(v float64) string {
	if math.IsInf(v, 0) {
		return "*"
	}
	return strconv.FormatFloat(v, 'g', -1, 32)
}

// maxDetail is how many values a detail lists.
const maxDetail = 12

// detail says what the document holds where a leaf looked.
func (e *explainer) detail(n plan.Node) string {
	f, ok := fieldOf(n)
	if !ok {
		return ""
	}
	at := e.doc.field(nameOf(f.Name), new(int))
	if at == nil {
		return "the item has no " + f.Name
	}
	switch n := n.(type) {
	case plan.Term:
		if f.Type == query.Text {
			return fmt.Sprintf("%d times among %d words", e.times(at, n.Text), at.length)
		}
	case plan.Phrase:
		parts := make([]string, len(n.Words))
		for i, w := range n.Words {
			parts[i] = fmt.Sprintf("%s %d", w.Text, e.times(at, w.Text))
		}
		return fmt.Sprintf("times among %d words: %s", at.length, strings.Join(parts, ", "))
	}
	return e.values(f, at)
}

// times counts a word in a field.
func (e *explainer) times(at *field, text string) int {
	if i, ok := e.doc.find(at, text, fingerprint(text)); ok {
		return len(e.doc.at(i))
	}
	return 0
}

// values lists the values of a field, as far as maxDetail.
func (e *explainer) values(f query.Field, at *field) string {
	var list []string
	for i := at.from; i < at.to && len(list) < maxDetail; i++ {
		switch {
		case at.hasTerms():
			list = append(list, e.doc.term(int(i)))
		case f.Type == query.Double:
			list = append(list, number(float(e.doc.numbers[i])))
		default:
			list = append(list, value(f, e.doc.numbers[i]))
		}
	}
	s := strings.Join(list, ", ")
	if rest := int(at.to-at.from) - len(list); rest > 0 {
		s += fmt.Sprintf(" and %d more", rest)
	}
	return s
}

// fieldOf returns the field that a leaf looks at.
func fieldOf(n plan.Node) (query.Field, bool) {
	switch n := n.(type) {
	case plan.Term:
		return n.Field, true
	case plan.Phrase:
		return n.Field, true
	case plan.Pattern:
		return n.Field, true
	case plan.Fuzzy:
		return n.Field, true
	case plan.IntRange:
		return n.Field, true
	case plan.FloatRange:
		return n.Field, true
	case plan.TermRange:
		return n.Field, true
	case plan.Exists:
		return n.Field, true
	}
	return query.Field{}, false
}
