// Package library defines the domain: what a content library holds, who owns it, and the Library interface, through which the HTTP API and
// the controllers use any implementation.
//
// A library holds properties. A property holds items and definitions (filters, tags, units, tokens). Each read and write
// names one property and never reaches another. The Owner of a definition records the manifest that it comes from; removing
// an owner removes exactly the definitions of that manifest.
//
// This package may import query and item.
package library

import (
	"context"
	"iter"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Library is a content library. All methods are safe for concurrent use.
type Library interface {
	Base

	// ItemTags lists all tags of one item by namespace and key, whether the item has them itself or manifests assign them. It fails with
	// ErrNotFound.
	ItemTags(ctx context.Context, p PropertyID, id item.ID) ([]item.Tag, error)
	// Write changes items. When it returns, every accepted mutation is durable (covered by an fsync) and visible to every
	// later Read. outcomes[i] belongs to muts[i]; each mutation is atomic, and a refused one does not affect the others.
	// err is set if nothing was written.
	Write(ctx context.Context, p PropertyID, muts []Mutation) (outcomes []Outcome, err error)
	// Read returns a page of items. If r.IfVersion is still current, it fails with ErrNotModified and returns a Page with only Version and
	// Expires. It also fails with ErrNotFound (property, filter), with *query.SyntaxError or *query.ForbiddenFieldError for r's own trees,
	// with *CursorError or *OffsetError, or with the cause of ctx if ctx ends first.
	Read(ctx context.Context, r Read) (*Page, error)
	// ReadItem returns one item encoded as in Read, without the cost of a listing. It fails with ErrNotFound (property,
	// item).
	ReadItem(ctx context.Context, r ItemRead) ([]byte, error)
	// Explain explains, clause by clause, why an item does or does not match r. It fails like Read, and with ErrNotFound for an unknown
	// item.
	Explain(ctx context.Context, r Read, id item.ID) (*Explanation, error)
	// Facets counts the values of a field among the items that r matches, and returns the most frequent ones with exact counts. Tags and
	// units of manifests count like an item's own. Facets uses the members of r that select items (Property, Audience, Filter, Query,
	// Where, Now) and ignores the others. It fails like Read, and with *query.FieldError or *query.ForbiddenFieldError for a field that
	// cannot be counted.
	Facets(ctx context.Context, r Read, f Facet) (*Facets, error)
	// Export yields every item of a property that matches q (nil for all) by id. Each item is one NDJSON line without the newline, as
	// item.Marshal writes it with the item's own tags and units. Items that change during the export may appear in either state. A library
	// may yield an *UnreadableItemError for an item that it cannot read and continue with the next one; any other error is the last
	// element.
	Export(ctx context.Context, p PropertyID, q query.Node) iter.Seq2[[]byte, error]

	// State describes the library for probes and metrics. It is cheap.
	State(ctx context.Context) State
	Close() error
}

// Base is the part of a Library that needs no index of items: definitions, which of them are served, tokens, short links and marks.
type Base interface {
	// Apply stores all accepted definitions in one durable batch, visible on return. It is idempotent: an equal definition
	// changes and writes nothing. results[i] belongs to defs[i]; a refused definition does not affect the others. err is
	// set if nothing was stored (ErrUnavailable, ErrClosed, or the cause of ctx).
	Apply(ctx context.Context, defs []Definition) (results []Result, err error)
	// Remove removes the definitions of the owners and returns how many it removed. Unknown owners are not an error.
	Remove(ctx context.Context, owners []Owner) (int, error)
	// RemoveFilter deletes a filter that was created over HTTP. It fails with ErrNotFound, or with *ManagedError if a
	// manifest manages the filter.
	RemoveFilter(ctx context.Context, p PropertyID, ref FilterRef) error
	// Sweep removes the definitions of the owners within scope that are not in keep. If the guard of scope refuses that, Sweep removes
	// nothing and returns a *HeldError (see Scope.Confirmed).
	Sweep(ctx context.Context, scope Scope, keep []Owner) (int, error)
	// Owners lists the owners within scope that have a stored definition.
	Owners(ctx context.Context, scope Scope) ([]Owner, error)
	// Definition returns the served version of the definition of owner, or the newest one if none is served. It fails with ErrNotFound.
	Definition(ctx context.Context, owner Owner) (Definition, error)

	// Definitions lists the served definitions of a property of one kind: KindFilter, KindTag or KindUnit. Those created over HTTP
	// come first, then those of manifests by owner. Callers must not modify them. It fails with ErrNotFound (property).
	Definitions(p PropertyID, kind Kind) ([]Definition, error)

	// Property returns a property's settings with one map lookup, or ErrNotFound.
	Property(p PropertyID) (Property, error)
	// Properties lists all served properties by id.
	Properties() []PropertyID
	// Filter returns one filter, or ErrNotFound.
	Filter(p PropertyID, ref FilterRef) (FilterRecord, error)
	// Filters lists at most limit (0: all) filters of a property by name, then id, starting at offset. It also returns the number of all
	// filters.
	Filters(p PropertyID, offset, limit int) ([]FilterRecord, int, error)
	// FiltersAfter lists at most limit (0: all) filters that follow a place in that order. It also returns the number of all filters.
	FiltersAfter(p PropertyID, after FilterPlace, limit int) ([]FilterRecord, int, error)
	// Unit returns one conversion unit, or ErrNotFound. Units lists all units by id, including archived ones.
	Unit(p PropertyID, id int64) (item.Unit, error)
	Units(p PropertyID) ([]item.Unit, error)
	// HasTag reports whether the tag ever existed in the property, even if no item carries it now.
	HasTag(p PropertyID, t item.Tag) (bool, error)
	// Tokens yields every token, then an event with Synced true, then each change, until ctx ends or the library closes. Token is nil in
	// the event for a token that was removed, that has no values, or whose property was deleted.
	Tokens(ctx context.Context) iter.Seq2[TokenEvent, error]

	// ShortLink returns the original URL of the approved item with that short code, across all properties, or ErrNotFound.
	ShortLink(ctx context.Context, code string) (PropertyID, string, error)
	// AuthorKey returns the key that derives author references from submissions. The store and its backups contain it.
	AuthorKey() []byte

	// Purge erases a property that has no manifest: its items, the definitions created over HTTP, and all other data. It fails with
	// *ManagedError while a manifest declares the property, and with ErrNotFound if the store has no data of the property.
	Purge(ctx context.Context, p PropertyID) error
	// SetMark stores a small value for the operator under a key, and Mark returns it ("install": the identity of the cluster; "loaded": a
	// complete load was seen). An unknown mark is "".
	SetMark(ctx context.Context, key, value string) error
	Mark(key string) (string, error)
}

// FilterRef names a filter by UUID or by numeric id. The HTTP API accepts both.
type FilterRef struct {
	UUID string
	ID   int64
}

// Read is a request for a page of items.
type Read struct {
	Property PropertyID
	// Audience decides which bytes are returned, and which fields Query, Where and Order may name. The zero value is Public. The own query
	// and order of a stored filter are always evaluated for the Private audience: a caller who may list the filter sees its items.
	Audience query.Audience
	// Filter, if set, is the stored filter to list. Otherwise Query is listed.
	Filter *FilterRef
	Query  query.Node
	// Where is ANDed with Filter or Query.
	Where query.Node
	// Order is the sort order. nil means the filter's own order, or relevance for a Query.
	Order query.Order
	// Favourite is a tag whose items come first, each group in Order. nil means the filter's own, if any.
	Favourite *item.Tag
	// Seed is the seed of the random order.
	Seed string
	// Offset counts items from the start; ignored when After is set.
	Offset int64
	// After is Page.Next of the previous page.
	After Cursor
	// Limit is the maximum number of items; 0 requests only the total.
	Limit int
	// OnlyIDs requests Page.IDs instead of Page.Items.
	OnlyIDs bool
	// Now is the value of `now` in queries; zero means the library's clock.
	Now time.Time
	// IfVersion is a Page.Version that the caller has.
	IfVersion string
	// BaseURL is the prefix of the server's own short links, without a trailing slash.
	BaseURL string
	// Into is a caller's buffer that Page.Items is appended to, so that a page allocates no memory of its own.
	Into []byte
	// Room, if set, is called with the number of bytes that the items need: once for all items, or once for each part of them. An error
	// that it returns ends the Read.
	Room func(bytes int) error
}

// ItemRead is a request for one item.
type ItemRead struct {
	Property PropertyID
	ID       item.ID
	// Audience and BaseURL are as in Read.
	Audience query.Audience
	BaseURL  string
}

// Cursor is an opaque place in a listing: the sort values and the id of an item. It stays valid across restarts and changes. In a listing
// by relevance, the next page begins after the current position of the item or, if the item is no longer listed, after its old values.
// Items whose score changed may therefore be repeated or skipped.
type Cursor string

// Page is the result of a Read.
type Page struct {
	// Total is the exact number of matching items.
	Total int64
	// Version changes whenever the bytes that the same Read returns may change.
	Version string
	// Expires is when the result may change through the passage of time (`now` in a query); zero means never.
	Expires time.Time
	// Next is the cursor of the next page; "" on the last one.
	Next Cursor
	// Count is the number of items in Items or IDs.
	Count int
	// Items holds the encoded items, separated by commas, without brackets, appended to Read.Into.
	Items []byte
	// IDs are the ids of the items, if Read.OnlyIDs is set.
	IDs []item.ID
}

// FilterPlace is a place in the list of filters: by name, then by id.
type FilterPlace struct {
	Name string
	ID   int64
}

// Mutation is one change of items. Exactly one member is set.
type Mutation struct {
	// Put stores an item. If its ID is 0, Write assigns one. An id that exists is refused with ErrExists unless Replace is
	// set. Put, Patch and Tag are refused (*item.InvalidError) if the property would have more than item.MaxFieldNames field names.
	Put *item.Item
	// Units are the conversion units of an import line. Write creates those that the property does not have, like units that are created
	// over HTTP, and leaves existing ones unchanged. For a unit with Managed true, the manifest that derives its id takes precedence. A
	// unit with Managed true and no name is a reference, which may dangle until its manifest is applied. The mutation is refused
	// (*item.InvalidError) if Put.Units has an id that is neither in the property nor among Units.
	Units   []item.Unit
	Replace bool
	// Patch changes members of the item ID.
	Patch *item.Patch
	ID    item.ID
	// Delete erases the item ID.
	Delete bool
	// Tag and Untag add and remove the mapping of one tag on all of IDs: all or nothing (*UnknownItemsError). Untag fails with ErrNotFound
	// if an item does not have the tag, or with *ManagedError if only manifests assign it.
	Tag, Untag *item.Tag
	IDs        []item.ID
}

// Outcome is the result of one Mutation.
type Outcome struct {
	ID item.ID
	// Created is true if Put created an item, and false if it replaced one.
	Created bool
	Err     error
}

// TokenEvent is one event of Tokens.
type TokenEvent struct {
	// Synced marks the end of the initial tokens; the other members are then empty.
	Synced   bool
	Property PropertyID
	Owner    Owner
	Token    *Token
}

// Scope limits what a Sweep may remove.
type Scope struct {
	// Install is required. Only owners with this Install are in scope.
	Install string
	// Only owners of these Kinds and Namespaces are in scope. nil Namespaces means all namespaces; empty Kinds means none.
	Kinds      []Kind
	Namespaces []string
	// Confirmed disables the guard. Without it, Sweep refuses to remove more than 20 definitions if that is more than a fifth of the
	// definitions in scope.
	Confirmed bool
}

// State describes a library.
type State struct {
	// Ready is true if the library serves reads. It may still refuse writes; Problem then says so.
	Ready bool
	// Problem says why Ready is false, or what is degraded; "" if there is no problem.
	Problem string
	// Items and Definitions are counts over all properties. DiskBytes is the size of the store.
	Items, Definitions, DiskBytes int64
	// PropertyItems counts items by property, for all properties with stored data, served or not.
	PropertyItems map[PropertyID]int64
	// Version changes with every change.
	Version uint64
	// Sizes is the memory in use by purpose, or zero if the library does not count it.
	Sizes Sizes
}

// Sizes are bytes of memory by purpose.
type Sizes struct {
	// Heap is the part of the index that is on the heap, including structures derived from it for reads, which are dropped under memory
	// pressure. Caches can be rebuilt at any time, and shrink under memory pressure. Store is the memory of the database.
	Heap, Caches, Store int64
	// MappedIndex and MappedItems are the mapped files of the index and of the item bytes. The page cache holds the parts
	// in use.
	MappedIndex, MappedItems int64
}

// Explanation is a node of an Explain answer.
type Explanation struct {
	// Clause is the clause as text. Occur is its role: "must", "should", "must not", or "" at the root.
	Clause  string
	Occur   string
	Matched bool
	// Score is the clause's contribution to the relevance.
	Score float64
	// Detail describes what was compared, such as the words of a field or the values.
	Detail   string
	Children []Explanation
}
