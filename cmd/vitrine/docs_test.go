package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestDocumentation compares docs/cli.md with the commands: each command has a section, and each named flag exists.
func TestDocumentation(t *testing.T) {
	page := string(readFile(t, "../../docs/cli.md"))
	flagNames := regexp.MustCompile("`--([a-z0-9-]+)")
	documented := map[string]bool{"completion": true, "help": true} // cobra describes these
	for _, cmd := range newRoot().Commands() {
		text := section(page, "\n## "+cmd.CommandPath()+"\n")
		if text == "" {
			t.Errorf("%s has no section", cmd.CommandPath())
			continue
		}
		documented[cmd.Name()] = true
		for _, m := range flagNames.FindAllStringSubmatch(text, -1) {
			if !known(cmd, m[1]) {
				t.Errorf("the section of %s names --%s, which no command has", cmd.CommandPath(), m[1])
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## vitrine (\S+)$`).FindAllStringSubmatch(page, -1) {
		if !documented[m[1]] {
			t.Errorf("there is a section for vitrine %s and no such command", m[1])
		}
	}
}

// TestExamples checks that each command has examples, and that the examples use existing commands and flags.
func TestExamples(t *testing.T) {
	eachCommand(newRoot(), func(cmd *cobra.Command) {
		seen := 0
		for _, m := range regexp.MustCompile(`(?m)(?:^  |\| |-- |kubectl )vitrine ([^|>\n]*)`).FindAllStringSubmatch(cmd.Example, -1) {
			seen++
			// Use a new command tree for each example, because flags keep the values of earlier examples.
			found, rest, err := newRoot().Find(strings.Fields(m[1]))
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err != nil || found.Name() == "vitrine" {
				t.Errorf("%s: the example %q: %v", cmd.CommandPath(), m[0], err)
			}
		}
		if seen == 0 {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
	})
}

// section returns the text between a heading and the next heading of the same level.
func section(page, heading string) string {
	_, rest, ok := strings.Cut(page, heading)
	if !ok {
		return ""
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// known reports whether any command has the flag. A section may mention the flag of another command.
func known(cmd *cobra.Command, name string) bool {
	found := name == "help"
	eachCommand(cmd.Root(), func(c *cobra.Command) { found = found || c.Flags().Lookup(name) != nil })
	return found
}
