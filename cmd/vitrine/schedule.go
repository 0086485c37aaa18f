package main

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

// schedule makes a backup of one store in a place at regular intervals, and keeps the newest backups. It reads the times of earlier backups
// from their names, so that a restart neither makes an additional backup nor skips one. It never counts or removes a backup of another
// store (see folder.go).
type schedule struct {
	place place
	every time.Duration
	keep  int
	// takeOver is the id of another store whose folder the schedule takes over; "" if there is none.
	takeOver string
	// census identifies the store of the server.
	census func(ctx context.Context) (backup.Census, error)
	// copy writes a backup of the store with this id to the place. If it fails, it leaves no file of this name.
	copy func(name, store string) (backup.Header, error)
	// report sends the state of the backups to the server, for its metrics. The schedule calls it repeatedly, because the server can
	// restart.
	report func(admin.Backups)
	now    func() time.Time
	log    io.Writer

	state     admin.Backups
	mentioned bool // by mentionUnknown
}

// longestPause is the maximum pause before a failed backup is retried. Each attempt is expensive for the server, which verifies the copy.
const longestPause = time.Hour

// reportPause is the time between two reports.
const reportPause = time.Minute

// run makes backups until ctx ends. It retries a failed backup after a minute, and doubles the pause after each further failure.
func (s *schedule) run(ctx context.Context) error {
	pause := time.Minute
	for due := s.now(); ; {
		if !s.now().Before(due) {
			wait, err := s.step(ctx)
			switch {
			case ctx.Err() != nil:
				return nil // the user has stopped the command, which interrupted the step
			case err == nil:
				pause = time.Minute
			default:
				wait, pause = min(pause, s.every), min(2*pause, longestPause)
				s.state.Failures++
				fmt.Fprintf(s.log, "vitrine: the scheduled backup failed: %s; the next attempt is in %s\n", message.OneLine(err), wait)
			}
			due = s.now().Add(wait)
		}
		s.report(s.state)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(due.Sub(s.now()), reportPause)):
		}
	}
}

// step makes a backup if one is due, and returns the time until the next backup is due. It fails if the place belongs to another store, or
// if the store has lost data since one of its backups. In both cases, it makes and removes nothing.
func (s *schedule) step(ctx context.Context) (time.Duration, error) {
	now := s.now()
	census, err := s.census(ctx)
	if err != nil {
		return 0, err
	}
	mine := func(name string) bool { c, ok := parseCopy(name); return ok && c.store == census.Store }
	if err := s.place.prepare(ctx, now, mine); err != nil {
		return 0, err
	}
	names, err := s.place.list(ctx)
	if err != nil {
		return 0, fmt.Errorf("list the backups: %w", err)
	}
	s.mentionUnknown(names)
	own := slices.DeleteFunc(copies(names), func(c scheduled) bool { return c.store != census.Store })
	// Newest first. A time in the future was caused by a wrong clock, so treat that backup as the oldest.
	future := func(c scheduled) int { return max(0, c.at.Compare(now)) }
	slices.SortFunc(own, func(a, b scheduled) int { return cmp.Or(future(a)-future(b), b.at.Compare(a.at)) })
	s.state.Store, s.state.Newest = census.Store, time.Time{}
	if len(own) > 0 && future(own[0]) == 0 {
		s.state.Newest = own[0].at
	}
	if err := claim(ctx, s.place, names, census.Store, s.takeOver, now); err != nil {
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
		if wait := s.state.Newest.Add(s.every).Sub(now); wait > 0 {
			return wait, nil
		}
	}
	s.report(s.state) // report before the backup, which takes a long time
	made := scheduled{census.Store, now}
	h, err := s.copy(made.name(), made.store)
	if err != nil {
		return 0, err
	}
	// The server may have started again during the backup, and another store may have taken the folder.
	err = best.lossSince(h.Census)
	if err == nil {
		err = claim(ctx, s.place, nil, census.Store, "", now)
	}
	if err != nil {
		return 0, errors.Join(err, s.place.remove(ctx, made.name()))
	}
	s.state.Newest = now
	_, err = s.prune(ctx, slices.Insert(own, 0, made))
	return s.every, err
}

// mentionUnknown says once that the place contains backups of which it is not known whose they are. The schedule never removes them.
func (s *schedule) mentionUnknown(names []string) {
	n := 0
	for _, c := range copies(names) {
		if c.store == "" {
			n++
		}
	}
	if n > 0 && !s.mentioned {
		s.mentioned = true
		fmt.Fprintf(s.log, "vitrine: %s in %s without the id of a store, from an earlier version: the schedule never removes them\n", text.Plural(n, "backup"), s.place)
	}
}

// prune removes all but the newest backups, and returns the remaining ones. The backups are sorted by time, newest first.
func (s *schedule) prune(ctx context.Context, own []scheduled) (kept []scheduled, err error) {
	n := min(s.keep, len(own))
	for _, c := range own[n:] {
		err = errors.Join(err, s.place.remove(ctx, c.name()))
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
func (s *schedule) best(ctx context.Context, own []scheduled) (best recorded, err error) {
	for _, c := range own {
		h, err := s.header(ctx, c.name())
		if _, damaged := errors.AsType[*backup.DamagedError](err); damaged {
			fmt.Fprintf(s.log, "vitrine: %s: %s\n", c.name(), message.OneLine(err))
			continue
		}
		if err != nil {
			return best, fmt.Errorf("read the header of %s: %w", c.name(), err)
		}
		if h.Store == c.store && h.Batch > best.Batch {
			best = recorded{h.Census, c.name()}
		}
	}
	return best, nil
}

func (s *schedule) header(ctx context.Context, name string) (backup.Header, error) {
	r, err := s.place.read(ctx, name)
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
