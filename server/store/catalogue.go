package store

import "github.com/vitrine-dev/vitrine/server/definitions"

// What a property serves besides its items is shared with libraries that have another store.
type (
	// Catalogue is definitions.Catalogue.
	Catalogue = definitions.Catalogue
	// Filter is definitions.Filter.
	Filter = definitions.Filter
	// Unit is definitions.Unit.
	Unit = definitions.Unit
	// Rule is definitions.Rule.
	Rule = definitions.Rule
)
