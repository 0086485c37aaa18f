package schedule

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/internal/cli/output"
)

// Directory is the path of a directory, as the place of scheduled backups.
type Directory string

// abandoned is the age at which an incomplete file is certain to belong to a command that was killed.
const abandoned = time.Hour

func (d Directory) String() string { return string(d) }

func (d Directory) path(name string) string { return filepath.Join(string(d), name) }

// prepare removes every incomplete file that is old enough, because its name does not contain the name that it would have got.
func (d Directory) prepare(_ context.Context, now time.Time, _ func(string) bool) error {
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

func (d Directory) list(context.Context) (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (d Directory) read(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(d.path(name))
}

func (d Directory) create(_ context.Context, name string, content []byte) error {
	return d.write(content, func(temporary string) error {
		return errors.Join(os.Link(temporary, d.path(name)), os.Remove(temporary)) // Link fails if the file exists
	})
}

func (d Directory) replace(_ context.Context, name string, content []byte) error {
	return d.write(content, func(temporary string) error { return os.Rename(temporary, d.path(name)) })
}

// write writes a temporary file, and calls place to give it its name. Whatever interrupts it, no incomplete file has that name.
func (d Directory) write(content []byte, place func(temporary string) error) error {
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

func (d Directory) sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d Directory) remove(_ context.Context, name string) error { return os.Remove(d.path(name)) }
