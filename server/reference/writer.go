package reference

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/library"
)

// maxGroup is how many requests at most share one commit: enough to make an fsync cheap, few enough that the first does
// not wait for long.
const maxGroup = 256

// request is what a caller asks the writer for.
type request struct {
	// stage looks at what is there and adds to the change. It must leave the change as it was when it returns an error,
	// which is the caller's answer then.
	stage func(*change) error
	// alone requests share their commit with nobody: they look at definitions, which other requests must not change
	// under them before they are judged.
	alone bool
	ctx   context.Context
	done  chan error // one answer
}

// do has the writer stage and commit one request, and returns when it is durable and visible, or refused.
func (l *Library) do(ctx context.Context, alone bool, stage func(*change) error) error {
	r := request{stage: stage, alone: alone, ctx: ctx, done: make(chan error, 1)}
	select {
	case l.requests <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-l.closing:
		return library.ErrClosed
	}
	// Once taken, a request is answered: what the caller hears is always what happened.
	return <-r.done
}

// write is the writer's loop; it ends when the library closes.
func (l *Library) write() {
	defer close(l.written)
	var next *request
	for {
		group := make([]request, 0, 8)
		if next != nil {
			group, next = append(group, *next), nil
		} else {
			select {
			case r := <-l.requests:
				group = append(group, r)
			case <-l.failed():
				continue
			case <-l.retry():
				l.reopen()
				continue
			case <-l.closing:
				l.refuseAll()
				return
			}
		}
		for !group[0].alone && len(group) < maxGroup && next == nil {
			select {
			case r := <-l.requests:
				if r.alone {
					next = &r
				} else {
					group = append(group, r)
				}
				continue
			default:
			}
			break
		}
		l.serve(group)
	}
}

// refuseAll answers the requests that came while the library closed.
func (l *Library) refuseAll() {
	for {
		select {
		case r := <-l.requests:
			r.done <- library.ErrClosed
		default:
			return
		}
	}
}

// serve stages a group of requests, commits them in one batch, makes them visible and answers.
func (l *Library) serve(group []request) {
	l.mutate.Lock()
	defer l.mutate.Unlock()
	if err := l.recoverStore(); err != nil {
		for _, r := range group {
			r.done <- err
		}
		return
	}
	c := newChange(l)
	staged := make([]request, 0, len(group))
	for _, r := range group {
		err := r.ctx.Err()
		if err == nil {
			err = r.stage(c)
		}
		if err != nil {
			r.done <- err
			continue
		}
		staged = append(staged, r)
	}
	err := l.commit(c)
	for _, r := range staged {
		r.done <- err
	}
}

// commit makes a change durable, then visible.
func (l *Library) commit(c *change) error {
	if c.empty() {
		return nil
	}
	b := l.db.pebble.NewBatch()
	install, err := c.prepare(b)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	if err := l.db.commit(b); err != nil {
		return unavailable(err)
	}
	l.mu.Lock()
	install()
	l.mu.Unlock()
	c.announce()
	return nil
}

// failed ends the wait for requests when the store fails; once it has, retry does so when it is time to open it again.
func (l *Library) failed() <-chan struct{} {
	if l.db.failure() != nil {
		return nil
	}
	return l.db.failed
}

func (l *Library) retry() <-chan time.Time {
	if l.db.failure() == nil {
		return nil
	}
	return time.After(time.Until(l.attempted.Add(l.options.retryAfter)))
}

// reopen opens a failed store again although nobody writes: a library that is not ready may not be asked to.
func (l *Library) reopen() {
	l.mutate.Lock()
	defer l.mutate.Unlock()
	if err := l.recoverStore(); err != nil {
		l.options.Logger.Warn("the store cannot be opened again yet", slog.Any("error", err))
	}
}

// recoverStore opens the store anew after an I/O error, unless that was tried just now. Memory is made anew as well:
// nobody knows whether the batch that failed is there.
func (l *Library) recoverStore() error {
	failure := l.db.failure()
	if failure == nil {
		return nil
	}
	if time.Since(l.attempted) < l.options.retryAfter {
		return unavailable(failure)
	}
	l.attempted = time.Now()
	err := probe(l.options.disk, l.options.disk.PathJoin(l.options.Dir, probeName))
	var db *database
	var m *memory
	if err == nil {
		db, m, err = l.openStore()
	}
	if err != nil {
		l.setProblem(err)
		return unavailable(err)
	}
	l.options.Logger.Info("the store is open again")
	old := l.db
	l.mu.Lock()
	l.db, l.memory = db, m
	l.results.clear()
	l.mu.Unlock()
	l.setProblem(nil)
	l.tokens.set(tokensOf(m.entries))
	return old.close()
}

// probeName is a file that is written to see whether the disk takes anything; probeSize is how much, enough for the log of
// a store that was just opened. An opening that fails later leaves memory behind, so it is not tried in vain.
const (
	probeName = "PROBE"
	probeSize = 1 << 20
)

func probe(disk vfs.FS, name string) error {
	f, err := disk.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("see whether the disk can be written to: %w", err)
	}
	_, err = f.Write(make([]byte, probeSize))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close(), disk.Remove(name)); err != nil {
		return fmt.Errorf("see whether the disk can be written to: %w", err)
	}
	return nil
}

// unavailable says that nothing can be written now.
func unavailable(err error) error {
	return fmt.Errorf("%w: %w", library.ErrUnavailable, err)
}

// setNumber puts a number into a batch.
func setNumber(b *pebble.Batch, key []byte, n uint64) error { return b.Set(key, encodeNumber(n), nil) }
