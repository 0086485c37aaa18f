package search

import (
	"strings"

	"github.com/vitrine-dev/vitrine/server/query"
)

// kind is the source of a field's values.
type kind uint8

const (
	ofItem  kind = iota // from the item alone
	ofTags              // from the item and from rules
	ofUnits             // from the units that the item shows
)

func kindOf(field string) kind {
	switch {
	case query.IsTagField(field):
		return ofTags
	case strings.HasPrefix(field, attachedPrefix), strings.HasPrefix(field, defaultPrefix):
		return ofUnits
	}
	return ofItem
}

// These prefixes begin the names of fields with values of units.
const (
	attachedPrefix = "activate_units."
	defaultPrefix  = "default_activate_unit."
)
