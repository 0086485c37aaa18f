package item

import (
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// normalTimestamp converts an RFC 3339 timestamp to UTC and keeps a year, a month or a day unchanged (docs/http-api.md, "Import and
// export"). It returns false for any other text, and for years outside 0 to 9999.
func normalTimestamp(s string) (string, bool) {
	if _, ok := query.CalendarDate(s); ok {
		return s, true
	}
	var t time.Time
	// Package time also accepts a comma before the fraction and the offsets 24:00 and 00:60, although RFC 3339 does not.
	if err := t.UnmarshalText([]byte(strings.ToUpper(s))); err != nil || strings.Contains(s, ",") || !validOffset(s) {
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

// validOffset reports whether the offset at the end of a timestamp is Z, or at most 23 hours and 59 minutes.
func validOffset(s string) bool {
	if last := s[len(s)-1]; last == 'Z' || last == 'z' {
		return true
	}
	return s[len(s)-5:len(s)-3] <= "23" && s[len(s)-2:] <= "59"
}

// Millis returns the instant of an item's timestamp in milliseconds since 1970-01-01T00:00:00Z, rounded down. A year, a month or a day
// means its first instant. It returns false for "" and for a text that is not a timestamp.
func Millis(timestamp string) (int64, bool) {
	if t, ok := query.CalendarDate(timestamp); ok {
		return t.UnixMilli(), true
	}
	t, err := time.Parse(time.RFC3339Nano, timestamp)
	return t.UnixMilli(), err == nil
}

// latest is the last time that a timestamp of an item can have, in milliseconds since 1970.
const latest = 253402300799999 // 9999-12-31T23:59:59.999Z

// NextModified returns the last_modified of an item that changes now. It is the given time in milliseconds, or one millisecond after the
// previous last_modified if that is later, so that every change moves it forward.
func NextModified(previous string, now time.Time) string {
	t := now
	if ms, ok := Millis(previous); ok && ms >= now.UnixMilli() && ms < latest {
		t = time.UnixMilli(ms + 1)
	}
	return t.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
}

// stamp formats the timestamp of a new item: RFC 3339 in UTC, in whole seconds.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
