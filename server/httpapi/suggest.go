package httpapi

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

const (
	// maxCompletions is the maximum number of completions. maxTagCompletions is the maximum number of tags among the completions of a word
	// without a field.
	maxCompletions    = 20
	maxTagCompletions = 5
	// valuesBudget is the maximum time for counting the values for completions. Values that arrive later do not help a user who is typing.
	valuesBudget = 250 * time.Millisecond
)

// errValuesLate is the cause with which a context ends when it exceeds valuesBudget.
var errValuesLate = errors.New("counting values for completions takes too long")

// textProblem is an error or a warning about a parameter. Start and End are positions in UTF-16 code units, which editors use.
type textProblem struct {
	Severity string `json:"severity"`
	In       string `json:"in"`
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Message  string `json:"message"`
}

// completion is a text that can replace the part of q from Start to End. Both are positions in UTF-16 code units.
type completion struct {
	Text  string `json:"text"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	// Kind is one of the constants below.
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
	// Count is the number of items of the property that have the value, or nil if the server did not count them.
	Count *int64 `json:"count,omitempty"`
}

// These are the kinds of completions.
const (
	completesField    = "field"
	completesEnum     = "enum"
	completesTag      = "tag"
	completesValue    = "value"
	completesOperator = "operator"
)

// suggest answers GET /v2/content/suggest (extension). It sends the problems in a query and an order that a user is typing, and the
// completions at a position and the clauses of the query.
func (s *Server) suggest(x *exchange) error {
	q, err := x.param("q")
	if err != nil {
		return err
	}
	order, err := x.param("sort_by")
	if err != nil {
		return err
	}
	units := int64(len(utf16.Encode([]rune(q))))
	position, err := x.number("position", units, 0, units)
	if err != nil {
		return err
	}
	problems := []textProblem{}
	c := completer{x: x, query: []rune(q), completions: []completion{}}
	err = x.budgeted(func(ctx context.Context) error {
		problems = x.textProblems(problems, "q", q, query.Problems(q, x.audience()))
		problems = x.textProblems(problems, "sort_by", order, query.OrderProblems(order, x.audience()))
		counting, cancel := context.WithTimeoutCause(ctx, valuesBudget, errValuesLate)
		defer cancel()
		return c.complete(counting, characters(c.query, int(position)))
	})
	if err != nil {
		return err
	}
	body := marshal(struct {
		Problems    []textProblem `json:"problems"`
		Completions []completion  `json:"completions"`
		Clauses     []shownClause `json:"clauses"`
		Links       links         `json:"_links"`
	}{problems, c.completions, clausesOf(q, x.audience()), links{self: x.linkHere()}})
	return x.showUntil(body, freshness{never: c.late})
}

// textProblems appends the problems of a text to the list. in is the name of the parameter that contains the text.
func (x *exchange) textProblems(to []textProblem, in, text string, problems []query.Problem) []textProblem {
	runes := []rune(text)
	for _, p := range problems {
		severity := "error"
		if p.Warning {
			severity = "warning"
		}
		to = append(to, textProblem{severity, in, codeUnits(runes[:p.Start]), codeUnits(runes[:p.End]), x.redact(p.Message)})
	}
	return to
}

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
	spot        query.Spot
	completions []completion
	// late is true if values are missing because counting them took too long.
	late bool
}

// complete finds the completions at a position, which counts characters. If ctx ends with errValuesLate, the completions lack values.
func (c *completer) complete(ctx context.Context, at int) error {
	if len(string(c.query)) > query.MaxLength {
		return nil
	}
	var ok bool
	if c.spot, ok = query.SpotAt(string(c.query), at); !ok {
		return nil
	}
	var err error
	switch {
	case c.spot.Field.Name == "":
		c.operators()
		err = c.clauses(ctx)
	case query.TestsPresence(c.spot.Field):
		c.fields("")
		c.operators()
	default:
		err = c.values(ctx)
		c.operators()
	}
	if err != nil {
		return err
	}
	c.completions = c.completions[:min(len(c.completions), maxCompletions)]
	return nil
}

// add adds a completion. count is negative if no items were counted.
func (c *completer) add(kind, text, detail string, count int64) {
	n := completion{
		Text: text, Kind: kind, Detail: detail, Start: codeUnits(c.query[:c.spot.Start]), End: codeUnits(c.query[:c.spot.End]),
	}
	if count >= 0 {
		n.Count = &count
	}
	c.completions = append(c.completions, n)
}

// begins reports whether a text begins with the typed text. The comparison ignores case.
func (c *completer) begins(text string) bool {
	return strings.HasPrefix(query.Fold(text), query.Fold(c.spot.Typed))
}

// operators adds the operators that are possible at the position. Operators are in upper case, so a word in lower case is not the beginning
// of one.
func (c *completer) operators() {
	if c.spot.Quoted || c.spot.Named {
		return
	}
	for _, o := range []struct{ text, detail string }{
		{"AND", "both clauses must match"}, {"OR", "at least one of the clauses must match"}, {"NOT", "the next clause must not match"},
	} {
		after := c.spot.Follows || o.text == "NOT" && c.spot.Typed != "" && c.spot.Field.Name == ""
		if after && strings.HasPrefix(o.text, c.spot.Typed) {
			c.add(completesOperator, o.text, o.detail, -1)
		}
	}
}

// clauses adds texts with which a clause can begin: fields and, for a word, tags.
func (c *completer) clauses(ctx context.Context) error {
	if c.spot.Quoted {
		return nil
	}
	colon := ":"
	if c.spot.Named {
		colon = ""
	}
	c.fields(colon)
	if c.spot.Typed == "" {
		return nil
	}
	if err := c.tagFields(ctx, colon); err != nil || c.spot.Named {
		return err
	}
	tags, err := c.frequent(ctx, library.Facet{Field: query.AllTags, Key: c.spot.Typed, Limit: maxTagCompletions})
	if err != nil {
		return err
	}
	for _, t := range tags {
		c.add(completesTag, query.ValueTerm(query.Field{Name: query.AllTags}, t.Value).String(), "items with the tag "+t.Value, t.Count)
	}
	return nil
}

// tagFields adds the tag fields for the namespaces of the most frequent tags.
func (c *completer) tagFields(ctx context.Context, colon string) error {
	typed, begin := query.Fold(c.spot.Typed), "tags."
	namespace, after := strings.CutPrefix(typed, begin)
	if !after && !strings.HasPrefix(begin, typed) {
		return nil
	}
	of := library.Facet{Field: query.AllTags, Limit: library.MaxFacetValues}
	if after {
		of.Prefix, _, _ = strings.Cut(namespace, ".") // a namespace contains no dot
	}
	tags, err := c.frequent(ctx, of)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, t := range tags {
		namespace := tagOf(t.Value).Namespace
		name := query.TagFieldName(namespace)
		if !seen[name] && c.begins(name) {
			seen[name] = true
			c.add(completesField, query.NameText(name)+colon, "keyword: the tags of the namespace "+namespace, -1)
		}
	}
	return nil
}

// fields adds the fields whose names begin with the typed text. After them, it adds the fields with a name in which only a later part
// begins with the typed text.
func (c *completer) fields(colon string) {
	var further []completion
	for _, r := range query.Rows() {
		if r.Private && c.x.audience() == query.Public {
			continue
		}
		name, direct := c.nameOf(r)
		if name == "" {
			continue
		}
		c.add(completesField, query.NameText(name)+colon, r.Type.String()+": "+r.About, -1)
		if !direct {
			last := len(c.completions) - 1
			further = append(further, c.completions[last])
			c.completions = c.completions[:last]
		}
	}
	c.completions = append(c.completions, further...)
}

// nameOf returns the shortest name of a field that begins with the typed text, and true for direct. If no name begins with the typed text,
// but a later part of a name does, nameOf returns the shortest name of the field, and false for direct. Otherwise, it returns "". It also
// returns "" for a dynamic field, which has no name of its own.
func (c *completer) nameOf(r query.Row) (name string, direct bool) {
	if strings.Contains(r.Name, "<") {
		return "", false
	}
	names := append(query.Aliases(r.Name), r.Name)
	slices.SortStableFunc(names, func(a, b string) int { return len(a) - len(b) })
	for _, n := range names {
		if c.begins(n) {
			return n, true
		}
	}
	if slices.ContainsFunc(strings.Split(r.Name, "."), c.begins) {
		return names[0], false
	}
	return "", false
}

// values adds values of the field: first those that the catalogue lists, then the most frequent values.
func (c *completer) values(ctx context.Context) error {
	f, ok := query.Lookup(c.spot.Field.Name)
	comparison := !c.spot.Quoted && strings.IndexAny(c.spot.Typed, "<>") == 0
	if !ok || c.spot.Field.Pattern || comparison {
		return nil
	}
	if f.Type == query.Date && c.spot.Typed == "" && !c.spot.Quoted {
		c.add(completesValue, "[now-1d TO now]", "the last 24 hours", -1)
		c.add(completesValue, "[now-7d TO now]", "the last 7 days", -1)
		c.add(completesValue, "[now-30d TO now]", "the last 30 days", -1)
	}
	var frequent []library.FacetValue
	if _, err := query.Countable(f.Name, c.x.audience()); err == nil {
		if frequent, err = c.frequent(ctx, library.Facet{Field: f.Name, Prefix: c.spot.Typed, Limit: maxCompletions}); err != nil {
			return err
		}
	}
	listed := query.Values(f)
	for _, v := range listed {
		if !c.begins(v) {
			continue
		}
		count := int64(-1)
		if i := slices.IndexFunc(frequent, func(of library.FacetValue) bool { return of.Value == v }); i >= 0 {
			count = frequent[i].Count
		}
		c.addValue(completesEnum, f, v, count)
	}
	kind := completesValue
	if query.IsTagField(f.Name) {
		kind = completesTag
	}
	for _, v := range frequent {
		if !slices.Contains(listed, v.Value) {
			c.addValue(kind, f, v.Value, v.Count)
		}
	}
	return nil
}

func (c *completer) addValue(kind string, f query.Field, value string, count int64) {
	text := query.WordText(value)
	if c.spot.Quoted {
		text = query.QuotedText(value)
	}
	c.add(kind, text, "a value of "+f.Name, count)
}

// frequent returns the most frequent values among all items of the property. If counting takes too long, it returns none.
func (c *completer) frequent(ctx context.Context, f library.Facet) ([]library.FacetValue, error) {
	found, err := c.x.countAll(ctx, f)
	if errors.Is(err, errValuesLate) || errors.Is(err, context.DeadlineExceeded) && errors.Is(context.Cause(ctx), errValuesLate) {
		c.late = true
		return nil, nil
	}
	return found, err
}

// countAll counts values among all items of the property.
func (x *exchange) countAll(ctx context.Context, f library.Facet) ([]library.FacetValue, error) {
	found, err := x.server.lib.Facets(ctx, x.seen(library.Read{Query: query.All{}}), f)
	if err != nil {
		return nil, err
	}
	return found.Values, nil
}
