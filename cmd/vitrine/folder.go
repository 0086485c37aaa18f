package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/exit"
)

// A folder of scheduled backups belongs to one store, the owner. The file ownerName in the folder names it. The first schedule in a folder
// creates this file, which only one store can do. The name of each backup also contains the id of its store. A schedule therefore never
// replaces or removes a backup of another store, even if the store of the folder does not know conditional requests, so that two stores
// believe for a short time that the folder is theirs.

// ownerName is the name of the file that names the owner of a folder.
const ownerName = "vitrine-owner.json"

// owner is the content of the file ownerName.
type owner struct {
	// Store is the id of the store to which the folder belongs, since the time Since.
	Store string    `json:"store"`
	Since time.Time `json:"since"`
}

// scheduled identifies a scheduled backup in a folder.
type scheduled struct {
	// store is the id of the store. It is empty for a backup that was made before names contained the id.
	store string
	at    time.Time
}

const (
	copyPrefix, copySuffix = "vitrine-", ".tar"
	// copyTime is the time layout in the names of scheduled backups. The times are in UTC, so the names of a store's backups sort by time.
	copyTime = "20060102T150405Z"
)

func (c scheduled) name() string {
	of := ""
	if c.store != "" {
		of = c.store + "-"
	}
	return copyPrefix + of + c.at.UTC().Format(copyTime) + copySuffix
}

// parseCopy parses the name of a scheduled backup. ok is false for any other name.
func parseCopy(name string) (c scheduled, ok bool) {
	rest, _ := strings.CutPrefix(name, copyPrefix)
	rest, _ = strings.CutSuffix(rest, copySuffix)
	if store, at, named := strings.Cut(rest, "-"); named && isStoreID(store) {
		c.store, rest = store, at
	}
	at, err := time.Parse(copyTime, rest)
	c.at = at
	return c, err == nil && c.name() == name
}

// copies returns the scheduled backups among the names in a folder, oldest first.
func copies(names []string) (found []scheduled) {
	for _, name := range names {
		if c, ok := parseCopy(name); ok {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b scheduled) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.store, b.store)) })
	return found
}

var storeIDs = regexp.MustCompile(`^[0-9a-f]{32}$`)

// isStoreID reports whether a text has the form of the id of a store.
func isStoreID(s string) bool { return storeIDs.MatchString(s) }

// checkStoreID returns an error for the value of a flag that is neither empty nor the id of a store.
func checkStoreID(flag, value string) error {
	if value != "" && !isStoreID(value) {
		return exit.Usagef("--%s %q: the id of a store has 32 hexadecimal digits", flag, value)
	}
	return nil
}

// place is a folder of scheduled backups.
type place interface {
	// prepare creates the folder if necessary, and removes what commands that were killed have left of files for which mine returns true.
	prepare(ctx context.Context, now time.Time, mine func(name string) bool) error
	// list returns the names of all files.
	list(ctx context.Context) ([]string, error)
	// read returns the content of a file, or fs.ErrNotExist.
	read(ctx context.Context, name string) (io.ReadCloser, error)
	// create creates a small file, or fails with fs.ErrExist. replace also replaces an existing file.
	create(ctx context.Context, name string, content []byte) error
	replace(ctx context.Context, name string, content []byte) error
	remove(ctx context.Context, name string) error
	// String returns the name of the folder for messages.
	String() string
}

// foreignError means that a folder belongs to another store.
type foreignError struct {
	folder, owner, store string
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s belongs to the store %s, and this store is %s: use another folder for the backups of this store. "+
		"If this store replaces the other one, which no server uses any longer, pass --take-over=%s", e.folder, e.owner, e.store, e.owner)
}

// ownerOf returns the id of the store to which a folder belongs, or "" if it belongs to none.
func ownerOf(ctx context.Context, p place) (string, error) {
	r, err := p.read(ctx, ownerName)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(r, 64<<10))
	if err = errors.Join(err, r.Close()); err != nil {
		return "", fmt.Errorf("read the owner of the folder: %w", err)
	}
	var is owner
	if err := json.Unmarshal(text, &is); err != nil || !isStoreID(is.Store) {
		return "", fmt.Errorf("the file %s in %s does not name a store: remove the file if only this store uses the folder", ownerName, p)
	}
	return is.Store, nil
}

// claim makes a folder with these files belong to a store, or returns a *foreignError if the folder belongs to another store. With
// takeOver, claim takes the folder from the store with that id. A folder without an owner that contains backups of another store belongs to
// that store. Backups without the id of a store do not count.
func claim(ctx context.Context, p place, names []string, store, takeOver string, now time.Time) error {
	text, err := json.Marshal(owner{Store: store, Since: now.UTC()})
	if err != nil {
		return err
	}
	is, err := ownerOf(ctx, p)
	if err != nil {
		return err
	}
	if is == "" {
		for _, c := range copies(names) {
			if c.store != "" && c.store != store && c.store != takeOver {
				return &foreignError{p.String(), c.store, store}
			}
		}
		if err := p.create(ctx, ownerName, text); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if is, err = ownerOf(ctx, p); err != nil {
			return err
		}
	}
	switch is {
	case store:
		return nil
	case "":
		return fmt.Errorf("the file %s in %s was removed", ownerName, p)
	case takeOver:
		return p.replace(ctx, ownerName, text)
	}
	return &foreignError{p.String(), is, store}
}

// newest returns the newest scheduled backup of a store in a folder. If store is "", it is the owner of the folder or, without an owner,
// the only store of which the folder contains backups.
func newest(ctx context.Context, p place, store string) (scheduled, error) {
	names, err := p.list(ctx)
	if err != nil {
		return scheduled{}, err
	}
	all := copies(names)
	if len(all) == 0 {
		return scheduled{}, fmt.Errorf("the folder contains no scheduled backup, such as %sID-%s%s: name another folder, or a file", copyPrefix, copyTime, copySuffix)
	}
	last := map[string]scheduled{}
	for _, c := range all {
		last[c.store] = c
	}
	if store == "" {
		if store, err = ownerOf(ctx, p); err != nil {
			return scheduled{}, err
		}
	}
	if store == "" && len(last) == 1 {
		return all[len(all)-1], nil
	}
	if c, ok := last[store]; ok && store != "" {
		return c, nil
	}
	var lines []string
	for _, c := range last {
		lines = append(lines, fmt.Sprintf("%s (of %s)", c.name(), cmp.Or(c.store, "an unknown store")))
	}
	slices.Sort(lines)
	what := "belongs to no store"
	if store != "" {
		what = "contains no scheduled backup of the store " + store
	}
	return scheduled{}, fmt.Errorf("the folder %s. Name the store with --from-store=ID, or name one of the newest backups: %s", what, strings.Join(lines, ", "))
}

// directory is the path of a directory, as the place of scheduled backups.
type directory string

// abandoned is the age at which an incomplete file is certain to belong to a command that was killed.
const abandoned = time.Hour

func (d directory) String() string { return string(d) }

func (d directory) path(name string) string { return filepath.Join(string(d), name) }

// prepare removes every incomplete file that is old enough, because its name does not contain the name that it would have got.
func (d directory) prepare(_ context.Context, now time.Time, _ func(string) bool) error {
	if err := os.Mkdir(string(d), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("create the directory of the backups: %w", err)
	}
	entries, err := os.ReadDir(string(d))
	for _, e := range entries {
		info, failed := e.Info()
		if failed == nil && strings.HasPrefix(e.Name(), output.IncompletePrefix) && now.Sub(info.ModTime()) > abandoned {
			err = errors.Join(err, os.Remove(d.path(e.Name())))
		}
	}
	return err
}

func (d directory) list(context.Context) (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (d directory) read(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(d.path(name))
}

func (d directory) create(_ context.Context, name string, content []byte) error {
	return d.write(content, func(temporary string) error {
		return errors.Join(os.Link(temporary, d.path(name)), os.Remove(temporary)) // Link fails if the file exists
	})
}

func (d directory) replace(_ context.Context, name string, content []byte) error {
	return d.write(content, func(temporary string) error { return os.Rename(temporary, d.path(name)) })
}

// write writes a temporary file, and calls place to give it its name. Whatever interrupts it, no incomplete file has that name.
func (d directory) write(content []byte, place func(temporary string) error) error {
	f, err := os.CreateTemp(string(d), output.IncompletePrefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = place(f.Name())
	} else {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return errors.Join(err, d.sync())
}

func (d directory) sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d directory) remove(_ context.Context, name string) error { return os.Remove(d.path(name)) }
