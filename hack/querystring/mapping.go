package querystring

import "github.com/vitrine-dev/vitrine/server/query"

// Mapping returns the OpenSearch mapping of an index. It contains the fields of the catalogue under their canonical names, query.AllField
// as DefaultAllField, and the short names of Aliases as aliases. Every other string field becomes a keyword. The settings of the index must
// contain Analysis. The caller may modify the map.
func Mapping() map[string]any {
	properties := map[string]any{DefaultAllField: map[string]any{"type": "text"}}
	for _, f := range query.Fields() {
		properties[f.Name] = FieldMapping(f.Type)
	}
	for alias, name := range Aliases() {
		properties[alias] = map[string]any{"type": "alias", "path": name}
	}
	return map[string]any{
		"dynamic_templates": []any{map[string]any{
			"strings": map[string]any{"match_mapping_type": "string", "mapping": FieldMapping(query.Keyword)},
		}},
		"properties": properties,
	}
}

// FieldMapping returns the mapping of a field of type t.
func FieldMapping(t query.Type) map[string]any {
	switch t {
	case query.Keyword:
		return map[string]any{"type": "keyword", "normalizer": "lower"}
	case query.Date:
		return map[string]any{"type": "date", "format": "strict_date_optional_time||epoch_millis"}
	case query.Text, query.Long, query.Double, query.Boolean:
	}
	return map[string]any{"type": t.String()}
}

// Analysis returns the setting "analysis" for an index with Mapping. It defines the normalizer for keywords.
func Analysis() map[string]any {
	return map[string]any{"normalizer": map[string]any{
		"lower": map[string]any{"type": "custom", "filter": []string{"lowercase"}},
	}}
}
