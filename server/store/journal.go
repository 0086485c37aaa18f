package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// The journal of a property has an entry for each batch that changed items of the property. An entry contains:
//
//	uvarint  the time of the batch, in seconds since 1970
//	uvarint  the number of changes in all entries of the property so far, including this entry
//	varints  for each changed item, in the order of the stage: the difference between its id and the previous id (0 at first), shifted by
//	         one bit, which is 1 for a private change (see library.ChangedItem)
//
// Old entries are deleted from the front. The floor of a property is the batch of the newest deleted entry, so all changes in later batches
// are in the journal. There is no floor if no entry was ever deleted.

// trimEvery is the time between two attempts to delete old entries. trimMost limits the number of entries that one attempt deletes in a
// property, because no write can proceed meanwhile. More entries cannot be written in this time, because each needs an fsync.
const (
	trimEvery = time.Minute
	trimMost  = 1 << 16
)

// readMost is the maximum number of changes that one read of the journal looks at.
const readMost = 1 << 16

// position is the parsed form of a library.Position.
type position struct {
	// journal is the identity of the journals (see doc.go).
	journal string
	// All changes in batches up to batch have been read, and the first read changes of the next entry.
	batch uint64
	read  int
}

func (p position) text() library.Position {
	return library.Position(p.journal + "-" + strconv.FormatUint(p.batch, 10) + "-" + strconv.Itoa(p.read))
}

// parsePosition returns false if the text is not a position.
func parsePosition(text library.Position) (position, bool) {
	parts := strings.Split(string(text), "-")
	if len(parts) != 3 {
		return position{}, false
	}
	batch, err := strconv.ParseUint(parts[1], 10, 64)
	read, more := strconv.ParseUint(parts[2], 10, 31)
	return position{parts[0], batch, int(read)}, err == nil && more == nil
}

// Changes returns the changes of items after a position (see library.Feed).
func (s *Store) Changes(ctx context.Context, r library.ChangesRead) (*library.ItemChanges, error) {
	if r.Limit <= 0 {
		return nil, fmt.Errorf("read changes: the limit is %d, but must be positive", r.Limit)
	}
	var passed <-chan time.Time
	if r.Wait > 0 {
		timer := time.NewTimer(r.Wait)
		defer timer.Stop()
		passed = timer.C
	}
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		changed := s.waiters.wait(r.Property) // before the read, so that no change gets lost in between
		out, err := s.changes(r)
		if err != nil || passed == nil || r.After == "" || out.Lost || len(out.Items) > 0 {
			return out, err
		}
		select {
		case <-changed:
		case <-passed:
			return out, nil
		case <-ctx.Done():
		case <-s.closing:
			return nil, library.ErrClosed
		}
	}
}

// changes is like Changes, but does not wait.
func (s *Store) changes(r library.ChangesRead) (*library.ItemChanges, error) {
	if _, err := s.Served(r.Property); err != nil {
		s.waiters.wake(r.Property) // keep no channel for a property that may not even exist
		return nil, err
	}
	now := peek(s, func(now *served) position { return position{journal: now.journal, batch: now.version} })
	none := &library.ItemChanges{Next: now.text()}
	if r.After == "" {
		return none, nil
	}
	after, ok := parsePosition(r.After)
	if !ok || after.journal != now.journal { // it may be a position of the library from which the store was copied
		mark := peek(s, func(now *served) string { return now.marks[transfer.MarkFeed] })
		after, ok = parsePosition(transfer.Continued(mark, r.Property, r.After))
	}
	if none.Lost = !ok || after.journal != now.journal || after.batch > now.batch; none.Lost {
		return none, nil
	}
	out, err := ask(s, func(db *pebble.DB) (*library.ItemChanges, error) { return readJournal(db, r, after, now.batch) })
	switch {
	case errors.Is(err, library.ErrClosed):
		return nil, err
	case err != nil:
		return nil, unavailable(err)
	case out.Lost:
		none.Lost = true
		return none, nil
	}
	return out, nil
}

// readJournal reads the changes after a position, up to and including a batch.
func readJournal(db *pebble.DB, r library.ChangesRead, after position, upTo uint64) (*library.ItemChanges, error) {
	out := &library.ItemChanges{}
	at := map[item.ID]int{} // the places of items in out
	next, skip, looked := after, after.read, 0
	err := scan(db, journalKey(r.Property, after.batch+1), journalKey(r.Property, upTo+1), func(key, value []byte) ([]byte, error) {
		batch, err := decodeNumber(key[len(key)-8:])
		if err != nil {
			return nil, err
		}
		e, err := openEntry(value)
		n := 0
		for err == nil && len(e.rest) > 0 {
			var c library.ChangedItem
			c, err = e.change()
			if n++; err != nil || n <= skip {
				continue
			}
			i, known := at[c.ID]
			switch {
			case looked == readMost || !known && len(out.Items) == r.Limit:
				out.More = true
				return nil, errStop
			case known:
				out.Items[i].Private = out.Items[i].Private && c.Private
			default:
				at[c.ID] = len(out.Items)
				out.Items = append(out.Items, c)
			}
			looked++
			next.read = n
		}
		out.Lost = out.Lost || n < skip // no position is after the end of an entry
		next.batch, next.read, skip = batch, 0, 0
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	// Read the floor last: a batch can delete entries after it was read, but it then has also set the floor.
	floor, err := readFloor(db, r.Property)
	if err != nil {
		return nil, err
	}
	out.Lost = out.Lost || after.batch < floor
	if !out.More {
		out.Lost = out.Lost || skip > 0
		next.batch, next.read = upTo, 0
	}
	out.Next = next.text()
	return out, nil
}

// entry is a partly read entry of a journal.
type entry struct {
	seconds int64
	changes uint64
	rest    []byte
	last    item.ID
}

var errEntry = errors.New("the bytes are not an entry of a journal")

// openEntry reads an entry up to the ids.
func openEntry(value []byte) (entry, error) {
	seconds, n := binary.Uvarint(value)
	if n <= 0 {
		return entry{}, errEntry
	}
	changes, m := binary.Uvarint(value[n:])
	if m <= 0 {
		return entry{}, errEntry
	}
	return entry{seconds: int64(seconds), changes: changes, rest: value[n+m:]}, nil
}

// change reads the next changed item. There must be one.
func (e *entry) change() (library.ChangedItem, error) {
	v, n := binary.Varint(e.rest)
	if n <= 0 {
		return library.ChangedItem{}, errEntry
	}
	e.rest = e.rest[n:]
	e.last += v >> 1
	return library.ChangedItem{ID: e.last, Private: v&1 == 1}, nil
}

// journaled returns the number of changes that the entry of a stage contains.
func journaled(st *mutations.Stage) uint64 {
	n := uint64(0)
	for i := range st.Items {
		if st.Items[i].Extent != mutations.Nothing {
			n++
		}
	}
	return n
}

// putEntry adds the entry of a stage to the batch with the given number. before is the number of changes in earlier entries.
func putEntry(b *pebble.Batch, st *mutations.Stage, batch, before uint64) error {
	n := journaled(st)
	if n == 0 {
		return nil
	}
	value := make([]byte, 0, 16+3*n)
	value = binary.AppendUvarint(value, uint64(max(st.Now.Unix(), 0)))
	value = binary.AppendUvarint(value, before+n)
	last := item.ID(0)
	for i := range st.Items {
		it := &st.Items[i]
		if it.Extent == mutations.Nothing {
			continue
		}
		v := (it.ID - last) << 1
		if it.Extent == mutations.PrivateMembers {
			v |= 1
		}
		value = binary.AppendVarint(value, v)
		last = it.ID
	}
	return b.Set(journalKey(st.Property, batch), value, nil)
}

// lastEntry returns the newest entry of a property, and its batch. Both are zero if there is none.
func lastEntry(db *pebble.DB, p library.PropertyID) (batch uint64, e entry, err error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: propertyKey(p, underJournal), UpperBound: propertyKey(p, underJournal+1)})
	if err != nil {
		return 0, e, err
	}
	if it.Last() {
		var value []byte
		if value, err = it.ValueAndErr(); err == nil {
			e, err = openEntry(value)
		}
		if err == nil {
			batch, err = decodeNumber(it.Key()[len(it.Key())-8:])
		}
		e.rest = nil
	}
	return batch, e, errors.Join(err, it.Error(), it.Close())
}

// readFloor returns the floor of the journal of a property, or 0 if there is none.
func readFloor(db *pebble.DB, p library.PropertyID) (uint64, error) {
	floor, err := get(db, propertyKey(p, underFloor))
	if err != nil || floor == nil {
		return 0, err
	}
	return decodeNumber(floor)
}

// End returns the positions after which nothing has changed (see transfer.Source).
func (s *Store) End(_ context.Context, p library.PropertyID) (transfer.End, error) {
	end := peek(s, func(now *served) transfer.End { return transfer.End{Journal: now.journal, Last: now.version} })
	return ask(s, func(db *pebble.DB) (transfer.End, error) {
		last, _, err := lastEntry(db, p)
		if err != nil {
			return end, err
		}
		floor, err := readFloor(db, p)
		end.First = max(last, floor)
		return end, err
	})
}

// verifyJournal decodes all entries of a property.
func verifyJournal(db *pebble.DB, p library.PropertyID) error {
	return scan(db, propertyKey(p, underJournal), propertyKey(p, underJournal+1), func(_, value []byte) ([]byte, error) {
		e, err := openEntry(value)
		for err == nil && len(e.rest) > 0 {
			_, err = e.change()
		}
		return nil, err
	})
}

// trimJournals adds to a batch the deletion of entries that are older than Options.JournalAge, or that are not among the newest
// Options.JournalChanges changes. It considers all properties, so that also the entries of a property that is no longer written are deleted.
func (c *change) trimJournals(b *pebble.Batch) error {
	now := c.s.Now()
	if since := now.Sub(c.s.trimmed); since >= 0 && since < trimEvery {
		return nil
	}
	c.s.trimmed = now
	expired, err := ask(c.s, func(db *pebble.DB) (map[library.PropertyID]uint64, error) {
		return c.expired(db, now.Add(-c.s.options.JournalAge).Unix())
	})
	if err != nil {
		return unavailable(err)
	}
	for p, last := range expired {
		err := b.DeleteRange(propertyKey(p, underJournal), journalKey(p, last+1), nil)
		if err = errors.Join(err, setNumber(b, propertyKey(p, underFloor), last)); err != nil {
			return err
		}
	}
	return nil
}

// expired returns the batch of the newest entry to delete for each property that has such entries. oldest is the time of the oldest entry
// to keep, in seconds since 1970.
func (c *change) expired(db *pebble.DB, oldest int64) (map[library.PropertyID]uint64, error) {
	expired := map[library.PropertyID]uint64{}
	for p, known := range c.before.properties {
		if known.changes == 0 || c.purged[p] {
			continue
		}
		n := 0
		err := scan(db, propertyKey(p, underJournal), propertyKey(p, underJournal+1), func(key, value []byte) ([]byte, error) {
			e, err := openEntry(value)
			if n++; err == nil && (n > trimMost || e.seconds >= oldest && known.changes-e.changes < uint64(c.s.options.JournalChanges)) {
				err = errStop
			}
			if err != nil {
				return nil, err
			}
			expired[p], err = decodeNumber(key[len(key)-8:])
			return nil, err
		})
		if err != nil {
			return nil, err
		}
	}
	return expired, nil
}

// waiters wakes the calls of Changes that wait for changes of a property. The channel of a property is closed by its next change.
type waiters struct {
	mu      sync.Mutex
	changed map[library.PropertyID]chan struct{}
}

// wait returns a channel that wake closes.
func (w *waiters) wait(p library.PropertyID) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = map[library.PropertyID]chan struct{}{}
	}
	if w.changed[p] == nil {
		w.changed[p] = make(chan struct{})
	}
	return w.changed[p]
}

// wake wakes the calls that wait for one of the properties.
func (w *waiters) wake(properties ...library.PropertyID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range properties {
		if w.changed[p] != nil {
			close(w.changed[p])
			delete(w.changed, p)
		}
	}
}

// wakeAll wakes all calls.
func (w *waiters) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.changed {
		close(c)
	}
	w.changed = nil
}
