package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// pluginName is what the binary is called to be kubectl's plugin: kubectl vitrine.
const pluginName = "kubectl-vitrine"

// run executes a command line and returns the exit code. program is the path by which the binary was called: as a plugin,
// help speaks of kubectl vitrine.
func run(ctx context.Context, program string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	if strings.TrimSuffix(filepath.Base(program), ".exe") == pluginName {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl vitrine"}
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "vitrine:", oneLine(err))
	}
	return exitCode(err)
}

// oneLine is the text of an error for one line of a terminal or a log. Errors that were joined are a line each, and a
// database that fails says the same from every part of it: what was said is not said again.
func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if line != "" && !slices.ContainsFunc(parts, func(said string) bool { return strings.HasSuffix(said, line) }) {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "vitrine",
		Short: "A content library for Kubernetes: the server, its operator, and client commands",
		// An error is printed once, in one line; how to use a command is for those who ask.
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newServe(), newImport(), newExport(), newValidate(), newDiff(),
		newStatus(), newItems(), newExplain(), newTokens(), newSweep(), newPurge(), newBackup(), newRestore(), newVersion())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	for _, c := range append(root.Commands(), root) {
		c.Args = asUsage(c.Args)
	}
	return root
}

// asUsage has wrong arguments end with the code of a wrong command line.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
}

// usageError says that the command line cannot be used.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// Exit codes; docs/cli.md lists them.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitLines       = 3
	exitStore       = 4
	exitAddress     = 5
	exitCertificate = 6
	exitManifests   = 7
	exitDamaged     = 8
	exitInterrupted = 130
)

// codedError carries the exit code of a failure that has one of its own.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if coded, ok := errors.AsType[*codedError](err); ok {
		return coded.code
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	return exitFailed
}
