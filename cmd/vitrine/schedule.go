package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/internal/admin"
)

// copyName is the time layout of the names of scheduled backups. The times are in UTC, so the names sort by time.
const copyName = "vitrine-20060102T150405Z.tar"

// schedule makes a backup in a place at regular intervals, and keeps the newest backups. It reads the times of earlier backups from their
// names, so that a restart neither makes an additional backup nor skips one.
type schedule struct {
	place place
	every time.Duration
	keep  int
	// copy writes a backup with the given name to the place. If it fails, it leaves no file of this name.
	copy func(name string) error
	// report sends the state of the backups to the server, for its metrics. The schedule calls it repeatedly, because the server can
	// restart.
	report func(admin.Backups)
	now    func() time.Time
	log    io.Writer

	state admin.Backups
}

// place is a location that contains scheduled backups.
type place interface {
	// list returns the names of all files. Before that, it removes incomplete files of commands that were killed.
	list(ctx context.Context, now time.Time) ([]string, error)
	remove(ctx context.Context, name string) error
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
				fmt.Fprintf(s.log, "vitrine: the scheduled backup failed: %s; the next attempt is in %s\n", oneLine(err), wait)
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

// step makes a backup if one is due, and returns the time until the next backup is due.
func (s *schedule) step(ctx context.Context) (time.Duration, error) {
	now := s.now()
	// Prune before the backup too, and not only after it, because the old backups may leave no space for another one.
	copies, err := s.prune(ctx, now)
	if err != nil {
		return 0, err
	}
	s.state.Newest = time.Time{}
	if len(copies) > 0 && !copies[0].After(now) {
		s.state.Newest = copies[0]
		if wait := copies[0].Add(s.every).Sub(now); wait > 0 {
			return wait, nil
		}
	}
	s.report(s.state) // report before the backup, which takes a long time
	if err := s.copy(now.UTC().Format(copyName)); err != nil {
		return 0, err
	}
	s.state.Newest = now
	_, err = s.prune(ctx, now)
	return s.every, err
}

// prune removes all but the newest backups. It returns the times of the remaining backups, newest first. A time in the future was caused by
// a wrong clock, so prune treats that backup as the oldest.
func (s *schedule) prune(ctx context.Context, now time.Time) (copies []time.Time, err error) {
	names, err := s.place.list(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	for _, name := range names {
		if at, ok := copyTime(name); ok {
			copies = append(copies, at)
		}
	}
	future := func(at time.Time) int { return max(0, at.Compare(now)) }
	slices.SortFunc(copies, func(a, b time.Time) int { return cmp.Or(future(a)-future(b), b.Compare(a)) })
	n := min(s.keep, len(copies))
	for _, at := range copies[n:] {
		err = errors.Join(err, s.place.remove(ctx, at.Format(copyName)))
	}
	if err != nil {
		return nil, fmt.Errorf("remove old backups: %w", err)
	}
	return copies[:n], nil
}

// copyTime returns the time in the name of a scheduled backup. ok is false for any other name.
func copyTime(name string) (at time.Time, ok bool) {
	at, err := time.Parse(copyName, name)
	return at, err == nil && at.Format(copyName) == name
}

// directory is the path of a directory, as the place of scheduled backups.
type directory string

// abandoned is the age at which an incomplete file is certain to belong to a command that was killed.
const abandoned = time.Hour

func (d directory) list(_ context.Context, now time.Time) (names []string, err error) {
	if err := os.Mkdir(string(d), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("create the directory of the backups: %w", err)
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		info, failed := e.Info()
		if failed == nil && strings.HasPrefix(e.Name(), incompletePrefix) && now.Sub(info.ModTime()) > abandoned {
			err = errors.Join(err, os.Remove(filepath.Join(string(d), e.Name())))
			continue
		}
		names = append(names, e.Name())
	}
	return names, err
}

func (d directory) remove(_ context.Context, name string) error {
	return os.Remove(filepath.Join(string(d), name))
}
