// Package library is the domain: what a content library holds, who owns what, and the Library interface that the
// HTTP interface and the controllers speak to without knowing which library answers.
//
// A library holds properties; a property holds items and definitions (filters, tags, units, tokens). Reads and writes
// name one property and never see another. What a manifest brought is known by its Owner, and its removal takes that
// away and nothing else.
//
// It may import query and item.
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
	// Apply stores definitions: all that are accepted, in one durable batch, visible on return. It is idempotent: an
	// equal definition changes nothing and writes nothing. results[i] belongs to defs[i]; a refused definition disturbs
	// no other. The error is set when nothing at all was stored (ErrUnavailable, ErrClosed, the context).
	Apply(ctx context.Context, defs []Definition) (results []Result, err error)
	// Remove takes away what the owners brought; unknown owners are no error. It returns how many definitions went.
	Remove(ctx context.Context, owners []Owner) (int, error)
	// RemoveFilter deletes an HTTP-made filter. ErrNotFound; *ManagedError when a manifest holds it.
	RemoveFilter(ctx context.Context, p PropertyID, ref FilterRef) error
	// Sweep removes the definitions of owners within scope that keep does not name, see Scope. With more than Scope.Limit
	// removals it removes nothing and returns a *HeldError.
	Sweep(ctx context.Context, scope Scope, keep []Owner) (int, error)
	// Owners lists the owners within scope of which anything is stored.
	Owners(ctx context.Context, scope Scope) ([]Owner, error)
	// Definition returns what owner brought. ErrNotFound.
	Definition(ctx context.Context, owner Owner) (Definition, error)

	// Property returns a property's settings: a map look-up. ErrNotFound.
	Property(p PropertyID) (Property, error)
	// Properties lists all properties that are served, by id.
	Properties() []PropertyID
	// Filter returns one filter. ErrNotFound.
	Filter(p PropertyID, ref FilterRef) (FilterRecord, error)
	// Filters lists the filters of a property by name, then id: from offset on, at most limit (0: all), and their number.
	Filters(p PropertyID, offset, limit int) ([]FilterRecord, int, error)
	// FiltersAfter lists at most limit (0: all) filters that come after a place in that order, and the number of all.
	FiltersAfter(p PropertyID, after FilterPlace, limit int) ([]FilterRecord, int, error)
	// Unit returns one conversion unit. ErrNotFound. Units lists all by id, archived ones too.
	Unit(p PropertyID, id int64) (item.Unit, error)
	Units(p PropertyID) ([]item.Unit, error)
	// HasTag reports whether the tag was ever made in the property, whether or not an item carries it now.
	HasTag(p PropertyID, t item.Tag) (bool, error)
	// ItemTags lists the tags of one item, own ones and those of manifests, by namespace and key. ErrNotFound.
	ItemTags(ctx context.Context, p PropertyID, id item.ID) ([]item.Tag, error)
	// Tokens yields every token, then a marker with Synced true, then changes as they come, until ctx ends or the
	// library closes. A removed token, one without values, and those of a deleted property come with Token nil.
	Tokens(ctx context.Context) iter.Seq2[TokenEvent, error]

	// Write changes items. When it returns, every accepted mutation is durable (an fsync covers it) and visible to every
	// later Read. outcomes[i] belongs to muts[i]; each mutation is atomic, and a refused one disturbs no other. The error
	// is set when nothing at all was written.
	Write(ctx context.Context, p PropertyID, muts []Mutation) (outcomes []Outcome, err error)
	// Read finds a page of items. ErrNotModified, with a Page of Version and Expires alone, when r.IfVersion is still
	// current; ErrNotFound (property, filter);
	// *query.SyntaxError and *query.ForbiddenFieldError for r's own trees; *CursorError; the cause of ctx when it ends first.
	Read(ctx context.Context, r Read) (*Page, error)
	// ReadItem returns one item as Read shows it, without the cost of a listing. ErrNotFound (property, item).
	ReadItem(ctx context.Context, r ItemRead) ([]byte, error)
	// Explain says, clause by clause, why an item is in the answer of r or is not. Errors are those of Read; ErrNotFound also for an
	// unknown item.
	Explain(ctx context.Context, r Read, id item.ID) (*Explanation, error)
	// Export yields every item of a property that matches q (nil for all), by id, as one line of NDJSON each without the
	// newline: item.Marshal with the item's own tags and units. Items changed meanwhile may show either state.
	Export(ctx context.Context, p PropertyID, q query.Node) iter.Seq2[[]byte, error]
	// ShortLink returns the original URL of the approved item with that short code, over all properties. ErrNotFound.
	ShortLink(ctx context.Context, code string) (PropertyID, string, error)
	// AuthorKey is the key with which author references are derived from submissions; kept in the store and its backups.
	AuthorKey() []byte

	// Purge erases properties that no manifest brings any more: items, definitions made over HTTP, everything.
	// *ManagedError while a manifest brings it.
	Purge(ctx context.Context, p PropertyID) error
	// SetMark and Mark keep small facts of the operator in the store ("install": the recorded cluster identity,
	// "loaded": a complete load was seen). An unknown mark is "".
	SetMark(ctx context.Context, key, value string) error
	Mark(key string) (string, error)

	// State describes the library for probes and metrics; cheap.
	State(ctx context.Context) State
	Close() error
}

// FilterRef names a filter by UUID or by numeric id, as the interface accepts both.
type FilterRef struct {
	UUID string
	ID   int64
}

// Read is a request for a page of items.
type Read struct {
	Property PropertyID
	// Audience decides which bytes are sent, and which fields Query, Where and Order may name. The zero value is Public.
	// A stored filter's own query and order are always read with the Private audience: who may list it sees its items.
	Audience query.Audience
	// Filter, when set, is the stored filter to list; else Query is listed.
	Filter *FilterRef
	Query  query.Node
	// Where is ANDed to either.
	Where query.Node
	// Order; nil means the filter's own, and by relevance for a Query.
	Order query.Order
	// Favourite: items that carry it come first, each group in Order. nil means the filter's own, if any.
	Favourite *item.Tag
	// Seed for the random order.
	Seed string
	// Offset counts items from the start; ignored when After is set.
	Offset int64
	// After is Page.Next of the page before.
	After Cursor
	// Limit is the number of items wanted; 0 asks for the total alone.
	Limit int
	// Now is what `now` stands for; zero means the library's clock.
	Now time.Time
	// IfVersion is a Version that the caller holds.
	IfVersion string
	// BaseURL is put before the server's own short links, without a trailing slash.
	BaseURL string
	// Into is what Page.Items are appended to: a buffer of the caller's, so that a page costs no memory of its own.
	Into []byte
}

// ItemRead is a request for one item.
type ItemRead struct {
	Property PropertyID
	ID       item.ID
	// Audience and BaseURL are those of Read.
	Audience query.Audience
	BaseURL  string
}

// Cursor is an opaque place in a listing: the sort values and the id of an item. It survives restarts and any change. By relevance,
// the next page begins after the current position of the item, or after its old values when it is no longer listed, so that
// items whose score changed may be repeated or skipped.
type Cursor string

// Page is an answer to a Read.
type Page struct {
	// Total is the exact number of matching items.
	Total int64
	// Version differs whenever the bytes may differ, for the same Read.
	Version string
	// Expires is when the answer may change by time alone (`now` in a query); zero means never.
	Expires time.Time
	// Next is where the next page begins; "" on the last one.
	Next Cursor
	// Count is the number of items in Items.
	Count int
	// Items are the encoded items, with commas between them, without the brackets around, after what Read.Into held.
	Items []byte
}

// FilterPlace is a place in the list of filters: by name, then by id.
type FilterPlace struct {
	Name string
	ID   int64
}

// Mutation is one change of items. Exactly one member is set.
type Mutation struct {
	// Put stores an item. With ID 0 it draws one; an id that exists is refused with ErrExists unless Replace is set. Like
	// Patch and Tag it is refused (*item.InvalidError) when the property would have more than item.MaxFieldNames names.
	Put *item.Item
	// Units are conversion units that came with the item in an import line: those that the property does not have are
	// made, as HTTP-made ones; those it has are left as they are. For one with Managed true, the manifest that derives its
	// id takes precedence. One with Managed true and no name is a reference, which may dangle until its manifest is applied. An id of
	// Put.Units that the property does not have and that is not among Units refuses the mutation (*item.InvalidError).
	Units   []item.Unit
	Replace bool
	// Patch changes members of the item ID.
	Patch *item.Patch
	ID    item.ID
	// Delete erases the item ID.
	Delete bool
	// Tag and Untag add and remove one mapping of Tag on all of IDs: all or nothing (*UnknownItemsError). Untag of a
	// mapping that is not the item's own: ErrNotFound, or *ManagedError when only manifests hold it.
	Tag, Untag *item.Tag
	IDs        []item.ID
}

// Outcome is what became of one Mutation.
type Outcome struct {
	ID item.ID
	// Created is true when Put made a new item, false when it replaced one.
	Created bool
	Err     error
}

// TokenEvent is one step of Tokens.
type TokenEvent struct {
	// Synced marks the end of the initial tokens; the other members are empty then.
	Synced   bool
	Property PropertyID
	Owner    Owner
	Token    *Token
}

// Scope is what a Sweep may touch.
type Scope struct {
	// Install must match the owner's; required.
	Install string
	// Kinds and Namespaces restrict; a nil Namespaces means all, and no Kinds means none.
	Kinds      []Kind
	Namespaces []string
	// Confirmed lifts the guard: without it a sweep that would remove more than 20 definitions and more than a fifth of
	// those in scope is held.
	Confirmed bool
}

// State describes a library.
type State struct {
	// Ready is true when reads are served. Writes may be refused meanwhile; Problem says so then.
	Ready bool
	// Problem says why not, or what is degraded; "" when all is well.
	Problem string
	// Items and Definitions over all properties; DiskBytes of the store.
	Items, Definitions, DiskBytes int64
	// PropertyItems counts items by property: of all that have anything stored, served or not.
	PropertyItems map[PropertyID]int64
	// Version changes with every change of anything.
	Version uint64
	// Sizes say where memory goes; zero for a library that does not count it.
	Sizes Sizes
}

// Sizes are bytes of memory, by what they are for.
type Sizes struct {
	// Heap is the part of the index that lies in the heap, with what was made of it for reading. Caches can be made anew at
	// any time, and shrink when memory is short. Store is that of the database.
	Heap, Caches, Store int64
	// MappedIndex and MappedItems are files that lie in the page cache as far as they are in use: the index, and the bytes
	// of items.
	MappedIndex, MappedItems int64
}

// Explanation is a node of an Explain answer.
type Explanation struct {
	// Clause is the clause as text; Occur how it takes part: "must", "should", "must not", "" at the root.
	Clause  string
	Occur   string
	Matched bool
	// Score is the clause's part of the relevance.
	Score float64
	// Detail says in words what was looked at, such as the words of a field or the values compared.
	Detail   string
	Children []Explanation
}
