package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// longestPause is the maximum time after which a failed backup is repeated. Each attempt keeps the server busy, because it verifies the
// copy.
const longestPause = time.Hour

// run makes backups until ctx ends. A backup that fails is repeated after a minute, and then after twice the time of the previous pause.
func (s *schedule) run(ctx context.Context) error {
	for pause := time.Minute; ; {
		wait, err := s.step()
		switch {
		case ctx.Err() != nil:
			return nil // a backup in progress was interrupted
		case err == nil:
			pause = time.Minute
		default:
			wait, pause = min(pause, s.every), min(2*pause, longestPause)
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
	now := s.now()
	// Also before a backup: it can fail because the disk is full.
	copies, err := s.prune(now)
	if err != nil {
		return 0, err
	}
	if len(copies) > 0 {
		if wait := copies[0].Add(s.every).Sub(now); wait > 0 && !copies[0].After(now) {
			return wait, nil
		}
	}
	if err := s.copy(filepath.Join(s.dir, now.UTC().Format(copyName))); err != nil {
		return 0, err
	}
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
	slices.SortFunc(copies, func(a, b time.Time) int {
		if a.After(now) != b.After(now) {
			if a.After(now) {
				return 1
			}
			return -1
		}
		return b.Compare(a)
	})
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
