//go:build !linux

package scratch

import "errors"

// File cannot be created on this system.
type File struct{}

// New returns errors.ErrUnsupported.
func New(string, int) (*File, error) { return nil, errors.ErrUnsupported }

// Append returns ErrFull.
func (*File) Append([]byte) ([]byte, error) { return nil, ErrFull }

// AppendNumbers returns ErrFull.
func (*File) AppendNumbers([]uint32) ([]uint32, error) { return nil, ErrFull }

// Close does nothing.
func (*File) Close() error { return nil }
