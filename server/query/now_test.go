package query_test

import (
	"testing"

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
	}
}
