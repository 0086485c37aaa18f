package httpapi

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

const (
	// maxCompletions is the maximum number of completions. maxWordValues is the maximum number of values of one field among the completions of
	// a word without a field. maxPhrase is the maximum number of words that mean one value, and maxTogether the maximum number of words whose
	// meanings one completion combines. They limit the work for a long query.
	maxCompletions = 20
	maxWordValues  = 5
	maxPhrase      = 4
	maxTogether    = 12
	// valuesBudget is the maximum time for counting the values for completions. Values that arrive later do not help a user who is typing.
	valuesBudget = 250 * time.Millisecond
)

// errValuesLate is the cause with which a context ends when it exceeds valuesBudget.
var errValuesLate = errors.New("counting values for completions takes too long")

// These are the ranks of completions without a field before them. Otherwise, completions have the rank 0.
const (
	rankSame     = iota // the typed text is the name of a field
	rankMeaning         // the typed text names a value or a date
	rankBegun           // the typed text is the beginning of a name of a field
	rankValue           // the typed text is the beginning of a value
	rankPart            // the typed text is in a name of a field, or the beginning of another name for a field
	rankMistyped        // the typed text is similar to a value
)

// completion is a text that can replace the part of q from Start to End. Both are positions in UTF-16 code units.
type completion struct {
	// rank orders completions: those that fit the typed text best come first.
	rank  int
	Text  string `json:"text"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	// Kind is one of the constants below.
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
	// Count is the number of items of the property that have the value or match the clause, or nil if the server did not count them.
	Count *int64 `json:"count,omitempty"`
}

// These are the kinds of completions.
const (
	completesClause   = "clause"
	completesField    = "field"
	completesEnum     = "enum"
	completesTag      = "tag"
	completesValue    = "value"
	completesOperator = "operator"
)

// codeUnits returns the length of a text in UTF-16 code units.
func codeUnits(text []rune) int {
	n := 0
	for _, r := range text {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// characters returns the number of whole characters of a text before a position in UTF-16 code units.
func characters(text []rune, units int) int {
	for i, r := range text {
		if units -= max(1, utf16.RuneLen(r)); units < 0 {
			return i
		}
	}
	return len(text)
}

// completer collects the completions at one position.
type completer struct {
	x           *exchange
	query       []rune
	at          int
	spot        query.Spot
	completions []completion
	// late is true if values are missing because counting them took too long. expires is the time from which a count can change without a
	// write, or zero.
	late    bool
	expires time.Time
}

// add adds a completion that replaces the typed text. count is negative if no items were counted.
func (c *completer) add(kind, text, detail string, count int64) {
	c.replace(c.spot.Start, c.spot.End, completion{Text: text, Kind: kind, Detail: detail}, count)
}

// replace adds a completion that replaces the characters from start to end, unless it contains the token of the caller. count is negative if
// no items were counted.
func (c *completer) replace(start, end int, n completion, count int64) {
	if c.x.redact(n.Text) != n.Text {
		return
	}
	n.Start, n.End = codeUnits(c.query[:start]), codeUnits(c.query[:end])
	if count >= 0 {
		n.Count = &count
	}
	c.completions = append(c.completions, n)
}

// begins reports whether a text begins with the typed text. The comparison ignores case.
func (c *completer) begins(text string) bool {
	return strings.HasPrefix(query.Fold(text), query.Fold(c.spot.Typed))
}

func (c *completer) field(text, detail string, rank int) {
	c.replace(c.spot.Start, c.spot.End, completion{Text: text, Kind: completesField, Detail: detail, rank: rank}, -1)
}

// frequent returns the most frequent values among all items of the property. If counting takes too long, it returns none.
func (c *completer) frequent(ctx context.Context, f library.Facet) ([]library.FacetValue, error) {
	found, err := c.x.countAll(ctx, f)
	if c.isLate(ctx, err) {
		return nil, nil
	}
	return found, err
}

// total returns the number of items of the property that match a query, or -1 if counting them takes too long.
func (c *completer) total(ctx context.Context, n query.Node) (int64, error) {
	page, err := c.x.server.lib.Read(ctx, c.x.seen(library.Read{Query: n}))
	if c.isLate(ctx, err) || errors.As(err, new(*query.SyntaxError)) { // the query exceeds a limit that depends on the items
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	if !page.Expires.IsZero() && (c.expires.IsZero() || page.Expires.Before(c.expires)) {
		c.expires = page.Expires
	}
	return page.Total, nil
}

// isLate reports whether an error means that counting took too long, and notes it.
func (c *completer) isLate(ctx context.Context, err error) bool {
	late := errors.Is(err, errValuesLate) || errors.Is(err, context.DeadlineExceeded) && errors.Is(context.Cause(ctx), errValuesLate)
	c.late = c.late || late
	return late
}

// countAll counts values among all items of the property.
func (x *exchange) countAll(ctx context.Context, f library.Facet) ([]library.FacetValue, error) {
	found, err := x.server.lib.Facets(ctx, x.seen(library.Read{Query: query.All{}}), f)
	if err != nil {
		return nil, err
	}
	return found.Values, nil
}
