package item

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/vitrine-dev/vitrine/server/query"
)

// TestMembersAndCatalogue checks that the fields of members in the catalogue have the types, the values and the audience of the members.
// TestValuesAndCatalogueHaveTheSameFields checks that every field of the catalogue is a member.
func TestMembersAndCatalogue(t *testing.T) {
	it := everything()
	for _, m := range itemTable.members {
		f, ok := query.Lookup(m.path)
		if !ok {
			continue
		}
		var types []query.Type
		switch m.at(it).(type) {
		case *string:
			types = []query.Type{query.Keyword, query.Text}
			if m.form == formDate {
				types = []query.Type{query.Date}
			}
		case *int64, **int64:
			types = []query.Type{query.Long}
		case *bool:
			types = []query.Type{query.Boolean}
		case *float64:
			types = []query.Type{query.Double}
		case *json.RawMessage:
			types = []query.Type{query.Keyword}
		}
		if !slices.Contains(types, f.Type) || f.Private != m.private {
			t.Errorf("%s: server/query/catalogue.go has the type %v and private %t, members.go has values of the types %v and private %t",
				m.path, f.Type, f.Private, types, m.private)
		}
		if values := query.Values(f); m.form == formChoice && !slices.Equal(values, m.choices) {
			t.Errorf("%s: server/query/catalogue.go has the values %q, members.go has %q", m.path, values, m.choices)
		}
	}
}
