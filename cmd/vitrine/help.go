package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// help shows the examples before the usage and the flags. It does not use a template of cobra, because package text/template prevents the
// linker from removing unused methods, which are a fifth of the size of the binary.
func help(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	fmt.Fprintln(w, strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)))
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	fmt.Fprintln(w)
	_, _ = io.WriteString(w, usage(cmd)) // like the Fprint calls above, ignore an error: there is nowhere to report it
}

// usage returns the usage line of a command, its subcommands and its flags.
func usage(cmd *cobra.Command) string {
	var b strings.Builder
	call := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		call = cmd.CommandPath() + " [command]"
	}
	fmt.Fprintf(&b, "Usage:\n  %s\n", call)
	if cmd.HasAvailableSubCommands() {
		rest := "Commands:"
		for _, g := range cmd.Groups() {
			rest = "Other commands:"
			listCommands(&b, g.Title, g.ID, cmd)
		}
		listCommands(&b, rest, "", cmd)
	}
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s\n", strings.TrimRight(cmd.LocalFlags().FlagUsagesWrapped(120), " \n"))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// listCommands writes the subcommands of one group.
func listCommands(b *strings.Builder, title, group string, cmd *cobra.Command) {
	fmt.Fprintf(b, "\n%s\n", title)
	for _, c := range cmd.Commands() {
		if c.GroupID == group && (c.IsAvailableCommand() || c.Name() == "help") {
			fmt.Fprintf(b, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
}

// group adds commands to root, under one title in the help.
func group(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// example indents the examples of a command for its help.
func example(lines string) string {
	return strings.ReplaceAll("  "+strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n  "), "\n  \n", "\n\n")
}

// first returns a completion function that uses complete for the first argument of a command and completes no further arguments.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, toComplete)
	}
}
