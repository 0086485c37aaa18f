package schema

import (
	"strings"

	"github.com/vitrine-dev/vitrine/server/query"
)

// object is a JSON object of a request.
type object = map[string]any

// The document of an item has the fields of the catalogue under their own names, and the fields below.
const (
	// fieldAll holds the values of query.AllField.
	fieldAll = "all"
	// FieldPresent lists the names of the fields that have a value. Queries with _exists_ use it, because it also covers texts without
	// words. It also shows which dynamic fields exist.
	FieldPresent = "present"
	// FieldDynamic contains the values of all dynamic fields in the form name, NUL, value. This way, the size of the mapping does not depend
	// on the number of names. FieldSubmission contains those of the members of submissions, which are private, so that no query for a public
	// field can read them.
	FieldDynamic    = "dynamic"
	FieldSubmission = "submission"
	// FieldUnits contains the ids of the item's own units. FieldUnitOrder contains these ids in the order of the item, separated by spaces.
	FieldUnits     = "units"
	FieldUnitOrder = "unit_order"
	// FieldCode contains the code of the short link.
	FieldCode = "code"
	// FieldItem contains the item as item.Marshal writes it. FieldWrite contains the token of the write that stored the item. FieldHistory
	// contains the history of the item as mutations.AddHistory writes it. These fields are stored and not indexed.
	FieldItem    = "item"
	FieldWrite   = "write"
	FieldHistory = "history"
	// FieldGone contains the time of the deletion in a tombstone, which is the document of a deleted item. No other document has the field.
	// A tombstone also has FieldWrite.
	FieldGone = "gone"
	// FieldChanged is one more than the sequence number of the last operation that changed the item, if the last operation changed only its
	// history. FieldPublic is one more than the sequence number of the last operation that changed a public member, if a later operation
	// changed private members. Otherwise, they are missing, and the number is that of the document itself.
	FieldChanged = "changed"
	FieldPublic  = "public"
	// FieldFloor is one more than the highest sequence number of a tombstone that was removed. Only the document FloorID has it, which looks
	// like a tombstone to searches.
	FieldFloor = "floor"
)

// FloorID is the id of the document with FieldFloor. No item has this id.
const FloorID = "0"

// Tombstones is a query that finds tombstones, and the document FloorID.
func Tombstones() map[string]any { return object{"exists": object{"field": FieldGone}} }

// Items is a query that finds the documents of items.
func Items() map[string]any { return object{"bool": object{"must_not": Tombstones()}} }

// itemMapping returns the mapping for the fields of the catalogue. Keywords are folded before they are indexed (see document.go), so that
// results do not depend on the Unicode version of the cluster's JDK. The mapping has no fields of units, because rules can attach units
// without changing items.
func (c contents) itemMapping() object {
	stored := object{"type": "keyword", "index": false, "doc_values": false, "store": true}
	properties := object{
		fieldAll:       object{"type": "text"},
		FieldPresent:   object{"type": "keyword"},
		c.submissions:  object{"type": "keyword"},
		FieldDynamic:   object{"type": "keyword"},
		FieldUnits:     object{"type": "keyword", "doc_values": false},
		FieldUnitOrder: object{"type": "keyword", "index": false},
		FieldCode:      object{"type": "keyword"},
		FieldItem:      stored,
		FieldWrite:     stored,
	}
	if c.histories {
		properties[FieldHistory] = stored
	}
	if c.tombstones {
		properties[FieldGone] = object{"type": "long", "store": true}
		properties[FieldFloor] = properties[FieldGone]
		properties[FieldChanged] = object{"type": "long", "index": false, "doc_values": false, "store": true}
		properties[FieldPublic] = properties[FieldChanged]
	}
	for _, f := range query.Fields() {
		if KindOf(f.Name) == OfItem && c.has(f) {
			properties[f.Name] = mappingOf(f.Type)
		}
	}
	return object{"_source": object{"enabled": false}, "dynamic": "strict", "properties": properties}
}

// has reports whether the documents contain the values of a field of the catalogue.
func (c contents) has(f query.Field) bool { return c.modified || f.Name != query.LastModified }

// mappingOf returns the mapping of a field whose values have the type t. Dates are stored in milliseconds.
func mappingOf(t query.Type) object {
	switch t {
	case query.Text:
		return object{"type": "text"}
	case query.Long, query.Date:
		return object{"type": "long"}
	case query.Double:
		return object{"type": "double"}
	case query.Boolean:
		return object{"type": "boolean"}
	case query.Keyword:
	}
	return object{"type": "keyword"}
}

// Indexed returns the field of the index that contains the values of a field. An index with the first schema has the members of submissions
// in FieldDynamic instead (see translate.Translator.Indexed).
func Indexed(f query.Field) string {
	switch {
	case f.Name == query.AllField:
		return fieldAll
	case query.IsSubmissionField(f.Name):
		return FieldSubmission
	case query.Dynamic(f.Name):
		return FieldDynamic
	}
	return f.Name
}

// PrefixOf returns the prefix of a field's terms in the index.
func PrefixOf(f query.Field) string {
	if query.Dynamic(f.Name) {
		return f.Name + "\x00"
	}
	return ""
}

// LongestPattern is the maximum length of a regular expression that an index accepts. A longer one has the name of a field that no item
// can have: automaton.MaxPrinted limits the other part of the expression, and item.MaxString the names of platforms.
const LongestPattern = 32_000

// Kind is the source of a field's values.
type Kind uint8

const (
	// OfItem stands for fields whose values only the item itself has.
	OfItem Kind = iota
	// OfTags stands for fields of tags. An item has its own values, and manifests add more values.
	OfTags
	// OfUnits stands for fields of the units that an item shows. No document contains these fields.
	OfUnits
	// OfDefault stands for fields of the item's default unit. No document contains these fields.
	OfDefault
)

// These prefixes begin the names of fields of units.
const (
	unitPrefix    = "activate_units."
	defaultPrefix = "default_activate_unit."
)

// KindOf returns the kind of a field of the catalogue.
func KindOf(field string) Kind {
	switch {
	case strings.HasPrefix(field, unitPrefix):
		return OfUnits
	case strings.HasPrefix(field, defaultPrefix):
		return OfDefault
	case query.IsTagField(field):
		return OfTags
	}
	return OfItem
}
