package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a module of two packages, one of which has a data race, and makes it the working directory.
func module(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module example.com/m\n\ngo 1.26\n",
		"plain/p_test.go":   "package plain\n\nimport \"testing\"\n\nfunc TestPlain(t *testing.T) {}\n",
		"racing/p_test.go":  "package racing\n\nimport \"testing\"\n\nfunc TestRacing(t *testing.T) {\n\tn, done := 0, make(chan bool)\n\tgo func() { n++; done <- true }()\n\tn++\n\t<-done\n\t_ = n\n}\n",
		"other/go.mod":      "module example.com/other\n\ngo 1.26\n",
		"other/p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestOther(t *testing.T) {}\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// runAll plans and runs the tests of both modules.
func runAll(t *testing.T, race ...string) (*report, string, string) {
	t.Helper()
	var out strings.Builder
	r := newReport(&out)
	runs, detector, err := plan(t.Context(), []string{".", "other"}, race)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		if err := run.test(t.Context(), "1m", r); err != nil {
			t.Fatal(err)
		}
	}
	return r, detector, out.String()
}

// TestRace holds that a data race fails a test of the packages that are named, and that every package is tested once.
func TestRace(t *testing.T) {
	if reason := noRace(t.Context()); reason != "" {
		t.Skipf("the race detector does not run here: %s", reason)
	}
	module(t)
	r, detector, out := runAll(t, "./racing/...")
	if got, want := r.summary(), "2 passed, 1 failed, 0 skipped"; got != want || !strings.Contains(out, "DATA RACE") {
		t.Errorf("%s, want %s and the data race in:\n%s", got, want, out)
	}
	if want := "race detector: on for 1 of 2 packages"; detector != want {
		t.Errorf("detector %q, want %q", detector, want)
	}
	if r, detector, out := runAll(t); r.summary() != "3 passed, 0 failed, 0 skipped" || detector != "" {
		t.Errorf("without -race: %s, detector %q:\n%s", r.summary(), detector, out)
	}
	if _, _, err := plan(t.Context(), []string{"."}, []string{"./absent"}); err == nil {
		t.Error("a package that does not exist is no error")
	}
}

// TestRaceWithoutCompiler holds that without a C compiler all tests run, and that the report says what did not.
func TestRaceWithoutCompiler(t *testing.T) {
	module(t)
	t.Setenv("CC", "absent-compiler")
	r, detector, out := runAll(t, "./racing/...")
	if got, want := r.summary(), "3 passed, 0 failed, 0 skipped"; got != want {
		t.Errorf("%s, want %s:\n%s", got, want, out)
	}
	if !strings.HasPrefix(detector, "RACE DETECTOR DID NOT RUN: ") || !strings.Contains(detector, "absent-compiler") {
		t.Errorf("detector %q does not say what is missing", detector)
	}
}
