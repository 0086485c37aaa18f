package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"iter"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Progress describes the progress of a Copy.
type Progress struct {
	// Verifying is false while items are copied, and true while they are read back.
	Verifying bool `json:"verifying,omitempty"`
	// Done is the number of items that were copied or read back. Total is the number of all items.
	Done  int64 `json:"done"`
	Total int64 `json:"total"`
}

// Report is the result of a Copy, as read back from the target.
type Report struct {
	Definitions int              `json:"definitions"`
	Properties  []PropertyReport `json:"properties"`
	// Stored is the number of items that this Copy stored. The target already had the other items.
	Stored int64 `json:"stored"`
}

// PropertyReport describes one property of a Report.
type PropertyReport struct {
	Property library.PropertyID `json:"property"`
	Items    int64              `json:"items"`
	// Sum is the SHA-256 of the ids, bytes and histories of all items, in hexadecimal digits.
	Sum string `json:"sum"`
	// Sequence is the highest item id that was ever assigned. Tags is the number of tags that were ever created.
	Sequence item.ID `json:"sequence"`
	Tags     int     `json:"tags"`
}

// MismatchError means that the contents of a target differ from the contents of its source.
type MismatchError struct {
	// What describes the difference.
	What string
}

// Error describes the difference and says what to do.
func (e *MismatchError) Error() string {
	return "the copy differs from its source in " + e.What + ": delete the copy and start again"
}

// errThawed means that the source accepted writes while Copy was copying it.
var errThawed = errors.New("the migration was canceled while it ran: delete the copy and start again")

// These are the limits for one call of Target.Put.
const (
	putItems = 1000
	putBytes = 4 << 20
)

// Copy freezes the source, copies it to the target, verifies the copy, and finishes it. It calls progress after each batch. If Copy fails,
// the source stays frozen, and a later Copy can continue. But if the target refuses the copy, Copy leaves the source as it was. Copy
// returns the errors of the source and the target, *RefusedError, *MismatchError, or the cause of ctx.
func Copy(ctx context.Context, from Source, to Target, progress func(Progress)) (*Report, error) {
	before, err := from.Frozen(ctx)
	if err != nil {
		return nil, err
	}
	freeze, err := from.Freeze(ctx)
	if err != nil {
		return nil, fmt.Errorf("freeze the source: %w", err)
	}
	facts, err := from.Facts(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	if err := to.Begin(ctx, freeze, facts); err != nil {
		if _, refused := errors.AsType[*RefusedError](err); refused && before == "" {
			err = errors.Join(err, from.Thaw(ctx))
		}
		return nil, fmt.Errorf("begin the copy: %w", err)
	}
	c := &copying{from: from, to: to, report: progress}
	for _, p := range facts.Properties {
		c.Total += p.Items
	}
	sums := map[library.PropertyID]*sum{}
	for _, p := range facts.properties() {
		if sums[p], err = c.copy(ctx, p); err != nil {
			return nil, fmt.Errorf("copy property %s: %w", p, err)
		}
	}
	report, err := c.verify(ctx, facts, sums)
	if err != nil {
		return nil, fmt.Errorf("verify the copy: %w", err)
	}
	done := map[library.PropertyID]Finished{}
	for p, s := range sums {
		end, err := from.End(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("find the end of the changes of property %s: %w", p, err)
		}
		done[p] = Finished{s.items, end}
	}
	now, err := from.Frozen(ctx)
	if err == nil && now != freeze {
		err = errThawed
	}
	if err != nil {
		return nil, err
	}
	if err := to.Finish(ctx, done); err != nil {
		return nil, fmt.Errorf("finish the copy: %w", err)
	}
	return report, nil
}

// copying is the state of one call of Copy.
type copying struct {
	Progress
	from   Source
	to     Target
	report func(Progress)
	stored int64
}

// advance counts one more item as done. It reports the progress from time to time, and at the end.
func (c *copying) advance() {
	if c.Done++; c.Done%putItems == 0 || c.Done == c.Total {
		c.report(c.Progress)
	}
}

// copy stores in the target those items of a property that the target lacks or that differ from the items of the source.
func (c *copying) copy(ctx context.Context, p library.PropertyID) (*sum, error) {
	next, stop := iter.Pull2(c.to.Lines(ctx, p))
	defer stop()
	has, err, more := next()
	all := newSum()
	var batch []Line
	size := 0
	put := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := c.to.Put(ctx, p, batch); err != nil {
			return err
		}
		c.stored += int64(len(batch))
		batch, size = nil, 0
		return nil
	}
	for line, failed := range c.from.Lines(ctx, p) {
		if failed != nil {
			return nil, fmt.Errorf("read the source: %w", failed)
		}
		all.add(line)
		for more && err == nil && has.ID < line.ID {
			has, err, more = next()
		}
		if err != nil {
			return nil, fmt.Errorf("read the copy: %w", err)
		}
		if !more || has.ID != line.ID || string(has.Text) != string(line.Text) || string(has.History) != string(line.History) {
			batch, size = append(batch, line), size+len(line.Text)+len(line.History)
		}
		if len(batch) >= putItems || size >= putBytes {
			if err := put(); err != nil {
				return nil, err
			}
		}
		c.advance()
	}
	return all, put()
}

// verify reads the target and compares it with the facts and sums of the source.
func (c *copying) verify(ctx context.Context, want *Facts, sums map[library.PropertyID]*sum) (*Report, error) {
	c.Progress = Progress{Verifying: true, Total: c.Total}
	got, err := c.to.Facts(ctx)
	if err != nil {
		return nil, err
	}
	what, err := want.differs(got)
	if err != nil {
		return nil, err
	}
	if what != "" {
		return nil, &MismatchError{what}
	}
	r := &Report{Definitions: len(got.Definitions), Stored: c.stored}
	for _, p := range got.properties() {
		s := newSum()
		for line, err := range c.to.Lines(ctx, p) {
			if err != nil {
				return nil, fmt.Errorf("property %s: %w", p, err)
			}
			s.add(line)
			c.advance()
		}
		if s.items != sums[p].items {
			return nil, &MismatchError{fmt.Sprintf("the number of items of property %s (%d, not %d)", p, s.items, sums[p].items)}
		}
		if s.text() != sums[p].text() {
			return nil, &MismatchError{fmt.Sprintf("an item of property %s", p)}
		}
		r.Properties = append(r.Properties, PropertyReport{
			Property: p, Items: s.items, Sum: s.text(), Sequence: got.Properties[p].Sequence, Tags: len(got.Properties[p].Tags),
		})
	}
	return r, nil
}

// sum contains the number of items and a checksum of them.
type sum struct {
	items int64
	hash  hash.Hash
}

func newSum() *sum { return &sum{hash: sha256.New()} }

// add adds an item to the number and to the checksum. The checksum includes the lengths of each item and its history, so that it is clear
// where they end.
func (s *sum) add(l Line) {
	var head [24]byte
	binary.BigEndian.PutUint64(head[:8], uint64(l.ID))
	binary.BigEndian.PutUint64(head[8:], uint64(len(l.Text)))
	binary.BigEndian.PutUint64(head[16:], uint64(len(l.History)))
	s.hash.Write(head[:])
	s.hash.Write(l.Text)
	s.hash.Write(l.History)
	s.items++
}

// text returns the checksum in hexadecimal digits.
func (s *sum) text() string { return hex.EncodeToString(s.hash.Sum(nil)) }
