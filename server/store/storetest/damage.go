// Package storetest damages copies of stores for tests, at random places or everywhere.
//
// This package may import nothing from this project.
package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Damage is one damaged place of a store.
type Damage struct {
	// File is the path of the file in the directory of the store.
	File string
	// Offset is the damaged byte. If Cut is true, the file ends there. Otherwise, one bit of the byte changes.
	Offset int64
	Cut    bool
}

func (d Damage) String() string {
	if d.Cut {
		return fmt.Sprintf("%s cut at byte %d", d.File, d.Offset)
	}
	return fmt.Sprintf("%s damaged at byte %d", d.File, d.Offset)
}

// Variable is the environment variable that overrides the number of places that Sample returns. "all" means every place.
const Variable = "VITRINE_DAMAGE"

// Sample returns n random places of the store in dir: any byte of any file, or any multiple of 512 bytes at which a file is cut. Each file
// is equally probable, so that the small files that describe the others are damaged as often as the large ones.
func Sample(t *testing.T, dir string, n int) (places []Damage) {
	t.Helper()
	if text := os.Getenv(Variable); text == "all" {
		n = 0
	} else if text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", Variable, err)
		}
	}
	sizes := map[string]int64{}
	var names []string
	walk(t, dir, func(name string, info fs.FileInfo) {
		if info.Size() > 0 {
			names = append(names, name)
			sizes[name] = info.Size()
		}
	})
	if n == 0 {
		for _, name := range names {
			for i := range sizes[name] {
				places = append(places, Damage{File: name, Offset: i})
				if i%512 == 0 {
					places = append(places, Damage{File: name, Offset: i, Cut: true})
				}
			}
		}
		return places
	}
	for range n {
		name := names[rand.IntN(len(names))]
		d := Damage{File: name, Offset: rand.Int64N(sizes[name]), Cut: rand.IntN(8) == 0}
		if d.Cut {
			d.Offset -= d.Offset % 512
		}
		places = append(places, d)
	}
	return places
}

// CopyOf returns a copy of the store in dir, which no process has open, with this damage. Files that are never changed in place are linked.
func (d Damage) CopyOf(t *testing.T, dir string) string {
	t.Helper()
	to, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	walk(t, dir, func(name string, _ fs.FileInfo) {
		target := filepath.Join(to, name)
		err := os.MkdirAll(filepath.Dir(target), 0o700)
		switch {
		case err != nil:
		case name != d.File && isImmutable(name):
			err = os.Link(filepath.Join(dir, name), target)
		default:
			var content []byte
			if content, err = os.ReadFile(filepath.Join(dir, name)); err == nil {
				if name == d.File {
					content = d.apply(content)
				}
				err = os.WriteFile(target, content, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return to
}

func (d Damage) apply(content []byte) []byte {
	if d.Cut {
		return content[:d.Offset]
	}
	content[d.Offset] ^= 1 << (d.Offset % 8)
	return content
}

func isImmutable(name string) bool {
	return slices.Contains([]string{".sst", ".seg"}, filepath.Ext(name))
}

// Changes lists the differences between two copies of a store.
func Changes(t *testing.T, was, is string) (changes []string) {
	t.Helper()
	walk(t, was, func(name string, info fs.FileInfo) {
		now, err := os.Stat(filepath.Join(is, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			changes = append(changes, name+" is missing")
		case err != nil:
			t.Fatal(err)
		case !os.SameFile(info, now) && !bytes.Equal(read(t, was, name), read(t, is, name)):
			changes = append(changes, name+" has changed")
		}
	})
	walk(t, is, func(name string, _ fs.FileInfo) {
		if _, err := os.Stat(filepath.Join(was, name)); errors.Is(err, fs.ErrNotExist) {
			changes = append(changes, name+" is new")
		}
	})
	return changes
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// walk calls visit with the path of each file in dir, except the files of the lock.
func walk(t *testing.T, dir string, visit func(name string, info fs.FileInfo)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "LOCK") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			visit(name, info)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
