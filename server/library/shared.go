package library

import (
	"context"
	"errors"
)

// ErrDeposed means that another process leads the library now.
var ErrDeposed = errors.New("another replica leads the library")

// Shared is a Library that several processes can have open at the same time. One of them leads: it makes the library match the
// manifests.
type Shared interface {
	Library

	// Lead makes the caller the leader of the library and returns the library to lead with. Once another caller has called Lead, the
	// methods Apply, Remove, Sweep and SetMark of the returned Library store nothing and fail with ErrDeposed, so that a process that was
	// suspended while another one took over cannot store outdated manifests. name identifies the leader in log lines. The returned Library
	// must not be closed.
	Lead(ctx context.Context, name string) (Library, error)
}

// Follower is a Library whose definitions other processes change.
type Follower interface {
	// Current returns once the library serves every definition that was acknowledged, in any process, more than a second before the call.
	// It returns at once in normal operation. It fails with ErrUnavailable if the library cannot determine that within a few seconds, with
	// ErrClosed, or with the cause of ctx.
	Current(ctx context.Context) error
}
