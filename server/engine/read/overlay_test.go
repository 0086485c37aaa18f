package read

import (
	"testing"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/query"
)

func TestFixedRules(t *testing.T) {
	for name, tc := range map[string]struct {
		selector string
		volatile bool
		fixed    bool
	}{
		"only IDs":              {fixed: true},
		"a word":                {selector: "beach AND approval_status:app", fixed: true},
		"the time, similarity":  {selector: "created_on:[now-1d TO *]", volatile: true},
		"all fields of a kind":  {selector: `tags.\*:beach`},
		"presence of an object": {selector: "_exists_:tags"},
	} {
		r := &definitions.Rule{Volatile: tc.volatile}
		if tc.selector != "" {
			parsed, err := query.Parse(tc.selector)
			if err != nil {
				t.Fatal(err)
			}
			r.Selector = parsed.Root
		}
		for kind, c := range map[string]*definitions.Catalogue{
			"tag": {TagRules: []*definitions.Rule{{}, r}}, "unit": {UnitRules: []*definitions.Rule{r}},
		} {
			if got := fixedRules(c); got != tc.fixed {
				t.Errorf("%s of a %s: fixed %t, want %t", name, kind, got, tc.fixed)
			}
		}
	}
}
