package query

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Reading is a clause that a person can mean by words without a field. Such words find items with these words in their text, although the
// person may mean the platform or the date of the items.
type Reading struct {
	// Clause is the clause, and About describes it in a few words for people who do not know the query language.
	Clause, About string
	// Fit says how well the words fit the clause.
	Fit Fit
}

// Fit says how well words fit what they possibly mean.
type Fit int

const (
	// Exact means that the words are a name of it.
	Exact Fit = iota
	// Begun means that the words are the beginning of a name of it.
	Begun
	// Mistyped means that the words are similar to a name of it.
	Mistyped
	// Unfit means that the words are none of these.
	Unfit
)

// FitOf returns how well a typed text fits a name. It ignores case.
func FitOf(typed, name string) Fit {
	typed, name = Fold(typed), Fold(name)
	length, other := utf8.RuneCountInString(typed), utf8.RuneCountInString(name)
	most := length / 4 // edits
	switch {
	case typed == name:
		return Exact
	case length > 1 && strings.HasPrefix(name, typed):
		return Begun
	case most > 0 && length <= longestName && max(length-other, other-length) <= most && editDistance(typed, name) <= most:
		return Mistyped
	}
	return Unfit
}

// A valueName is a value of a field with a few fixed values, and the names that people give it.
type valueName struct{ field, value, names string }

// valueNames returns the names of values. The first name of a value also describes it.
func valueNames() []valueName {
	return []valueName{
		{"approval_status", "app", "approved approve accepted"},
		{"approval_status", "rej", "rejected reject declined"},
		{"approval_status", "pen", "pending undecided unmoderated"},
		{"content_type", "video", "video videos clip clips reel reels"},
		{"content_type", "image", "image images picture pictures photo photos"},
		{"content_type", "text", "text texts"},
		{"featured", "true", "featured"},
		{"claimed", "true", "claimed"},
	}
}

// NamesOf returns the names that people give a value of a field with a few fixed values. The first one describes the value. It returns none
// if the value only has its own name.
func NamesOf(f Field, value string) []string {
	for _, v := range valueNames() {
		if field, _ := Lookup(v.field); field.Name == f.Name && v.value == value {
			return strings.Fields(v.names)
		}
	}
	return nil
}

// AboutValue describes the items with a value of a field.
func AboutValue(f Field, value string) string {
	if names := NamesOf(f, value); len(names) > 0 && f.Type != Boolean {
		value = names[0]
	}
	about, ok := map[string]string{
		"approval_status": "Status is ", "content.content_type": "Type is ", "content.social_platform": "Platform is ",
		"content.author.username": "Author is ", "hashtag.hashtag_text": "Hashtag is ", "campaign": "Campaign is ", "id": "Item ",
	}[f.Name]
	switch namespace, isTag := TagNamespace(f.Name); {
	case f.Name == "content.social_platform" && value != "":
		return about + strings.ToUpper(value[:1]) + value[1:]
	case ok:
		return about + value
	case isTag:
		return "Tag is " + namespace + ":" + value
	case f.Type == Boolean && value == "true":
		return "Is " + f.Name
	}
	return f.Name + " is " + value
}

// ReadWords returns the readings of words, the best ones first: values of fields with a few fixed values, and dates. now is used for a month
// without a year. Readings with values that depend on the items are not among them.
func ReadWords(words string, now time.Time) []Reading {
	words = strings.Join(strings.Fields(Fold(words)), " ")
	if strings.ContainsAny(words, "@#") {
		return nil // the name of an author, or a hashtag
	}
	var out [Unfit][]Reading
	add := func(fit Fit, clause, about string) {
		if fit < Unfit {
			out[fit] = append(out[fit], Reading{clause, about, fit})
		}
	}
	for _, v := range valueNames() {
		fit := Unfit
		for name := range strings.FieldsSeq(v.names) {
			fit = min(fit, FitOf(words, name))
		}
		f, _ := Lookup(v.field)
		add(fit, v.field+":"+v.value, AboutValue(f, v.value))
	}
	for _, d := range Dates(words, now) {
		add(d.Fit, CreatedOn+":"+d.Clause, "Added "+d.About)
	}
	return append(append(out[Exact], out[Begun]...), out[Mistyped]...)
}

// Dates returns the dates that words can mean, as values of a date field. now is used for a month without a year.
func Dates(words string, now time.Time) []Reading {
	words = strings.Join(strings.Fields(Fold(words)), " ")
	var out []Reading
	for _, d := range []struct{ words, value string }{
		{"today", `"now/d"`}, {"yesterday", "[now-1d/d TO now/d}"},
		{"this week", `"now/w"`}, {"this month", `"now/M"`}, {"this year", `"now/y"`},
		{"last week", "[now-1w/w TO now/w}"}, {"last month", "[now-1M/M TO now/M}"}, {"last year", "[now-1y/y TO now/y}"},
	} {
		if fit := FitOf(words, d.words); fit < Unfit {
			out = append(out, Reading{d.value, d.words, fit})
		}
	}
	if d, ok := lastUnits(words); ok {
		out = append(out, d)
	} else if d, ok := calendarPeriod(words, now); ok {
		out = append(out, d)
	}
	return out
}

// lastUnits reads words such as "last 30 days".
func lastUnits(words string) (Reading, bool) {
	parts := strings.Fields(words)
	if len(parts) != 3 || parts[0] != "last" && parts[0] != "past" {
		return Reading{}, false
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 1 || n > 10_000 {
		return Reading{}, false
	}
	for unit, name := range map[string]string{"h": "hours", "d": "days", "w": "weeks", "M": "months", "y": "years"} {
		fit := FitOf(parts[2], name)
		if parts[2] == strings.TrimSuffix(name, "s") {
			fit = Exact
		}
		if n == 1 {
			name = strings.TrimSuffix(name, "s")
		}
		if fit < Unfit {
			return Reading{fmt.Sprintf("[now-%d%s TO now]", n, unit), fmt.Sprintf("in the last %d %s", n, name), fit}, true
		}
	}
	return Reading{}, false
}

// calendarPeriod reads a year, a month or a day, such as 2026-10, "october 2026" or "oct". A month without a year is the latest one that
// has begun.
func calendarPeriod(words string, now time.Time) (Reading, bool) {
	if start, ok := CalendarDate(words); ok {
		if start.Year() < 1970 || start.Year() > now.Year()+1 {
			return Reading{}, false
		}
		layout := map[int]string{len("2006"): "in 2006", len("2006-01"): "in January 2006", len(time.DateOnly): "on 2 January 2006"}[len(words)]
		return Reading{words, start.Format(layout), Exact}, true
	}
	name, year, hasYear := strings.Cut(words, " ")
	if len(name) < len("jan") {
		return Reading{}, false
	}
	for m := time.January; m <= time.December; m++ {
		month := strings.ToLower(m.String())
		if !strings.HasPrefix(month, name) {
			continue
		}
		if !hasYear {
			year = now.Format("2006")
			if m > now.Month() {
				year = now.AddDate(-1, 0, 0).Format("2006")
			}
		}
		value := fmt.Sprintf("%s-%02d", year, m)
		start, ok := CalendarDate(value)
		if !ok {
			return Reading{}, false
		}
		fit := Exact
		if len(name) > 3 && name != month {
			fit = Begun
		}
		return Reading{value, start.Format("in January 2006"), fit}, true
	}
	return Reading{}, false
}
