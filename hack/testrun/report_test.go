package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	tests := map[string]struct {
		events  string
		summary string
		shows   []string
		hides   []string
	}{
		"a pass is counted and its output dropped": {
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"chatter\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":1.25}`,
			summary: "1 passed, 0 failed, 0 skipped",
			shows:   []string{"ok   p 1.2s, 1 tests"},
			hides:   []string{"chatter"},
		},
		"a failure shows its output": {
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestA","Output":"got 1, want 2\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"chatter\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}`,
			summary: "0 passed, 1 failed, 1 skipped",
			shows:   []string{"FAIL p TestA\n    got 1, want 2"},
			hides:   []string{"chatter"},
		},
		"a test that the process died under has failed": {
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: ouch\n"}
{"Action":"fail","Package":"p"}`,
			summary: "0 passed, 1 failed, 0 skipped",
			shows:   []string{"FAIL p TestA (did not end)\n    panic: ouch"},
		},
		"a package that does not build has failed": {
			events: `{"ImportPath":"p [p.test]","Action":"build-output","Output":"p.go:1:1: undefined: x\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			summary: "0 passed, 1 failed, 0 skipped",
			shows:   []string{"undefined: x", "[build failed]"},
		},
		"what is no event is shown": {
			events:  "go: cannot find module\n",
			summary: "0 passed, 0 failed, 0 skipped",
			shows:   []string{"go: cannot find module"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out)
			if err := r.read(strings.NewReader(test.events)); err != nil {
				t.Fatal(err)
			}
			if got := r.summary(); got != test.summary {
				t.Errorf("summary %q, want %q", got, test.summary)
			}
			for _, text := range test.shows {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is not shown in:\n%s", text, out.String())
				}
			}
			for _, text := range test.hides {
				if strings.Contains(out.String(), text) {
					t.Errorf("%q is shown in:\n%s", text, out.String())
				}
			}
		})
	}
}
