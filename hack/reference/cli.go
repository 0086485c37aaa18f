package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// CLI returns the reference of a command and of its subcommands.
func CLI(root *cobra.Command) string {
	p := newPage("Command-line reference", "the commands", "`vitrine COMMAND --help` prints the same text. [The command line](../cli.md) explains exit codes, connections and tokens.")
	var rows [][]string
	commands := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			rows = append(rows, []string{fmt.Sprintf("[`%s`](#%s)", c.CommandPath(), anchor(c.CommandPath())), prose(c.Short)})
			commands = append(commands, c)
		}
	}
	p.table([]string{"command", "purpose"}, rows)
	for _, c := range commands[1:] {
		text := c.Long
		if text == "" {
			text = c.Short + "."
		}
		p.line("\n## %s\n\n%s", c.CommandPath(), escaped(text))
		if c.Example != "" {
			p.line("\n```text\n%s\n```", unindent(c.Example))
		}
		p.line("\nUsage: `%s`", c.UseLine())
		var flags [][]string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			kind, usage := pflag.UnquoteUsage(f)
			def := f.DefValue
			if def == "false" || def == "[]" {
				def = ""
			}
			flags = append(flags, []string{code(strings.TrimSpace(name + " " + kind)), code(def), prose(usage)})
		})
		p.table([]string{"flag", "default", "description"}, flags)
	}
	return p.String()
}

// escaped returns paragraphs of plain text as Markdown, with each paragraph on one line.
func escaped(text string) string {
	var paragraphs []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		paragraphs = append(paragraphs, prose(paragraph))
	}
	return strings.Join(paragraphs, "\n\n")
}

func unindent(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		lines = append(lines, strings.TrimPrefix(line, "  "))
	}
	return strings.Join(lines, "\n")
}
