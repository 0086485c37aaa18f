package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/client"
)

type exportOptions struct {
	connection connect.Connection
	file       string
	query      string
}

func newExport() *cobra.Command {
	o := &exportOptions{}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export all items as NDJSON, one item per line",
		Long: `Export every item of the token's property as one line of NDJSON, sorted by ID, with its tags, units and submission. The command
vitrine import accepts this format.`,
		Example: example(`
# Export all items to a compressed file
vitrine export --file items.ndjson.gz

# Print the texts of the approved items
vitrine export --query 'approval_status:app' | jq .content.text`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.connection.Bind(cmd.Flags())
	cmd.Flags().StringVarP(&o.file, "file", "f", "", "file to write, compressed if its name ends in .gz; a regular file appears only when it is complete (default: standard output)")
	cmd.Flags().StringVarP(&o.query, "query", "q", "", "export only items that match this query")
	return cmd
}

func (o *exportOptions) run(cmd *cobra.Command) error {
	c, err := o.connection.Open()
	if err != nil {
		return err
	}
	var out io.Writer = cmd.OutOrStdout()
	var file *output.File
	if o.file != "" {
		if file, err = output.Create(o.file, cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
			return err
		}
		defer file.Abandon()
		out = file
	}
	var total int64
	shown := io.Discard
	if stderr := cmd.ErrOrStderr(); output.IsTerminal(stderr) && !output.IsTerminal(out) {
		if total, err = c.CountItems(cmd.Context(), cmp.Or(o.query, "*:*")); err != nil {
			return err
		}
		shown = stderr
	}
	p := output.NewProgress(shown, "exported", 0, 0, total)
	began := time.Now()
	lines, err := c.Export(cmd.Context(), out, o.query, func(lines, _ int64) { p.Set(lines, lines) })
	p.Finish()
	if file != nil && file.Failure() != nil {
		return file.Failure()
	}
	unreadable, partial := errors.AsType[*client.UnreadableError](err)
	if err != nil && !partial {
		return err
	}
	if file != nil {
		if err := file.Keep(); err != nil {
			return err
		}
		fmt.Fprintf(file.Summary, "%s in %s\n", text.Plural(lines, "line"), time.Since(began).Round(time.Millisecond))
	}
	if partial {
		return exit.With(exit.Damaged, unreadable)
	}
	return nil
}
