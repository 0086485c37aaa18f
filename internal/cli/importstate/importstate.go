// Package importstate stores the progress of interrupted imports, so that the next run of the command can continue. Each import has a small
// file in the user's cache directory.
//
// Invariants: a file and its name reveal nothing about the token or the content. The package replaces a file by rename, so that a crash
// leaves either the old or the new state. It may import client.
package importstate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/vitrine-dev/vitrine/server/client"
)

// State is the recorded state of an import.
type State struct {
	Server string            `json:"server"`
	Input  string            `json:"input"` // absolute path
	Begun  time.Time         `json:"begun"`
	At     client.Checkpoint `json:"at"`
}

// File is the file with the state of one import.
type File struct{ path string }

// Open returns the state file, in dir, of the import of a file into a server. input is the absolute path of the imported file. identity
// identifies the token, and thus the property.
func Open(dir, server, identity, input string) *File {
	sum := sha256.Sum256([]byte(server + "\x00" + identity + "\x00" + input))
	return &File{filepath.Join(dir, hex.EncodeToString(sum[:16])+".json")}
}

// Load returns the recorded state, or nil if no state is recorded.
func (f *File) Load() (*State, error) {
	content, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the progress of the import: %w", err)
	}
	s := &State{}
	if err := json.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("read the progress of the import from %s: %w", f.path, err)
	}
	return s, nil
}

// Save replaces the recorded state.
func (f *File) Save(s State) error {
	content, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	next := f.path + ".new"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, f.path)
}

// Remove removes the recorded state.
func (f *File) Remove() error {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the progress of the import: %w", err)
	}
	return nil
}
