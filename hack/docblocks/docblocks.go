// Package docblocks extracts the YAML of a documentation page, for tests that apply or check it. It imports only the standard
// library.
package docblocks

import "strings"

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
