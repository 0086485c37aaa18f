package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/backup"
	"github.com/vitrine-dev/vitrine/internal/version"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// operations implements the operations that a server process offers on its admin socket.
type operations struct {
	lib      library.Library
	operator *cluster.Supervisor // nil if the server runs without Kubernetes
	dataDir  string
	log      *slog.Logger
	// copies counts the backups and migrations in progress. The library must stay open until they have ended.
	copies sync.WaitGroup
	// backups is the last report about scheduled backups, or nil.
	backups atomic.Pointer[admin.Backups]
	// migrating is locked during a migration.
	migrating sync.Mutex
}

var _ admin.Operations = (*operations)(nil)

// Sweep implements admin.Operations.
func (o *operations) Sweep(context.Context) (admin.Sweep, error) {
	if o.operator == nil {
		return admin.Sweep{}, nil
	}
	status := o.operator.Status()
	if status.Standby {
		return admin.Sweep{}, errors.New(status.Message)
	}
	s := admin.Sweep{Kubernetes: true, Message: status.Message}
	if held := status.HeldSweep; held != nil {
		s.Held, s.Remove, s.Total = true, held.Remove, held.Total
	}
	return s, nil
}

// ConfirmSweep implements admin.Operations.
func (o *operations) ConfirmSweep(ctx context.Context) (int, error) {
	if o.operator == nil {
		return 0, errors.New("nothing waits for confirmation: this server does not follow a cluster")
	}
	n, err := o.operator.ConfirmSweep(ctx)
	o.log.Info("sweep confirmed", "removed", n, "failed", err != nil)
	return n, err
}

// Stored implements admin.Operations.
func (o *operations) Stored(ctx context.Context) (map[library.PropertyID]int64, error) {
	s := o.lib.State(ctx)
	if !s.Ready && len(s.PropertyItems) == 0 {
		return nil, fmt.Errorf("%w: %s", library.ErrUnavailable, s.Problem)
	}
	return s.PropertyItems, nil
}

// Purge implements admin.Operations.
func (o *operations) Purge(ctx context.Context, p library.PropertyID) error {
	err := o.lib.Purge(ctx, p)
	if managed, ok := errors.AsType[*library.ManagedError](err); ok {
		return fmt.Errorf("property %s is still declared by the manifest of %s: delete that manifest first", p, managed.Owner)
	}
	o.log.Info("property purged", "property", p, "failed", err != nil)
	return err
}

// checkpointer is a library whose store can be copied while the library is in use. VerifyCopy fails if the copy in a directory cannot be
// opened and indexed.
type checkpointer interface {
	Census() store.Census
	Checkpoint(ctx context.Context, dir string) (store.Census, error)
	VerifyCopy(ctx context.Context, dir string) error
}

// checkpointer returns the library, if it can be backed up.
func (o *operations) checkpointer() (checkpointer, error) {
	lib, ok := o.lib.(checkpointer)
	if !ok {
		return nil, errors.New("vitrine backup copies only libraries in a data directory, and this library is on OpenSearch: take a snapshot of the OpenSearch cluster")
	}
	return lib, nil
}

// Census implements admin.Operations.
func (o *operations) Census(context.Context) (backup.Census, error) {
	lib, err := o.checkpointer()
	if err != nil {
		return backup.Census{}, err
	}
	return backup.Census(lib.Census()), nil
}

// checkpointPrefix is the prefix of the names of the directories, in the data directory, that hold a copy during a backup.
const checkpointPrefix = ".backup-"

// Backup implements admin.Operations. It copies the store with hard links, indexes the copy in memory on one processor to verify it, and
// then sends the copy. If the copy cannot be indexed, Backup sends it only if EvenDamaged is true.
func (o *operations) Backup(ctx context.Context, w io.Writer, wanted admin.BackupOptions) (damage, err error) {
	lib, err := o.checkpointer()
	if err != nil {
		return nil, err
	}
	if id := lib.Census().Store; wanted.Store != "" && wanted.Store != id {
		return nil, fmt.Errorf("the server now uses the store %s, and not %s", id, wanted.Store)
	}
	o.copies.Add(1)
	defer o.copies.Done()
	dir, err := os.MkdirTemp(o.dataDir, checkpointPrefix)
	if err != nil {
		return nil, fmt.Errorf("create a directory for the copy: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	began := time.Now()
	census, err := lib.Checkpoint(ctx, dir)
	if err != nil {
		return nil, err
	}
	damage = lib.VerifyCopy(ctx, dir)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case damage != nil && !wanted.EvenDamaged:
		return nil, fmt.Errorf("%w; save the readable items with vitrine export, or copy the store as it is with vitrine backup --even-damaged", damage)
	}
	err = backup.Write(ctx, w, backup.DatabaseIn(dir), backup.Header{Vitrine: version.Get().Version, Created: began.UTC(), Census: backup.Census(census)})
	o.log.Info("backup", "took", time.Since(began).Round(time.Millisecond), "failed", err != nil, "damage", damage)
	return damage, err
}

// ReportBackups implements admin.Operations.
func (o *operations) ReportBackups(_ context.Context, b admin.Backups) error {
	if lib, err := o.checkpointer(); err != nil || b.Store != "" && b.Store != lib.Census().Store {
		return err // the report is about the backups of a store that this server no longer uses
	}
	o.backups.Store(&b)
	return nil
}

// Migrate implements admin.Operations.
func (o *operations) Migrate(ctx context.Context, to admin.OpenSearch, progress func(transfer.Progress)) (*transfer.Report, error) {
	from, ok := o.lib.(migratable)
	if _, there := from.(lockedLibrary); !ok || there {
		return nil, errors.New("the library of this server is already on OpenSearch; to move it back, run vitrine migrate --to=engine with a new data directory")
	}
	if !o.migrating.TryLock() {
		return nil, errors.New("another migration is in progress: wait until it ends, or stop its vitrine migrate command")
	}
	defer o.migrating.Unlock()
	o.copies.Add(1)
	defer o.copies.Done()
	began := time.Now()
	report, err := migrateToOpenSearch(ctx, from.Source(), to, progress, o.log)
	o.log.Info("migration to OpenSearch", "took", time.Since(began).Round(time.Millisecond), "error", err)
	return report, err
}

// CancelMigration implements admin.Operations.
func (o *operations) CancelMigration(ctx context.Context) (aboutCopy string, err error) {
	lib, ok := o.lib.(migratable)
	if !ok {
		return "", errors.New("this library cannot be migrated")
	}
	if !o.migrating.TryLock() {
		return "", errors.New("a migration is in progress: first stop the running vitrine migrate command")
	}
	defer o.migrating.Unlock()
	aboutCopy, err = cancelMigration(ctx, lib.Source())
	o.log.Info("migration cancelled", "copy", aboutCopy, "error", err)
	return aboutCopy, err
}

// removeCheckpoints removes the copies that an earlier process left in the data directory because it ended during a backup.
func removeCheckpoints(dataDir string) error {
	left, err := filepath.Glob(filepath.Join(dataDir, checkpointPrefix+"*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}
