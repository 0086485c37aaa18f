package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of a build, instead of Package
	Test        string
	Elapsed     float64 // seconds
	Output      string
	FailedBuild string
}

// report counts the results of tests and writes of packages and of failures.
type report struct {
	out                     io.Writer
	passed, failed, skipped int
	packages                map[string]*packageRun
	builds                  map[string]*strings.Builder // what the compiler said, by import path
}

// packageRun is a package whose tests are under way.
type packageRun struct {
	tests, failures int
	running         []string                    // begun and not ended, in the order of beginning
	output          map[string]*strings.Builder // by test, "" for what belongs to none
}

func newReport(out io.Writer) *report {
	return &report{out: out, packages: map[string]*packageRun{}, builds: map[string]*strings.Builder{}}
}

// read takes in the output of `go test -json` until its end.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				r.take(e)
			} else {
				// Not an event: the go command itself speaks, of a package that it cannot load for instance.
				fmt.Fprintf(r.out, "%s\n", bytes.TrimRight(line, "\n"))
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output of go test: %w", err)
		}
	}
}

func (r *report) take(e event) {
	if strings.HasPrefix(e.Action, "build-") {
		if e.Action == "build-output" {
			appendTo(r.builds, e.ImportPath, e.Output)
		}
		return
	}
	run := r.packages[e.Package]
	if run == nil {
		run = &packageRun{output: map[string]*strings.Builder{}}
		r.packages[e.Package] = run
	}
	switch e.Action {
	case "run":
		run.running = append(run.running, e.Test)
	case "output":
		appendTo(run.output, e.Test, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e, run)
		} else {
			r.endTest(e, run)
		}
	}
}

func (r *report) endTest(e event, run *packageRun) {
	run.tests++
	if i := slices.Index(run.running, e.Test); i >= 0 {
		run.running = slices.Delete(run.running, i, i+1)
	}
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
	case "fail":
		r.failed++
		run.failures++
		r.show("FAIL "+e.Package+" "+e.Test, run.output[e.Test])
	}
	delete(run.output, e.Test)
}

func (r *report) endPackage(e event, run *packageRun) {
	delete(r.packages, e.Package)
	if e.Action != "fail" {
		if run.tests > 0 {
			fmt.Fprintf(r.out, "ok   %s %.1fs, %d tests\n", e.Package, e.Elapsed, run.tests)
		}
		return
	}
	// A test that never ended: the process died under it, by a panic or for its time.
	for _, test := range run.running {
		r.failed++
		run.failures++
		r.show("FAIL "+e.Package+" "+test+" (did not end)", run.output[test])
	}
	if run.failures == 0 {
		// It did not build, or TestMain gave up.
		r.failed++
		r.show("FAIL "+e.Package, r.builds[e.FailedBuild])
	}
	r.show("FAIL "+e.Package+fmt.Sprintf(" %.1fs", e.Elapsed), run.output[""])
}

// show writes a title and, indented, what was said.
func (r *report) show(title string, said *strings.Builder) {
	fmt.Fprintln(r.out, title)
	if said == nil {
		return
	}
	for line := range strings.Lines(said.String()) {
		fmt.Fprintf(r.out, "    %s\n", strings.TrimRight(line, "\n"))
	}
}

// summary is the last line: how many tests, subtests included, came out how.
func (r *report) summary() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", r.passed, r.failed, r.skipped)
}

func appendTo(m map[string]*strings.Builder, key, text string) {
	if m[key] == nil {
		m[key] = &strings.Builder{}
	}
	m[key].WriteString(text)
}
