package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// section is the heading of a version in CHANGELOG.md.
var section = regexp.MustCompile(`(?m)^## \[([^\]]+)\].*\n`)

// writeNotes writes the section of the version in CHANGELOG.md. For a pre-release without a section, it writes the section [Unreleased],
// which lists the contents of the next version. For any other version without a section, it fails.
func (r *release) writeNotes(context.Context) error {
	changelog, err := os.ReadFile(filepath.Join(r.source, "CHANGELOG.md"))
	if err != nil {
		return fmt.Errorf("read the changelog: %w", err)
	}
	number := strings.TrimPrefix(r.version, "v")
	notes := notesOf(string(changelog), number)
	if strings.TrimSpace(notes) == "" && strings.Contains(number, "-") {
		fmt.Fprintf(r.out, "CHANGELOG.md has no section [%s]: using the section [Unreleased] for this pre-release\n", number)
		notes = notesOf(string(changelog), "Unreleased")
	}
	if strings.TrimSpace(notes) == "" {
		return fmt.Errorf("CHANGELOG.md has no notes for %s: rename its section [Unreleased] to [%s] with the date, as CONTRIBUTING.md describes", r.version, number)
	}
	return r.write("RELEASE-NOTES.md", []byte(notes))
}

// notesOf returns the section of a version without its heading, or "" if there is none.
func notesOf(changelog, version string) string {
	headings := section.FindAllStringSubmatchIndex(changelog, -1)
	for i, h := range headings {
		if changelog[h[2]:h[3]] != version {
			continue
		}
		end := len(changelog)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		return strings.TrimSpace(changelog[h[1]:end]) + "\n"
	}
	return ""
}
