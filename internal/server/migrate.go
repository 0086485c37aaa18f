package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/cli/message"
	"github.com/vitrine-dev/vitrine/internal/exit"
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

// Migration copies the library in a data directory to a cluster, or back, and cancels such a copy.
type Migration struct {
	DataDir    string
	OpenSearch OpenSearch
}

// ToOpenSearch asks the server to copy its library. If no server runs, it copies the store in the data directory itself.
func (m *Migration) ToOpenSearch(ctx context.Context, progress func(transfer.Progress)) (report *transfer.Report, err error) {
	to, err := m.OpenSearch.forServer()
	if err != nil {
		return nil, err
	}
	report, err = admin.NewClient(m.DataDir).Migrate(ctx, to, progress)
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

// ToEngine copies the library on OpenSearch to a new data directory. It opens the library on OpenSearch as a further replica does, so the
// servers on the library can continue to run.
func (m *Migration) ToEngine(ctx context.Context, progress func(transfer.Progress)) (report *transfer.Report, err error) {
	lib, err := m.openCluster(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lib.Close()) }()
	to, err := store.OpenTarget(store.Options{Dir: m.DataDir})
	if err != nil {
		return nil, exit.With(exit.Store, err)
	}
	return migrate(ctx, lib.Source(), to, progress)
}

// Cancel makes a library accept writes again, and writes to out what became of the copy.
func (m *Migration) Cancel(ctx context.Context, out io.Writer) (err error) {
	done := func(aboutCopy string, err error) error {
		if err == nil {
			fmt.Fprintf(out, "the original library accepts writes again; %s\n", aboutCopy)
		}
		return err
	}
	var lib migratable
	if len(m.OpenSearch.URLs) > 0 {
		if revived, err := opensearch.ReviveCopy(ctx, m.OpenSearch.options(nil)); err != nil {
			return exit.With(exit.Store, fmt.Errorf("find the library on OpenSearch: %w", err))
		} else if revived {
			fmt.Fprintln(out, "this copy can be opened again; its original accepts the same tokens, so do not use both")
		}
		lib, err = m.openCluster(ctx)
	} else {
		if aboutCopy, err := admin.NewClient(m.DataDir).CancelMigration(ctx); !errors.Is(err, admin.ErrNoServer) {
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
func (m *Migration) openStore() (migratable, error) {
	made, err := store.Made(vfs.Default, m.DataDir)
	if err == nil && !made {
		err = fmt.Errorf("%s contains no store: set --data-dir to the data directory of the server", m.DataDir)
	}
	if err != nil {
		return nil, exit.With(exit.Store, err)
	}
	lib, err := engine.Open(engine.Options{Dir: m.DataDir})
	if err != nil {
		return nil, exit.With(exit.Store, err)
	}
	return lib, nil
}

// openCluster opens the library on OpenSearch, which must exist.
func (m *Migration) openCluster(ctx context.Context) (migratable, error) {
	options := m.OpenSearch.options(nil)
	options.MustExist = true
	lib, err := opensearch.Open(ctx, options)
	if err != nil {
		return nil, exit.With(exit.Store, fmt.Errorf("open the library on OpenSearch: %w", err))
	}
	return lib, nil
}
