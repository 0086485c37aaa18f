package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/internal/exit"
)

const brokenFilter = `apiVersion: vitrine.dev/v1alpha1
kind: ContentFilter
metadata: {name: wall}
spec:
  query: 'approval_status:app AND (beach OR'
`

func TestValidate(t *testing.T) {
	vitrine(t.Context(), "", "validate", "-f", "../../config/samples").want(t, 0, "17 objects, 0 errors, 0 warnings")
	got := vitrine(t.Context(), brokenFilter, "validate", "-f", "-", "-n", "shop")
	got.want(t, exit.Manifests, "stdin:5:44: error: ContentFilter shop/wall: spec.query: nothing after OR at position 33, at the end: expected a clause\n"+
		"    5 |   query: 'approval_status:app AND (beach OR'\n"+
		"      |                                            ^\n", "1 object, 1 error, 0 warnings")
	vitrine(t.Context(), brokenFilter, "validate", "-f", "-", "-o", "github").want(t, exit.Manifests, "::error file=stdin,line=5,col=44,title=vitrine query::ContentFilter default/wall")

	var report struct {
		Errors   int
		Findings []struct{ Column int }
	}
	if err := json.Unmarshal([]byte(vitrine(t.Context(), brokenFilter, "validate", "-f", "-", "-o", "json").stdout), &report); err != nil {
		t.Fatal(err)
	}
	if report.Errors != 1 || len(report.Findings) != 1 || report.Findings[0].Column != 44 {
		t.Errorf("report: %+v", report)
	}

	const advised = "apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {name: wall}\nspec: {query: 'bogus:x'}\n"
	vitrine(t.Context(), advised, "validate", "-f", "-").want(t, 0, "0 errors, 1 warning")
	vitrine(t.Context(), advised, "validate", "-f", "-", "--strict").want(t, exit.Manifests, `there is no field "bogus"`)

	vitrine(t.Context(), strings.Replace(advised, "bogus", "status", 1), "validate", "-f", "-").want(t, 0, `did you mean "approval_status"?`)

	vitrine(t.Context(), "", "validate").want(t, exit.Usage, "name files or directories with -f")
	vitrine(t.Context(), "", "validate", "-f", "-", "-o", "xml").want(t, exit.Usage, "must be text, json or github")
	vitrine(t.Context(), "", "validate", "-f", "-", "-n", "").want(t, exit.Usage, "must be the name of a namespace")
	vitrine(t.Context(), "kind: ConfigMap\n", "validate", "-f", "-").want(t, exit.Failed, "no manifest of the API group vitrine.dev in 1 file: check -f")
	vitrine(t.Context(), "", "validate", "-f", "none").want(t, exit.Failed, "does not exist: check the path")
}
