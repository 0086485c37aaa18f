package sample

import (
	"fmt"
	"strings"
	"time"
)

// Filter is a saved query and its order.
type Filter struct{ Name, Query, Order string }

// distinct returns n different queries. It calls from with the dice for the indices 0, 1, 2 and so on, and omits repeated queries.
func distinct(kind uint64, n int, from func(d dice) string) []string {
	list := make([]string, 0, n)
	seen := map[string]bool{}
	for i := 0; len(list) < n; i++ {
		if q := from(throw(kind, i)); !seen[q] {
			seen[q] = true
			list = append(list, q)
		}
	}
	return list
}

// Filters returns n different filters, most popular first. One filter in twenty has an order other than newest first.
func (l *Library) Filters(n int) []Filter {
	list := make([]Filter, n)
	for i, q := range distinct(kindFilter, n, l.filterQuery) {
		list[i] = Filter{Name: fmt.Sprintf("filter-%05d", i), Query: q, Order: "created_on:desc"}
		switch i % 40 {
		case 19:
			list[i].Order = "created_on:asc"
		case 39:
			list[i].Order = "content.social_platform_created_on:desc"
		}
	}
	return list
}

// filterQuery returns a query that marketers would save: approved items, with one or more further conditions.
func (l *Library) filterQuery(d dice) string {
	parts := []string{"approval_status:app"}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch what := d.IntN(100); {
	case what < 25:
		add("tags.marketer_tags.key:%s", pick(d, l.MarketerTags))
	case what < 45:
		add("tags.hashtags.key:(%s OR %s)", l.hashtags[l.tagRanks.draw(d)], l.hashtags[l.tagRanks.draw(d)])
	case what < 60:
		add("campaign:%d", 1+l.campaigned.draw(d))
	case what < 80:
		add("text:(%s OR %s)", l.word(20+d.IntN(300)), l.word(20+d.IntN(300)))
		if d.chance(30) {
			add("NOT text:%s", l.word(d.IntN(200)))
		}
	case what < 90:
		month := 1 + d.IntN(8)
		add("created_on:[2026-%02d TO 2026-%02d]", month, month+1+d.IntN(2))
	default:
		add("content.author.username:%s*", pick(d, l.Interests))
	}
	if d.chance(40) {
		add("content.social_platform:%s", pick(d, l.Platforms))
	}
	if d.chance(30) {
		add("content.content_type:%s", pick(d, l.ContentTypes))
	}
	if d.chance(15) {
		add("content.platform_data.location.country_code:(%s OR %s)", l.country(d), l.country(d))
	}
	return strings.Join(parts, " AND ")
}

func (l *Library) country(d dice) string { return strings.ToLower(pick(d, l.places).Code) }

// Booleans returns n different queries without full text. Callers request their results newest first, with an exact total.
func (l *Library) Booleans(n int) []string {
	return distinct(kindBoolean, n, func(d dice) string {
		parts := []string{"approval_status:" + pick(d, l.States), "content.social_platform:" + pick(d, l.Platforms)}
		if d.chance(50) {
			parts = append(parts, "content.content_type:"+pick(d, l.ContentTypes))
		}
		var last string
		switch d.IntN(4) {
		case 0:
			last = "tags.marketer_tags.key:(" + pick(d, l.MarketerTags) + " OR " + pick(d, l.MarketerTags) + ")"
		case 1:
			last = "NOT tags.hashtags.key:" + pick(d, l.hashtags)
		case 2:
			last = fmt.Sprintf("campaign:[%d TO %d]", 1+d.IntN(20), 21+d.IntN(180))
		case 3:
			last = "content.platform_data.location.country_code:" + l.country(d)
		}
		return strings.Join(append(parts, last), " AND ")
	})
}

// RankedQueries is the number of queries that Ranked returns.
const RankedQueries = 100

// anyWord returns an English word for a search. Half of the words are among the hundred most frequent words, and the other half are among
// the next 4,900.
func (l *Library) anyWord(d dice) string {
	if d.chance(50) {
		return l.word(d.IntN(100))
	}
	return l.word(100 + d.IntN(4900))
}

// Ranked returns full-text queries like those that users enter: frequent and rare words, phrases, prefixes and misspelled words.
func (l *Library) Ranked() []string {
	return distinct(kindRanked, RankedQueries, func(d dice) string {
		word := func() string { return l.anyWord(d) }
		switch what := d.IntN(100); {
		case what < 20:
			return word()
		case what < 50:
			return word() + " " + word()
		case what < 65:
			return word() + " " + word() + " " + word()
		case what < 75:
			return word() + " AND " + word()
		case what < 82:
			return `"` + l.word(d.IntN(60)) + " " + l.word(d.IntN(60)) + `"`
		case what < 92:
			return "+approval_status:app " + word() + " " + word()
		case what < 96:
			return word() + "*"
		}
		return l.word(100+d.IntN(900)) + "~1"
	})
}

// Family contains queries of one kind.
type Family struct {
	Name string
	// Text is true if the queries are full-text queries, whose results are listed by relevance. Otherwise, they are combinations of
	// conditions, whose results are listed newest first.
	Text    bool
	Queries []string
}

// Families returns twelve families, each with n different queries. n must be at most 1,000.
func (l *Library) Families(n int) []Family {
	status := func(d dice) string { return " AND approval_status:" + pick(d, []string{"app", "pen", "rej"}) }
	families := []struct {
		name string
		text bool
		from func(d dice) string
	}{
		{"one word", true, func(d dice) string { return "text:" + l.anyWord(d) }},
		{"two words, AND", true, func(d dice) string { return "text:(" + l.anyWord(d) + " AND " + l.anyWord(d) + ")" }},
		{"two words, OR", true, func(d dice) string { return "text:(" + l.anyWord(d) + " OR " + l.anyWord(d) + ")" }},
		{"phrase", true, func(d dice) string { return `text:"` + l.word(d.IntN(60)) + " " + l.word(d.IntN(60)) + `"` }},
		{"prefix", true, func(d dice) string {
			word := l.anyWord(d)
			return "text:" + word[:min(2+d.IntN(3), len(word))] + "*"
		}},
		{"fuzzy word", true, func(d dice) string { return "text:" + l.word(100+d.IntN(4900)) + "~1" }},
		{"platform, country, status", false, func(d dice) string {
			return "content.social_platform:" + pick(d, l.Platforms) + " AND content.platform_data.location.country_code:" + l.country(d) +
				" AND NOT content.content_type:" + pick(d, l.ContentTypes) + status(d)
		}},
		{"two tags, status", false, func(d dice) string {
			return "tags.marketer_tags.key:" + pick(d, l.MarketerTags) + " AND tags.hashtags.key:" + pick(d, l.hashtags) + status(d)
		}},
		{"word, status", false, func(d dice) string { return "text:" + l.anyWord(d) + status(d) }},
		{"campaign, NOT tag", false, func(d dice) string {
			return fmt.Sprintf("campaign:%d AND NOT tags.hashtags.key:%s", 1+l.campaigned.draw(d), pick(d, l.hashtags))
		}},
		{"dates, status", false, func(d dice) string {
			from := newest.Add(-time.Duration(d.Float64() * float64(span)))
			to := from.AddDate(0, 0, 7+d.IntN(83))
			return fmt.Sprintf("created_on:[%s TO %s]", from.Format(time.DateOnly), to.Format(time.DateOnly)) + status(d)
		}},
		{"OR of five tags, status", false, func(d dice) string {
			tags := make([]string, 5)
			for i := range tags {
				tags[i] = pick(d, l.hashtags)
			}
			return "tags.hashtags.key:(" + strings.Join(tags, " OR ") + ")" + status(d)
		}},
	}
	list := make([]Family, len(families))
	for i, f := range families {
		queries := distinct(kindFamily+uint64(i), n, f.from)
		// Shuffle the queries. Otherwise, frequent words would come first, because distinct draws each of them early.
		throw(kindFamily, n).Shuffle(n, func(a, b int) { queries[a], queries[b] = queries[b], queries[a] })
		list[i] = Family{f.name, f.text, queries}
	}
	return list
}
