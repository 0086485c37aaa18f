package query_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

var wordsNow = time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)

func TestReadWords(t *testing.T) {
	for words, want := range map[string]string{
		"video":             "content_type:video (Type is video)",
		"VIDEOS":            "content_type:video (Type is video)",
		"vid":               "content_type:video (Type is video)",
		"vidoe":             "content_type:video (Type is video)",
		"photos":            "content_type:image (Type is image)",
		"approved":          "approval_status:app (Status is approved)",
		"aproved":           "approval_status:app (Status is approved)",
		"rejected":          "approval_status:rej (Status is rejected)",
		"pend":              "approval_status:pen (Status is pending)",
		"featured":          "featured:true (Is featured)",
		"today":             `created_on:"now/d" (Added today)`,
		"Yesterday":         "created_on:[now-1d/d TO now/d} (Added yesterday)",
		"this month":        `created_on:"now/M" (Added this month)`,
		"last  week":        "created_on:[now-1w/w TO now/w} (Added last week)",
		"last mon":          "created_on:[now-1M/M TO now/M} (Added last month)",
		"last":              "created_on:[now-1w/w TO now/w} (Added last week)",
		"last 30 days":      "created_on:[now-30d TO now] (Added in the last 30 days)",
		"past 1 month":      "created_on:[now-1M TO now] (Added in the last 1 month)",
		"last 6 mo":         "created_on:[now-6M TO now] (Added in the last 6 months)",
		"october 2026":      "created_on:2026-10 (Added in October 2026)",
		"Oct 2026":          "created_on:2026-10 (Added in October 2026)",
		"oct":               "created_on:2026-10 (Added in October 2026)",
		"december":          "created_on:2025-12 (Added in December 2025)",
		"2026":              "created_on:2026 (Added in 2026)",
		"2026-10":           "created_on:2026-10 (Added in October 2026)",
		"2026-10-05":        "created_on:2026-10-05 (Added on 5 October 2026)",
		"2026-13":           "",
		"9999":              "",
		"october 20265":     "",
		"october beach":     "",
		"last 0 days":       "",
		"last 99999 days":   "",
		"last 3 beaches":    "",
		"v":                 "",
		"beach":             "",
		"":                  "",
		"[now TO *] OR":     "",
		"march ) OR id:1 (": "",
	} {
		got := ""
		if readings := query.ReadWords(words, wordsNow); len(readings) > 0 {
			got = readings[0].Clause + " (" + readings[0].About + ")"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

// TestReadingsParse checks that each reading is a valid clause, which finds items of the public fields only.
func TestReadingsParse(t *testing.T) {
	count := 0
	for _, words := range strings.Split("vid im te app rej pen feat claim today yest this last 2026 2026-10 2026-10-05 oct december|last 5 h|last 5 days|last 5 w|last 1 year|october 1999", "|") {
		for _, w := range append(strings.Fields(words), words) {
			for _, r := range query.ReadWords(w, wordsNow) {
				count++
				if parsed, err := query.ParseFor(r.Clause, query.Public); err != nil || len(parsed.Warnings) > 0 || r.About == "" {
					t.Errorf("%q: %+v: %v, %v", w, r, parsed.Warnings, err)
				}
			}
		}
	}
	if count < 20 {
		t.Errorf("%d readings: too few to test them", count)
	}
}

func TestWithOperators(t *testing.T) {
	for q, want := range map[string]string{
		"beach and sunset":         "beach AND sunset",
		"ü (a Or b) not c":         "ü (a OR b) NOT c",
		"not a":                    "NOT a",
		"a and and b":              "", // the other reading is not valid
		"a b":                      "",
		"a and":                    "",
		`a \and b`:                 "",
		"a AND b and c":            "a AND b AND c",
		"a and (":                  "",
		"a and submission.email:x": "",
	} {
		got, parsed, ok := query.WithOperators(q, query.Public)
		if !ok {
			got = ""
		}
		if got != want || ok && parsed.Root == nil {
			t.Errorf("%s: %q, want %q", q, got, want)
		}
	}
}
