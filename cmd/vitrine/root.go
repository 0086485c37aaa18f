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

	"github.com/vitrine-dev/vitrine/internal/text"
)

const (
	// pluginName is the name of the binary as a plugin of kubectl, which users call as kubectl vitrine.
	pluginName = "kubectl-vitrine"
	// completionName is the name of the program that kubectl runs to complete the command line of the plugin.
	completionName = "kubectl_complete-vitrine"
)

// run executes a command line and returns the exit code. program is the path of the binary. If the binary has the name of the plugin, the
// help calls the command kubectl vitrine.
func run(ctx context.Context, program string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	switch strings.TrimSuffix(filepath.Base(program), ".exe") {
	case pluginName:
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl vitrine"}
	case completionName:
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
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

// oneLine formats an error as one line for a terminal or a log. It omits repeated lines, because each part of a failed database reports the
// same error.
func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if line != "" && !slices.ContainsFunc(parts, func(said string) bool { return strings.HasSuffix(said, line) }) {
			parts = append(parts, line)
		}
	}
	return text.Visible(strings.Join(parts, "; ")) // an error can quote content, which can contain control characters
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "vitrine",
		Short: "A content library for Kubernetes: the server, its operator, and client commands",
		Example: example(`
# Check manifests, and see what they would change
vitrine validate -f deploy/
vitrine diff -f deploy/

# Show which objects are served, and why others are not
kubectl vitrine status -A

# Import items, and list those of a filter
vitrine import items.ndjson
kubectl vitrine items summer-wall -n shop`),
		// run prints errors itself, in one line and without the usage.
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group(root, "manifests", "Manifests and objects:", newDev(), newValidate(), newDiff(), newStatus(), newItems(), newExplain(), newTokens(), newConsole())
	group(root, "items", "Items:", newImport(), newExport(), newFacets())
	group(root, "server", "Server and store:", newServe(), newBackup(), newRestore(), newMigrate(), newSweep(), newPurge())
	root.AddCommand(newVersion())
	root.SetHelpFunc(help)
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usage(cmd))
		return err
	})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	for _, c := range append(root.Commands(), root) {
		c.Args = asUsage(c.Args)
	}
	return root
}

// asUsage returns a check of arguments that turns the errors of another check into usage errors, which have their own exit code.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
}

// usageError is an error that a wrong command line causes.
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

// codedError is an error that determines the exit code of the command.
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
