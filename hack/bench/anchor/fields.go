package anchor

import (
	"encoding/json"
	"strings"

	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Field is a field that both libraries index.
type Field struct {
	Name string
	// Type is the name of a query.Type.
	Type string
	// All is true if query.AllField also contains the values of the field.
	All bool
}

// indexedFields returns the fields of the sample items that the engine indexes: those of the catalogue and sample.DynamicFields, without the
// fields of units, because the engine stores only the ids of an item's units. Lucene indexes the references on all platforms as one field,
// content.platform_ref.
func indexedFields() []Field {
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

// fieldsArgument returns indexedFields as an argument for the program that runs Lucene.
func fieldsArgument() string {
	text, _ := json.Marshal(indexedFields()) // strings and booleans can always be encoded
	return string(text)
}
