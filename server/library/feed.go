package library

import (
	"context"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
)

// Feed tells which items of a property have changed, so that a caller can follow a listing without reading it again.
type Feed interface {
	// Changes returns items that changed after the position r.After, in the order of their changes. It waits as r.Wait says if there are none.
	// An item whose change Write has acknowledged before the call is never missing. Whether an item still exists, and what it contains, is for
	// a Read to say: a Read that begins after Changes has returned sees all changes that Changes returned. Changes fails with ErrNotFound
	// (property), ErrUnavailable, ErrClosed, and the cause of ctx.
	Changes(ctx context.Context, r ChangesRead) (*ItemChanges, error)
	// Rules describes what decides, apart from the items, which items a listing of the property contains and what they look like. It fails
	// with ErrNotFound.
	Rules(p PropertyID) (FeedRules, error)
}

// Position is a place in the changes of a property. Its text is opaque, contains no personal data, and needs at most 64 bytes. Positions
// survive a restart of the server, and every replica accepts them.
type Position string

// ChangesRead is a request for changes.
type ChangesRead struct {
	Property PropertyID
	// After is ItemChanges.Next of the previous call. "" requests the position of now, without changes.
	After Position
	// Limit is the maximum number of returned items. It must be positive.
	Limit int
	// Wait is the time that Changes waits for a change if there is none. If it passes, Changes returns no items.
	Wait time.Duration
}

// ItemChanges is the result of Changes.
type ItemChanges struct {
	// Items are the changed items, each of them once.
	Items []ChangedItem
	// Next is the position after the returned changes.
	Next Position
	// More is true if further changes follow Next.
	More bool
	// Lost is true if the library does not know all changes after ChangesRead.After: the changes are too old or too many, or the position
	// belongs to another store, such as the one before a backup was restored, or to a property that was purged. Items is then empty, and Next
	// is the position of now. A caller then has to read its listing again. A library that was copied from another one also knows those
	// positions of the other one after which nothing has changed there.
	Lost bool
}

// ChangedItem is an item that was created, changed or deleted.
type ChangedItem struct {
	ID item.ID
	// Private is true if only private members have changed: everything that query.Public sees of the item is as before.
	Private bool
}

// FeedRules describe the definitions of a property, as far as items depend on them.
type FeedRules struct {
	// Digest changes whenever a change of definitions may add items to a listing, remove some, or change what they look like, except for a
	// change of the filter of the listing itself. It is equal in all replicas that have the same definitions.
	Digest string
	// Volatile is true if a rule of a manifest depends on the time or on other items, so that tags and units can change without a change of
	// an item (see definitions.Rule).
	Volatile bool
	// Private is true if a rule of a manifest uses private fields, so that public tags and units of an item can change together with a private
	// member.
	Private bool
}
