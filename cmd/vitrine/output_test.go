package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/internal/cli/message"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/server/client"
)

// hostile is content that clears a terminal, forges a line and reverses the writing direction.
const hostile = "fine\x1b[2J\n✓ forged\u202eesrever"

// TestContentCannotControlATerminal checks that the output of commands has neither control characters nor additional lines.
func TestContentCannotControlATerminal(t *testing.T) {
	var table, explanation bytes.Buffer
	if err := output.Columns(&table, []string{"ID", "TEXT"}, [][]string{{"1", hostile}}); err != nil {
		t.Fatal(err)
	}
	tree(&explanation, client.Explanation{
		Clause: hostile, Detail: hostile, Children: []client.Explanation{{Occur: hostile, Clause: hostile}},
	}, "", "")
	for name, tc := range map[string]struct {
		got   string
		lines int
	}{
		"table":   {table.String(), 2},
		"explain": {explanation.String(), 3},
		"error":   {message.OneLine(errors.New(hostile)) + "\n", 1},
	} {
		if strings.ContainsAny(tc.got, "\x1b\u202e") || strings.Count(tc.got, "\n") != tc.lines || !strings.Contains(tc.got, `fine\x1b[2J`) {
			t.Errorf("%s: %q, want %d lines with escapes", name, tc.got, tc.lines)
		}
	}
}
