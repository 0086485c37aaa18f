package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/store/synced"
)

// Store is an open store. It implements library.Base: a library embeds a Store and adds the methods that search items. All methods are safe
// for concurrent use.
type Store struct {
	definitions.Reads
	options Options
	index   Index
	lock    io.Closer
	sealer  *library.Sealer
	tokens  *definitions.TokenFeed
	eraser  *eraser
	waiters waiters

	requests chan request
	// closing is closed by Close. written is closed by the writer when it ends.
	closing, written chan struct{}
	closeOnce        sync.Once
	closeErr         error

	// holding is locked by the writer while it prepares, commits and installs a batch. mu is locked by the writer while it makes the batch
	// visible, and read-locked by readers. A goroutine that needs both must lock holding first.
	holding sync.Mutex
	mu      sync.RWMutex
	served  *served
	db      *database
	closed  bool

	// attempted is the time at which the writer last tried to reopen a failed store. pause is the minimum time until the next attempt.
	attempted time.Time
	pause     time.Duration
	// trimmed is the time at which the writer last looked for old entries of journals.
	trimmed time.Time

	problemMu sync.Mutex
	problem   error
}

var _ library.Base = (*Store)(nil)

// databaseName is the name of Pebble's directory in the directory of the store.
const databaseName = "pebble"

// Open opens the store in o.Dir, and creates it if there is none. Then it calls index.Load. It fails with *LockedError if another process
// has the store open, and with *NewerFormatError if a newer Vitrine wrote it. If files are damaged or cannot be read, the error says what
// to do. If the error is a *synced.DamageError, Open has changed nothing. The caller must call Close.
func Open(o Options, index Index) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := synced.MkdirAll(o.FS, o.Dir); err != nil {
		return nil, fmt.Errorf("create the directory of the store: %w", err)
	}
	lock, err := lockDir(o.FS, o.Dir, o.Clock())
	if err != nil {
		return nil, err
	}
	s := &Store{
		options: o, index: index, lock: lock, tokens: definitions.NewTokenFeed(),
		requests: make(chan request), closing: make(chan struct{}), written: make(chan struct{}),
	}
	s.Reads = s.current
	if err := s.open(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.eraser = newEraser(s)
	// Start an erasure, because the previous process may have ended between a deletion and the erasure of the data.
	s.eraser.wanted()
	go s.write()
	go s.eraser.run()
	return s, nil
}

// open opens the database, loads the data for memory, and calls Index.Load. If open fails, the store is unchanged.
func (s *Store) open() error {
	o := s.options
	dir := o.FS.PathJoin(o.Dir, databaseName)
	readable, err := openForCheck(o, dir)
	loss, _ := errors.AsType[*synced.DamageError](err)
	if loss != nil && loss.Loss() != "" && loss.Loss() == o.AcceptLoss {
		if err = synced.Accept(o.FS, loss); err == nil {
			o.Logger.Error("the store opens without acknowledged data, because the loss was accepted", slog.Any("damage", loss))
			readable, err = openForCheck(o, dir)
		}
	}
	if err != nil {
		return err
	}
	db, err := openDatabase(o, dir, false)
	if s.db == nil && readable != nil && vfs.IsNoSpaceError(err) {
		// The disk is full, and the store has no earlier database that it could continue to read. Serve reads from the database that is open
		// read-only. The writer reopens it for writing later.
		readable.fail(err)
		db, readable, err = readable, nil, nil
	}
	if readable != nil {
		err = errors.Join(err, readable.close())
	}
	if err != nil && db != nil {
		err = errors.Join(err, db.close())
	}
	if err != nil {
		return fmt.Errorf("open store at %s: %w", o.Dir, advise(err))
	}
	if db.accepted = loss; loss == nil && s.db != nil {
		db.accepted = s.db.accepted // the process still serves a store without this data
	}
	found, err := loadServed(o, db)
	if err != nil {
		return errors.Join(advise(err), db.failure(), db.close())
	}
	if s.sealer == nil {
		if s.sealer, err = library.NewSealer(found.authorKey); err != nil {
			return errors.Join(err, db.close())
		}
	}
	oldDB, oldServed := s.publish(db, found)
	if err := s.index.Load(s); err != nil {
		s.publish(oldDB, oldServed)
		return errors.Join(fmt.Errorf("read store at %s: %w", o.Dir, advise(err)), db.close())
	}
	s.tokens.Set(found.set.Tokens())
	if oldDB != nil {
		return oldDB.close()
	}
	return nil
}

// loadServed checks the format of a database, and reads what the store keeps in memory. After a restore, it renews the keys of the store.
func loadServed(o Options, db *database) (found *served, err error) {
	err = db.read(func() error {
		if err := checkFormat(db.pebble, o.Dir, format{Version: formatVersion, Needs: formatNeeds}, upgrades()); err != nil {
			return err
		}
		restored, err := isRestored(o.FS, o.Dir)
		if err != nil {
			return err
		}
		var renew []string
		if restored {
			renew = []string{keyStore, keyJournal}
		} else if db.accepted != nil {
			renew = []string{keyJournal} // the numbers of the lost batches will be used again
		}
		if db.readOnly { // it is opened again later
			renew = nil
		}
		if found, err = load(db.pebble, o.Random, renew...); err != nil {
			return fmt.Errorf("read store at %s: %w", o.Dir, err)
		}
		if restored && !db.readOnly {
			return forgetRestore(o.FS, o.Dir)
		}
		return nil
	})
	return found, err
}

// openForCheck opens an existing database read-only and reads everything that open reads, so that open does not change a database that it
// then refuses. It returns nil if there is no database. The caller must close the returned one.
func openForCheck(o Options, dir string) (*database, error) {
	names, err := databaseFiles(o.FS, dir)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	if !slices.ContainsFunc(names, isMarker) && !slices.ContainsFunc(names, isData) {
		_, err := synced.Check(o.FS, dir) // a ledger may name files that are missing
		if err != nil {
			return nil, fmt.Errorf("open store at %s: %w", o.Dir, advise(err))
		}
		return nil, nil
	}
	db, err := openDatabase(o, dir, true)
	if err != nil {
		return nil, fmt.Errorf("open store at %s: %w", o.Dir, advise(err))
	}
	for _, t := range db.found.Torn {
		o.Logger.Warn("the last write to a file was interrupted; it was not acknowledged and is ignored",
			slog.String("file", t.File), slog.Int64("offset", t.Offset), slog.Int64("bytes", t.Bytes))
	}
	err = db.read(func() error {
		stamp, err := requireFormat(db.pebble, o.Dir, formatVersion)
		if err != nil {
			return err
		}
		found, err := loadKeys(db.pebble)
		if err != nil {
			return fmt.Errorf("read store at %s: %w", o.Dir, err)
		}
		hadLedger, err := get(db.pebble, []byte(keyLedger))
		switch {
		case err != nil:
			return fmt.Errorf("read store at %s: %w", o.Dir, err)
		case hadLedger != nil && !db.found.Ledger:
			return fmt.Errorf("open store at %s: %w", o.Dir, synced.Missing(dir, found.version))
		case found.version < db.found.Version:
			return fmt.Errorf("open store at %s: %w", o.Dir, synced.RolledBack(dir, found.version, db.found.Version))
		case stamp.Version == 0 && slices.ContainsFunc(names, isTable):
			return fmt.Errorf("store at %s: the MANIFEST of the database names no table, but there are tables: "+
				"restore the newest backup, or move the directory away to start with an empty store", o.Dir)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(advise(err), db.close())
	}
	return db, nil
}

// publish replaces the database and the data in memory, and returns the previous ones. It wakes the calls of Changes, because the last batch
// may have been stored although its commit failed.
func (s *Store) publish(db *database, now *served) (*database, *served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldDB, oldServed := s.db, s.served
	s.db, s.served = db, now
	s.waiters.wakeAll()
	return oldDB, oldServed
}

// advise adds advice to an error if it means that files are damaged.
func advise(err error) error {
	if _, ok := errors.AsType[*synced.DamageError](err); ok {
		return fmt.Errorf("a file is damaged: %w (restore the newest backup, or move the directory away to start with an empty store; if the "+
			"files were copied while a server used them, copy them again after it has ended)", err)
	}
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("a file is damaged: %w (restore the newest backup, or move the directory away to start with an empty store)", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("a file is missing: %w (restore the newest backup, or move the directory away to start with an empty store)", err)
	}
	return err
}

// Close closes the store and the index. The store completes accepted requests, and refuses later ones with ErrClosed. Close can be called
// again.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		close(s.closing)
		<-s.written
		s.eraser.stop()
		s.tokens.Close()
		s.index.Close()
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.closeErr = errors.Join(s.db.close(), s.lock.Close())
	})
	return s.closeErr
}

// Hold waits until the current batch is complete, and calls f while no batch is being prepared, committed or installed.
func (s *Store) Hold(f func() error) error {
	s.holding.Lock()
	defer s.holding.Unlock()
	return f()
}

// Now returns the time of the store's clock.
func (s *Store) Now() time.Time { return s.options.Clock() }

// database returns the open database, or ErrClosed.
func (s *Store) database() (*database, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, library.ErrClosed
	}
	return s.db, nil
}

// ask calls look with the open database.
func ask[T any](s *Store, look func(*pebble.DB) (T, error)) (T, error) {
	var zero T
	db, err := s.database()
	if err != nil {
		return zero, err
	}
	answer := make(chan T, 1) // received only if read succeeds, because look may otherwise still be running
	err = db.read(func() error {
		found, err := look(db.pebble)
		if err == nil {
			answer <- found
		}
		return err
	})
	if err != nil {
		return zero, fmt.Errorf("read the store: %w", err)
	}
	return <-answer, nil
}

func (s *Store) setProblem(err error) {
	s.problemMu.Lock()
	defer s.problemMu.Unlock()
	s.problem = err
}

// State describes the store (see library.Library). Ready is true until the store is closed.
func (s *Store) State(context.Context) library.State {
	state := s.counts()
	if !state.Ready {
		state.Problem = "closed"
		return state
	}
	m, err := s.metrics()
	if err == nil {
		state.DiskBytes = int64(m.DiskSpaceUsage())
		return state
	}
	s.problemMu.Lock()
	defer s.problemMu.Unlock()
	if s.problem != nil {
		err = s.problem
	}
	state.Problem = fmt.Sprintf("the store rejects writes: %v", err)
	return state
}

// counts returns a State with the members that are known from memory. Ready is true until the store is closed.
func (s *Store) counts() library.State {
	s.mu.RLock()
	defer s.mu.RUnlock()
	state := library.State{
		Ready: !s.closed, Version: s.served.version, PropertyItems: make(map[library.PropertyID]int64, len(s.served.properties)),
		Definitions: int64(s.served.set.Len()),
	}
	if loss := s.db.accepted; loss != nil {
		state.Loss = loss.Error()
	}
	for id, p := range s.served.properties {
		state.Items += p.items
		state.PropertyItems[id] = p.items
	}
	return state
}

// Memory returns how much memory the database uses outside the Go heap for memtables and cached blocks, in bytes. After a failure of the
// store, it returns 0.
func (s *Store) Memory() int64 {
	m, err := s.metrics()
	if err != nil {
		return 0
	}
	return int64(m.MemTable.Size+m.MemTable.ZombieSize) + m.BlockCache.Size
}
