package library

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
)

// Fingerprint returns a digest of the whole definition. Definitions with equal fingerprints have the same meaning: if one of them is
// stored, applying the other changes nothing. The digest depends on the order of a list, but not on the time zone of a time, nor on whether
// an empty list is nil. The exceptions are Token.Filters and Token.Allow, where an empty list permits nothing and a nil list permits
// everything.
func Fingerprint(d Definition) ([sha256.Size]byte, error) {
	text, err := EncodeDefinition(d)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	return sha256.Sum256(text), nil
}

// EncodeDefinition encodes a definition as JSON, in the canonical form that a store keeps and Fingerprint hashes.
func EncodeDefinition(d Definition) ([]byte, error) {
	text, err := json.Marshal(normalized(d))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", d.Owner, err)
	}
	return text, nil
}

// DecodeDefinition decodes the output of EncodeDefinition.
func DecodeDefinition(text []byte) (Definition, error) {
	var d Definition
	if err := json.Unmarshal(text, &d); err != nil {
		return Definition{}, fmt.Errorf("decode a definition: %w", err)
	}
	return normalized(d), nil
}

// normalized returns d in canonical form, with every value replaced by one that represents all equivalent values. It does not modify the
// data that d points to.
func normalized(d Definition) Definition {
	d.Created = d.Created.UTC().Round(0)
	if d.PropertySpec != nil {
		s := *d.PropertySpec
		s.AllowedOrigins = absent(s.AllowedOrigins)
		d.PropertySpec = &s
	}
	if d.Token != nil {
		s := *d.Token
		s.Values, s.Replaced = inUTC(s.Values), inUTC(s.Replaced)
		d.Token = &s
	}
	if d.Tag != nil {
		s := *d.Tag
		s.Items = absent(s.Items)
		d.Tag = &s
	}
	if d.Unit != nil {
		s := *d.Unit
		s.Items = absent(s.Items)
		s.Unit.CatalogItem = absentJSON(s.Unit.CatalogItem)
		s.Unit.CatalogImageURLSrc = absentJSON(s.Unit.CatalogImageURLSrc)
		d.Unit = &s
	}
	return d
}

// inUTC returns the values with their times in UTC, or nil if there are no values.
func inUTC(values []TokenValue) []TokenValue {
	values = slices.Clone(absent(values))
	for i, v := range values {
		values[i].Expires, values[i].Since = v.Expires.UTC().Round(0), v.Since.UTC().Round(0)
	}
	return values
}

func absent[S ~[]E, E any](s S) S {
	if len(s) == 0 {
		return nil
	}
	return s
}

// absentJSON maps JSON null to nil, because responses show null for both.
func absentJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}
