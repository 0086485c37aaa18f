// Package schema defines what the cluster stores: the names of indices, the mapping of an index of items, and the document of an item. It
// sends no requests.
//
// The package may import library, query and item.
package schema

import (
	"fmt"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Schema is one version of the documents of items and of the mapping for these documents.
type Schema struct {
	// Mapping returns the mapping of the index of a property's items.
	Mapping func() object
	// Document appends the document of an item in JSON. line is the item as item.Marshal writes it.
	Document func(dst []byte, it *item.Item, line []byte, trace Trace) []byte
	// Tombstones is true if the document of a deleted item is replaced by a Tombstone, so that the operations of the index tell all changes.
	Tombstones bool
}

// Trace is what the document of an item says about the writes that made it.
type Trace struct {
	// Token identifies the last write.
	Token string
	// History is the history of the item as mutations.AddHistory writes it.
	History string
	// Changed and Public are the values of FieldChanged and FieldPublic, or 0.
	Changed, Public int64
}

// Schemas contains the versions of the schema, in order. See All.
type Schemas []Schema

// All returns the schemas of indices of items. The number of a schema is its position, starting at 1. New indices get the last
// schema, and indices with any other schema are rebuilt (see package upkeep). To change mappings or documents, append a schema and keep the
// functions of all other schemas: until the index of a property is rebuilt, the library reads and writes the index with its old schema. A
// new schema must keep the fields that queries of the previous version use, because replicas of that version read new indices during a
// rolling update.
//
// In the second schema, the members of submissions have their own field. It breaks the rule about fields of the previous version, because
// this way, private data leaves the field that public queries read (decision 21). The third schema adds the histories of items. An index
// with an earlier schema keeps none. The fourth schema adds query.LastModified. Until an index with an earlier schema is rebuilt, queries for
// this field find none of its items. The fifth schema adds tombstones. The changes of an index with an earlier schema are unknown.
func All() Schemas {
	return Schemas{
		contents{submissions: FieldDynamic}.schema(),
		contents{submissions: FieldSubmission}.schema(),
		contents{submissions: FieldSubmission, histories: true}.schema(),
		contents{submissions: FieldSubmission, histories: true, modified: true}.schema(),
		contents{submissions: FieldSubmission, histories: true, modified: true, tombstones: true}.schema(),
	}
}

// contents says what the documents of a schema contain.
type contents struct {
	// submissions is the field for the members of submissions.
	submissions string
	// histories, modified and tombstones say whether there are histories, query.LastModified, and tombstones.
	histories, modified, tombstones bool
}

func (c contents) schema() Schema {
	return Schema{Mapping: c.itemMapping, Document: c.document, Tombstones: c.tombstones}
}

// Latest returns the number of the schema of new indices.
func (s Schemas) Latest() int { return len(s) }

// Document returns a function that appends the document of an item for an index with schema n. line returns the item as item.Marshal
// writes it.
func (s Schemas) Document(n int, it *item.Item, line func() []byte, trace Trace) func(dst []byte) []byte {
	return func(dst []byte) []byte { return s[n-1].Document(dst, it, line(), trace) }
}

// Meta is the metadata in the mapping of an index of items.
type Meta struct {
	Property library.PropertyID `json:"property"`
	// Schema is the number of the index's schema.
	Schema int `json:"schema,omitempty"`
	// Source is the UUID of the index of which this index is a copy. It is empty if this index is not a copy.
	Source string `json:"source,omitempty"`
	// Copied is the lowest sequence number of the source whose operation is not yet copied.
	Copied int64 `json:"copied,omitempty"`
}

// Mapping returns the mapping of a new index.
func (s Schemas) Mapping(meta Meta) object {
	m := s[meta.Schema-1].Mapping()
	m["_meta"] = meta
	return m
}

// Error means that an index has a schema that this version does not know.
type Error struct {
	index      string
	has, knows int
}

// Error says which versions can use the index.
func (e *Error) Error() string {
	return fmt.Sprintf("index %s has schema %d, but this version of Vitrine knows only schemas 1 to %d: use the version that wrote the index, or restore a snapshot",
		e.index, e.has, e.knows)
}

// Check returns a *Error unless schema n of an index is one of s.
func (s Schemas) Check(index string, n int) error {
	if n < 1 || n > s.Latest() {
		return &Error{index, n, s.Latest()}
	}
	return nil
}
