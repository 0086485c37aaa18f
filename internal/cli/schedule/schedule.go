// Package schedule makes backups of a store at regular intervals in a folder, which is a directory or in a bucket, and finds the newest of
// them. It imports internal/admin, internal/backup, internal/s3, internal/text, message and output.
package schedule

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/backup"
	"github.com/vitrine-dev/vitrine/internal/cli/message"
	"github.com/vitrine-dev/vitrine/internal/text"
)

// Schedule makes a backup of one store in a place at regular intervals, and keeps the newest backups. It reads the times of earlier backups
// from their names, so that a restart neither makes an additional backup nor skips one. It never counts or removes a backup of another
// store (see folder.go).
type Schedule struct {
	Place Place
	// Every is the time between two backups, and Keep is the number of backups that stay.
	Every time.Duration
	Keep  int
	// TakeOver is the id of another store whose folder the schedule takes over; "" if there is none.
	TakeOver string
	// Census identifies the store of the server.
	Census func(ctx context.Context) (backup.Census, error)
	// Copy writes a backup of the store with this id to the place. If it fails, it leaves no file of this name.
	Copy func(name, store string) (backup.Header, error)
	// Report sends the state of the backups to the server, for its metrics. The schedule calls it repeatedly, because the server can
	// restart.
	Report func(admin.Backups)
	// Now is the clock, and Log receives messages for the user.
	Now func() time.Time
	Log io.Writer

	state     admin.Backups
	mentioned bool // by mentionUnknown
}

// longestPause is the maximum pause before a failed backup is retried. Each attempt is expensive for the server, which verifies the copy.
const longestPause = time.Hour

// reportPause is the time between two reports.
const reportPause = time.Minute

// Run makes backups until ctx ends. It retries a failed backup after a minute, and doubles the pause after each further failure.
func (s *Schedule) Run(ctx context.Context) error {
	pause := time.Minute
	for due := s.Now(); ; {
		if !s.Now().Before(due) {
			wait, err := s.step(ctx)
			switch {
			case ctx.Err() != nil:
				return nil // the user has stopped the command, which interrupted the step
			case err == nil:
				pause = time.Minute
			default:
				wait, pause = min(pause, s.Every), min(2*pause, longestPause)
				s.state.Failures++
				fmt.Fprintf(s.Log, "vitrine: the scheduled backup failed: %s; the next attempt is in %s\n", message.OneLine(err), wait)
			}
			due = s.Now().Add(wait)
		}
		s.Report(s.state)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(due.Sub(s.Now()), reportPause)):
		}
	}
}

// step makes a backup if one is due, and returns the time until the next backup is due. It fails if the place belongs to another store, or
// if the store has lost data since one of its backups. In both cases, it makes and removes nothing.
func (s *Schedule) step(ctx context.Context) (time.Duration, error) {
	now := s.Now()
	census, err := s.Census(ctx)
	if err != nil {
		return 0, err
	}
	mine := func(name string) bool { c, ok := ParseCopy(name); return ok && c.Store == census.Store }
	if err := s.Place.prepare(ctx, now, mine); err != nil {
		return 0, err
	}
	names, err := s.Place.list(ctx)
	if err != nil {
		return 0, fmt.Errorf("list the backups: %w", err)
	}
	s.mentionUnknown(names)
	own := slices.DeleteFunc(copies(names), func(c Copy) bool { return c.Store != census.Store })
	// Newest first. A time in the future was caused by a wrong clock, so treat that backup as the oldest.
	future := func(c Copy) int { return max(0, c.At.Compare(now)) }
	slices.SortFunc(own, func(a, b Copy) int { return cmp.Or(future(a)-future(b), b.At.Compare(a.At)) })
	s.state.Store, s.state.Newest = census.Store, time.Time{}
	if len(own) > 0 && future(own[0]) == 0 {
		s.state.Newest = own[0].At
	}
	if err := claim(ctx, s.Place, names, census.Store, s.TakeOver, now); err != nil {
		return 0, err
	}
	best, err := s.best(ctx, own)
	if err != nil {
		return 0, err
	}
	if err := best.lossSince(census); err != nil {
		return 0, err
	}
	// Prune before the backup too, and not only after it, because the old backups may leave no space for another one.
	if own, err = s.prune(ctx, own); err != nil {
		return 0, err
	}
	if !s.state.Newest.IsZero() {
		if wait := s.state.Newest.Add(s.Every).Sub(now); wait > 0 {
			return wait, nil
		}
	}
	s.Report(s.state) // report before the backup, which takes a long time
	made := Copy{census.Store, now}
	h, err := s.Copy(made.Name(), made.Store)
	if err != nil {
		return 0, err
	}
	// The server may have started again during the backup, and another store may have taken the folder.
	err = best.lossSince(h.Census)
	if err == nil {
		err = claim(ctx, s.Place, nil, census.Store, "", now)
	}
	if err != nil {
		return 0, errors.Join(err, s.Place.remove(ctx, made.Name()))
	}
	s.state.Newest = now
	_, err = s.prune(ctx, slices.Insert(own, 0, made))
	return s.Every, err
}

// mentionUnknown says once that the place contains backups of which it is not known whose they are. The schedule never removes them.
func (s *Schedule) mentionUnknown(names []string) {
	n := 0
	for _, c := range copies(names) {
		if c.Store == "" {
			n++
		}
	}
	if n > 0 && !s.mentioned {
		s.mentioned = true
		fmt.Fprintf(s.Log, "vitrine: %s in %s without the id of a store, from an earlier version: the schedule never removes them\n", text.Plural(n, "backup"), s.Place)
	}
}

// prune removes all but the newest backups, and returns the remaining ones. The backups are sorted by time, newest first.
func (s *Schedule) prune(ctx context.Context, own []Copy) (kept []Copy, err error) {
	n := min(s.Keep, len(own))
	for _, c := range own[n:] {
		err = errors.Join(err, s.Place.remove(ctx, c.Name()))
	}
	if err != nil {
		return nil, fmt.Errorf("remove old backups: %w", err)
	}
	return own[:n], nil
}

// recorded is the census in a backup. The zero value is that of no backup.
type recorded struct {
	backup.Census
	name string
}

// best returns the census of the backup with the newest batch. It does not rely on the times of the backups, because a clock can be wrong.
// It skips backups that cannot be read.
func (s *Schedule) best(ctx context.Context, own []Copy) (best recorded, err error) {
	for _, c := range own {
		h, err := s.header(ctx, c.Name())
		if _, damaged := errors.AsType[*backup.DamagedError](err); damaged {
			fmt.Fprintf(s.Log, "vitrine: %s: %s\n", c.Name(), message.OneLine(err))
			continue
		}
		if err != nil {
			return best, fmt.Errorf("read the header of %s: %w", c.Name(), err)
		}
		if h.Store == c.Store && h.Batch > best.Batch {
			best = recorded{h.Census, c.Name()}
		}
	}
	return best, nil
}

func (s *Schedule) header(ctx context.Context, name string) (backup.Header, error) {
	r, err := s.Place.read(ctx, name)
	if err != nil {
		return backup.Header{}, err
	}
	h, err := backup.Peek(bufio.NewReader(r))
	return h, errors.Join(err, r.Close())
}

// lossSince returns an error if a store, or a copy of it, lacks something that an earlier backup has: batches, or items that were not
// deleted.
func (r recorded) lossSince(now backup.Census) error {
	if now.Batch >= r.Batch && now.Items+now.Deleted >= r.Items+r.Deleted {
		return nil
	}
	say := func(c backup.Census) string {
		return fmt.Sprintf("%s after %s of items and %d batches", text.Plural(c.Items, "item"), text.Plural(c.Deleted, "deletion"), c.Batch)
	}
	return fmt.Errorf("the store has lost data since its backup %s: it has %s, and the backup has %s. Therefore, no backup is made, and none is removed. "+
		"Restore this backup. If the loss is intended, move the backups of this store to another folder instead", r.name, say(now), say(r.Census))
}
