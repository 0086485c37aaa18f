package store

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Index is what a library derives from the items of the store, in memory or in its own files. It follows the store batch by batch.
//
// Load, Prepare, its install, TagOwner and Close are never called concurrently, nor during a function that Store.Hold or Store.CommitIndex
// runs. Erase may run concurrently with all of them except Close. The index changes what its readers see only in Load and in install. A
// failed or abandoned Prepare must not change anything for them.
type Index interface {
	// Load makes the index match s: when a store is opened, before any read, and again after an I/O error, when it is unknown
	// whether the batch of the last Prepare was stored. s answers all reads (stored properties, items, catalogues, the index's own
	// keys). If Load fails, the index must be as before, and the store is not opened.
	Load(s *Store) error
	// Prepare computes how a batch changes the index, and adds the index's own keys to the batch. If it fails, nothing of the batch
	// is committed: the requests are prepared again in smaller batches, and only the request that fails alone gets the error. If
	// callers can act on the error, it should be one that they understand, such as library.ErrUnavailable or *item.InvalidError.
	// install makes the batch visible to readers and cannot fail. It is called once the batch is durable and before any request of
	// the group is answered. If the batch cannot be made durable, install is never called, and Load is called before the next
	// Prepare.
	Prepare(c *Change, keys *IndexBatch) (install func(), err error)
	// TagOwner returns the Tag manifest whose rule puts a tag on an item, as of the last install, or false if there is none. Whether the
	// item also has the tag itself does not matter.
	TagOwner(p library.PropertyID, t item.Tag, id item.ID) (library.Owner, bool)
	// Erase removes the bytes of all deleted items and purged properties from the index's own files. It is called some time after a
	// deletion, after the store's own files were rewritten, and again if it failed. It may call Store.Hold.
	Erase(ctx context.Context) error
	// Close closes the index, after the last Prepare and while the store can still be read and CommitIndex still works.
	Close() error
}

// Change is what one batch changes. It is read-only, with everything that it points to.
type Change struct {
	// Version is the number of the batch: one more than that of the batch before.
	Version uint64
	// Properties are those in which readers see a change, by id, without purged ones.
	Properties []PropertyChange
	// Purged are the properties that were purged.
	Purged []library.PropertyID
}

// PropertyChange is what changes in one property.
type PropertyChange struct {
	Property library.PropertyID
	// Before and After are what the property serves in addition to its items; nil while it is not served. They are the same pointer if
	// nothing changed.
	Before, After *definitions.Catalogue
	// Items are those that were created, changed or deleted, each once, in the order of their first change.
	Items []ItemChange
}

// ItemChange is one item that was created, changed or deleted.
type ItemChange struct {
	ID item.ID
	// Item is the new item, nil for a deleted one.
	Item *item.Item
	// Existed is true if the item existed before the batch. It is always true for a deleted item.
	Existed bool
	// Erase is true if older bytes of the item must leave all files within Options.EraseWithin, because the item or its earlier submission
	// was deleted.
	Erase bool
}
