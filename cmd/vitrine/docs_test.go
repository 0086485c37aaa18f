package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestDocumentation compares docs/cli.md with the commands: each command has a section that names exactly its flags, with their
// defaults.
func TestDocumentation(t *testing.T) {
	content, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	// The parts before the sections. Each applies to all commands that have its flag.
	shared := map[string]string{"server": section(page, "**Which server"), "context": section(page, "**Which cluster.**")}
	flagNames := regexp.MustCompile("`--([a-z-]+)")
	documented := map[string]bool{}
	for _, cmd := range newRoot().Commands() {
		text := section(page, "\n## "+cmd.CommandPath()+"\n")
		if text == "" {
			t.Errorf("%s has no section", cmd.CommandPath())
			continue
		}
		documented[cmd.Name()] = true
		// The flags are in the first column of the tables.
		rows := flagRows(text)
		for flag, text := range shared {
			if cmd.Flags().Lookup(flag) == nil {
				continue
			}
			part, _, _ := strings.Cut(text, "\n**")
			for name, row := range flagRows(part) {
				if rows[name] == "" {
					rows[name] = row
				}
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			row, ok := rows[f.Name]
			if !ok {
				t.Errorf("the section of %s has no row for --%s", cmd.CommandPath(), f.Name)
			}
			if def := f.DefValue; def != "" && def != "false" && def != "[]" && !strings.Contains(row, "`"+def+"`") {
				t.Errorf("%s --%s: its default %s is not in its row", cmd.CommandPath(), f.Name, def)
			}
		})
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

// section returns the text between a heading and the next one of the same level.
func section(page, heading string) string {
	_, rest, ok := strings.Cut(page, heading)
	if !ok {
		return ""
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// flagRows returns the table rows whose first cell names flags, by flag.
func flagRows(text string) map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(cells[1], "`--") {
			continue
		}
		for _, m := range regexp.MustCompile("`--([a-z-]+)`").FindAllStringSubmatch(cells[1], -1) {
			rows[m[1]] = line
		}
	}
	return rows
}

// known reports whether any command has the flag, because a section may mention the flag of another command.
func known(cmd *cobra.Command, name string) bool {
	for _, c := range cmd.Root().Commands() {
		if c.Flags().Lookup(name) != nil {
			return true
		}
	}
	return name == "help"
}
