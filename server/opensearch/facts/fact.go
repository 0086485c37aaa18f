package facts

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
)

// object is a JSON object of a request.
type object = map[string]any

// fact is a document of the facts index: either the ledger of a property, or a tag that exists or existed.
type fact struct {
	Property library.PropertyID `json:"property"`
	// Namespace and Key identify a tag. A ledger has no Namespace. Its Key contains the namespaces of all tags that items have ever had
	// themselves, separated by slashes, which no namespace contains, after importedMark if Ledger.Imported is true. The namespaces are missing
	// in a ledger that an earlier version wrote last.
	Namespace string `json:"namespace,omitempty"`
	Key       string `json:"key,omitempty"`
	// Sequence is the highest item id that was ever assigned or imported. It increases before an item with that id is stored, so that no id
	// is assigned twice.
	Sequence item.ID `json:"sequence,omitempty"`
	// Names contains the hashes of all field names that items have ever had, eight bytes each.
	Names string `json:"names,omitempty"`
	// Token identifies the write that stored the document.
	Token string `json:"token,omitempty"`
}

// Mapping returns the mapping of the facts index.
func Mapping() object {
	unindexed := object{"type": "keyword", "index": false, "doc_values": false}
	return object{"dynamic": "strict", "properties": object{
		"property": object{"type": "keyword"}, "sequence": object{"type": "long"},
		"namespace": unindexed, "key": unindexed, "names": unindexed, "token": unindexed,
	}}
}

// importedMark marks the key of a ledger. An earlier version, which does not know it, reads the same namespaces, and removes the mark with its
// next change of the ledger.
const importedMark = "/"

// imported reports whether the mark is in a ledger.
func (f fact) imported() bool { return strings.HasPrefix(f.Key, importedMark) }

// namespaces returns the namespaces in a ledger.
func (f fact) namespaces() map[string]bool {
	all := map[string]bool{}
	for n := range strings.SplitSeq(f.Key, "/") {
		if n != "" {
			all[n] = true
		}
	}
	return all
}

// sums returns the hashes in Names.
func (f fact) sums() (map[mutations.NameSum]bool, error) {
	encoded, err := base64.StdEncoding.DecodeString(f.Names)
	names := map[mutations.NameSum]bool{}
	for ; len(encoded) >= 8; encoded = encoded[8:] {
		names[mutations.NameSum(binary.BigEndian.Uint64(encoded))] = true
	}
	return names, err
}
