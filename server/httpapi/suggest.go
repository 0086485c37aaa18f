package httpapi

import (
	"context"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// textProblem is an error, a warning or a hint about a parameter. Start and End are positions in UTF-16 code units, which editors use.
type textProblem struct {
	Severity string `json:"severity"`
	In       string `json:"in"`
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Message  string `json:"message"`
}

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
	var clauses []shownClause
	err = x.budgeted(func(ctx context.Context) error {
		clauses = clausesOf(q, x.audience())
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
	}{problems, c.completions, clauses, links{self: x.linkHere()}})
	return x.showUntil(body, freshness{expires: c.expires, never: c.late})
}

// textProblems appends the problems of a text to the list. in is the name of the parameter that contains the text.
func (x *exchange) textProblems(to []textProblem, in, text string, problems []query.Problem) []textProblem {
	runes := []rune(text)
	for _, p := range problems {
		to = append(to, textProblem{string(p.Severity), in, codeUnits(runes[:p.Start]), codeUnits(runes[:p.End]), x.redact(p.Message)})
	}
	return to
}

// complete finds the completions at a position, which counts characters. If ctx ends with errValuesLate, the completions lack values.
func (c *completer) complete(ctx context.Context, at int) error {
	if len(string(c.query)) > query.MaxLength {
		return nil
	}
	c.at = at
	if err := c.otherReading(ctx); err != nil {
		return err
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
	slices.SortStableFunc(c.completions, func(a, b completion) int { return a.rank - b.rank })
	c.completions = c.completions[:min(len(c.completions), maxCompletions)]
	return nil
}

// otherReading adds the query with the words and, or and not as operators, if it has such words.
func (c *completer) otherReading(ctx context.Context) error {
	other, parsed, ok := query.WithOperators(string(c.query), c.x.audience())
	if !ok {
		return nil
	}
	count, err := c.total(ctx, parsed.Root)
	if err == nil {
		c.replace(0, len(c.query), completion{Text: other, Kind: completesClause, Detail: "With and, or and not as operators", rank: -1}, count)
	}
	return err
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

// clauses adds texts with which a clause can begin, and clauses that the typed words can mean.
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
	if err := c.tagFields(ctx, colon); err != nil || len(c.spot.Words) == 0 {
		return err
	}
	return c.readings(ctx)
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
			c.field(query.NameText(name)+colon, "keyword: the tags of the namespace "+namespace, rankBegun)
		}
	}
	return nil
}

// fields adds the fields with names that fit the typed text. Of fields that fit equally well, the common ones come first.
func (c *completer) fields(colon string) {
	rows, common := query.Rows(), query.CommonFields()
	slices.SortStableFunc(rows, func(a, b query.Row) int { return place(common, a.Name) - place(common, b.Name) })
	for _, r := range rows {
		if r.Private && c.x.audience() == query.Public {
			continue
		}
		if name, rank := c.nameOf(r); name != "" {
			c.field(query.NameText(name)+colon, r.Type.String()+": "+r.About, rank)
		}
	}
}

// place returns the index of a text in a list, or the length of the list if the text is not in it.
func place(list []string, text string) int {
	if i := slices.Index(list, text); i >= 0 {
		return i
	}
	return len(list)
}

// nameOf returns the shortest name of a field that begins with the typed text, with its rank. If there is none, but a part of a name or
// another name for the field begins with the typed text, it returns the shortest name of the field. Otherwise, it returns "". It also
// returns "" for a dynamic field, which has no name of its own.
func (c *completer) nameOf(r query.Row) (name string, rank int) {
	if strings.Contains(r.Name, "<") {
		return "", 0
	}
	names := append(query.Aliases(r.Name), r.Name)
	slices.SortStableFunc(names, func(a, b string) int { return len(a) - len(b) })
	for _, n := range names {
		if query.Fold(c.spot.Typed) == n {
			return n, rankSame
		}
	}
	for _, n := range names {
		if c.begins(n) {
			return n, rankBegun
		}
	}
	others := query.OtherNames(r.Name)
	if slices.Contains(others, query.Fold(c.spot.Typed)) {
		return names[0], rankBegun
	}
	parts := strings.FieldsFunc(r.Name, func(r rune) bool { return r == '.' || r == '_' })
	if slices.ContainsFunc(append(parts, others...), c.begins) {
		return names[0], rankPart
	}
	return "", 0
}

// values adds values of the field: first those that the catalogue lists, then the most frequent values.
func (c *completer) values(ctx context.Context) error {
	f, ok := query.Lookup(c.spot.Field.Name)
	comparison := !c.spot.Quoted && strings.IndexAny(c.spot.Typed, "<>") == 0
	if !ok || c.spot.Field.Pattern || comparison {
		return nil
	}
	if f.Type == query.Date && !c.spot.Quoted {
		c.dates()
	}
	var frequent []library.FacetValue
	if _, err := query.Countable(f.Name, c.x.audience()); err == nil {
		if frequent, err = c.frequent(ctx, library.Facet{Field: f.Name, Prefix: c.spot.Typed, Limit: maxCompletions}); err != nil {
			return err
		}
	}
	listed := query.Values(f)
	for _, v := range listed {
		if !slices.ContainsFunc(append(query.NamesOf(f, v), v), c.begins) {
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

// dates adds the dates that the typed text can mean or, without a text, usual dates.
func (c *completer) dates() {
	words := []string{c.spot.Typed}
	if c.spot.Typed == "" {
		words = []string{"today", "last 7 days", "last 30 days", "this month", "last month"}
	}
	for _, w := range words {
		for _, d := range query.Dates(w, c.x.server.options.Clock()) {
			c.add(completesValue, d.Clause, d.About, -1)
		}
	}
}

func (c *completer) addValue(kind string, f query.Field, value string, count int64) {
	text := query.WordText(value)
	if c.spot.Quoted {
		text = query.QuotedText(value)
	}
	c.add(kind, text, query.AboutValue(f, value), count)
}
