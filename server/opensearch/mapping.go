package opensearch

import (
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// The fields of an item's document besides those of the catalogue, which have their own names.
const (
	// fieldAll holds the values of query.AllField.
	fieldAll = "all"
	// fieldPresent lists the names of the fields that have a value: _exists_, also where a text has no word, and which
	// dynamic fields there are.
	fieldPresent = "present"
	// fieldDynamic holds the values of all dynamic fields as name, NUL, value: one field of the index, however many names
	// items bring.
	fieldDynamic = "dynamic"
	// fieldUnits holds the ids of the item's own units, as words in their order.
	fieldUnits = "units"
	// fieldCode is the code of the short link.
	fieldCode = "code"
	// fieldItem is the item as item.Marshal writes it, and fieldWrite the token of the write that stored it. Both are stored
	// and not indexed.
	fieldItem  = "item"
	fieldWrite = "write"
)

// itemSettings are the settings of the index of a property's items.
func (l *Library) itemSettings() object {
	s := l.options.settings()
	s["number_of_shards"] = l.options.Shards
	s["max_result_window"] = l.options.window
	return s
}

// itemMapping is the catalogue as a mapping. Keywords come folded (see document.go), so that nothing depends on the
// Unicode version of the cluster's JDK. Units are not in it: which units an item shows is decided at query time.
func itemMapping(p library.PropertyID) object {
	stored := object{"type": "keyword", "index": false, "doc_values": false, "store": true}
	properties := object{
		fieldAll:     object{"type": "text"},
		fieldPresent: object{"type": "keyword"},
		fieldDynamic: object{"type": "keyword"},
		fieldUnits:   object{"type": "text", "analyzer": "whitespace", "norms": false},
		fieldCode:    object{"type": "keyword"},
		fieldItem:    stored,
		fieldWrite:   stored,
	}
	for _, f := range query.Fields() {
		if kindOf(f.Name) == ofItem {
			properties[f.Name] = mappingOf(f.Type)
		}
	}
	return object{
		"_meta": object{"property": string(p)}, "_source": object{"enabled": false}, "dynamic": "strict",
		"properties": properties,
	}
}

// mappingOf is the mapping of a type. Dates are milliseconds.
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
