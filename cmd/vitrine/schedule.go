package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
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
	now  func() time.Time
	log  io.Writer
}

// run makes backups until ctx ends. A backup that fails is repeated after a minute.
func (s *schedule) run(ctx context.Context) error {
	for {
		wait, err := s.step()
		switch {
		case ctx.Err() != nil:
			return nil // a backup in progress was interrupted
		case err != nil:
			wait = min(time.Minute, s.every)
			fmt.Fprintf(s.log, "vitrine: the scheduled backup failed; the next attempt is in %s: %s\n", wait, oneLine(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// step makes a backup if one is due, and returns the time until the next one.
func (s *schedule) step() (time.Duration, error) {
	copies, err := s.copies()
	if err != nil {
		return 0, err
	}
	now := s.now()
	if len(copies) > 0 {
		// A time in the future comes from a clock that was wrong. It must not stop the backups.
		if wait := copies[0].Add(s.every).Sub(now); wait > 0 && !copies[0].After(now) {
			return wait, nil
		}
	}
	if err := s.copy(filepath.Join(s.dir, now.UTC().Format(copyName))); err != nil {
		return 0, err
	}
	if copies, err = s.copies(); err != nil {
		return 0, err
	}
	for _, at := range copies[min(s.keep, len(copies)):] {
		err = errors.Join(err, os.Remove(filepath.Join(s.dir, at.Format(copyName))))
	}
	if err != nil {
		return 0, fmt.Errorf("remove old backups: %w", err)
	}
	return s.every, nil
}

// copies returns the times of the backups in the directory, newest first. It ignores other files.
func (s *schedule) copies() ([]time.Time, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	var out []time.Time
	for _, e := range entries {
		if at, err := time.Parse(copyName, e.Name()); err == nil {
			out = append(out, at)
		}
	}
	slices.SortFunc(out, func(a, b time.Time) int { return b.Compare(a) })
	return out, nil
}
