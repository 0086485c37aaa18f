package query_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

func TestUsesNow(t *testing.T) {
	cases := map[string]bool{
		"created_on:[now-30d TO *]":            true,
		"created_on:<now":                      true,
		`created_on:"now/d"`:                   true,
		"a AND (b OR -created_on:now)":         true,
		`\*created_on:>now`:                    true,
		"created_on:(2024,now)":                true,
		"default_activate_unit.created_on:now": true,
		"created_on:2024":                      false,
		"now":                                  false,
		"text:now":                             false,
		"text:[now TO *]":                      false,
		"colour:now":                           false,
		"created_on:[2024||+1d TO 2025]":       false,
	}
	for q, want := range cases {
		if got := query.UsesNow(parse(t, q)); got != want {
			t.Errorf("UsesNow(%s) is %v", q, got)
		}
		if zero := query.Until(parse(t, q), now).IsZero(); zero == want {
			t.Errorf("Until(%s) is zero: %v", q, zero)
		}
	}
}

func TestUntil(t *testing.T) {
	cases := map[string]string{
		"created_on:[now-30d TO *]":                   "2026-11-21T10:30:15.124",
		"created_on:now":                              "2026-11-21T10:30:15.124",
		"created_on:[now/d TO *]":                     "2026-11-22T00:00:00.000",
		`created_on:"now/d"`:                          "2026-11-22T00:00:00.000",
		`created_on:>"now/d"`:                         "2026-11-22T00:00:00.000",
		"created_on:[now/w TO now/M]":                 "2026-11-23T00:00:00.000",
		"created_on:[now-1y/y TO now/y}":              "2027-01-01T00:00:00.000",
		"created_on:[now-36h/d TO *]":                 "2026-11-21T12:00:00.000",
		"created_on:[now/h+30m TO *]":                 "2026-11-21T11:00:00.000",
		"created_on:[now/s TO *] text:now":            "2026-11-21T10:30:16.000",
		"created_on:[now/y TO *] AND created_on:<now": "2026-11-21T10:30:15.124",
		"created_on:(2024,now/M)":                     "",
		`created_on:(2024,"now/M")`:                   "2026-12-01T00:00:00.000",
	}
	for q, want := range cases {
		parsed, err := query.Parse(q)
		if want == "" {
			if err == nil {
				t.Errorf("%s is no error", q)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got := query.Until(parsed.Root, now)
		if diff := cmp.Diff(want, got.Format("2006-01-02T15:04:05.000")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", q, diff)
		}
		if !got.After(now) {
			t.Errorf("%s: %s is not after now", q, got)
		}
	}
}

func TestUntilIsTheFirstChange(t *testing.T) {
	field, _ := query.Lookup("created_on")
	span := func(n query.Node, at time.Time) [2]int64 {
		lo, hi, err := query.Span(n, field, at)
		if err != nil {
			t.Fatal(err)
		}
		return [2]int64{lo, hi}
	}
	for _, q := range []string{
		"created_on:[now-1M/d TO now/w]", "created_on:{now+1y/M TO now-3d/d}", `created_on:"now-1M/M"`, "created_on:[now/m TO now/h+1d/d]",
		"created_on:[now/y-1M TO *]", "created_on:[* TO now-1y/y]", "created_on:[now/d-1M/M TO *]",
	} {
		n := parse(t, q)
		for at := now; at.Before(now.AddDate(2, 0, 0)); at = at.Add(29*24*time.Hour + 7*time.Hour + 11*time.Minute) {
			until := query.Until(n, at)
			if span(n, until) == span(n, at) || span(n, until.Add(-time.Millisecond)) != span(n, at) {
				t.Errorf("%s at %s: changes at another instant than %s", q, at, until)
			}
		}
	}
}
