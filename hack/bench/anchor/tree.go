package anchor

import (
	"fmt"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// Tree is a query in the form that the program that runs Lucene reads.
type Tree struct {
	// Kind is bool, keyword, words, phrase, prefix, fuzzy or range.
	Kind  string
	Field string `json:",omitempty"`
	// Text is the value of a keyword in lower case, a text to analyze, or a prefix.
	Text string `json:",omitempty"`
	// Edits is the edit distance of a fuzzy query.
	Edits int
	// From and To are the inclusive bounds of a range. Dates are in milliseconds.
	From, To int64
	// Must, Should and Not are the clauses of a bool.
	Must, Should, Not []*Tree `json:",omitempty"`
}

// newTree translates a query. It supports the kinds of nodes in the queries of sample.Families.
func newTree(n query.Node) (*Tree, error) {
	switch n := n.(type) {
	case query.Bool:
		t := &Tree{Kind: "bool"}
		for _, c := range n.Clauses {
			clause, err := newTree(c.Node)
			if err != nil {
				return nil, err
			}
			switch c.Occur {
			case query.Must:
				t.Must = append(t.Must, clause)
			case query.Should:
				t.Should = append(t.Should, clause)
			case query.MustNot:
				t.Not = append(t.Not, clause)
			}
		}
		return t, nil
	case query.Term:
		f, _ := query.Lookup(n.Field.Name)
		switch f.Type {
		case query.Text:
			return &Tree{Kind: "words", Field: f.Name, Text: n.Text}, nil
		case query.Keyword:
			return &Tree{Kind: "keyword", Field: f.Name, Text: analysis.Keyword(n.Text)}, nil
		case query.Long, query.Date:
			return span(n, f)
		case query.Boolean, query.Double:
		}
	case query.Phrase:
		f, _ := query.Lookup(n.Field.Name)
		return &Tree{Kind: "phrase", Field: f.Name, Text: n.Text}, nil
	case query.Wildcard:
		f, _ := query.Lookup(n.Field.Name)
		if prefix, ok := strings.CutSuffix(n.Pattern, "*"); ok && !strings.ContainsAny(prefix, `*?\`) {
			return &Tree{Kind: "prefix", Field: f.Name, Text: prefix}, nil
		}
	case query.Fuzzy:
		f, _ := query.Lookup(n.Field.Name)
		return &Tree{Kind: "fuzzy", Field: f.Name, Text: n.Text, Edits: n.Edits}, nil
	case query.Range:
		f, _ := query.Lookup(n.Field.Name)
		return span(n, f)
	}
	return nil, fmt.Errorf("%s: no translation for Lucene", n)
}

// span returns a range of numbers or dates.
func span(n query.Node, f query.Field) (*Tree, error) {
	from, to, err := query.Span(n, f, time.Unix(0, 0))
	if err != nil {
		return nil, fmt.Errorf("translate %s for Lucene: %w", n, err)
	}
	return &Tree{Kind: "range", Field: f.Name, From: from, To: to}, nil
}
