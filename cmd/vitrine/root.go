package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vitrine-dev/vitrine/internal/cli/message"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
)

const (
	// pluginName is the name of the binary as a plugin of kubectl, which users call as kubectl vitrine.
	pluginName = "kubectl-vitrine"
	// completionName is the name of the program that kubectl runs to complete the command line of the plugin.
	completionName = "kubectl_complete-vitrine"
)

// execute runs a command line and returns the exit code. program is the path of the binary. If the binary has the name of the plugin, the
// help calls the command kubectl vitrine.
func execute(ctx context.Context, program string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newProgram()
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
		fmt.Fprintln(stderr, "vitrine:", message.OneLine(err))
	}
	return exit.Code(err)
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
		// execute prints errors itself, in one line and without the usage.
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
	}
	group(root, "manifests", "Manifests and objects:", newDev(), newValidate(), newDiff(), newStatus(), newItems(), newExplain(), newTokens(), newCanI(), newWebhook(), newConsole())
	group(root, "items", "Items:", newImport(), newExport(), newChanges(), newFacets())
	group(root, "server", "Server and store:", newServe(), newBackup(), newRestore(), newMigrate(), newSweep(), newPurge())
	root.AddCommand(newVersion())
	root.SetHelpFunc(help)
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usage(cmd))
		return err
	})
	root.SetFlagErrorFunc(flagError)
	return root
}

// newProgram returns the root command with all subcommands, including those of cobra, which newRoot omits because docs/reference does.
func newProgram() *cobra.Command {
	root := newRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	eachCommand(root, checkArgs)
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Run, c.RunE = nil, func(cmd *cobra.Command, args []string) error { return showHelp(cmd.Root(), args) }
		}
	}
	return root
}

// eachCommand calls visit for a command and everything below it.
func eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, visit)
	}
}

// checkArgs makes the errors of a command about its arguments say what to do.
func checkArgs(cmd *cobra.Command) {
	if cmd.HasSubCommands() {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = showHelp
		return
	}
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check == nil || check(cmd, args) == nil {
			return nil
		}
		return exit.Usagef("%s given: use %s, or see %s --help", text.Plural(len(args), "argument"), strings.TrimSuffix(cmd.UseLine(), " [flags]"), cmd.CommandPath())
	}
}

// showHelp prints the help of the command to which args lead from cmd.
func showHelp(cmd *cobra.Command, args []string) error {
	cmd, rest, err := cmd.Find(args)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		cmd.InitDefaultHelpFlag()
		return cmd.Help()
	}
	meant := ""
	if similar := cmd.SuggestionsFor(rest[0]); len(similar) > 0 {
		meant = fmt.Sprintf(" (did you mean %s?)", strings.Join(similar, " or "))
	}
	return exit.Usagef("there is no command %q%s: see %s --help", rest[0], meant, cmd.CommandPath())
}

// flagError says what to do about an invalid flag.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			name = name[1:]
		}
		err = fmt.Errorf("there is no flag %s", name)
	case errors.As(err, &empty):
		err = fmt.Errorf("--%s needs a value", empty.GetFlag().Name)
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		if wanted := valueTypes[flag.Value.Type()]; wanted != "" {
			err = fmt.Errorf("--%s %q: must be %s", flag.Name, invalid.GetValue(), wanted)
		}
	}
	return exit.Usagef("%w: see %s --help", err, cmd.CommandPath())
}

// valueTypes describes the types of flags whose parsers return an error of package strconv or time.
var valueTypes = map[string]string{
	"bool": "true or false", "int": "a whole number", "int64": "a whole number", "uint16": "a whole number from 0 to 65535",
	"float64": "a number", "duration": "a duration such as 30s, 15m or 24h",
}
