package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/cli/message"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/engine"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch"
	"github.com/vitrine-dev/vitrine/server/store"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// migratable is a library that can be the source of a migration.
type migratable interface {
	library.Library
	Source() transfer.Source
}

// migration contains the flags of migrate.
type migration struct {
	to      string
	cancel  bool
	dataDir string
	cluster opensearchFlags
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
				return m.thaw(cmd)
			}
			return m.run(cmd)
		},
	}
	cmd.Flags().StringVar(&m.to, "to", "", "where to copy the library: opensearch, or engine (a new data directory)")
	cmd.Flags().BoolVar(&m.cancel, "cancel", false, "cancel the migration, so that the original library accepts writes again (the library on OpenSearch if --opensearch-url is set, otherwise the library in the data directory)")
	bindDataDir(cmd.Flags(), &m.dataDir)
	m.cluster.bind(cmd.Flags())
	return cmd
}

func (m *migration) validate() error {
	switch {
	case m.cancel == (m.to != ""):
		return exit.Usagef("pass exactly one of --to=%s, --to=%s and --cancel", libraryOpenSearch, libraryEngine)
	case m.to != "" && m.to != libraryOpenSearch && m.to != libraryEngine:
		return exit.Usagef("--to %q: must be %s or %s", m.to, libraryOpenSearch, libraryEngine)
	case len(m.cluster.urls) == 0 && m.to != "":
		return exit.Usagef("--to=%s needs --opensearch-url", m.to)
	case len(m.cluster.urls) == 0:
		return nil
	}
	return m.cluster.check()
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
	if m.to == libraryOpenSearch {
		report, err = m.toOpenSearch(cmd.Context(), show)
	} else {
		report, err = m.toEngine(cmd.Context(), show)
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

// toOpenSearch asks the server to copy its library. If no server runs, it copies the store in the data directory itself.
func (m *migration) toOpenSearch(ctx context.Context, progress func(transfer.Progress)) (report *transfer.Report, err error) {
	to, err := m.cluster.forServer()
	if err != nil {
		return nil, err
	}
	report, err = admin.NewClient(m.dataDir).Migrate(ctx, to, progress)
	if !errors.Is(err, admin.ErrNoServer) {
		return report, err
	}
	lib, err := m.openStore()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lib.Close()) }()
	return migrateToOpenSearch(ctx, lib.Source(), to, progress, slog.New(slog.DiscardHandler))
}

// migrateToOpenSearch copies a library to a cluster.
func migrateToOpenSearch(ctx context.Context, from transfer.Source, to admin.OpenSearch, progress func(transfer.Progress), log *slog.Logger) (*transfer.Report, error) {
	target, err := opensearch.OpenTarget(ctx, clusterOptions(to, log))
	if err != nil {
		return nil, fmt.Errorf("reach OpenSearch: %w", err)
	}
	if from, ok := from.(transfer.Noted); ok {
		note, err := json.Marshal(to)
		if err == nil {
			err = from.Note(ctx, string(note))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("note the target of the migration: %w", err), target.Close())
		}
	}
	return migrate(ctx, from, target, progress)
}

func clusterOptions(to admin.OpenSearch, log *slog.Logger) opensearch.Options {
	return opensearch.Options{
		URLs: to.URLs, UsernameFile: to.UsernameFile, PasswordFile: to.PasswordFile, CAFile: to.CAFile, AllowHTTP: to.AllowHTTP,
		Prefix: to.Prefix, Logger: log,
	}
}

// cancelTimeout is the time limit for cancelling the copy of a migration, so that an unreachable cluster does not keep the original from
// accepting writes.
const cancelTimeout = 15 * time.Second

// cancelMigration makes a library accept writes again. Before that, it makes sure that the copy on OpenSearch cannot be opened, unless the
// copy is in use or unreachable. aboutCopy describes the state of the copy in a sentence for users.
func cancelMigration(ctx context.Context, from transfer.Source) (aboutCopy string, err error) {
	aboutCopy = "you can delete the copy"
	if noted, ok := from.(transfer.Noted); ok {
		note, err := noted.Noted(ctx)
		if err != nil {
			return "", err
		}
		freeze, err := from.Frozen(ctx)
		if err != nil {
			return "", err
		}
		if note != "" && freeze != "" {
			aboutCopy = cancelCopy(ctx, note, freeze)
		}
	}
	return aboutCopy, from.Thaw(ctx)
}

func cancelCopy(ctx context.Context, note string, freeze transfer.Freeze) string {
	var to admin.OpenSearch
	state, err := opensearch.CopyNone, json.Unmarshal([]byte(note), &to)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
		defer cancel()
		state, err = opensearch.CancelCopy(ctx, clusterOptions(to, slog.New(slog.DiscardHandler)), freeze)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("the copy could not be marked as cancelled (%s), so a server can still open it: delete the indices %s-* on OpenSearch", message.OneLine(err), to.Prefix)
	case state == opensearch.CopyCancelled:
		return fmt.Sprintf("the copy can no longer be opened: delete the indices %s-* on OpenSearch", to.Prefix)
	case state == opensearch.CopyUsed:
		return fmt.Sprintf("the copy was used since the migration, and accepts the same tokens as the original: delete the indices %s-* on OpenSearch if you keep the original", to.Prefix)
	}
	return fmt.Sprintf("you can delete the indices %s-* on OpenSearch if they contain an unfinished copy", to.Prefix)
}

// closingTarget is a target that must be closed.
type closingTarget interface {
	transfer.Target
	io.Closer
}

// migrate copies a library, and closes the target. If the copy fails and the source stays frozen, the error says so.
func migrate(ctx context.Context, from transfer.Source, to closingTarget, progress func(transfer.Progress)) (*transfer.Report, error) {
	report, err := transfer.Copy(ctx, from, to, progress)
	if err = errors.Join(err, to.Close()); err == nil {
		return report, nil
	}
	if frozen, failed := from.Frozen(context.WithoutCancel(ctx)); failed == nil && frozen != "" {
		err = fmt.Errorf("%w; the library still rejects writes: to continue, run the same command again; to make the library accept writes, run vitrine migrate --cancel", err)
	}
	return nil, err
}

// toEngine copies the library on OpenSearch to a new data directory. It opens the library on OpenSearch as a further replica does, so the
// servers on the library can continue to run.
func (m *migration) toEngine(ctx context.Context, progress func(transfer.Progress)) (report *transfer.Report, err error) {
	lib, err := m.openCluster(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lib.Close()) }()
	to, err := store.OpenTarget(store.Options{Dir: m.dataDir})
	if err != nil {
		return nil, exit.With(exit.Store, err)
	}
	return migrate(ctx, lib.Source(), to, progress)
}

// thaw makes a library accept writes again.
func (m *migration) thaw(cmd *cobra.Command) (err error) {
	ctx := cmd.Context()
	done := func(aboutCopy string, err error) error {
		if err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "the original library accepts writes again; %s\n", aboutCopy)
		}
		return err
	}
	var lib migratable
	if len(m.cluster.urls) > 0 {
		if revived, err := opensearch.ReviveCopy(ctx, m.cluster.options(nil)); err != nil {
			return exit.With(exit.Store, fmt.Errorf("find the library on OpenSearch: %w", err))
		} else if revived {
			fmt.Fprintln(cmd.OutOrStdout(), "this copy can be opened again; its original accepts the same tokens, so do not use both")
		}
		lib, err = m.openCluster(ctx)
	} else {
		if aboutCopy, err := admin.NewClient(m.dataDir).CancelMigration(ctx); !errors.Is(err, admin.ErrNoServer) {
			return done(aboutCopy, err)
		}
		lib, err = m.openStore()
	}
	if err != nil {
		return err
	}
	aboutCopy, err := cancelMigration(ctx, lib.Source())
	return done(aboutCopy, errors.Join(err, lib.Close()))
}

// openStore opens the library in the data directory, which must exist.
func (m *migration) openStore() (migratable, error) {
	made, err := store.Made(vfs.Default, m.dataDir)
	if err == nil && !made {
		err = fmt.Errorf("%s contains no store: set --data-dir to the data directory of the server", m.dataDir)
	}
	if err != nil {
		return nil, exit.With(exit.Store, err)
	}
	lib, err := engine.Open(engine.Options{Dir: m.dataDir})
	if err != nil {
		return nil, exit.With(exit.Store, err)
	}
	return lib, nil
}

// openCluster opens the library on OpenSearch, which must exist.
func (m *migration) openCluster(ctx context.Context) (migratable, error) {
	options := m.cluster.options(nil)
	options.MustExist = true
	lib, err := opensearch.Open(ctx, options)
	if err != nil {
		return nil, exit.With(exit.Store, fmt.Errorf("open the library on OpenSearch: %w", err))
	}
	return lib, nil
}

// forServer returns the flags with absolute paths, because the working directory of the server can differ from that of this command.
func (f *opensearchFlags) forServer() (admin.OpenSearch, error) {
	to := admin.OpenSearch{
		URLs: f.urls, UsernameFile: f.usernameFile, PasswordFile: f.passwordFile, CAFile: f.caFile, AllowHTTP: f.allowPlaintext, Prefix: f.prefix,
	}
	for _, file := range []*string{&to.UsernameFile, &to.PasswordFile, &to.CAFile} {
		if *file == "" {
			continue
		}
		path, err := filepath.Abs(*file)
		if err == nil {
			_, err = os.Stat(path) // here, because the server would return the error without its type
		}
		if err != nil {
			return to, err
		}
		*file = path
	}
	return to, nil
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
	if m.to == libraryEngine {
		next = "--data-dir=" + m.dataDir + ", without the --opensearch flags"
	}
	fmt.Fprintf(w, "to use the copy, start the server with %s\n", next)
	fmt.Fprintln(w, "until then, the original library stays read-only; to keep using it instead, run vitrine migrate --cancel")
	return nil
}
