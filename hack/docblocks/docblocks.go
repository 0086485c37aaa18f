// Package docblocks extracts the YAML and the commands of a documentation page, for tests that apply, run or check them. It imports
// only the standard library.
//
// A block whose language begins with sh contains commands, and a block with the language text directly after it contains their output. The
// rest of the language says which test runs the commands:
//
//	sh                  make smoke; all blocks of a page run in one shell
//	sh dev              the tests of cmd/vitrine, beside a running vitrine dev
//	sh cluster          make e2e, in a cluster; all blocks of a section run in one shell
//	sh not run: REASON  no test
//
// After `sh` or `sh cluster`, the word `fails` marks a block whose last command must fail. byexample was refused, because it needs Python, and
// tests that need only Go run most of the commands.
package docblocks

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Languages of blocks with commands that a test runs.
const (
	Smoke   = "sh"
	Dev     = "sh dev"
	Cluster = "sh cluster"
)

// YAML returns the YAML documents in the ```yaml blocks of a Markdown page, in order. It removes the indentation of each block, and splits
// the block at lines of three dashes.
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
	// Line is the number of the block's first line in the page, counted from 1.
	Line int
	// Section is the heading above the block.
	Section string
	// Script contains the commands.
	Script string
	// Fails means that the last command must fail.
	Fails bool
	// Output is the output that the page shows. It is empty if the page shows none.
	Output string
}

// Commands returns the blocks of a Markdown page that have the given language (Smoke or Cluster), in order.
func Commands(page, language string) []Command {
	var all []Command
	block, section, adjacent := "", "", false
	number := 0
	for line := range strings.Lines(page) {
		number++
		opened, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		base := strings.TrimSuffix(block, " fails")
		switch {
		case fence && block != "":
			adjacent = base == language
			block = ""
		case fence:
			block = opened
			if block == "" {
				block = "none"
			}
			if base, fails := strings.CutSuffix(block, " fails"); base == language {
				all = append(all, Command{Line: number + 1, Section: section, Fails: fails})
			}
		case base == language:
			all[len(all)-1].Script += line
		case block == "text" && adjacent:
			all[len(all)-1].Output += line
		case block == "" && strings.TrimSpace(line) != "":
			adjacent = false
			if strings.HasPrefix(line, "#") {
				section = strings.TrimSpace(strings.TrimLeft(line, "#"))
			}
		}
	}
	return all
}

// Script returns a script for sh that runs commands one after the other. The script stops at the first block that does not end as the page
// says. The script writes the output of the commands to files in dir, which Judge reads.
func Script(dir string, commands []Command) string {
	script := "set -eu\n"
	for i, c := range commands {
		output := "'" + strings.ReplaceAll(filepath.Join(dir, fmt.Sprint(i)), "'", `'\''`)
		// Group the commands of a block with braces instead of parentheses, so that later blocks see the variables of this block.
		block := "{\n" + c.Script + "} >" + output + "' 2>&1"
		if c.Fails {
			block = "if " + block + "; then echo 'the last command did not fail, but the page says that it fails' >>" + output + "'; exit 1; fi"
		}
		script += block + "\n: >" + output + ".done'\n"
	}
	return script
}

// Judge returns an error if a command in a script from Script did not end as its page says, or if its output differs from the page.
func Judge(page, dir string, commands []Command) error {
	for i, c := range commands {
		output := filepath.Join(dir, fmt.Sprint(i))
		got, err := os.ReadFile(output)
		if err != nil {
			return fmt.Errorf("%s:%d: the commands did not run: %w", page, c.Line, err)
		}
		if _, err := os.Stat(output + ".done"); err != nil {
			return fmt.Errorf("%s:%d: the commands ended unexpectedly:\n%s", page, c.Line, got)
		}
		if c.Output != "" && !Matches(c.Output, string(got)) {
			return fmt.Errorf("%s:%d: the page shows\n%s\nbut the commands print\n%s", page, c.Line, c.Output, got)
		}
	}
	return nil
}

var (
	age     = regexp.MustCompile(`\b(?:\d+(?:d|h|m|s)){1,2}\b`)
	instant = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)
	address = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	spaces  = regexp.MustCompile(`[ \t\r]+`)
)

// masked replaces text that differs between runs: timestamps, ages such as 5m10s, ports on 127.0.0.1, and the width of columns.
func masked(text string) string {
	text = instant.ReplaceAllString(text, "INSTANT")
	text = address.ReplaceAllString(age.ReplaceAllString(text, "AGE"), "127.0.0.1:PORT")
	return strings.TrimSpace(strings.ReplaceAll(spaces.ReplaceAllString(text, " "), " \n", "\n"))
}

// Matches reports whether got is the output that a page shows. An ellipsis (…) stands for any text within a line, and an ellipsis on its
// own line stands for any number of lines. Timestamps, ages, ports on 127.0.0.1 and the width of columns may differ.
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
