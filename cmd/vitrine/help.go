package main

import (
	"strings"

	"github.com/spf13/cobra"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
)

// helpTemplate shows examples before the usage and the flags.
const helpTemplate = `{{with or .Long .Short}}{{. | trimTrailingWhitespaces}}{{end}}
{{if .HasExample}}
Examples:
{{.Example}}
{{end}}
{{.UsageString}}`

const usageTemplate = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} [command]{{else}}{{.UseLine}}{{end}}
{{if .HasAvailableSubCommands}}{{$commands := .Commands}}{{range $group := .Groups}}
{{$group.Title}}{{range $commands}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}
{{if .Groups}}Other commands:{{else}}Commands:{{end}}{{range $commands}}{{if and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsagesWrapped 120 | trimTrailingWhitespaces}}
{{end}}{{if .HasAvailableSubCommands}}
Use "{{.CommandPath}} [command] --help" for more information about a command.
{{end}}`

// group adds the commands below one title of the help.
func group(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// example indents the examples of a command as its help shows them.
func example(lines string) string {
	return strings.ReplaceAll("  "+strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n  "), "\n  \n", "\n\n")
}

// first completes only the first argument of a command.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, toComplete)
	}
}

// suggest completes the names of the objects of a list's kind, in the selected namespace.
func (c *clusterFlags) suggest(list kube.ObjectList) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		k, namespace, err := c.open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		objects, err := listed[kube.Object](cmd.Context(), k, list, namespace)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []cobra.Completion
		for _, o := range objects {
			names = append(names, o.GetName())
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
