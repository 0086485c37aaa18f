package httpapi

import (
	"context"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// readings adds clauses that the words before the position can mean: values, dates, the number of an item, and values of the items. If there
// are none, it adds what similar words mean.
func (c *completer) readings(ctx context.Context) error {
	before := len(c.completions)
	if err := c.together(ctx); err != nil {
		return err
	}
	words := c.spot.Words[max(0, len(c.spot.Words)-maxPhrase):]
	for _, w := range words {
		typed := string(c.query[w.Start:c.at])
		found := query.ReadWords(typed, c.x.server.options.Clock())
		for _, r := range found {
			if err := c.reading(ctx, w, r.Clause, r.About, rankOf(r.Fit), !isNumber(typed)); err != nil {
				return err
			}
		}
		if len(found) > 0 && found[0].Fit == query.Exact {
			break // the words belong together
		}
	}
	word := words[len(words)-1]
	if err := c.numbers(ctx, word); err != nil {
		return err
	}
	if err := c.itemValues(ctx, word); err != nil {
		return err
	}
	if len([]rune(c.spot.Typed)) < 4 || len(c.completions) > before {
		return nil
	}
	return c.similar(ctx, word)
}

// isNumber reports whether a text consists of digits. Such a text has many meanings, and those without items are not worth proposing.
func isNumber(text string) bool { return strings.Trim(text, "0123456789") == "" }

func rankOf(f query.Fit) int {
	return map[query.Fit]int{query.Exact: rankMeaning, query.Begun: rankValue, query.Mistyped: rankMistyped}[f]
}

// reading adds a clause that can replace the words from the word w to the position, with the number of its items. It does not add a clause
// without items, unless empty is true.
func (c *completer) reading(ctx context.Context, w query.SpotWord, clause, about string, rank int, empty bool) error {
	parsed, err := query.ParseFor(clause, c.x.audience())
	if err != nil {
		return nil //nolint:nilerr // the typed text is not a value of the field, such as a number that is too large
	}
	count, err := c.total(ctx, parsed.Root)
	if err == nil && (empty || count > 0) {
		c.clause(w, completesClause, clause, about, count, rank)
	}
	return err
}

// clause adds a clause that replaces the words from w to the position. After other clauses, it begins with AND, because without an operator
// the query would also find the items that match only one of them. AND requires the clause before it, so if this would change what the
// clauses before it in the same parentheses mean, the completion puts them in parentheses of their own.
func (c *completer) clause(w query.SpotWord, kind, clause, about string, count int64, rank int) {
	start := w.Start
	if w.Follows {
		clause = "AND " + clause
		before := strings.TrimSpace(string(c.query[c.spot.Group:w.Start]))
		if parsed, err := query.Parse(before); err == nil && hasOptional(parsed.Root) {
			start, clause = c.spot.Group, "("+before+") "+clause
		}
	}
	c.replace(start, c.spot.End, completion{Text: clause, Kind: kind, Detail: about, rank: rank}, count)
}

// hasOptional reports whether a query consists of several clauses, one of which is optional.
func hasOptional(n query.Node) bool {
	group, ok := n.(query.Bool)
	return ok && slices.ContainsFunc(group.Clauses, func(c query.Clause) bool { return c.Occur == query.Should })
}

// together adds the clauses that all words together can mean, such as those of `approved instagram videos`. Words without a meaning stay
// words. It adds nothing if only the last words have a meaning, because then their own completion has the same effect.
func (c *completer) together(ctx context.Context) error {
	words := c.spot.Words
	if len(words) < 2 || len(words) > maxTogether {
		return nil
	}
	platforms, err := c.frequent(ctx, library.Facet{Field: "social_platform", Limit: library.MaxFacetValues})
	if err != nil {
		return err
	}
	var clauses, about []string
	meanings, last := 0, false
	for i := 0; i < len(words); {
		meaning, n := c.meaningAt(i, platforms)
		word := c.phrase(i, i+n)
		last = meaning.Clause != ""
		switch {
		case last:
			meanings++
			clauses, about = append(clauses, meaning.Clause), append(about, meaning.About)
		case slices.Contains([]string{"or", "not"}, query.Fold(word)):
			return nil // the words before and after it do not belong together
		case !slices.Contains([]string{"and", "of", "in", "on", "from", "by", "with", "the", "all"}, query.Fold(word)):
			clauses, about = append(clauses, word), append(about, "with the word "+word)
		}
		i += n
	}
	if len(clauses) < 2 || meanings == 0 || meanings == 1 && last {
		return nil
	}
	return c.reading(ctx, words[0], strings.Join(clauses, " AND "), strings.Join(about, ", "), rankSame, false)
}

// phrase returns the words from the index i up to j.
func (c *completer) phrase(i, j int) string {
	end := c.at
	if j < len(c.spot.Words) {
		end = c.spot.Words[j].Start
	}
	return strings.TrimSpace(string(c.query[c.spot.Words[i].Start:end]))
}

// meaningAt returns what the most words from the index i on are a name of, and the number of these words. If they are the name of nothing, it
// returns no meaning, and 1.
func (c *completer) meaningAt(i int, platforms []library.FacetValue) (query.Reading, int) {
	for j := min(len(c.spot.Words), i+maxPhrase); j > i; j-- {
		if found := query.ReadWords(c.phrase(i, j), c.x.server.options.Clock()); len(found) > 0 && found[0].Fit == query.Exact {
			return found[0], j - i
		}
	}
	word := query.Fold(c.phrase(i, i+1))
	field, value := "", strings.TrimLeft(word, "@#")
	switch {
	case value == "":
	case word[0] == '@':
		field = "author"
	case word[0] == '#':
		field = "hashtag.hashtag_text"
	case slices.ContainsFunc(platforms, func(p library.FacetValue) bool { return p.Value == word }):
		field = "social_platform"
	}
	if field == "" {
		return query.Reading{}, 1
	}
	f, _ := query.Lookup(field)
	return query.Reading{Clause: query.FieldTerm(field, value).String(), About: query.AboutValue(f, value)}, 1
}

// numbers adds the item and the campaign with the typed number.
func (c *completer) numbers(ctx context.Context, w query.SpotWord) error {
	if !isNumber(c.spot.Typed) {
		return nil
	}
	for _, name := range []string{"id", "campaign"} {
		f, _ := query.Lookup(name)
		if err := c.reading(ctx, w, name+":"+c.spot.Typed, query.AboutValue(f, c.spot.Typed), rankMeaning, false); err != nil {
			return err
		}
	}
	return nil
}

// itemValues adds frequent values that begin with the typed word: platforms, hashtags, authors and tags, and the place. After @, it adds only
// authors, and after #, only hashtags and tags.
func (c *completer) itemValues(ctx context.Context, w query.SpotWord) error {
	typed := strings.TrimLeft(c.spot.Typed, "@#")
	sign := c.spot.Typed[:len(c.spot.Typed)-len(typed)]
	if typed == "" {
		return nil
	}
	for _, of := range []struct{ sign, field string }{{"", "social_platform"}, {"#", "hashtag.hashtag_text"}, {"@", "author"}} {
		if sign != of.sign && (sign != "" || len([]rune(typed)) < 2) {
			continue
		}
		values := library.Facet{Field: of.field, Prefix: typed, Limit: maxWordValues}
		if of.field == "social_platform" {
			values = library.Facet{Field: of.field, Limit: library.MaxFacetValues} // there are few, so find typing mistakes at the same time
		}
		if err := c.valuesOf(ctx, w, of.field, values, typed); err != nil {
			return err
		}
	}
	if sign != "@" {
		if err := c.valuesOf(ctx, w, "", library.Facet{Field: query.AllTags, Key: typed, Limit: maxWordValues}, typed); err != nil {
			return err
		}
	}
	if sign != "" || len([]rune(typed)) < 3 {
		return nil
	}
	const place = "content.platform_data.location.name"
	return c.reading(ctx, w, query.FieldTerm(place, typed).String(), "Place contains "+typed, rankValue, false)
}

// valuesOf adds the frequent values of a facet that fit the typed text. name is the name of the field in the clause, or "" for tags.
func (c *completer) valuesOf(ctx context.Context, w query.SpotWord, name string, of library.Facet, typed string) error {
	found, err := c.frequent(ctx, of)
	if err != nil {
		return err
	}
	added := 0
	for _, v := range found {
		value, kind, detail := v.Value, completesTag, "items with the tag "+v.Value
		clause := query.ValueTerm(query.Field{Name: query.AllTags}, v.Value)
		if name == "" {
			value = tagOf(v.Value).Key
		} else {
			f, _ := query.Lookup(name)
			kind, detail, clause = completesClause, query.AboutValue(f, v.Value), query.ValueTerm(query.Field{Name: name}, v.Value)
		}
		fit := query.FitOf(typed, value)
		if of.Prefix+of.Key != "" {
			fit = min(fit, query.Begun)
		}
		if fit < query.Unfit && added < maxWordValues {
			added++
			c.clause(w, kind, clause.String(), detail, v.Count, rankOf(fit))
		}
	}
	return nil
}

// similar adds frequent hashtags and tags that are similar to the typed word, unless an item has the word. If there are none, it adds the
// search for similar words.
func (c *completer) similar(ctx context.Context, w query.SpotWord) error {
	typed, before := strings.TrimLeft(c.spot.Typed, "@#"), len(c.completions)
	if count, err := c.total(ctx, query.Term{Text: typed}); err != nil || count != 0 {
		return err
	}
	const hashtag = "hashtag.hashtag_text"
	if err := c.valuesOf(ctx, w, hashtag, library.Facet{Field: hashtag, Limit: library.MaxFacetValues}, typed); err != nil {
		return err
	}
	if err := c.valuesOf(ctx, w, "", library.Facet{Field: query.AllTags, Limit: library.MaxFacetValues}, typed); err != nil || len(c.completions) > before {
		return err
	}
	return c.reading(ctx, w, query.Fuzzy{Text: typed, Edits: query.AutoEdits}.String(), "Words similar to "+typed, rankMistyped, false)
}
