package corpus

import (
	"fmt"
	"strconv"
	"strings"
)

// Filter is a saved query and its order.
type Filter struct{ Name, Query, Order string }

// Filters returns n different filters, the most popular first. One in twenty is in another order than the newest first.
func (c *Corpus) Filters(n int) []Filter {
	list := make([]Filter, 0, n)
	seen := map[string]bool{}
	for i := 0; len(list) < n; i++ {
		d := throw(kindFilter, uint64(i))
		q := c.filterQuery(d)
		if seen[q] {
			continue
		}
		seen[q] = true
		f := Filter{Name: fmt.Sprintf("filter-%05d", len(list)), Query: q, Order: "created_on:desc"}
		if d.roll(20) == 0 {
			f.Order = pick(d, []string{"created_on:asc", "content.social_platform_created_on:desc"})
		}
		list = append(list, f)
	}
	return list
}

// filterQuery makes one of the queries that marketers save: approved, and one to three things more.
func (c *Corpus) filterQuery(d *dice) string {
	parts := []string{"approval_status:app"}
	switch what := d.roll(100); {
	case what < 25:
		parts = append(parts, "tags.marketer_tags.key:"+pick(d, tagged))
	case what < 45:
		parts = append(parts, "tags.hashtags.key:("+hashtags[c.hashtags.draw(d)]+" OR "+hashtags[c.hashtags.draw(d)]+")")
	case what < 60:
		parts = append(parts, "campaign:"+strconv.Itoa(1+c.campaigns.draw(d)))
	case what < 80:
		parts = append(parts, "text:("+c.texts.word(20+d.roll(300))+" OR "+c.texts.word(20+d.roll(300))+")")
		if d.chance(30) {
			parts = append(parts, "NOT text:"+c.texts.word(d.roll(200)))
		}
	case what < 90:
		month := 1 + d.roll(8)
		parts = append(parts, fmt.Sprintf("created_on:[2026-%02d TO 2026-%02d]", month, month+1+d.roll(2)))
	default:
		parts = append(parts, "content.author.username:"+pick(d, interests)+"*")
	}
	if d.chance(40) {
		parts = append(parts, "content.social_platform:"+pick(d, platforms))
	}
	if d.chance(30) {
		parts = append(parts, "content.content_type:"+pick(d, kinds))
	}
	if d.chance(15) {
		parts = append(parts, "content.platform_data.location.country_code:("+strings.ToLower(pick(d, places).code)+" OR "+strings.ToLower(pick(d, places).code)+")")
	}
	return strings.Join(parts, " AND ")
}

// Booleans returns n different queries that name exact values only: what is shown newest first with an exact total.
func (c *Corpus) Booleans(n int) []string {
	list := make([]string, 0, n)
	seen := map[string]bool{}
	for i := 0; len(list) < n; i++ {
		d := throw(kindBoolean, uint64(i))
		parts := []string{"approval_status:" + pick(d, states), "content.social_platform:" + pick(d, platforms)}
		if d.chance(50) {
			parts = append(parts, "content.content_type:"+pick(d, kinds))
		}
		switch d.roll(4) {
		case 0:
			parts = append(parts, "tags.marketer_tags.key:("+pick(d, tagged)+" OR "+pick(d, tagged)+")")
		case 1:
			parts = append(parts, "NOT tags.hashtags.key:"+pick(d, hashtags))
		case 2:
			parts = append(parts, fmt.Sprintf("campaign:[%d TO %d]", 1+d.roll(20), 21+d.roll(180)))
		case 3:
			parts = append(parts, "content.platform_data.location.country_code:"+strings.ToLower(pick(d, places).code))
		}
		if q := strings.Join(parts, " AND "); !seen[q] {
			seen[q] = true
			list = append(list, q)
		}
	}
	return list
}

// RankedQueries is the length of the log of full-text queries.
const RankedQueries = 100

// Ranked returns the log of full-text queries: words, phrases, prefixes and misspelt words, frequent ones and rare ones.
func (c *Corpus) Ranked() []string {
	list := make([]string, 0, RankedQueries)
	seen := map[string]bool{}
	for i := 0; len(list) < RankedQueries; i++ {
		d := throw(kindRanked, uint64(i))
		// Half of the words are among the most frequent hundred, the others among the first five thousand.
		word := func() string {
			if d.chance(50) {
				return c.texts.word(d.roll(100))
			}
			return c.texts.word(100 + d.roll(4900))
		}
		var q string
		switch what := d.roll(100); {
		case what < 20:
			q = word()
		case what < 50:
			q = word() + " " + word()
		case what < 65:
			q = word() + " " + word() + " " + word()
		case what < 75:
			q = word() + " AND " + word()
		case what < 82:
			q = `"` + c.texts.word(d.roll(60)) + " " + c.texts.word(d.roll(60)) + `"`
		case what < 92:
			q = "+approval_status:app " + word() + " " + word()
		case what < 96:
			q = word() + "*"
		default:
			q = c.texts.word(100+d.roll(900)) + "~1"
		}
		if !seen[q] {
			seen[q] = true
			list = append(list, q)
		}
	}
	return list
}
