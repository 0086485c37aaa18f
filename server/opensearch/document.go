package opensearch

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// kind is the source of a field's values.
type kind uint8

const (
	ofItem kind = iota
	// ofTags means fields of tags: an item has its own values, and manifests add more.
	ofTags
	// ofUnits and ofDefault mean fields of the units that an item shows, and of its default unit. No document contains them.
	ofUnits
	ofDefault
)

// Prefixes of the fields of units.
const (
	unitPrefix    = "activate_units."
	defaultPrefix = "default_activate_unit."
)

func kindOf(field string) kind {
	switch {
	case strings.HasPrefix(field, unitPrefix):
		return ofUnits
	case strings.HasPrefix(field, defaultPrefix):
		return ofDefault
	case query.IsTagField(field):
		return ofTags
	}
	return ofItem
}

// longestTerm is the length in bytes to which keywords are cut. Lucene rejects terms longer than 32,766 bytes.
const longestTerm = 32_000

// document returns the document of an item. line is the item as item.Marshal writes it, and token identifies the write.
func document(it *item.Item, line []byte, token string) object {
	doc := object{fieldItem: string(line), fieldWrite: token}
	if it.ShortCode != "" {
		doc[fieldCode] = it.ShortCode
	}
	if len(it.Units) > 0 {
		words := make([]string, len(it.Units))
		for i, id := range it.Units {
			words[i] = strconv.FormatInt(id, 10)
		}
		doc[fieldUnits], doc[fieldUnitOrder] = words, strings.Join(words, " ")
	}
	var dynamic, present []string
	seen := map[string]bool{}
	for f, v := range it.Values(nil, nil, it.Tags) {
		if !seen[f.Name] {
			seen[f.Name] = true
			present = append(present, f.Name)
		}
		switch {
		case query.Dynamic(f.Name):
			dynamic = append(dynamic, dynamicTerm(f.Name, v.Str))
		case f.Name == query.AllField:
			list, _ := doc[fieldAll].([]string)
			doc[fieldAll] = append(list, v.Str)
		default:
			doc[f.Name] = fieldValue(f, v)
		}
	}
	doc[fieldPresent] = present
	if dynamic != nil {
		doc[fieldDynamic] = dynamic
	}
	return doc
}

// dynamicTerm returns the term in fieldDynamic for a value of a dynamic field.
func dynamicTerm(name, value string) string { return cut(name + "\x00" + analysis.Keyword(value)) }

// fieldValue returns a value of a catalogue field as its JSON value.
func fieldValue(f query.Field, v query.Value) any {
	switch f.Type {
	case query.Text:
		return v.Str
	case query.Long, query.Date:
		return v.Int
	case query.Double:
		return v.Float
	case query.Boolean:
		return v.Int != 0
	case query.Keyword:
	}
	return cut(analysis.Keyword(v.Str))
}

// cut shortens a keyword to longestTerm.
func cut(s string) string {
	if len(s) <= longestTerm {
		return s
	}
	n := longestTerm
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
