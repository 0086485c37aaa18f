// Package library defines the domain: the contents of a content library, their owners, and the Library interface. The HTTP API and the
// controllers know only that interface, not its implementations.
//
// A library holds properties. A property holds items and definitions (filters, tags, units, tokens). Each read and write names one
// property, and never affects or shows another. The Owner of a definition identifies the manifest that declares it. Removing an owner
// removes exactly the definitions of that manifest.
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

// Library is a content library. All methods are safe for concurrent use. A function that needs only some of them takes the role that has
// them.
type Library interface {
	Base
	Items
	Reader
	Status

	Close() error
}

// Base is the part of a Library that needs no search in items.
type Base interface {
	Declarations
	Catalogue
	Tokens
	Marks
	Feed

	// ShortLink finds an approved item by its short code, across all properties. It returns the item's property and the URL of the original
	// content. It fails with ErrNotFound.
	ShortLink(ctx context.Context, code string) (PropertyID, string, error)
	// History returns the newest changes of an item, the newest first (see HistoryEntry). It contains no changes by manifests. It is empty if
	// the item has not changed since a version of Vitrine without histories stored it. It fails with ErrNotFound (property, item).
	History(ctx context.Context, p PropertyID, id item.ID) ([]HistoryEntry, error)
	// AuthorKey returns the secret key with which author references are derived from submissions. The store and its backups contain it.
	AuthorKey() []byte
	// Purge erases a property that has no manifest: its items, the definitions created over HTTP, and all other data. It fails with
	// *ManagedError if a manifest declares the property, and with ErrNotFound if the store has no data of the property.
	Purge(ctx context.Context, p PropertyID) error
}

// Declarations stores definitions, by their owners.
type Declarations interface {
	// Apply stores all accepted definitions in one durable batch, which is visible when Apply returns. It is idempotent: if a definition
	// equals the stored one, Apply changes nothing and writes nothing for it. results[i] is the result of defs[i]. A refused definition does
	// not affect the others. If err is not nil (ErrUnavailable, ErrClosed, or the cause of ctx), Apply stored nothing.
	Apply(ctx context.Context, defs []Definition) (results []Result, err error)
	// Remove removes the definitions of the owners, and returns the number of removed definitions. Unknown owners are not an error.
	Remove(ctx context.Context, owners []Owner) (int, error)
	// EditFilter replaces or deletes a filter that was created over HTTP. It returns the new state of the filter, which is zero after a
	// deletion. No other change happens between the call of edit and the change. EditFilter fails with the errors of edit, Apply and
	// Result.Err, with ErrNotFound, and with *ManagedError if a manifest manages the filter.
	EditFilter(ctx context.Context, p PropertyID, ref FilterRef, edit FilterEdit) (FilterRecord, error)
	// Sweep removes the definitions of those owners within scope that are not in keep, and returns the number of removed definitions. If it
	// would remove too many definitions, it removes nothing and returns a *HeldError (see Scope.Confirmed).
	Sweep(ctx context.Context, scope Scope, keep []Owner) (int, error)
	// Owners lists the owners within scope that have a stored definition.
	Owners(ctx context.Context, scope Scope) ([]Owner, error)
	// Definition returns the served version of the definition of an owner, or the newest version if none is served. It fails with
	// ErrNotFound.
	Definition(ctx context.Context, owner Owner) (Definition, error)
}

// Catalogue is what a library serves of the definitions of a property.
type Catalogue interface {
	// Definitions lists the served definitions of one kind in a property. The kind is KindFilter, KindTag or KindUnit. Definitions created
	// over HTTP come first, followed by definitions from manifests, sorted by owner. Callers must not modify the definitions. It fails with
	// ErrNotFound (property).
	Definitions(p PropertyID, kind Kind) ([]Definition, error)
	// Property returns the settings of a property. It is cheap, because it needs only one map lookup. It fails with ErrNotFound.
	Property(p PropertyID) (Property, error)
	// Properties lists all served properties by id.
	Properties() []PropertyID
	// Filter returns one filter, or ErrNotFound.
	Filter(p PropertyID, ref FilterRef) (FilterRecord, error)
	// Filters lists at most limit filters (0 means all) of a property by name, then id, starting at offset. It also returns the total
	// number of filters.
	Filters(p PropertyID, offset, limit int) ([]FilterRecord, int, error)
	// FiltersAfter lists at most limit filters (0 means all) that follow the place after, in the same order as Filters. It also returns the
	// total number of filters.
	FiltersAfter(p PropertyID, after FilterPlace, limit int) ([]FilterRecord, int, error)
	// Unit returns one conversion unit, or ErrNotFound. Units lists all units by id, including archived units.
	Unit(p PropertyID, id int64) (item.Unit, error)
	Units(p PropertyID) ([]item.Unit, error)
	// HasTag reports whether the tag has ever existed in the property, even if no item carries it now.
	HasTag(p PropertyID, t item.Tag) (bool, error)
}

// Tokens lets a server know the tokens of all properties.
type Tokens interface {
	// Tokens yields an event for every token, then an event with Synced true, and then an event for each change, until ctx ends or the library
	// closes. In the event for a token that was removed, has no values, or belonged to a deleted property, Token is nil. An event
	// replaces all earlier events with the same Owner, even if their Property differs.
	Tokens(ctx context.Context) iter.Seq2[TokenEvent, error]
}

// Marks contains small values of the operator.
type Marks interface {
	// SetMark stores a small value for the operator under a key, and Mark returns it. For example, the operator stores the identity of the
	// cluster under "install", and under "loaded" that a complete load has ended. For an unknown key, Mark returns "".
	SetMark(ctx context.Context, key, value string) error
	Mark(key string) (string, error)
}

// Items changes items and lists them without a page.
type Items interface {
	// Write changes items. When it returns, every accepted mutation is durable (covered by an fsync) and visible to every later Read.
	// outcomes[i] is the outcome of muts[i]. Each mutation is atomic, and a refused mutation does not affect the others. If err is not nil,
	// Write wrote nothing.
	Write(ctx context.Context, p PropertyID, muts []Mutation) (outcomes []Outcome, err error)
	// ReadItem returns one item, encoded as in Read, without the cost of a listing. It fails with ErrNotFound (property, item).
	ReadItem(ctx context.Context, r ItemRead) ([]byte, error)
	// ItemTags lists all tags of one item, both its own tags and those that manifests assign, in the order of namespace and key. It fails with
	// ErrNotFound.
	ItemTags(ctx context.Context, p PropertyID, id item.ID) ([]item.Tag, error)
	// Export yields every item of a property that matches q, in the order of ids. If q is nil, it yields all items. Each item is one NDJSON
	// line without the newline: the output of item.Marshal, with the item's own tags and units. An item that changes during the export may
	// appear in its old or new state. If a library cannot read an item, it may yield an *UnreadableItemError and continue with the next item.
	// After any other error, the sequence ends.
	Export(ctx context.Context, p PropertyID, q query.Node) iter.Seq2[[]byte, error]
}

// Status describes a library for probes, metrics and counts.
type Status interface {
	// State describes the library now. A call is cheap.
	State(ctx context.Context) State
}

// Reader reads the items that a filter or a query matches.
type Reader interface {
	// Read returns a page of items. If r.IfVersion is still current, it fails with ErrNotModified and returns a Page with only Version and
	// Expires. Its other errors are ErrNotFound (property, filter), *query.SyntaxError and *query.ForbiddenFieldError for r.Query, r.Where and
	// r.Order, *CursorError, *OffsetError, and the cause of ctx if ctx ends first.
	Read(ctx context.Context, r Read) (*Page, error)
	// Explain explains, clause by clause, why an item does or does not match r. An explanation also names the clauses of r.Scope,
	// so a caller who must not see these leaves r.Scope out and checks first that the item is in the scope. Explain returns the errors of
	// Read, and ErrNotFound for an unknown item.
	Explain(ctx context.Context, r Read, id item.ID) (*Explanation, error)
	// Facets counts the values of a field among the items that r matches, and returns the most frequent ones with exact counts. Tags and units
	// that manifests assign to an item count in the same way as the item's own. Facets uses the members of r that select items (Property,
	// Audience, Filter, Query, Where, Scope, Now) and ignores the others. Its errors are those of Read, and *query.FieldError or
	// *query.ForbiddenFieldError for a field that cannot be counted.
	Facets(ctx context.Context, r Read, f Facet) (*Facets, error)
}

// FilterRef names a filter by UUID or by numeric id. The HTTP API accepts both.
type FilterRef struct {
	UUID string
	ID   int64
}

// FilterEdit decides how a filter changes. It returns the filter that replaces f, with the same UUID and ID, or nil to delete f. If it
// returns an error, nothing changes. It must be quick and have no effects: other changes wait for it, and a library may call it again for a
// newer state of the filter.
type FilterEdit func(f FilterRecord) (*Filter, error)

// Read is a request for a page of items.
type Read struct {
	Property PropertyID
	// Audience decides which members of items the library returns, and which fields Query, Where and Order may use. The zero value is Public.
	// The query and order of a stored filter are always evaluated for the Private audience: a caller who may list the filter sees its items,
	// even if the query uses private fields.
	Audience query.Audience
	// Filter, if set, names the stored filter whose items to list. Otherwise, Read lists the items that match Query.
	Filter *FilterRef
	Query  query.Node
	// Where is ANDed with Filter or Query.
	Where query.Node
	// Scope, if set, is ANDed with Filter or Query too, but adds nothing to scores. Like a stored query, it is evaluated for the Private
	// audience. Scores depend on all items of the property, also on those outside the scope.
	Scope *TokenScope
	// Order is the sort order. nil means the filter's own order or, without a filter, the order by relevance.
	Order query.Order
	// Favourite is a tag. The items with this tag come first, and each of the two groups of items is in Order. nil means the filter's own
	// favorite tag, if any.
	Favourite *item.Tag
	// Seed is the seed of the random order.
	Seed string
	// Offset is the number of items to skip at the start of the listing. It is ignored if After is set.
	Offset int64
	// After is Page.Next of the previous page.
	After Cursor
	// Limit is the maximum number of items. 0 requests only the total.
	Limit int
	// OnlyIDs requests Page.IDs instead of Page.Items.
	OnlyIDs bool
	// Now is the value of `now` in queries. Zero means the time of the library's clock.
	Now time.Time
	// IfVersion is the Page.Version that the caller already has.
	IfVersion string
	// BaseURL is the prefix of the server's own short links, without a trailing slash.
	BaseURL string
	// Into is a buffer of the caller. Read appends the encoded items to it, so that Page.Items needs no new memory if the buffer is large
	// enough.
	Into []byte
	// Room, if set, is a function that Read calls, before it encodes items, with the number of bytes that the items need. Read calls it once
	// for all items, or several times for parts of them. If Room returns an error, Read fails with it.
	Room func(bytes int) error
}

// ItemRead is a request for one item.
type ItemRead struct {
	Property PropertyID
	ID       item.ID
	// Audience, Scope and BaseURL are as in Read. An item outside the scope is not found.
	Audience query.Audience
	Scope    *TokenScope
	BaseURL  string
	// Digest, if set, receives the digest of the returned state of the item, for Mutation.If.
	Digest *item.Digest
}

// Cursor is an opaque position in a listing: the sort values and the id of an item. It stays valid across restarts and writes. In a listing
// by relevance, the next page begins after the current position of that item or, if the item is no longer in the listing, after the
// position of its old sort values. Pages may therefore repeat or skip items whose scores have changed.
type Cursor string

// Page is the result of a Read.
type Page struct {
	// Total is the exact number of matching items.
	Total int64
	// Version identifies the content of the page. It changes whenever the same Read may return other bytes.
	Version string
	// Expires is the time from which the result may change without a write, because of `now` in a query. Zero means never.
	Expires time.Time
	// Next is the cursor of the next page, or "" on the last page.
	Next Cursor
	// Count is the number of items in Items or IDs.
	Count int
	// Items contains the encoded items, separated by commas, without brackets. They are appended to Read.Into.
	Items []byte
	// IDs are the ids of the items, if Read.OnlyIDs is set.
	IDs []item.ID
}

// FilterPlace is a position in the list of filters, which is ordered by name, then by id.
type FilterPlace struct {
	Name string
	ID   int64
}

// Mutation is one change of items. Exactly one of Put, Patch, Delete, Tag and Untag is set, together with the members that it needs.
type Mutation struct {
	// Put stores an item. If its ID is 0, Write assigns an id. If an item with the ID exists, Put is refused with ErrExists, unless Replace is
	// set. Put, Patch and Tag are refused (*item.InvalidError) if the property would have more than item.MaxFieldNames field names or
	// item.MaxPropertyNamespaces namespaces of own tags, or if item.CheckTagNumbers refuses the new tags of an item.
	Put *item.Item
	// Units are the conversion units of an import line. Write creates the units that the property does not have, as if a caller created them
	// over HTTP, and leaves existing units unchanged. If a unit in Units has Managed true, a manifest that declares the same unit takes
	// precedence. A unit with Managed true and no name is only a reference, which stays unresolved until its manifest is applied. The mutation
	// is refused (*item.InvalidError) if Put.Units contains an id that is neither in the property nor in Units.
	Units   []item.Unit
	Replace bool
	// Patch changes members of the item with this ID.
	Patch *item.Patch
	ID    item.ID
	// Delete erases the item with this ID.
	Delete bool
	// If, if set, makes a Patch or Delete conditional: the mutation is refused with ErrChanged if the item has another digest. The digest does
	// not cover what manifests add to the item.
	If *item.Digest
	// Tag adds a tag to all items in IDs, and Untag removes a tag from them. If one of the items does not exist, both change none and fail
	// with *UnknownItemsError. Untag fails with ErrNotFound if an item does not have the tag, or with *ManagedError if only manifests assign
	// it.
	Tag, Untag *item.Tag
	IDs        []item.ID
	// By is who makes the change, and Reason is the stated reason, or "". Both go to the history of each changed item.
	By     Actor
	Reason string
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
	// Synced is true in the event after the initial tokens. The other members of this event are empty.
	Synced   bool
	Property PropertyID
	Owner    Owner
	Token    *Token
	// ReadOnlyQuery is that of the property, from the same change as Token.
	ReadOnlyQuery string
}

// Scope limits what a Sweep may remove.
type Scope struct {
	// Install is required. Only owners with the same Install are in scope.
	Install string
	// Only owners of these Kinds in these Namespaces are in scope. If Kinds is empty, nothing is in scope. If Namespaces is nil, all
	// namespaces are in scope.
	Kinds      []Kind
	Namespaces []string
	// Confirmed disables the guard against large sweeps. The guard refuses a sweep that would remove more than 20 definitions and also more
	// than a fifth of the definitions in scope.
	Confirmed bool
}

// State describes a library.
type State struct {
	// Ready is true if the library serves reads. A library that serves reads may still refuse writes, in which case Problem says so.
	Ready bool
	// Problem says why Ready is false, or which function is degraded in all properties. "" means that there is no such problem. Troubles
	// contains the problems of single properties.
	Problem string
	// Troubles contains the properties that have a problem of their own.
	Troubles map[PropertyID]Trouble
	// Loss describes acknowledged data that is missing, and without which an administrator has opened the library. "" means that nothing is
	// known to be missing.
	Loss string
	// Items and Definitions are the numbers of items and definitions in all properties. DiskBytes is the size of the store.
	Items, Definitions, DiskBytes int64
	// PropertyItems contains the number of items of each property with stored data, even if the property is not served.
	PropertyItems map[PropertyID]int64
	// Version changes with every change of the library.
	Version uint64
	// Sizes contains the memory in use, by purpose. It is zero if the library does not measure its memory.
	Sizes Sizes
}

// Sizes contains the sizes of memory in bytes, by purpose.
type Sizes struct {
	// Heap is the size of the part of the index that is on the heap, including the structures that reads derive from it, which the library
	// drops under memory pressure. Caches is the size of the caches, which can be rebuilt at any time and shrink under memory pressure. Store
	// is the memory of the database.
	Heap, Caches, Store int64
	// MappedIndex and MappedItems are the sizes of the memory-mapped files that contain the index and the bytes of items. Only the parts in
	// use need memory, in the page cache of the kernel.
	MappedIndex, MappedItems int64
}

// Explanation is one node in the result of Explain.
type Explanation struct {
	// Clause is the clause as text. Occur is its role: "must", "should", "must not", or "" at the root.
	Clause  string
	Occur   string
	Matched bool
	// Score is the score of the clause, as a part of the item's relevance.
	Score float64
	// Detail describes what Explain compared the clause with, such as the number of words or the values of a field.
	Detail   string
	Children []Explanation
}
