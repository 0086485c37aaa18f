package store

import (
	"context"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Index is what a library keeps of the items besides the store, in memory or in files of its own. It follows the store batch by
// batch.
//
// Load, Prepare, its install, TagOwner and Close are never called at the same time as one another, nor as a function that
// Store.Hold or Store.CommitIndex runs. Erase may run beside all of them but Close. Readers are the index's own affair:
// it publishes what they see, in Load and in install, and a failed or abandoned Prepare has changed nothing for them.
type Index interface {
	// Load makes the index what s holds: when a store is opened, before anybody reads, and again after an I/O error, when
	// nobody knows whether the batch of the last Prepare is there. s answers everything that it reads (Properties stored,
	// items, catalogues, the index's own keys). With an error the index is as before, and the store is not opened.
	Load(s *Store) error
	// Prepare computes how a batch changes the index, and adds the index's own keys to the batch. When it fails, nothing of the
	// batch is committed: the requests are prepared again in smaller batches, and the request that fails alone gets the error. The
	// error should be one that callers understand, such as library.ErrUnavailable or *item.InvalidError, where they can act on it.
	// What Prepare returns makes the batch visible to readers and cannot fail: it is called once the batch is durable and before
	// any request of the group is answered. When the batch cannot be made durable it is never called, and Load is, before the next
	// Prepare.
	Prepare(c *Change, keys *IndexBatch) (install func(), err error)
	// TagOwner returns the Tag manifest by which an item carries a tag, whether or not the item also has it of its own, as
	// of the last install; false where there is none.
	TagOwner(p library.PropertyID, t item.Tag, id item.ID) (library.Owner, bool)
	// Erase removes the bytes of all deleted items and purged properties from the index's own files. It is called some time after a
	// deletion, after the store's own files were rewritten, and again when it failed. It may call Store.Hold.
	Erase(ctx context.Context) error
	// Close ends the index, after the last Prepare and while the store can still be read and CommitIndex still works.
	Close() error
}

// Change is what one batch changes. Nobody may write to it or to what it points to.
type Change struct {
	// Version is the number of the batch: one more than that of the batch before.
	Version uint64
	// Properties are those of which readers see something change, by id; a purged one is not among them.
	Properties []PropertyChange
	// Purged are properties of which nothing is left.
	Purged []library.PropertyID
}

// PropertyChange is what changes in one property.
type PropertyChange struct {
	Property library.PropertyID
	// Before and After are what the property serves besides its items; nil while it is not served. They are one and the
	// same pointer when nothing of it changed.
	Before, After *definitions.Catalogue
	// Items are those that come, change or go, each once, in the order in which they first changed.
	Items []ItemChange
}

// ItemChange is one item that comes, changes or goes.
type ItemChange struct {
	ID item.ID
	// Item is the new item, nil for one that goes.
	Item *item.Item
	// Existed is whether the item was there before the batch. One that goes always was.
	Existed bool
	// Erase is whether the older bytes of the item have to leave all files within Options.EraseWithin: it goes, or what it
	// had as its submission does.
	Erase bool
}
