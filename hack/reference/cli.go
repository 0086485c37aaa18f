package reference

import (
	"bytes"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// CLI returns the reference of a command and of its subcommands.
func CLI(root *cobra.Command) (string, error) {
	p := newPage("Command-line reference", "the commands", "`vitrine COMMAND --help` prints the same text. [The command line](../cli.md) explains exit codes, connections and tokens.\n")
	for _, c := range below(root) {
		c.DisableAutoGenTag = true
		var text bytes.Buffer
		if err := doc.GenMarkdownCustom(c, &text, func(name string) string {
			return "#" + anchor(strings.ReplaceAll(strings.TrimSuffix(name, ".md"), "_", " "))
		}); err != nil {
			return "", err
		}
		own, seeAlso, _ := strings.Cut(text.String(), "### SEE ALSO\n\n")
		if c.HasSubCommands() { // the other lists contain only the parent
			own += seeAlso
		}
		p.line("%s", strings.TrimSpace(own)+"\n")
	}
	return strings.TrimSpace(p.String()) + "\n", nil
}

// below returns a command and the available commands below it.
func below(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, below(sub)...)
		}
	}
	return all
}
