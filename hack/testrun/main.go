// Command testrun runs the tests of the modules that it is given and ends with one line that counts them:
//
//	go run ./hack/testrun [-timeout 14m] . hack/controlplane
//
// Packages are reported as they end; of tests only those that failed, with their output. It exits with 1 when any did.
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
	"syscall"
)

func main() {
	timeout := flag.String("timeout", "14m", "the time that a package's tests may take")
	flag.Parse()
	modules := flag.Args()
	if len(modules) == 0 {
		modules = []string{"."}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report := newReport(os.Stdout)
	failed := false
	for _, module := range modules {
		if err := test(ctx, module, *timeout, report); err != nil {
			fmt.Fprintf(os.Stderr, "testrun: %v\n", err)
			failed = true
		}
	}
	fmt.Println(report.summary())
	if failed || report.failed > 0 {
		os.Exit(1)
	}
}

// test runs the tests of one module into the report. That tests failed is in the report and no error.
func test(ctx context.Context, module, timeout string, report *report) error {
	args := []string{"-C", module, "test", "-json", "-timeout", timeout}
	if module != "." {
		// The other modules' tests look at files of this one, such as config, and the go command keeps a result for as long as
		// the files of its own module are the same.
		args = append(args, "-count=1")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./...")...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	events, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("test %s: %w", module, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("test %s: %w", module, err)
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
		return fmt.Errorf("test %s: interrupted", module)
	case readErr != nil:
		return fmt.Errorf("test %s: %w", module, readErr)
	case errors.As(err, &exit) && report.failed > before:
		return nil
	case err != nil:
		return fmt.Errorf("test %s: go test ended with %w", module, err)
	}
	return nil
}
