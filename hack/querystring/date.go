package querystring

import (
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// instant is the format in which Rewrite writes instants for OpenSearch. It includes milliseconds, because OpenSearch would round a less
// precise date.
const instant = "2006-01-02T15:04:05.000Z"

// date rewrites n, a query for the single date b.
func (r *rewriter) date(n query.Node, b query.Bound) (query.Node, error) {
	f := fieldOf(n)
	switch {
	case isPartial(b.Text):
		return r.dateRange(query.Range{Leaf: query.Leaf{Field: f}, From: b, To: b})
	case strings.HasPrefix(b.Text, "now"):
		return query.Phrase{Leaf: query.Leaf{Field: r.field(f)}, Text: r.bindNow(b.Text)}, nil
	}
	switch n := n.(type) {
	case query.Term:
		n.Field = r.field(f)
		return n, nil
	case query.Phrase:
		n.Field = r.field(f)
		return n, nil
	}
	return n, nil
}

// dateRange rewrites each bound of a range of dates.
func (r *rewriter) dateRange(n query.Range) (query.Node, error) {
	from, to := isPartial(n.From.Text), isPartial(n.To.Text)
	if from || to {
		first, last, err := query.Span(n, query.Field{Name: n.Field.Name, Type: query.Date}, r.Now)
		if err != nil {
			return nil, err
		}
		bound := func(at int64) query.Bound {
			return query.Bound{Text: time.UnixMilli(at).UTC().Format(instant), Inclusive: true}
		}
		if from {
			n.From = bound(first)
		}
		if to {
			n.To = bound(last)
		}
	}
	n.From.Text, n.To.Text = r.bindNow(n.From.Text), r.bindNow(n.To.Text)
	n.Field = r.field(n.Field)
	return n, nil
}

// bindNow replaces `now` at the beginning of text with Options.Now.
func (r *rewriter) bindNow(text string) string {
	math, ok := strings.CutPrefix(text, "now")
	switch {
	case !ok:
		return text
	case math == "":
		return r.now
	}
	return r.now + "||" + math
}

// isPartial reports whether a date text is a year or a month. OpenSearch would interpret such a text as the first day of the year or month.
func isPartial(text string) bool {
	year, month, hasMonth := strings.Cut(text, "-")
	return isDigits(year, 4) && (!hasMonth || isDigits(month, 2))
}

func isDigits(s string, n int) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) == n
}
