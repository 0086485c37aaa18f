package store

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Index is the data that a library derives from the items of the store, in memory or in its own files. The store updates it with each
// batch.
//
// The store calls Load, Prepare, TagOwner, Close and the function install (see Prepare) one at a time. It calls none of them while Store.Hold
// or Store.CommitIndex runs a function. Erase may run concurrently with all of them except Close. Only Load and install may change the state
// that readers of the index see. A call of Prepare must not change it, not even if the call fails or if the store never calls install.
type Index interface {
	// Load makes the index match s. The store calls Load when it opens, before any read. It calls Load again after an I/O error, because it
	// then does not know whether the batch of the last Prepare was stored. During Load, all read methods of s work, such as those for stored
	// properties, items, catalogues and the index's own keys. If Load fails, it must leave the index unchanged, and the store does not open.
	Load(s *Store) error
	// Prepare computes how a batch changes the index, and adds the index's own keys to the batch. If Prepare fails, the store commits nothing
	// of the batch. The store then prepares the requests again in smaller batches. Only a request whose own batch fails gets the error. If the
	// caller of a request can do something about the error, Prepare should return an error that the caller knows, such as
	// library.ErrUnavailable or *item.InvalidError. The function install makes the batch visible to readers and cannot fail. The store calls
	// it after the batch is durable and before it answers any request of the group. If the batch cannot be made durable, the store never calls
	// install, and calls Load before the next Prepare.
	Prepare(c *Change, keys *IndexBatch) (install func(), err error)
	// TagOwner returns a Tag manifest whose rule assigns a tag to an item, according to the last installed batch, or false if there is none.
	// It ignores the item's own tags. It fails if it cannot tell, for example because the index of the property is not open.
	TagOwner(p library.PropertyID, t item.Tag, id item.ID) (library.Owner, bool, error)
	// Erase removes the bytes of all deleted items and purged properties from the index's own files. The store calls it some time after a
	// deletion, when it has rewritten its own files. If Erase fails, the store calls it again later. Erase may call Store.Hold.
	Erase(ctx context.Context) error
	// Close closes the index. The store calls it after the last Prepare, while reads and CommitIndex still work.
	Close()
}

// Change describes the changes of one batch. It is read-only, and so is everything that it points to.
type Change struct {
	// Version is the number of the batch, one more than the number of the previous batch.
	Version uint64
	// Properties are the properties in which readers see a change, in the order of ids, without purged properties.
	Properties []PropertyChange
	// Purged are the properties that were purged.
	Purged []library.PropertyID
}

// PropertyChange describes the changes in one property.
type PropertyChange struct {
	Property library.PropertyID
	// Before and After are the catalogues of the property before and after the batch. A catalogue is nil if the property was not served at
	// that time. They are equal if the batch does not change the catalogue.
	Before, After *definitions.Catalogue
	// Items are the items that were created, changed or deleted, in the order of their first change. Each item occurs once.
	Items []ItemChange
}

// ItemChange is one item that was created, changed or deleted.
type ItemChange struct {
	ID item.ID
	// Item is the new state of the item, or nil if the item was deleted.
	Item *item.Item
	// Existed is true if the item existed before the batch. For a deleted item, it is always true.
	Existed bool
	// Erase is true if the older bytes of the item must be removed from all files within Options.EraseWithin, because the item was deleted or
	// its submission changed.
	Erase bool
}
