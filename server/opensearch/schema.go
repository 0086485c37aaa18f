package opensearch

import (
	"fmt"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// schema is one version of the documents of items and of the mapping for these documents.
type schema struct {
	// mapping returns the mapping of the index of a property's items.
	mapping func() object
	// document appends the document of an item in JSON. line is the item as item.Marshal writes it. token identifies the write.
	document func(dst []byte, it *item.Item, line []byte, token string) []byte
}

// schemas contains the versions of the schema, in order. See itemSchemas.
type schemas []schema

// itemSchemas returns the schemas of indices of items. The number of a schema is its position, starting at 1. New indices get the last
// schema, and indices with any other schema are rebuilt (see rebuild.go). To change mappings or documents, append a schema and keep the
// functions of all other schemas: until the index of a property is rebuilt, the library reads and writes the index with its old schema. A
// new schema must keep the fields that queries of the previous version use, because replicas of that version read new indices during a
// rolling update.
//
// In the second schema, the members of submissions have their own field. It breaks the rule about fields of the previous version, because
// this way, private data leaves the field that public queries read (decision 21).
func itemSchemas() schemas { return schemas{schemaWith(fieldDynamic), schemaWith(fieldSubmission)} }

// schemaWith returns the schema with the members of submissions in a field.
func schemaWith(submissions string) schema {
	return schema{
		mapping: func() object { return itemMapping(submissions) },
		document: func(dst []byte, it *item.Item, line []byte, token string) []byte {
			return document(dst, it, line, token, submissions)
		},
	}
}

// latest returns the number of the schema of new indices.
func (s schemas) latest() int { return len(s) }

// document returns a function that appends the document of an item for an index with schema n. line returns the item as item.Marshal
// writes it.
func (s schemas) document(n int, it *item.Item, line func() []byte, token string) func(dst []byte) []byte {
	return func(dst []byte) []byte { return s[n-1].document(dst, it, line(), token) }
}

// itemMeta is the metadata in the mapping of an index of items.
type itemMeta struct {
	Property library.PropertyID `json:"property"`
	// Schema is the number of the index's schema.
	Schema int `json:"schema,omitempty"`
	// Source is the UUID of the index of which this index is a copy. It is empty if this index is not a copy.
	Source string `json:"source,omitempty"`
	// Copied is the lowest sequence number of the source whose operation is not yet copied.
	Copied int64 `json:"copied,omitempty"`
}

// mapping returns the mapping of a new index.
func (s schemas) mapping(meta itemMeta) object {
	m := s[meta.Schema-1].mapping()
	m["_meta"] = meta
	return m
}

// schemaError means that an index has a schema that this version does not know.
type schemaError struct {
	index      string
	has, knows int
}

// Error says which versions can use the index.
func (e *schemaError) Error() string {
	return fmt.Sprintf("index %s has schema %d, but this version of Vitrine knows only schemas 1 to %d: use the version that wrote the index, or restore a snapshot",
		e.index, e.has, e.knows)
}

// check returns a *schemaError unless schema n of an index is one of s.
func (s schemas) check(index string, n int) error {
	if n < 1 || n > s.latest() {
		return &schemaError{index, n, s.latest()}
	}
	return nil
}
