package anchor

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Field is a field that Lucene and Tantivy index.
type Field struct {
	Name string
	// Type is the name of a query.Type.
	Type string
	// All is true if query.AllField also contains the values of the field.
	All bool
}

// Fields returns the fields that the engine indexes for each item: those of the catalogue, except the fields of units, because the engine
// indexes only the ids of an item's units. The references on the single platforms are not separate fields, but the values of one field.
func Fields() []Field {
	var list []Field
	for _, r := range query.Rows() {
		unit := strings.HasPrefix(r.Name, "activate_units.") || strings.HasPrefix(r.Name, "default_activate_unit.")
		if !unit && !strings.Contains(r.Name, "<") {
			list = append(list, Field{r.Name, r.Type.String(), r.InAll})
		}
	}
	for _, name := range sample.DynamicFields() {
		list = append(list, Field{Name: name, Type: query.Keyword.String()})
	}
	return list
}

// fieldsArgument returns Fields as an argument for the programs that run Lucene and Tantivy.
func fieldsArgument() (string, error) {
	text, err := json.Marshal(Fields())
	if err != nil {
		return "", fmt.Errorf("encode the fields: %w", err)
	}
	return string(text), nil
}
