package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// valuesPage is the beginning of the page about the values of the chart.
const valuesPage = `# Values

<!-- make generate writes this page from the comments in values.yaml. -->

The page about [installing](../../docs/install.md#helm) explains the most important values. The schema rejects unknown and invalid values,
and null for a value whose default is not empty.

| value | default | |
| --- | --- | --- |
`

// writeValues writes a page with a row for each value of the chart in dir.
func writeValues(dir string, out io.Writer) error {
	text, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		return fmt.Errorf("read the values: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return fmt.Errorf("read the values: %w", err)
	}
	if _, err := io.WriteString(out, valuesPage); err != nil {
		return err
	}
	return writeRows(out, "", document.Content[0])
}

// writeRows writes a row for each member of a mapping. If the value of a member is a mapping whose members have comments, the row contains
// only the comment of the member, and the members of that mapping have rows of their own.
func writeRows(out io.Writer, prefix string, mapping *yaml.Node) error {
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := prefix + key.Value
		comment := strings.ReplaceAll(strings.ReplaceAll(key.HeadComment, "\n# ", " "), "|", `\|`)
		comment = strings.TrimPrefix(comment, "# ")
		section := documented(value)
		var text []byte
		if !section {
			if comment == "" {
				return fmt.Errorf("values.yaml: line %d: %s has no comment", key.Line, name)
			}
			var plain any
			if err := value.Decode(&plain); err != nil {
				return fmt.Errorf("values.yaml: line %d: %w", value.Line, err)
			}
			var err error
			if text, err = json.Marshal(plain); err != nil {
				return fmt.Errorf("values.yaml: line %d: %w", value.Line, err)
			}
			text = []byte("`" + string(text) + "`")
		}
		if comment != "" {
			fmt.Fprintf(out, "| `%s` | %s | %s |\n", name, text, comment)
		}
		if section {
			if err := writeRows(out, name+".", value); err != nil {
				return err
			}
		}
	}
	return nil
}

// documented reports whether value is a mapping that has a member with a comment.
func documented(value *yaml.Node) bool {
	if value.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(value.Content); i += 2 {
		if value.Content[i].HeadComment != "" {
			return true
		}
	}
	return false
}
