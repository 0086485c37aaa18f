package query_test

import (
	"testing"

	"github.com/vitrine-dev/vitrine/server/query"
)

func TestExpands(t *testing.T) {
	for q, want := range map[string]bool{
		"beach~":                   true,
		"a AND (b OR -text:c~1)":   true,
		"text:(a,b~)":              true,
		`beach b* /c/ "d e"~2 *:*`: false,
	} {
		if got := query.Expands(parse(t, q)); got != want {
			t.Errorf("Expands(%s) is %v", q, got)
		}
	}
}
