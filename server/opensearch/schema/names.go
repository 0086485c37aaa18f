package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Names builds the names of the indices of a library. Reads and writes of documents use aliases, because a write that requires a missing
// alias creates no index. Writes of items use the alias of a generation (see indices.Index). Requests about an index itself use the index's
// own name.
type Names struct{ Prefix string }

// Definitions returns the alias of the definitions index.
func (n Names) Definitions() string { return n.Prefix + "-definitions" }

// Facts returns the alias of the facts index.
func (n Names) Facts() string { return n.Prefix + "-facts" }

// Items returns the alias of a property's items.
func (n Names) Items(p library.PropertyID) string { return n.Prefix + "-items-" + EncodeProperty(p) }

// Shared returns the indices that every library needs.
func (n Names) Shared() []string {
	return []string{SharedIndex(n.Definitions()), SharedIndex(n.Facts())}
}

// EveryIndex returns the names of all indices of the library, for requests about indices.
func (n Names) EveryIndex() string {
	return strings.Join(append(n.Shared(), n.EveryItems()), ",")
}

// Owns reports whether an index belongs to this library. A comparison of prefixes is not enough, because the prefix of another library
// may begin with the prefix of this library.
func (n Names) Owns(index string) bool {
	return slices.Contains(n.Shared(), index) || strings.HasPrefix(index, n.Items(""))
}

// SharedIndex returns the index behind the alias of a shared index.
func SharedIndex(alias string) string { return alias + "-1" }

// Generation returns the name of generation n of an index of items. The first generation is 1. No encoded property contains
// GenerationMark, so the name differs from the aliases of all properties, even if a property's name ends with a number.
func Generation(alias string, n int) string { return alias + GenerationMark + strconv.Itoa(n) }

// GenerationMark separates the alias of an index of items from the number of the generation.
const GenerationMark = "=="

// EveryItems returns a pattern for all indices of items, including those that are not current.
func (n Names) EveryItems() string { return n.Prefix + "-items-*" }

// CurrentItems returns a pattern for the current indices of items.
func (n Names) CurrentItems() string { return n.EveryItems() + CurrentMark }

// Property returns the property whose items an index contains. It returns false for other indices. It also returns false if the property's
// name is too long to be part of the name of an index.
func (n Names) Property(index string) (library.PropertyID, bool) {
	name, ok := strings.CutPrefix(index, n.Prefix+"-items-")
	if !ok {
		return "", false
	}
	at := strings.LastIndex(name, GenerationMark)
	if at < 0 {
		return "", false
	}
	return decodeProperty(name[:at])
}

// The aliases of a generation are its name followed by a mark. CurrentMark is for searches of the current generations of all properties.
// CopyMark is followed by a token (see indices.Index).
const (
	CurrentMark = "==current"
	WriteMark   = "==write"
	CopyMark    = "==copy-"
)

// longestName is the maximum length in bytes of a property in the name of an index. OpenSearch allows 255 bytes for the whole name.
const longestName = 180

// hashMark precedes the hash of a name that is too long. No encoded name begins with hashMark.
const hashMark = "=="

// EncodeProperty encodes a property as part of the name of an index. It replaces the slash with "_", and encodes other special bytes with
// "=". Namespaces and names of Kubernetes objects contain neither "_" nor "=".
func EncodeProperty(p library.PropertyID) string {
	var b strings.Builder
	for i := range len(p) {
		switch c := p[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.':
			b.WriteByte(c)
		case c == '/':
			b.WriteByte('_')
		default:
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	if b.Len() > longestName {
		sum := sha256.Sum256([]byte(p))
		return hashMark + hex.EncodeToString(sum[:])
	}
	return b.String()
}

func decodeProperty(name string) (library.PropertyID, bool) {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '_':
			b.WriteByte('/')
		case c == '=':
			if i+2 >= len(name) {
				return "", false
			}
			code, err := strconv.ParseUint(name[i+1:i+3], 16, 8)
			if err != nil {
				return "", false
			}
			b.WriteByte(byte(code))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return library.PropertyID(b.String()), true
}
