// Package docblocks extracts the YAML and the commands of a documentation page, for tests that apply, run or check them. It imports
// only the standard library.
//
// A block with the language sh contains commands, and a block with the language text directly after it contains their output. The
// commands of a page run one after the other in one shell. `sh fails` marks a block whose last command fails.
package docblocks

import (
	"regexp"
	"strings"
)

// YAML returns the YAML documents of a Markdown page in order: the contents of its ```yaml blocks, without the indentation of the
// block, split at lines of three dashes.
func YAML(page string) []string {
	var documents []string
	var block strings.Builder
	indent, within := "", false
	for line := range strings.Lines(page) {
		text := strings.TrimLeft(line, " ")
		switch {
		case !within && strings.TrimSpace(text) == "```yaml":
			within, indent = true, line[:len(line)-len(text)]
			block.Reset()
		case within && strings.TrimSpace(text) == "```":
			within = false
			documents = append(documents, strings.Split(block.String(), "\n---\n")...)
		case within:
			block.WriteString(strings.TrimPrefix(line, indent))
		}
	}
	return documents
}

// Command is a block of shell commands of a page.
type Command struct {
	// Line is the number of its first line in the page, from 1.
	Line int
	// Script contains the commands.
	Script string
	// Fails means that the last command fails.
	Fails bool
	// Output is the output that the page shows. It is empty if the page shows none.
	Output string
}

// Commands returns the blocks of shell commands of a Markdown page in order.
func Commands(page string) []Command {
	var all []Command
	language, adjacent := "", false
	number := 0
	for line := range strings.Lines(page) {
		number++
		opened, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && language != "":
			adjacent = language == "sh" || language == "sh fails"
			language = ""
		case fence:
			language = opened
			if language == "" {
				language = "none"
			}
			if language == "sh" || language == "sh fails" {
				all = append(all, Command{Line: number + 1, Fails: language == "sh fails"})
			}
		case language == "sh" || language == "sh fails":
			all[len(all)-1].Script += line
		case language == "text" && adjacent:
			all[len(all)-1].Output += line
		case language == "" && strings.TrimSpace(line) != "":
			adjacent = false
		}
	}
	return all
}

var (
	age     = regexp.MustCompile(`\b(?:\d+(?:d|h|m|s)){1,2}\b`)
	instant = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)
	address = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	spaces  = regexp.MustCompile(`[ \t\r]+`)
)

// masked replaces what differs between runs: timestamps, ages such as 5m10s, ports on 127.0.0.1, and the width of columns.
func masked(text string) string {
	text = instant.ReplaceAllString(text, "INSTANT")
	text = address.ReplaceAllString(age.ReplaceAllString(text, "AGE"), "127.0.0.1:PORT")
	return strings.TrimSpace(strings.ReplaceAll(spaces.ReplaceAllString(text, " "), " \n", "\n"))
}

// Matches reports whether got is the output that a page shows. An ellipsis (…) stands for any text within a line, and an ellipsis
// on its own line for any number of lines. Timestamps, ages, ports on 127.0.0.1 and the width of columns may differ.
func Matches(shown, got string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(masked(shown) + "\n") {
		if line == "…\n" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(masked(got) + "\n")
}
