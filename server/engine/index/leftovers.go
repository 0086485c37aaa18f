package index

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
)

// leftovers holds obsolete files that could not be removed. They may contain bytes of deleted items.
type leftovers struct {
	mu    sync.Mutex
	names map[string]bool
}

// remove removes an obsolete file. If the removal fails, the next Erase or the next opening of the index retries it.
func (x *Index) remove(file string) {
	err := x.o.FS.Remove(x.path(file))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	x.o.Logger.Warn("cannot remove a file of the index", slog.String("file", file), slog.Any("error", err))
	l := &x.leftovers
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		l.names = map[string]bool{}
	}
	l.names[file] = true
}

// remove tries again to remove the leftovers.
func (l *leftovers) remove(x *Index) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for file := range l.names {
		if err := x.o.FS.Remove(x.path(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove %s: %w", file, err))
			continue
		}
		delete(l.names, file)
	}
	return errors.Join(errs...)
}
