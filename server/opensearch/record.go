package opensearch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/vitrine-dev/vitrine/server/definitions"
)

// record is a document of the definitions index.
type record struct {
	// Type is recordMeta, recordMark or recordDefinition.
	Type string `json:"type"`
	// Name is the key of a mark. It is empty for records of other types.
	Name string `json:"name,omitempty"`
	// Value is a metaRecord, the value of a mark, or a definitions.Entry.
	Value string `json:"value"`
	// Gone is true if the definition was removed. The record stays, so that followers see the removal.
	Gone bool `json:"gone,omitempty"`
}

const (
	recordMeta       = "meta"
	recordMark       = "mark"
	recordDefinition = "definition"
)

func recordMapping() object {
	return object{"dynamic": "strict", "properties": object{
		"type": object{"type": "keyword"}, "name": object{"type": "keyword"}, "gone": object{"type": "boolean"},
		"value": object{"type": "keyword", "index": false, "doc_values": false},
	}}
}

// recordID returns the id of a definition's document.
func recordID(s definitions.Source) string {
	key, _ := json.Marshal(s) // cannot fail for strings and numbers
	sum := sha256.Sum256(key)
	return recordDefinition + "-" + hex.EncodeToString(sum[:])
}

// markID returns the id of a mark's document.
func markID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return recordMark + "-" + hex.EncodeToString(sum[:])
}
