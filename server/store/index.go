package store

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Index is the data that a library derives from the items of the store, in memory or in its own files. It follows the store batch by batch.
//
// The store never calls Load, Prepare, TagOwner, Close and the function install concurrently, nor while Store.Hold or Store.CommitIndex
// runs a function. Erase may run concurrently with all of them except Close. Only Load and install may change the state that readers of the
// index see. A failed or abandoned Prepare must not change it.
type Index interface {
	// Load makes the index match s. The store calls it when it opens, before any read, and again after an I/O error, because it is then
	// unknown whether the batch of the last Prepare was stored. During Load, s can answer all reads (stored properties, items, catalogues,
	// the index's own keys). If Load fails, it must leave the index unchanged, and the store does not open.
	Load(s *Store) error
	// Prepare computes how a batch changes the index, and adds the index's own keys to the batch. If it fails, the store commits nothing of
	// the batch. It prepares the requests again in smaller batches, and only a request that fails alone gets the error. If callers can act
	// on the error, it should be an error that they understand, such as library.ErrUnavailable or *item.InvalidError. The function install
	// makes the batch visible to readers and cannot fail. The store calls it after the batch is durable and before it answers any request
	// of the group. If the batch cannot be made durable, the store never calls install, and calls Load before the next Prepare.
	Prepare(c *Change, keys *IndexBatch) (install func(), err error)
	// TagOwner returns the Tag manifest whose rule puts a tag on an item, as of the last install, or false if there is none. The result
	// does not depend on whether the item also has the tag itself.
	TagOwner(p library.PropertyID, t item.Tag, id item.ID) (library.Owner, bool)
	// Erase removes the bytes of all deleted items and purged properties from the index's own files. The store calls it some time after a
	// deletion, when it has rewritten its own files, and again after a failure. Erase may call Store.Hold.
	Erase(ctx context.Context) error
	// Close closes the index. The store calls it after the last Prepare, while reads and CommitIndex still work.
	Close() error
}

// Change describes the changes of one batch. It is read-only, and so is everything that it points to.
type Change struct {
	// Version is the number of the batch, one more than the number of the previous batch.
	Version uint64
	// Properties are the properties in which readers see a change, by id, without purged ones.
	Properties []PropertyChange
	// Purged are the properties that were purged.
	Purged []library.PropertyID
}

// PropertyChange describes the changes in one property.
type PropertyChange struct {
	Property library.PropertyID
	// Before and After are the catalogues of the property before and after the batch, or nil if the property was or is not served. They are
	// the same pointer if the catalogue did not change.
	Before, After *definitions.Catalogue
	// Items are the items that were created, changed or deleted, in the order of their first change. Each item occurs once.
	Items []ItemChange
}

// ItemChange is one item that was created, changed or deleted.
type ItemChange struct {
	ID item.ID
	// Item is the new state of the item, or nil if the item was deleted.
	Item *item.Item
	// Existed is true if the item existed before the batch. It is always true for a deleted item.
	Existed bool
	// Erase is true if all files must lose the older bytes of the item within Options.EraseWithin, because the item or its earlier
	// submission was deleted.
	Erase bool
}
