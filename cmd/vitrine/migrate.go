package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/server"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// migration contains the flags of migrate.
type migration struct {
	server.Migration
	to     string
	cancel bool
}

func newMigrate() *cobra.Command {
	m := &migration{}
	cmd := &cobra.Command{
		Use:   "migrate --to=opensearch|engine | --cancel",
		Short: "Move the library to OpenSearch, or back to a data directory",
		Long: `Copy the library from a data directory to an OpenSearch cluster, or from OpenSearch to a new data directory, and compare the copy
with the original.

As soon as the copying starts, the original library rejects writes with 503, but continues to serve reads. When the copy is
complete, start the server with it. To keep the original library instead, run vitrine migrate --cancel, which makes it accept
writes again. A copy on OpenSearch that no server has used can then no longer be opened. To continue an interrupted migration,
run the same command again. With --to=opensearch, the server that uses the data directory makes the copy.`,
		Example: example(`
# Move the library to OpenSearch
kubectl exec -it -n vitrine-system deploy/vitrine -- vitrine migrate --to=opensearch --opensearch-url=https://search:9200

# Move it back, to a new data directory
vitrine migrate --to=engine --data-dir ./new --opensearch-url=https://search:9200

# Cancel the migration, so that the original library accepts writes again
vitrine migrate --cancel --data-dir ./data`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := m.validate(); err != nil {
				return err
			}
			if m.cancel {
				return m.Cancel(cmd.Context(), cmd.OutOrStdout())
			}
			return m.run(cmd)
		},
	}
	cmd.Flags().StringVar(&m.to, "to", "", "where to copy the library: opensearch, or engine (a new data directory)")
	cmd.Flags().BoolVar(&m.cancel, "cancel", false, "cancel the migration, so that the original library accepts writes again (the library on OpenSearch if --opensearch-url is set, otherwise the library in the data directory)")
	server.BindDataDir(cmd.Flags(), &m.DataDir)
	m.OpenSearch.Bind(cmd.Flags())
	return cmd
}

func (m *migration) validate() error {
	switch {
	case m.cancel == (m.to != ""):
		return exit.Usagef("pass exactly one of --to=%s, --to=%s and --cancel", server.LibraryOpenSearch, server.LibraryEngine)
	case m.to != "" && m.to != server.LibraryOpenSearch && m.to != server.LibraryEngine:
		return exit.Usagef("--to %q: must be %s or %s", m.to, server.LibraryOpenSearch, server.LibraryEngine)
	case len(m.OpenSearch.URLs) == 0 && m.to != "":
		return exit.Usagef("--to=%s needs --opensearch-url", m.to)
	case len(m.OpenSearch.URLs) == 0:
		return nil
	}
	return m.OpenSearch.Check()
}

// run copies the library.
func (m *migration) run(cmd *cobra.Command) error {
	bar := &output.LaterProgress{Out: cmd.ErrOrStderr(), Verb: "copied", Unit: "items"}
	defer bar.Finish()
	show := func(p transfer.Progress) {
		if p.Verifying && bar.Verb != "verified" {
			bar.Finish()
			bar.Verb = "verified"
		}
		bar.Show(p.Done, p.Total)
	}
	var report *transfer.Report
	var err error
	if m.to == server.LibraryOpenSearch {
		report, err = m.ToOpenSearch(cmd.Context(), show)
	} else {
		report, err = m.ToEngine(cmd.Context(), show)
	}
	bar.Finish()
	switch {
	case cmd.Context().Err() != nil && err != nil:
		return exit.With(exit.Interrupted, errors.New("interrupted; the library may still reject writes: to continue, run the same command again; to make the library accept writes, run vitrine migrate --cancel"))
	case err != nil:
		return err
	}
	return m.print(cmd.OutOrStdout(), report)
}

// print writes the report and the next steps.
func (m *migration) print(w io.Writer, r *transfer.Report) error {
	rows := make([][]string, len(r.Properties))
	total := int64(0)
	for i, p := range r.Properties {
		rows[i] = []string{string(p.Property), text.Thousands(p.Items), strconv.FormatInt(p.Sequence, 10), text.Thousands(int64(p.Tags)), p.Sum[:16]}
		total += p.Items
	}
	if err := output.Columns(w, []string{"PROPERTY", "ITEMS", "HIGHEST ID", "TAGS", "SHA-256"}, rows); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s and %s copied; the copy equals the original\n", text.Plural(total, "item"), text.Plural(int64(r.Definitions), "definition"))
	next := "--library=opensearch and the same --opensearch flags"
	if m.to == server.LibraryEngine {
		next = "--data-dir=" + m.DataDir + ", without the --opensearch flags"
	}
	fmt.Fprintf(w, "to use the copy, start the server with %s\n", next)
	fmt.Fprintln(w, "until then, the original library stays read-only; to keep using it instead, run vitrine migrate --cancel")
	return nil
}
