package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPagesUseExistingCommands checks that the vitrine command lines in selected pages use existing commands and flags.
func TestPagesUseExistingCommands(t *testing.T) {
	line := regexp.MustCompile(`(?:\bvitrine|\$VITRINE) ([a-z]+)((?: +[^\n|;&>` + "`" + `]*)?)`)
	flag := regexp.MustCompile(`(?:^| )--([a-z0-9-]+)`)
	for _, page := range []string{"gitops.md", "operations.md", "install.md"} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		joined := strings.ReplaceAll(string(text), "\\\n", " ")
		for _, m := range line.FindAllStringSubmatch(joined, -1) {
			cmd, _, err := newRoot().Find([]string{m[1]})
			if err != nil || cmd.Name() != m[1] {
				continue // not a command, as in "vitrine waits"
			}
			seen++
			for _, f := range flag.FindAllStringSubmatch(m[2], -1) {
				if cmd.Flags().Lookup(f[1]) == nil && cmd.InheritedFlags().Lookup(f[1]) == nil {
					t.Errorf("%s: vitrine %s has no --%s: %s", page, m[1], f[1], m[0])
				}
			}
		}
		if seen == 0 {
			t.Errorf("%s contains no vitrine command", page)
		}
	}
}
