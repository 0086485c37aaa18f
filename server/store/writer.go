package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/library"
)

// maxGroup is the maximum number of requests that share one commit. It is large enough to make an fsync cheap, and small enough that the
// first request does not wait for long. A group is also complete when it has maxGroupItems mutations, or when the size of its texts reaches
// MemoryBytes/groupShare, because storing and indexing a text takes about twenty times its length in memory.
const (
	maxGroup      = 256
	maxGroupItems = 8192
	groupShare    = 16
)

// size returns the approximate size in bytes of the texts that mutations stage.
func size(muts []library.Mutation) int64 {
	const other = 4 << 10 // size of an item that is changed but not put
	n := int64(0)
	for _, m := range muts {
		if it := m.Put; it != nil {
			n += int64(len(it.Content.Text) + len(it.Submission) + len(it.Configuration))
		} else {
			n += other * int64(max(1, len(m.IDs)))
		}
	}
	return n
}

// request asks the writer for a change.
type request struct {
	// stage reads the current state and adds to the change. If it fails, it must leave the change as it was, and the caller gets its error.
	// If the group cannot be committed, the writer may call stage again with a new change.
	stage func(*change) error
	// property and mutations are set for a Write. The lookups of all Writes in a group run together (see change.fetch).
	property  library.PropertyID
	mutations []library.Mutation
	shares    shares
	// thaws is true for requests that a frozen store accepts (see Store.Freeze).
	thaws bool
	ctx   context.Context
	done  chan error // receives one reply
}

// shares says which requests can share a commit, and thus an fsync. Each request of a group sees the changes that earlier requests of the
// group staged. It therefore gets the same reply as if the requests were committed separately, in order of arrival.
type shares uint8

const (
	// withItems is the class of requests that change items or marks.
	withItems shares = iota
	// withDefinitions is the class of requests that change definitions. They look up items only in the database, so a group with such
	// requests must not stage items.
	withDefinitions
	// withNothing is the class of requests that cannot share a commit.
	withNothing
)

// do passes a request to the writer. It returns when the change is durable and visible, or when the request is refused.
func (s *Store) do(ctx context.Context, r request) error {
	r.ctx, r.done = ctx, make(chan error, 1)
	select {
	case s.requests <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return library.ErrClosed
	}
	// An accepted request always gets a reply, so the caller knows what happened.
	return <-r.done
}

// write is the loop of the writer. It ends when the store closes.
func (s *Store) write() {
	defer close(s.written)
	var next *request
	for {
		group := make([]request, 0, 8)
		if next != nil {
			group, next = append(group, *next), nil
		} else {
			select {
			case r := <-s.requests:
				group = append(group, r)
			case <-s.failed():
				continue
			case <-s.retry():
				s.reopen()
				continue
			case <-s.closing:
				s.refuseAll()
				return
			}
		}
		items, bytes, most := len(group[0].mutations), size(group[0].mutations), s.options.MemoryBytes/groupShare
		for group[0].shares != withNothing && len(group) < maxGroup && items < maxGroupItems && bytes < most && next == nil {
			select {
			case r := <-s.requests:
				if r.shares != group[0].shares {
					next = &r
				} else {
					group = append(group, r)
					items += len(r.mutations)
					bytes += size(r.mutations)
				}
				continue
			default:
			}
			break
		}
		s.serve(group)
	}
}

// refuseAll refuses the requests that arrived while the store was closing.
func (s *Store) refuseAll() {
	for {
		select {
		case r := <-s.requests:
			r.done <- library.ErrClosed
		default:
			return
		}
	}
}

// serve commits a group of requests. It first reopens a failed store.
func (s *Store) serve(group []request) {
	s.holding.Lock()
	defer s.holding.Unlock()
	if err := s.recoverStore(); err != nil {
		answer(group, err)
		return
	}
	s.serveGroup(group)
}

// answer gives every request of a group the same answer.
func answer(group []request, err error) {
	for _, r := range group {
		r.done <- err
	}
}

// serveGroup stages a group of requests, commits them in one batch, makes them visible and replies. If the batch cannot be prepared,
// serveGroup splits the group in halves, repeatedly, until the faulty request is alone. Only that request gets the error. One faulty
// request among n costs about 2·log2(n) batches.
func (s *Store) serveGroup(group []request) {
	if s.served.frozen() != "" && !group[0].thaws {
		s.serveFrozen(group)
		return
	}
	c := newChange(s)
	if err := c.fetch(group); err != nil {
		answer(group, unavailable(err))
		return
	}
	// A refusal may depend on changes that an earlier request staged, so it is final only after those changes are committed.
	refusals := make([]error, len(group))
	for i, r := range group {
		if refusals[i] = r.ctx.Err(); refusals[i] == nil {
			refusals[i] = r.stage(c)
		}
	}
	prepared, err := s.commit(c)
	if !prepared && len(group) > 1 {
		half := len(group) / 2
		s.serveGroup(group[:half])
		s.serveGroup(group[half:])
		return
	}
	for i, r := range group {
		r.done <- cmp.Or(refusals[i], err)
	}
}

// commit makes a change durable, then visible. prepared reports whether the change could be prepared. If it is false, nothing has changed,
// and the error concerns the staged requests. Otherwise, the error concerns the database.
func (s *Store) commit(c *change) (prepared bool, err error) {
	if c.empty() {
		return true, nil
	}
	b := s.db.pebble.NewBatch(pebble.WithMaxRetainedSizeBytes(maxRetained))
	install, err := c.prepare(b)
	if err != nil {
		return false, errors.Join(err, b.Close())
	}
	if err := s.db.commit(b); err != nil {
		return true, unavailable(err) // the batch may still be in use
	}
	install()
	return true, b.Close()
}

// maxRetained is the maximum size in bytes of a batch whose memory is reused.
const maxRetained = 4 << 20

// failed returns a channel that ends the wait for requests when the store fails. It returns nil if the store has already failed. Then the
// channel of retry ends the wait when it is time to reopen the store.
func (s *Store) failed() <-chan struct{} {
	if s.db.failure() != nil {
		return nil
	}
	return s.db.failed
}

func (s *Store) retry() <-chan time.Time {
	if s.db.failure() == nil {
		return nil
	}
	return time.After(time.Until(s.attempted.Add(s.options.RetryAfter)))
}

// reopen reopens a failed store without waiting for a write, because a library that is not ready may never receive one.
func (s *Store) reopen() {
	s.holding.Lock()
	defer s.holding.Unlock()
	if err := s.recoverStore(); err != nil {
		s.options.Logger.Warn("cannot open the store again yet, will retry", slog.Any("error", err))
	}
}

// recoverStore reopens the store after an I/O error, unless the last attempt was less than RetryAfter ago. It also rebuilds the data in
// memory, because it is unknown whether the failed batch was stored.
func (s *Store) recoverStore() error {
	failure := s.db.failure()
	if failure == nil {
		return nil
	}
	if time.Since(s.attempted) < s.options.RetryAfter {
		return unavailable(failure)
	}
	s.attempted = time.Now()
	err := probe(s.options.FS, s.options.FS.PathJoin(s.options.Dir, probeName))
	if err == nil {
		err = s.open()
	}
	s.setProblem(err)
	if err != nil {
		return unavailable(err)
	}
	s.options.Logger.Info("the store is open again")
	s.eraser.wanted()
	return nil
}

// probeName is the name of a file that the store writes to check whether the disk accepts writes. probeSize is the size of that file, which
// is enough for the log of a newly opened store. A failed attempt to open the database leaks memory, so probe prevents attempts that cannot
// succeed.
const (
	probeName = "PROBE"
	probeSize = 1 << 20
)

func probe(disk vfs.FS, name string) error {
	f, err := disk.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("check whether the disk is writable: %w", err)
	}
	_, err = f.Write(make([]byte, probeSize))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close(), disk.Remove(name)); err != nil {
		return fmt.Errorf("check whether the disk is writable: %w", err)
	}
	return nil
}

// unavailable wraps an error in ErrUnavailable, which means that the store cannot write now.
func unavailable(err error) error {
	return fmt.Errorf("%w: %w", library.ErrUnavailable, err)
}

// setNumber adds a number to a batch.
func setNumber(b *pebble.Batch, key []byte, n uint64) error { return b.Set(key, encodeNumber(n), nil) }
