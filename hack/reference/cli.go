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
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		if !c.IsAvailableCommand() && c.HasParent() {
			continue
		}
		c.DisableAutoGenTag = true
		var text bytes.Buffer
		if err := doc.GenMarkdownCustom(c, &text, func(name string) string {
			return "#" + anchor(strings.ReplaceAll(strings.TrimSuffix(name, ".md"), "_", " "))
		}); err != nil {
			return "", err
		}
		own, seeAlso, _ := strings.Cut(text.String(), "### SEE ALSO\n\n")
		if !c.HasParent() { // only this list is not repeated in each section
			own += seeAlso
		}
		p.line("%s", strings.TrimSpace(own)+"\n")
	}
	return strings.TrimSpace(p.String()) + "\n", nil
}
