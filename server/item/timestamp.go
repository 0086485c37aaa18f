package item

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// normalTimestamp brings an RFC 3339 timestamp to UTC and leaves a year, a month or a day as it is (HTTP interface, Import
// and export). It is false for anything else, and for what leaves the years 0 to 9999.
func normalTimestamp(s string) (string, bool) {
	if _, ok := query.CalendarDate(s); ok {
		return s, true
	}
	var t time.Time
	// Package time takes a comma before the fraction, RFC 3339 does not.
	if err := t.UnmarshalText([]byte(strings.ToUpper(s))); err != nil || strings.Contains(s, ",") {
		return s, false
	}
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return s, false
	}
	var buf [len(time.RFC3339Nano)]byte
	if normal := t.AppendFormat(buf[:0], time.RFC3339Nano); string(normal) != s {
		return string(normal), true
	}
	return s, true
}

// Millis returns the instant of an item's timestamp in milliseconds since 1970-01-01T00:00:00Z, rounded down. A year, a
// month and a day stand for their first instant. It is false for "" and for what is no timestamp.
func Millis(timestamp string) (int64, bool) {
	if t, ok := query.CalendarDate(timestamp); ok {
		return t.UnixMilli(), true
	}
	t, err := time.Parse(time.RFC3339Nano, timestamp)
	return t.UnixMilli(), err == nil
}

// stamp writes an instant as new items carry it: RFC 3339 in UTC, whole seconds.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// CreatedMillis returns the created_on of an item in milliseconds since 1970, math.MinInt64 for an item without one: by the tie
// rule it is older than any with one.
func (it *Item) CreatedMillis() int64 {
	if ms, ok := Millis(it.CreatedOn); ok {
		return ms
	}
	return math.MinInt64
}

// CompareNewest is the tie rule, by which items that an order does not tell apart are listed: the newest created_on (see
// CreatedMillis), then the highest id, first. It is negative where a comes first, and 0 for the same item only.
func CompareNewest(aCreated int64, a ID, bCreated int64, b ID) int {
	if aCreated != bCreated {
		return cmp.Compare(bCreated, aCreated)
	}
	return cmp.Compare(b, a)
}
