package sample

import (
	"fmt"
	"strings"
)

// Filter is a saved query and its order.
type Filter struct{ Name, Query, Order string }

// distinct returns n different queries of from, which is called with the dice of consecutive indices.
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

// Filters returns n different filters, most popular first. One in twenty has an order other than newest first.
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

// filterQuery returns a query that marketers would save: approved, with one to three further conditions.
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

// Booleans returns n different queries with exact values only, which are shown newest first with an exact total.
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

// RankedQueries is the number of full-text queries in the log.
const RankedQueries = 100

// Ranked returns the log of full-text queries: frequent and rare words, phrases, prefixes and misspelt words.
func (l *Library) Ranked() []string {
	return distinct(kindRanked, RankedQueries, func(d dice) string {
		// Half of the words are among the hundred most frequent ones, the others among the first five thousand.
		word := func() string {
			if d.chance(50) {
				return l.word(d.IntN(100))
			}
			return l.word(100 + d.IntN(4900))
		}
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
