//go:build !linux

package scratch

import "errors"

// File cannot be created on this system.
type File struct{}

// New returns errors.ErrUnsupported.
func New(string, int) (*File, error) { return nil, errors.ErrUnsupported }

// Append returns ErrFull.
func (*File) Append([]byte, []uint32) ([]byte, []uint32, error) { return nil, nil, ErrFull }

// Fits returns false.
func (*File) Fits(int) bool { return false }

// Close does nothing.
func (*File) Close() error { return nil }
