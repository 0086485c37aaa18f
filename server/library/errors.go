package library

import (
	"errors"
	"fmt"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Sentinel errors. Use errors.Is.
var (
	// ErrNotFound: no such property, filter, unit, item, mapping or link.
	ErrNotFound = errors.New("not found")
	// ErrNoProperty: the property that a definition or an item belongs to is not there.
	ErrNoProperty = errors.New("property not found")
	// ErrNotModified: the version that the caller holds is current.
	ErrNotModified = errors.New("not modified")
	// ErrExists: an item with that id is already there.
	ErrExists = errors.New("an item with this id exists")
	// ErrInvalid: a definition that no library can take; wrapped with what and why.
	ErrInvalid = errors.New("invalid definition")
	// ErrUnreadable: a stored filter has a query that this version does not read, though the one that stored it did; wrapped
	// with what is wrong with it, which is not for all who may read the filter's items.
	ErrUnreadable = errors.New("stored query not readable")
	// ErrUnavailable: the store cannot take writes now (disk full, shutting down); wrapped with why.
	ErrUnavailable = errors.New("store unavailable")
	// ErrClosed: the library was closed.
	ErrClosed = errors.New("library closed")
)

// UnknownProperty is the ErrNotFound of a property that is not served.
func UnknownProperty(id PropertyID) error { return fmt.Errorf("property %s: %w", id, ErrNotFound) }

// UnknownItem is the ErrNotFound of an item that its property does not have.
func UnknownItem(id item.ID) error { return fmt.Errorf("item %d: %w", id, ErrNotFound) }

// ConflictError says that another definition holds what this one claims.
type ConflictError struct {
	// Claim says what is claimed, such as `tag marketer_tags:summer`.
	Claim string
	// Holder holds it. It may be of another namespace where the claim is a token's value, and of the same one otherwise.
	Holder Owner
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s is held by %s", e.Claim, e.Holder)
}

// IDTakenError says that the id derived for a definition is in use by something else in the store.
type IDTakenError struct {
	ID     int64
	Holder Owner
}

func (e *IDTakenError) Error() string {
	return fmt.Sprintf("id %d is taken by %s", e.ID, e.Holder)
}

// ManagedError says that a manifest holds what an HTTP caller wants to change.
type ManagedError struct{ Owner Owner }

func (e *ManagedError) Error() string { return "managed by " + e.Owner.String() }

// UnknownItemsError names item ids that are not in the property.
type UnknownItemsError struct{ IDs []item.ID }

func (e *UnknownItemsError) Error() string { return fmt.Sprintf("unknown item ids: %v", e.IDs) }

// HeldError says that a sweep was held back because it would remove too much.
type HeldError struct {
	// Remove of Total definitions in scope would go.
	Remove, Total int
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("sweep held: it would remove %d of %d definitions; check that all manifests are there, then confirm", e.Remove, e.Total)
}

// CursorError says that a cursor cannot be used: it belongs to another listing, or to another version of the library.
type CursorError struct{ Reason string }

func (e *CursorError) Error() string { return "cursor cannot be used: " + e.Reason }
