package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	lockName   = "LOCK"
	holderName = "LOCK.json"
)

// LockedError reports that another process, or another part of this process, uses the store.
type LockedError struct {
	Dir string
	// PID, Host and Since describe the process that holds the lock. PID is 0 if LOCK.json cannot be read.
	PID   int
	Host  string
	Since time.Time
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("store at %s is in use by another process: stop it, or choose another data directory", e.Dir)
	}
	return fmt.Sprintf("store at %s is in use by process %d on %s since %s: stop it, or choose another data directory",
		e.Dir, e.PID, e.Host, e.Since.Format(time.RFC3339))
}

// holder is the content of LOCK.json.
type holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// LockDir locks the data directory of a process that does not keep its items in that directory. It returns a *LockedError if another
// process has the lock. Close releases the lock.
func LockDir(dir string) (io.Closer, error) { return lockDir(vfs.Default, dir, time.Now()) }

// lockDir locks the directory of a store and records the process that holds the lock. The record is not in the locked file, because reading
// it there would release the lock: the kernel releases a POSIX lock when the process closes any handle on the locked file.
func lockDir(disk vfs.FS, dir string, now time.Time) (io.Closer, error) {
	lock, err := disk.Lock(disk.PathJoin(dir, lockName))
	if err != nil {
		if _, cannotOpen := errors.AsType[*fs.PathError](err); cannotOpen {
			return nil, fmt.Errorf("lock store at %s: %w", dir, err)
		}
		h, _ := readHolder(disk, dir) // ignore an error: without the holder, the error message is shorter but still correct
		return nil, &LockedError{Dir: dir, PID: h.PID, Host: h.Host, Since: h.Since}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	err = writeHolder(disk, dir, holder{PID: os.Getpid(), Host: host, Since: now.UTC().Truncate(time.Second)})
	if vfs.IsNoSpaceError(err) {
		// The store works without a record. Remove the record of the previous process, which would name the wrong holder.
		if err = disk.Remove(disk.PathJoin(dir, holderName)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("record the holder of the store at %s: %w", dir, err), lock.Close())
	}
	return lock, nil
}

func readHolder(disk vfs.FS, dir string) (holder, error) {
	f, err := disk.Open(disk.PathJoin(dir, holderName))
	if err != nil {
		return holder{}, err
	}
	text, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return holder{}, err
	}
	var h holder
	if err := json.Unmarshal(text, &h); err != nil {
		return holder{}, err
	}
	return h, nil
}

// writeHolder replaces LOCK.json atomically.
func writeHolder(disk vfs.FS, dir string, h holder) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	temporary := disk.PathJoin(dir, holderName+".new")
	f, err := disk.Create(temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return disk.Rename(temporary, disk.PathJoin(dir, holderName))
}
