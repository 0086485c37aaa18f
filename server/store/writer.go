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

// maxGroup is the maximum number of requests that share one commit. It is large enough that the cost of an fsync for each request is small,
// and small enough that the first request does not wait for long. A group is also complete when it has maxGroupItems mutations, or when the
// size of its texts reaches MemoryBytes/groupShare. The size is limited because storing and indexing a text needs about twenty times its
// length in memory.
const (
	maxGroup      = 256
	maxGroupItems = 8192
	groupShare    = 16
)

// size returns the approximate size, in bytes, of the texts that the mutations write.
func size(muts []library.Mutation) int64 {
	const other = 4 << 10 // estimated size of an item that a mutation other than Put changes
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
	// stage reads the current state and adds to the change. If stage fails, it must leave the change as it was, and the caller gets its error.
	// If the batch of the group cannot be prepared, the writer calls stage again with a new change.
	stage func(*change) error
	// property and mutations are set for a Write. The lookups of all Writes in a group run together (see change.fetch).
	property  library.PropertyID
	mutations []library.Mutation
	shares    shares
	// thaws is true for requests that even a frozen store serves (see Store.Freeze).
	thaws bool
	ctx   context.Context
	done  chan error // receives one reply
}

// shares says which requests can share a commit, and thus an fsync. Each request of a group sees the changes that earlier requests of the
// group staged. It therefore gets the same reply as if the requests were committed one by one in the order of their arrival.
type shares uint8

const (
	// withItems is the class of requests that change items or marks.
	withItems shares = iota
	// withDefinitions is the class of requests that change definitions. They look up items only in the database and would miss staged items,
	// so they cannot be in a group with requests that change items.
	withDefinitions
	// withNothing is the class of requests that cannot share a commit.
	withNothing
)

// do passes a request to the writer. It returns when the change is durable and visible, or when the request has failed.
func (s *Store) do(ctx context.Context, r request) error {
	r.ctx, r.done = ctx, make(chan error, 1)
	select {
	case s.requests <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return library.ErrClosed
	}
	// Wait even if ctx ends: the writer replies to every request that it has received, so the caller learns whether the change was made.
	return <-r.done
}

// Write changes items (see library.Library).
func (s *Store) Write(ctx context.Context, p library.PropertyID, muts []library.Mutation) ([]library.Outcome, error) {
	outcomes := make([]library.Outcome, len(muts))
	stage := func(c *change) error {
		if c.defs.Catalogue(p) == nil {
			return fmt.Errorf("write to property %s: %w", p, library.ErrNoProperty)
		}
		full := s.options.Pressure() >= library.Full
		for i, m := range muts {
			if full && !m.Delete {
				outcomes[i] = library.Outcome{ID: m.ID, Err: fmt.Errorf("%w: the process is running out of memory", library.ErrUnavailable)}
				continue
			}
			outcomes[i] = c.in(p).Mutate(m)
		}
		return nil
	}
	if err := s.do(ctx, request{shares: withItems, stage: stage, property: p, mutations: muts}); err != nil {
		return nil, err
	}
	return outcomes, nil
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

// refuseAll refuses the requests that arrive while the store is closing.
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

// serve serves a group of requests. If the store has failed, serve first reopens it.
func (s *Store) serve(group []request) {
	s.holding.Lock()
	defer s.holding.Unlock()
	if err := s.recoverStore(); err != nil {
		answer(group, err)
		return
	}
	s.serveGroup(group)
}

// answer sends the same reply to every request of a group.
func answer(group []request, err error) {
	for _, r := range group {
		r.done <- err
	}
}

// serveGroup stages a group of requests, commits them in one batch, makes them visible and replies. If the batch cannot be prepared,
// serveGroup splits the group in halves, repeatedly, until the request that cannot be prepared is alone. Only that request gets the error.
// One such request among n costs about 2·log2(n) batches.
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
	// Keep refusals until the batch is committed, because a refusal may depend on changes that an earlier request of the group has staged.
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

// commit makes a change durable, then visible. prepared reports whether the change could be prepared. If prepared is false, nothing has
// changed, and the error concerns the staged requests. Otherwise, an error concerns the database.
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
		return true, unavailable(err) // do not close the batch, which may still be in use
	}
	install()
	s.db.fence.ledger.Acknowledge(s.served.version)
	return true, b.Close()
}

// maxRetained is the maximum size, in bytes, of a batch whose memory Pebble keeps for later batches.
const maxRetained = 4 << 20

// failed returns a channel that ends the writer's wait for requests when the store fails. If the store has already failed, it returns nil,
// and the channel that retry returns ends the wait when it is time to reopen the store.
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
	return time.After(time.Until(s.attempted.Add(s.pause)))
}

// reopen reopens a failed store without waiting for a write, because callers may send no writes to a library that reports a problem.
func (s *Store) reopen() {
	s.holding.Lock()
	defer s.holding.Unlock()
	if err := s.recoverStore(); err != nil {
		s.options.Logger.Warn("cannot open the store again yet, will retry", slog.Any("error", err))
	}
}

// longestPause is the maximum pause before an attempt to reopen a store. It is also the time after which a store counts as stable again.
const longestPause = 5 * time.Minute

// recoverStore reopens the store after an I/O error, unless the last attempt was less than a pause ago. It also reads the data in memory
// again, because the failed batch may or may not be stored. The pause is Options.RetryAfter. It doubles with each attempt that follows soon,
// for example because a table is damaged, because the memory of each abandoned database stays in use. A full disk abandons none.
func (s *Store) recoverStore() error {
	failure := s.db.failure()
	if failure == nil {
		return nil
	}
	if time.Since(s.attempted) > s.pause+longestPause {
		s.pause = s.options.RetryAfter
	}
	if time.Since(s.attempted) < s.pause {
		return unavailable(failure)
	}
	s.attempted = time.Now()
	err := probe(s.options.FS, s.options.FS.PathJoin(s.options.Dir, probeName))
	if err == nil {
		err = s.open()
		if !vfs.IsNoSpaceError(err) {
			s.pause = min(2*s.pause, longestPause)
		}
	}
	s.setProblem(err)
	if err != nil {
		return unavailable(err)
	}
	s.options.Logger.Info("the store is open again")
	s.eraser.wanted()
	return nil
}

// probeName is the name of a file that probe writes to check whether the disk accepts writes. probeSize is the size of that file, which is
// enough for the log of a newly opened database. The check comes before each attempt to reopen the database, because a failed attempt leaks
// memory.
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

// unavailable returns an error that wraps err and library.ErrUnavailable.
func unavailable(err error) error {
	return fmt.Errorf("%w: %w", library.ErrUnavailable, err)
}

// setNumber adds a key with a number as its value to a batch.
func setNumber(b *pebble.Batch, key []byte, n uint64) error { return b.Set(key, encodeNumber(n), nil) }
