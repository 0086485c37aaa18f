package reference

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Library is a content library in one directory. Open makes one.
type Library struct {
	options Options
	lock    io.Closer
	sealer  *sealer

	requests chan request
	// closing is closed by Close, written by the writer when it has ended.
	closing, written chan struct{}
	closeOnce        sync.Once
	closeErr         error

	// mutate is held by whoever prepares a change of memory, mu by whoever makes it (and, for reading, by those who look
	// at memory). In this order.
	mutate sync.Mutex
	mu     sync.RWMutex
	memory *memory
	db     *database // for the writer, the eraser and State
	closed bool

	results *results
	tokens  *tokenFeed
	eraser  *eraser

	pinsMu sync.Mutex
	pins   pins

	// attempted is when the writer last tried to open a failed store again.
	attempted time.Time

	problemMu sync.Mutex
	problem   error
}

var _ library.Library = (*Library)(nil)

// Open opens the store in o.Dir, making it where there is none, and reads it into memory. Errors: *LockedError while
// another process has it open, *NewerFormatError when a newer Vitrine wrote it; one that says what to do when files are
// damaged or cannot be read. The Library must be closed.
func Open(o Options) (*Library, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := o.disk.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the store: %w", err)
	}
	lock, err := lockDir(o.disk, o.Dir, o.Clock())
	if err != nil {
		return nil, err
	}
	l := &Library{
		options: o, lock: lock, requests: make(chan request), closing: make(chan struct{}), written: make(chan struct{}),
		results: newResults(o.CachedResults), tokens: newTokenFeed(), pins: pins{},
	}
	if l.db, l.memory, err = l.openStore(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if l.sealer, err = newSealer(l.memory.authorKey); err != nil {
		return nil, errors.Join(err, l.db.close(), lock.Close())
	}
	l.tokens.set(tokensOf(l.memory.entries))
	l.eraser = newEraser(l)
	// The process before this one may have ended between a deletion and its erasure.
	l.eraser.wanted()
	go l.write()
	go l.eraser.run()
	return l, nil
}

// openStore opens the database and reads it.
func (l *Library) openStore() (*database, *memory, error) {
	o := l.options
	db, err := openDatabase(o.disk, o.disk.PathJoin(o.Dir, "pebble"), o.Logger)
	if err != nil {
		return nil, nil, fmt.Errorf("open store at %s: %w", o.Dir, advise(err))
	}
	var m *memory
	err = db.call(func() error {
		if err := checkFormat(db.pebble, o.Dir, format{Version: formatVersion, Needs: formatNeeds}, upgrades[:]); err != nil {
			return err
		}
		loaded, err := load(db.pebble, o.random, l.now())
		if err != nil {
			return fmt.Errorf("read store at %s: %w", o.Dir, err)
		}
		m = loaded
		return nil
	})
	if err != nil {
		return nil, nil, errors.Join(advise(err), db.close())
	}
	return db, m, nil
}

// advise says what to do about damaged files.
func advise(err error) error {
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("a file is damaged: restore the newest backup, or move the directory away to begin anew: %w", err)
	}
	return err
}

func (l *Library) now() time.Time { return l.options.Clock() }

// Close ends the library: requests that were taken are finished, later ones get ErrClosed. It can be called again.
func (l *Library) Close() error {
	l.closeOnce.Do(func() {
		close(l.closing)
		<-l.written
		l.eraser.stop()
		l.tokens.close()
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		l.closeErr = errors.Join(l.db.close(), l.lock.Close())
	})
	return l.closeErr
}

func (l *Library) setProblem(err error) {
	l.problemMu.Lock()
	defer l.problemMu.Unlock()
	l.problem = err
}

// State describes the library, see library.Library.
func (l *Library) State(context.Context) library.State {
	s, db := l.counts()
	if db == nil {
		s.Problem = "closed"
		return s
	}
	// The answer is taken over only once it is whole: a call to a database that fails may be left behind.
	answer := make(chan int64, 1)
	err := db.call(func() error {
		answer <- int64(db.pebble.Metrics().DiskSpaceUsage())
		return nil
	})
	if err == nil {
		s.DiskBytes = <-answer
	} else {
		l.problemMu.Lock()
		defer l.problemMu.Unlock()
		if l.problem != nil {
			err = l.problem
		}
		s.Problem = fmt.Sprintf("the store takes no writes: %v", err)
	}
	return s
}

// counts counts what is in memory, and returns the database to ask about the disk, nil once the library is closed.
func (l *Library) counts() (library.State, *database) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	s := library.State{
		Ready: !l.closed, Version: l.memory.version, PropertyItems: make(map[library.PropertyID]int64),
		Definitions: int64(len(l.memory.entries.bySource)),
	}
	for id, p := range l.memory.properties {
		n := int64(len(p.records))
		s.Items += n
		s.PropertyItems[id] = n
	}
	if l.closed {
		return s, nil
	}
	return s, l.db
}
