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

// copyName is the layout of the name of a scheduled backup: its time in UTC. The names are in the order of the times.
const copyName = "vitrine-20060102T150405Z.tar"

// schedule makes backups in a directory, one every period, and keeps the newest ones. It takes the times of the earlier backups from
// their names, so that a restart neither makes an additional backup nor skips one.
type schedule struct {
	dir   string
	every time.Duration
	keep  int
	// copy writes a backup to a file. If it fails, there is no file.
	copy func(path string) error
	// report tells the server about the backups, for its metrics. It is called again and again, because the server can restart.
	report func(admin.Backups)
	now    func() time.Time
	log    io.Writer

	state admin.Backups
}

// longestPause is the maximum time after which a failed backup is repeated. Each attempt keeps the server busy, because it verifies the
// copy.
const longestPause = time.Hour

// reportPause is the time between two reports.
const reportPause = time.Minute

// run makes backups until ctx ends. A backup that fails is repeated after a minute, and then after twice the time of the previous pause.
func (s *schedule) run(ctx context.Context) error {
	pause := time.Minute
	for due := s.now(); ; {
		if !s.now().Before(due) {
			wait, err := s.step()
			switch {
			case ctx.Err() != nil:
				return nil // a backup in progress was interrupted
			case err == nil:
				pause = time.Minute
			default:
				wait, pause = min(pause, s.every), min(2*pause, longestPause)
				s.state.Failures++
				fmt.Fprintf(s.log, "vitrine: the scheduled backup failed; the next attempt is in %s: %s\n", wait, oneLine(err))
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

// step makes a backup if one is due, and returns the time until the next one.
func (s *schedule) step() (time.Duration, error) {
	now := s.now()
	if err := os.Mkdir(s.dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return 0, fmt.Errorf("create the directory of the backups: %w", err)
	}
	// Also before a backup: it can fail because the disk is full.
	copies, err := s.prune(now)
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
	s.report(s.state) // a backup takes long
	if err := s.copy(filepath.Join(s.dir, now.UTC().Format(copyName))); err != nil {
		return 0, err
	}
	s.state.Newest = now
	_, err = s.prune(now)
	return s.every, err
}

// abandoned is the age at which an incomplete file is certain to belong to a command that was killed.
const abandoned = time.Hour

// prune removes all but the newest backups, and the incomplete ones of commands that were killed. It returns the times of the others,
// newest first. A time in the future comes from a clock that was wrong: it counts as the oldest.
func (s *schedule) prune(now time.Time) (copies []time.Time, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	var old []string
	for _, e := range entries {
		if at, err := time.Parse(copyName, e.Name()); err == nil && at.Format(copyName) == e.Name() {
			copies = append(copies, at)
			continue
		}
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), incompletePrefix) && now.Sub(info.ModTime()) > abandoned {
			old = append(old, e.Name())
		}
	}
	future := func(at time.Time) int { return max(0, at.Compare(now)) }
	slices.SortFunc(copies, func(a, b time.Time) int { return cmp.Or(future(a)-future(b), b.Compare(a)) })
	n := min(s.keep, len(copies))
	for _, at := range copies[n:] {
		old = append(old, at.Format(copyName))
	}
	for _, name := range old {
		err = errors.Join(err, os.Remove(filepath.Join(s.dir, name)))
	}
	if err != nil {
		return nil, fmt.Errorf("remove old backups: %w", err)
	}
	return copies[:n], nil
}
