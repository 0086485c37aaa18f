package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"
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

// Copy identifies a scheduled backup in a folder.
type Copy struct {
	// Store is the id of the store. It is empty for a backup that was made before names contained the id.
	Store string
	At    time.Time
}

const (
	copyPrefix, copySuffix = "vitrine-", ".tar"
	// copyTime is the time layout in the names of scheduled backups. The times are in UTC, so the names of a store's backups sort by time.
	copyTime = "20060102T150405Z"
)

// Name returns the name of the file of the backup.
func (c Copy) Name() string {
	of := ""
	if c.Store != "" {
		of = c.Store + "-"
	}
	return copyPrefix + of + c.At.UTC().Format(copyTime) + copySuffix
}

// ParseCopy parses the name of a scheduled backup. ok is false for any other name.
func ParseCopy(name string) (c Copy, ok bool) {
	rest, _ := strings.CutPrefix(name, copyPrefix)
	rest, _ = strings.CutSuffix(rest, copySuffix)
	if store, at, named := strings.Cut(rest, "-"); named && IsStoreID(store) {
		c.Store, rest = store, at
	}
	at, err := time.Parse(copyTime, rest)
	c.At = at
	return c, err == nil && c.Name() == name
}

// copies returns the scheduled backups among the names in a folder, oldest first.
func copies(names []string) (found []Copy) {
	for _, name := range names {
		if c, ok := ParseCopy(name); ok {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b Copy) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Store, b.Store)) })
	return found
}

var storeIDs = regexp.MustCompile(`^[0-9a-f]{32}$`)

// IsStoreID reports whether a text has the form of the id of a store.
func IsStoreID(s string) bool { return storeIDs.MatchString(s) }

// Place is a folder of scheduled backups: a Directory or a Bucket.
type Place interface {
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
func ownerOf(ctx context.Context, p Place) (string, error) {
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
	if err := json.Unmarshal(text, &is); err != nil || !IsStoreID(is.Store) {
		return "", fmt.Errorf("the file %s in %s does not name a store: remove the file if only this store uses the folder", ownerName, p)
	}
	return is.Store, nil
}

// claim makes a folder with these files belong to a store, or returns a *foreignError if the folder belongs to another store. With
// takeOver, claim takes the folder from the store with that id. A folder without an owner that contains backups of another store belongs to
// that store. Backups without the id of a store do not count.
func claim(ctx context.Context, p Place, names []string, store, takeOver string, now time.Time) error {
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
			if c.Store != "" && c.Store != store && c.Store != takeOver {
				return &foreignError{p.String(), c.Store, store}
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

// Newest returns the newest scheduled backup of a store in a folder. If store is "", it is the owner of the folder or, without an owner,
// the only store of which the folder contains backups.
func Newest(ctx context.Context, p Place, store string) (Copy, error) {
	names, err := p.list(ctx)
	if err != nil {
		return Copy{}, err
	}
	all := copies(names)
	if len(all) == 0 {
		return Copy{}, fmt.Errorf("the folder contains no scheduled backup, such as %sID-%s%s: name another folder, or a file", copyPrefix, copyTime, copySuffix)
	}
	last := map[string]Copy{}
	for _, c := range all {
		last[c.Store] = c
	}
	if store == "" {
		if store, err = ownerOf(ctx, p); err != nil {
			return Copy{}, err
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
		lines = append(lines, fmt.Sprintf("%s (of %s)", c.Name(), cmp.Or(c.Store, "an unknown store")))
	}
	slices.Sort(lines)
	what := "belongs to no store"
	if store != "" {
		what = "contains no scheduled backup of the store " + store
	}
	return Copy{}, fmt.Errorf("the folder %s. Name the store with --from-store=ID, or name one of the newest backups: %s", what, strings.Join(lines, ", "))
}
