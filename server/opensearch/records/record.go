package records

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/vitrine-dev/vitrine/server/definitions"
)

// object is a JSON object of a request.
type object = map[string]any

// record is a document of the definitions index.
type record struct {
	// Type is typeMeta, typeMark or typeDefinition.
	Type string `json:"type"`
	// Name is the key of a mark. It is empty for records of other types.
	Name string `json:"name,omitempty"`
	// Value is a Meta, the value of a mark, or a definitions.Entry.
	Value string `json:"value"`
	// Gone is true if the definition was removed. The record stays, so that followers see the removal.
	Gone bool `json:"gone,omitempty"`
}

const (
	typeMeta       = "meta"
	typeMark       = "mark"
	typeDefinition = "definition"
)

// Mapping returns the mapping of the definitions index.
func Mapping() object {
	return object{"dynamic": "strict", "properties": object{
		"type": object{"type": "keyword"}, "name": object{"type": "keyword"}, "gone": object{"type": "boolean"},
		"value": object{"type": "keyword", "index": false, "doc_values": false},
	}}
}

// definitionID returns the id of a definition's document.
func definitionID(s definitions.Source) string {
	key, _ := json.Marshal(s) // cannot fail for strings and numbers
	sum := sha256.Sum256(key)
	return typeDefinition + "-" + hex.EncodeToString(sum[:])
}

// markID returns the id of a mark's document.
func markID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return typeMark + "-" + hex.EncodeToString(sum[:])
}
