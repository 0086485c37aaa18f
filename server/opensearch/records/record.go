package records

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/vitrine-dev/vitrine/server/definitions"
	"github.com/vitrine-dev/vitrine/server/transfer"
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

// format is the version of the documents of all indices.
const format = 1

// decoded is the decoded content of documents of the definitions index.
type decoded struct {
	marks   map[string]string
	entries map[definitions.Source]*definitions.Entry
	seen    map[string]seenRecord
	// meta is nil if the documents do not contain a Meta.
	meta *Meta
	// unreadable contains, by id, the errors of definitions that cannot be decoded.
	unreadable map[string]error
}

// Meta identifies the library. A copy and its source have the same tokens. Therefore, only one of them can be opened as a library:
// either the copy is used first, or the migration is cancelled first. A conditional write of the Meta decides.
type Meta struct {
	Format    int    `json:"format"`
	AuthorKey string `json:"author_key"`
	// Transfer is the freeze of the source while the library is an unfinished copy. It is empty if the library can be opened.
	Transfer transfer.Freeze `json:"transfer,omitempty"`
	// Copied is the freeze of the source if the library is a finished copy. Used is true if a copy was opened as a library since then.
	// Cancelled is true if the migration was cancelled before that. The source is then in use again, so the copy cannot be opened.
	Copied    transfer.Freeze `json:"copied,omitempty"`
	Used      bool            `json:"used,omitempty"`
	Cancelled bool            `json:"cancelled,omitempty"`
}
