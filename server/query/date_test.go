package query_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

// now is a Saturday.
var now = time.Date(2026, 11, 21, 10, 30, 15, 123456789, time.UTC)

// dateSpan returns the first and the last instant that a query for a date covers. "" stands for an open end, and "none" means that the
// query matches nothing.
func dateSpan(t *testing.T, q string) [2]string {
	t.Helper()
	field, ok := query.Lookup("created_on")
	if !ok {
		t.Fatal("no created_on in the catalogue")
	}
	parsed, err := query.Parse(q)
	if err != nil {
		t.Fatalf("Parse(%q): %v", q, err)
	}
	lo, hi, err := query.Span(parsed.Root, field, now)
	if err != nil {
		t.Fatalf("Span(%q): %v", q, err)
	}
	if lo > hi {
		return [2]string{"none", "none"}
	}
	show := func(ms, open int64) string {
		if ms == open {
			return ""
		}
		return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000")
	}
	return [2]string{show(lo, math.MinInt64), show(hi, math.MaxInt64)}
}

func TestDates(t *testing.T) {
	cases := map[string]struct{ query, from, to string }{
		"year":                   {"created_on:2024", "2024-01-01T00:00:00.000", "2024-12-31T23:59:59.999"},
		"month":                  {"created_on:2024-05", "2024-05-01T00:00:00.000", "2024-05-31T23:59:59.999"},
		"leap month":             {"created_on:2024-02", "2024-02-01T00:00:00.000", "2024-02-29T23:59:59.999"},
		"day":                    {"created_on:2024-05-21", "2024-05-21T00:00:00.000", "2024-05-21T23:59:59.999"},
		"day with a T":           {"created_on:2024-05-21T", "2024-05-21T00:00:00.000", "2024-05-21T23:59:59.999"},
		"hour":                   {"created_on:2024-05-21T10", "2024-05-21T10:00:00.000", "2024-05-21T10:59:59.999"},
		"minute":                 {`created_on:"2024-05-21T10:05"`, "2024-05-21T10:05:00.000", "2024-05-21T10:05:59.999"},
		"second":                 {`created_on:"2024-05-21T10:05:07Z"`, "2024-05-21T10:05:07.000", "2024-05-21T10:05:07.999"},
		"fraction":               {`created_on:"2024-05-21T10:05:07.5Z"`, "2024-05-21T10:05:07.500", "2024-05-21T10:05:07.500"},
		"nanoseconds are cut":    {`created_on:"2024-05-21T10:05:07.123999999Z"`, "2024-05-21T10:05:07.123", "2024-05-21T10:05:07.123"},
		"comma for a point":      {`created_on:"2024-05-21T10:05:07,25"`, "2024-05-21T10:05:07.250", "2024-05-21T10:05:07.250"},
		"zone":                   {`created_on:"2024-05-21T10:05:07+02:00"`, "2024-05-21T08:05:07.000", "2024-05-21T08:05:07.999"},
		"zone, short":            {`created_on:"2024-05-21T10:05-0330"`, "2024-05-21T13:35:00.000", "2024-05-21T13:35:59.999"},
		"zone after the hour":    {`created_on:"2024-05-21T10+02"`, "2024-05-21T08:00:00.000", "2024-05-21T08:59:59.999"},
		"epoch milliseconds":     {"created_on:1700000000000", "2023-11-14T22:13:20.000", "2023-11-14T22:13:20.000"},
		"epoch, five digits":     {"created_on:12345", "1970-01-01T00:00:12.345", "1970-01-01T00:00:12.345"},
		"epoch, negative":        {`created_on:\-12345`, "1969-12-31T23:59:47.655", "1969-12-31T23:59:47.655"},
		"years":                  {"created_on:[2012 TO 2014]", "2012-01-01T00:00:00.000", "2014-12-31T23:59:59.999"},
		"after a year":           {"created_on:{2014 TO *]", "2015-01-01T00:00:00.000", ""},
		"before a year":          {"created_on:[* TO 2014}", "", "2013-12-31T23:59:59.999"},
		"between":                {"created_on:{2024-05 TO 2024-07}", "2024-06-01T00:00:00.000", "2024-06-30T23:59:59.999"},
		"nothing between":        {"created_on:{2024-05 TO 2024-06}", "none", "none"},
		"wrong way round":        {"created_on:[2025 TO 2024]", "none", "none"},
		"greater":                {"created_on:>2026-11", "2026-12-01T00:00:00.000", ""},
		"less or equal":          {"created_on:<=2024-01", "", "2024-01-31T23:59:59.999"},
		"open":                   {"created_on:[* TO *]", "", ""},
		"now":                    {"created_on:now", "2026-11-21T10:30:15.123", "2026-11-21T10:30:15.123"},
		"after now":              {"created_on:>now", "2026-11-21T10:30:15.124", ""},
		"days ago":               {"created_on:[now-30d TO *]", "2026-10-22T10:30:15.123", ""},
		"one, unwritten":         {"created_on:[now-d TO now+h]", "2026-11-20T10:30:15.123", "2026-11-21T11:30:15.123"},
		"every unit":             {"created_on:[now-1y-1M-1w-1d-1h-1m-1s TO now+1H]", "2025-10-13T09:29:14.123", "2026-11-21T11:30:15.123"},
		"today":                  {`created_on:"now/d"`, "2026-11-21T00:00:00.000", "2026-11-21T23:59:59.999"},
		"not today":              {"created_on:{now/d TO *]", "2026-11-22T00:00:00.000", ""},
		"before today":           {"created_on:[* TO now/d}", "", "2026-11-20T23:59:59.999"},
		"this week":              {"created_on:[now/w TO now/w]", "2026-11-16T00:00:00.000", "2026-11-22T23:59:59.999"},
		"this month":             {"created_on:[now/M TO now/M]", "2026-11-01T00:00:00.000", "2026-11-30T23:59:59.999"},
		"this year":              {"created_on:[now/y TO now/y]", "2026-01-01T00:00:00.000", "2026-12-31T23:59:59.999"},
		"this hour":              {"created_on:[now/h TO now/H]", "2026-11-21T10:00:00.000", "2026-11-21T10:59:59.999"},
		"this minute":            {"created_on:[now/m TO now/m]", "2026-11-21T10:30:00.000", "2026-11-21T10:30:59.999"},
		"this second":            {"created_on:[now/s TO now/s]", "2026-11-21T10:30:15.000", "2026-11-21T10:30:15.999"},
		"last year":              {"created_on:[now-1y/y TO now/y}", "2025-01-01T00:00:00.000", "2025-12-31T23:59:59.999"},
		"math after rounding":    {"created_on:[now-1M+2d/w TO now/w+1h]", "2026-10-19T00:00:00.000", "2026-11-23T00:59:59.999"},
		"short month":            {"created_on:[2024-01-31||+1M TO 2024-01-31||+1M/d]", "2024-02-29T00:00:00.000", "2024-02-29T23:59:59.999"},
		"leap day, a year on":    {"created_on:[2024-02-29||+1y TO *]", "2025-02-28T00:00:00.000", ""},
		"backwards over a year":  {"created_on:[2024-01-15||-2M TO *]", "2023-11-15T00:00:00.000", ""},
		"date with nothing":      {"created_on:[2024-05|| TO 2024-05||]", "2024-05-01T00:00:00.000", "2024-05-01T00:00:00.000"},
		"date, rounded":          {"created_on:[2024-05-21||/M TO 2024-05-21||/M]", "2024-05-01T00:00:00.000", "2024-05-31T23:59:59.999"},
		"date, far ahead":        {"created_on:[2024||+5000y TO *]", "7024-01-01T00:00:00.000", ""},
		"quoted bound":           {`created_on:["now-1d" TO *]`, "2026-11-20T10:30:15.123", ""},
		"term with date math":    {`created_on:2024-01-31||+1d`, "2024-02-01T00:00:00.000", "2024-02-01T00:00:00.000"},
		"first of the year zero": {`created_on:0001-01-01`, "0001-01-01T00:00:00.000", "0001-01-01T23:59:59.999"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([2]string{c.from, c.to}, dateSpan(t, c.query)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.query, diff)
			}
		})
	}
}

func TestBadDates(t *testing.T) {
	field, _ := query.Lookup("created_on")
	for _, text := range []string{
		"", "yesterday", "NOW", "24", "202", "2024-5", "2024-13", "2024-02-30", "2024-05-21Z", "2024-05T10", "2024-05-21T24",
		"2024-05-21T10:60", "2024-05-21T10:05:60", "2024-05-21T1", "2024-05-21T10:05:07.", "2024-05-21T10:05.5",
		"2024-05-21 10:00", "2024-05-21T10:00+25:00", "2024-05-21T10:00+2", "2024-05-21T10:00Zx", "2024-05-21T10:00+02:0",
		"2024-05-21T10:00+:0200", "2024-W21", "2024-05-21-01", "now-", "now-1", "now1d", "now/2d", "now/q", "now-1q", "now--1d",
		"now+99999999999d", "now+999999999y", "2024||/", "2024||d", "x||+1d", "||+1d", "now+2000000000M+2000000000M",
		"99999999999999999999", "-2024", "2024-05-21T10:05:07.1234567890", "+2024", "2024-0５",
	} {
		if _, _, err := query.Span(query.Term{Text: text}, field, now); err == nil {
			t.Errorf("%q is taken for a date", text)
		}
	}
}
