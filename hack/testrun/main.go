// Command testrun runs the tests of modules and ends with one line that counts them:
//
//	go run ./hack/testrun [-timeout 14m] [-race './server/... ./controllers'] . hack/controlplane
//
// It reports each package when it ends, and of the tests only those that failed, with their output. The packages of the first
// module that -race names run under the race detector, and only there; the line before the last says whether that was
// possible. The exit status is 1 when a test failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	timeout := flag.String("timeout", "14m", "the time that a package's tests may take")
	race := flag.String("race", "", "packages of the first module to test under the race detector, as patterns with spaces between them")
	flag.Parse()
	modules := flag.Args()
	if len(modules) == 0 {
		modules = []string{"."}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report := newReport(os.Stdout)
	failed := false
	runs, detector, err := plan(ctx, modules, strings.Fields(*race))
	if err != nil {
		fmt.Fprintf(os.Stderr, "testrun: %v\n", err)
		failed = true
	}
	for _, run := range runs {
		if err := run.test(ctx, *timeout, report); err != nil {
			fmt.Fprintf(os.Stderr, "testrun: %v\n", err)
			failed = true
		}
	}
	if detector != "" {
		fmt.Println(detector)
	}
	fmt.Println(report.summary())
	if failed || report.failed > 0 {
		os.Exit(1)
	}
}

// run is one call of go test.
type run struct {
	module   string
	packages []string
	race     bool
}

// test runs the tests into the report. That tests failed is in the report and is not an error.
func (r run) test(ctx context.Context, timeout string, report *report) error {
	args := []string{"-C", r.module, "test", "-json", "-timeout", timeout}
	if r.race {
		args = append(args, "-race")
	}
	if r.module != "." {
		// The tests of other modules look at files of this one, such as config, and the go command keeps a result for as long
		// as the files of its own module are the same.
		args = append(args, "-count=1")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, r.packages...)...)
	if r.race {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	events, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("test %s: %w", r.module, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("test %s: %w", r.module, err)
	}
	before := report.failed
	readErr := report.read(events)
	if readErr != nil {
		// Whatever is left is read all the same, or the go command would wait for its reader for ever.
		_, _ = io.Copy(io.Discard, events)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("test %s: interrupted", r.module)
	case readErr != nil:
		return fmt.Errorf("test %s: %w", r.module, readErr)
	case errors.As(err, &exit) && report.failed > before:
		return nil
	case err != nil:
		return fmt.Errorf("test %s: go test ended with %w", r.module, err)
	}
	return nil
}
