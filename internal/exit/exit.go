// Package exit defines the exit codes of the command vitrine, and the errors that determine them. It imports nothing from this project.
package exit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
)

// The exit codes. docs/cli.md lists their meanings.
const (
	Failed      = 1
	Usage       = 2
	Lines       = 3
	Store       = 4
	Address     = 5
	Certificate = 6
	Manifests   = 7
	Damaged     = 8
	Interrupted = 130
)

// codedError is an error that determines the exit code of the command.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// With returns an error that makes the command end with an exit code. Its text is that of err.
func With(code int, err error) error { return &codedError{code, err} }

// Usagef returns an error about a wrong command line, with the exit code Usage.
func Usagef(format string, args ...any) error {
	return With(Usage, fmt.Errorf(format, args...))
}

// Code returns the exit code of a command that ends with err, which can be nil. If no error in the tree of err has an exit code, the code is
// Interrupted, Certificate or Failed.
func Code(err error) int {
	if err == nil {
		return 0
	}
	if coded, ok := errors.AsType[*codedError](err); ok {
		return coded.code
	}
	if errors.Is(err, context.Canceled) {
		return Interrupted
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return Certificate
	}
	return Failed
}
