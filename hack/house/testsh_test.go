package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runTests creates two modules with the additional files in more, runs their tests with hack/test.sh, and returns the output.
func runTests(t *testing.T, race string, more map[string]string) (output string, passed bool) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join(root, "hack/test.sh"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"go.mod":            "module example.com/m\n\ngo 1.26\n",
		"plain/p_test.go":   "package plain\n\nimport \"testing\"\n\nfunc TestPlain(t *testing.T) { t.Log(\"chatter\") }\n\nfunc TestSkips(t *testing.T) { t.Skip() }\n",
		"racing/p_test.go":  "package racing\n\nimport \"testing\"\n\nfunc TestRacing(t *testing.T) {\n\tn, done := 0, make(chan bool)\n\tgo func() { n++; done <- true }()\n\tn++\n\t<-done\n\t_ = n\n}\n",
		"other/go.mod":      "module example.com/other\n\ngo 1.26\n",
		"other/p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestOther(t *testing.T) {}\n",
	}
	for name, text := range more {
		files[name] = text
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), script, ".", "other")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RACE="+race)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// TestTestScript checks the counts of hack/test.sh. If a test or a build fails, or a test process ends early, the run must fail and show
// the output of the failure.
func TestTestScript(t *testing.T) {
	done := regexp.MustCompile(`(?m)^DONE .* in `)
	for name, c := range map[string]struct {
		files  map[string]string
		done   string
		shows  string
		passes bool
	}{
		"all pass": {done: "DONE 4 tests, 1 skipped in ", passes: true},
		"a test fails": {
			files: map[string]string{"bad/p_test.go": "package bad\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Error(\"got 1, want 2\") }\n"},
			done:  "DONE 5 tests, 1 skipped, 1 failure in ", shows: "got 1, want 2",
		},
		"a package does not build": {
			files: map[string]string{"bad/p_test.go": "package bad\n\nfunc f() { undefined() }\n"},
			done:  "DONE 4 tests, 1 skipped, 1 failure, 1 error in ", shows: "undefined: undefined",
		},
		"a test process dies": {
			files: map[string]string{"bad/p_test.go": "package bad\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { panic(\"ouch\") }\n"},
			done:  "DONE 5 tests, 1 skipped, 1 failure in ", shows: "panic: ouch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			output, passed := runTests(t, "", c.files)
			if got := done.FindString(output); got != c.done || passed != c.passes || !strings.Contains(output, c.shows) {
				t.Errorf("passed %t, %q; want %t, %q and %q in:\n%s", passed, got, c.passes, c.done, c.shows, output)
			}
			if strings.Contains(output, "chatter") {
				t.Errorf("the run shows the output of a test that passes:\n%s", output)
			}
		})
	}
}

// TestTestScriptRace checks that a data race fails a test of the packages in RACE, and that the script tests every package once.
func TestTestScriptRace(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "build", "-race", "runtime/cgo")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("the race detector does not run here: %s", text)
	}
	output, passed := runTests(t, "./racing/...", nil)
	if passed || !strings.Contains(output, "DATA RACE") || !strings.Contains(output, "\nDONE 4 tests, 1 skipped, 1 failure in ") ||
		!strings.HasSuffix(output, "\nrace detector: on for 1 of 2 packages\n") {
		t.Errorf("passed %t; want a data race in:\n%s", passed, output)
	}
	if output, passed := runTests(t, "./absent", nil); passed {
		t.Errorf("a pattern without a package passes:\n%s", output)
	}
}

// TestTestScriptWithoutCompiler checks that all tests run without a C compiler, and that the last line names the missing compiler.
func TestTestScriptWithoutCompiler(t *testing.T) {
	t.Setenv("CC", "absent-compiler")
	t.Setenv("CGO_ENABLED", "0")
	output, passed := runTests(t, "./racing/...", nil)
	_, last, _ := strings.Cut(output, "\nRACE DETECTOR DID NOT RUN: ")
	if !passed || !strings.Contains(last, "absent-compiler") || !strings.Contains(output, "\nDONE 4 tests, 1 skipped in ") {
		t.Errorf("passed %t; want no detector in:\n%s", passed, output)
	}
}
