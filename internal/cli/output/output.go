// Package output writes what commands print or save: values as a table, JSON or YAML, the progress of a long command, and files that appear
// only when they are complete. It imports internal/exit and internal/text.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
)

// Format is the flag of a command that selects the format of its output.
type Format struct{ name string }

// Bind declares the flag.
func (o *Format) Bind(fs *pflag.FlagSet) {
	fs.StringVarP(&o.name, "output", "o", "table", "output format: table, json or yaml")
}

// Validate checks the value of the flag.
func (o *Format) Validate() error {
	switch o.name {
	case "table", "json", "yaml":
		return nil
	}
	return exit.Usagef("--output %q: must be table, json or yaml", o.name)
}

// Show writes v as JSON or YAML, or calls table to write it as a table.
func (o *Format) Show(w io.Writer, v any, table func(io.Writer) error) error {
	var encoded []byte
	var err error
	switch o.name {
	case "json":
		encoded, err = json.MarshalIndent(v, "", "  ")
		encoded = append(encoded, '\n')
	case "yaml":
		encoded, err = yaml.Marshal(v)
	default:
		return table(w)
	}
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err = w.Write(encoded)
	return err
}

// Columns writes a table as kubectl does. Each cell is one line without control characters, and an empty cell is shown as <none>.
func Columns(w io.Writer, head []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, row := range rows {
		for i, cell := range row {
			if row[i] = text.Line(cell); row[i] == "" {
				row[i] = "<none>"
			}
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// Since formats the time from t to now as kubectl does, or returns "" for the zero time.
func Since(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(t))
}
