package library

import (
	"context"
	"errors"
)

// ErrDeposed means that another process now leads the library.
var ErrDeposed = errors.New("another replica leads the library")

// Shared is a Library that several processes can have open at the same time. One of them is the leader: it makes the library match the
// manifests.
type Shared interface {
	Library

	// Lead makes the caller the leader of the library and returns the Library that the leader must use. After another process has called Lead,
	// the methods Apply, Remove, Sweep and SetMark of the returned Library store nothing and fail with ErrDeposed. A process that did not run
	// for a while, and was replaced as the leader in that time, therefore cannot store outdated manifests. Log lines call the leader by name.
	// Do not close the returned Library.
	Lead(ctx context.Context, name string) (Library, error)
}

// Follower is a Library whose definitions other processes can change.
type Follower interface {
	// Current waits until the library serves every definition whose storage a process confirmed more than a second before the call. In normal
	// operation, it returns immediately. It fails with ErrUnavailable if the library cannot establish this state within a few seconds, with
	// ErrClosed, or with the cause of ctx.
	Current(ctx context.Context) error
}
