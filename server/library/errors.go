package library

import (
	"errors"
	"fmt"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Sentinel errors, to be compared with errors.Is.
var (
	// ErrNotFound means that the property, filter, unit, item, mapping or link does not exist.
	ErrNotFound = errors.New("not found")
	// ErrNoProperty means that the property of a definition or an item does not exist.
	ErrNoProperty = errors.New("property not found")
	// ErrNotModified means that the version in Read.IfVersion is still current.
	ErrNotModified = errors.New("not modified")
	// ErrExists means that an item with the given id already exists.
	ErrExists = errors.New("an item with this id already exists")
	// ErrChanged means that an item is no longer in the state that Mutation.If requires.
	ErrChanged = errors.New("the item has changed")
	// ErrInvalid means that no library can accept the definition. The returned error wraps it and adds the reason.
	ErrInvalid = errors.New("invalid definition")
	// ErrUnreadable means that this version of Vitrine cannot parse the query of a stored filter, although the version that stored the filter
	// could. The message of the returned error contains that of the syntax error. Do not show it to every caller who may list the filter,
	// because it quotes the query.
	ErrUnreadable = errors.New("the stored query cannot be read")
	// ErrUnavailable means that the store cannot accept writes now, for example because the disk is full or the library is closing. The
	// returned error wraps it and adds the reason.
	ErrUnavailable = errors.New("store unavailable")
	// ErrClosed means that the library was closed.
	ErrClosed = errors.New("library closed")
)

// UnknownProperty returns an error that wraps ErrNotFound, for a property that is not served.
func UnknownProperty(id PropertyID) error { return fmt.Errorf("property %s: %w", id, ErrNotFound) }

// UnknownItem returns an error that wraps ErrNotFound, for an item that its property does not have.
func UnknownItem(id item.ID) error { return fmt.Errorf("item %d: %w", id, ErrNotFound) }

// ConflictError says that another definition already holds something that the refused definition claims.
type ConflictError struct {
	// Claim describes what both definitions claim, such as `tag marketer_tags:summer`.
	Claim string
	// Holder is the owner that holds the claim. It is in the namespace of the refused definition, unless the claim is a token's value, which
	// an owner in any namespace can hold.
	Holder Owner
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s is held by %s", e.Claim, e.Holder)
}

// IDTakenError says that another definition already has the id of the refused definition.
type IDTakenError struct {
	ID     int64
	Holder Owner
}

func (e *IDTakenError) Error() string {
	return fmt.Sprintf("id %d is taken by %s", e.ID, e.Holder)
}

// ManagedError says that a caller tried to change over HTTP something that a manifest manages.
type ManagedError struct{ Owner Owner }

func (e *ManagedError) Error() string { return "managed by " + e.Owner.String() }

// UnreadableItemError says that an item is stored, but cannot be read: a file is damaged, the disk fails, or the stored bytes do not decode
// to an item. Other items may still be readable.
type UnreadableItemError struct {
	ID item.ID
	// Err is the cause.
	Err error
}

func (e *UnreadableItemError) Error() string { return fmt.Sprintf("read item %d: %v", e.ID, e.Err) }

// Unwrap returns the cause.
func (e *UnreadableItemError) Unwrap() error { return e.Err }

// UnknownItemsError names item ids that are not in the property.
type UnknownItemsError struct{ IDs []item.ID }

func (e *UnknownItemsError) Error() string { return fmt.Sprintf("unknown item ids: %v", e.IDs) }

// FrozenError says that the library refuses writes while it is being copied to another library (see package transfer). It wraps
// ErrUnavailable.
type FrozenError struct {
	// Since is the time at which the library began to refuse writes.
	Since time.Time
}

func (e *FrozenError) Error() string {
	return fmt.Sprintf("the library has rejected writes since %s because of a migration: "+
		"serve the copy when it is complete, or run vitrine migrate --cancel to keep using this library", e.Since.UTC().Format(time.RFC3339))
}

// Unwrap returns ErrUnavailable.
func (e *FrozenError) Unwrap() error { return ErrUnavailable }

// HeldError says that a sweep was refused because it would remove too many definitions.
type HeldError struct {
	// Remove is the number of definitions that the sweep would remove, and Total is the number of definitions in scope.
	Remove, Total int
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("sweep held: it would remove %d of %d definitions; check that all manifests are in the cluster, then confirm the sweep", e.Remove, e.Total)
}

// CursorError says that a cursor cannot be used, because it belongs to another listing or to another version of the library.
type CursorError struct{ Reason string }

func (e *CursorError) Error() string { return "cursor cannot be used: " + e.Reason }

// OffsetError says that Read.Offset exceeds the limit of the library. Cursors have no such limit.
type OffsetError struct {
	// Limit is the number of items, counted from the start of the listing, that pages with an offset can reach.
	Limit int64
}

func (e *OffsetError) Error() string {
	return fmt.Sprintf("page numbers reach only the first %d items: follow _links.next instead", e.Limit)
}

// Unreadable returns an error that wraps ErrUnreadable, for a stored query that does not parse. what names the owner of the query. The error
// does not wrap err: callers would report a *query.SyntaxError as an error in the query of the request, and quote the stored query.
func Unreadable(what string, err error) error {
	return fmt.Errorf("%w: %s: %s", ErrUnreadable, what, err.Error())
}
