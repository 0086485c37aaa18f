package item

import (
	"testing"
	"time"
)

func TestNormalTimestamp(t *testing.T) {
	for in, want := range map[string]string{
		"2015":                            "2015",
		"2015-02-28":                      "2015-02-28",
		"2026-11-20T08:00:00Z":            "2026-11-20T08:00:00Z",
		"2026-11-20t08:00:00z":            "2026-11-20T08:00:00Z",
		"2026-11-20T08:00:00.500+05:30":   "2026-11-20T02:30:00.5Z",
		"2026-11-20T08:00:00.1234567891Z": "2026-11-20T08:00:00.123456789Z",
		"9999-12-31T23:59:59-01:00":       "",
		"0000-01-01T00:00:00+01:00":       "",
		"2015-02":                         "2015-02",
		"2015-2":                          "",
		"2015-00":                         "",
		"2015-13":                         "",
		"2015-02-":                        "",
		"2015-02T10:00:00Z":               "",
		"2015-02-29":                      "",
		"2015-13-01":                      "",
		"15":                              "",
		"+2015":                           "",
		"2026-11-20":                      "2026-11-20",
		"2026-11-20 08:00:00Z":            "",
		"2026-11-20T08:00:00":             "",
		"2026-11-20T08:00:00,5Z":          "",
		"2026-11-20T24:00:00Z":            "",
		"2026-11-20T08:00:00+23:59":       "2026-11-19T08:01:00Z",
		"2026-11-20T08:00:00+24:00":       "",
		"2026-11-20T08:00:00-24:00":       "",
		"2026-11-20T08:00:00+05:60":       "",
		"Fri Nov 20 08:00:00 +0000 2026":  "",
		"1795160000":                      "",
	} {
		got, ok := normalTimestamp(in)
		if ok != (want != "") || ok && got != want {
			t.Errorf("normalTimestamp(%q) = %q, %v, want %q", in, got, ok, want)
		}
		if again, ok := normalTimestamp(got); want != "" && (!ok || again != got) {
			t.Errorf("normalTimestamp(%q) = %q, %v: not stable", got, again, ok)
		}
	}
}

func TestMillis(t *testing.T) {
	for in, want := range map[string]time.Time{
		"2015":                       time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC),
		"2015-07":                    time.Date(2015, 7, 1, 0, 0, 0, 0, time.UTC),
		"2015-02-28":                 time.Date(2015, 2, 28, 0, 0, 0, 0, time.UTC),
		"2026-11-20T08:00:00Z":       time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
		"2026-11-20T08:00:00.1239Z":  time.Date(2026, 11, 20, 8, 0, 0, 123e6, time.UTC),
		"1969-12-31T23:59:59.99999Z": time.Date(1969, 12, 31, 23, 59, 59, 999e6, time.UTC),
		"0000":                       time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, ok := Millis(in); !ok || got != want.UnixMilli() {
			t.Errorf("Millis(%q) = %d, %v, want %d", in, got, ok, want.UnixMilli())
		}
	}
	for _, in := range []string{"", "yesterday", "201", "2015-02-30"} {
		if got, ok := Millis(in); ok {
			t.Errorf("Millis(%q) = %d, want none", in, got)
		}
	}
}

func TestNextModified(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 123_456_789, time.UTC)
	for previous, want := range map[string]string{
		"":                               "2026-11-20T08:00:00.123Z",
		"2026-11-20T08:00:00.122999Z":    "2026-11-20T08:00:00.123Z",
		"2026-11-20T08:00:00.123Z":       "2026-11-20T08:00:00.124Z",
		"2026-11-20T08:00:00.1239Z":      "2026-11-20T08:00:00.124Z",
		"2026-11-20T08:00:00.129Z":       "2026-11-20T08:00:00.13Z",
		"2026-11-20T08:00:59.999Z":       "2026-11-20T08:01:00Z",
		"2015":                           "2026-11-20T08:00:00.123Z",
		"2030":                           "2030-01-01T00:00:00.001Z",
		"9999-12-31T23:59:59.998Z":       "9999-12-31T23:59:59.999Z",
		"9999-12-31T23:59:59.999999999Z": "2026-11-20T08:00:00.123Z", // no later timestamp exists
	} {
		got := NextModified(previous, now)
		if got != want {
			t.Errorf("NextModified(%q) = %q, want %q", previous, got, want)
		}
		if normal, ok := normalTimestamp(got); !ok || normal != got {
			t.Errorf("%q is not in the form of an imported timestamp, which is %q", got, normal)
		}
	}
}
