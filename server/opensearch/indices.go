package opensearch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
)

// names builds the names of the indices of a library.
type names struct{ prefix string }

// Reads and writes of documents use aliases, because a write that requires a missing alias creates no index. Writes of items use the
// alias of a generation (see itemIndex). Requests about an index itself use the index's own name.
func (n names) definitions() string { return n.prefix + "-definitions" }
func (n names) facts() string       { return n.prefix + "-facts" }

// items returns the alias of a property's items.
func (n names) items(p library.PropertyID) string { return n.prefix + "-items-" + encodeProperty(p) }

// sharedIndex returns the index behind the alias of a shared index.
func sharedIndex(alias string) string { return alias + "-1" }

// itemGeneration returns the name of generation n of an index of items. The first generation is 1. No encoded property contains
// generationMark, so the name differs from the aliases of all properties, even if a property's name ends with a number.
func itemGeneration(alias string, n int) string { return alias + generationMark + strconv.Itoa(n) }

// generationMark separates the alias of an index of items from the number of the generation.
const generationMark = "=="

// everyItems returns a pattern for all indices of items, including those that are not current.
func (n names) everyItems() string { return n.prefix + "-items-*" }

// currentItems returns a pattern for the current indices of items.
func (n names) currentItems() string { return n.everyItems() + currentMark }

// property returns the property whose items an index contains. It returns false if the property's name is too long to be part of the name
// of an index (see Library.propertyOf).
func (n names) property(index string) (library.PropertyID, bool) {
	name, ok := strings.CutPrefix(index, n.prefix+"-items-")
	if !ok {
		return "", false
	}
	at := strings.LastIndex(name, generationMark)
	if at < 0 {
		return "", false
	}
	return decodeProperty(name[:at])
}

// longestName is the maximum length in bytes of a property in the name of an index. OpenSearch allows 255 bytes for the whole name.
const longestName = 180

// hashMark precedes the hash of a name that is too long. No encoded name begins with hashMark.
const hashMark = "=="

// encodeProperty encodes a property as part of the name of an index. It replaces the slash with "_", and encodes other special bytes with
// "=". Namespaces and names of Kubernetes objects contain neither "_" nor "=".
func encodeProperty(p library.PropertyID) string {
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

// create creates an index with aliases, unless the index exists.
func (c *cluster) create(ctx context.Context, index string, settings, mapping object, aliases ...string) error {
	named := object{}
	for _, alias := range aliases {
		named[alias] = object{}
	}
	err := c.do(ctx, http.MethodPut, "/"+index, object{"settings": settings, "mappings": mapping, "aliases": named}, &acknowledged{})
	if hasType(err, "resource_already_exists_exception") || isBlocked(err) {
		return nil // only an existing index can have a block, such as that of a frozen library
	}
	if err != nil {
		return fmt.Errorf("create index %s: %w", index, err)
	}
	return nil
}

// createItems creates the index of a property's items with its aliases, unless the property already has one.
func (l *Library) createItems(ctx context.Context, p library.PropertyID) error {
	g, err := l.generationsOf(ctx, p)
	if err != nil || g.current != nil {
		return err
	}
	alias := l.names.items(p)
	index := itemGeneration(alias, 1)
	return l.cluster.create(ctx, index, l.itemSettings(), l.options.mapping(itemMeta{Property: p, Schema: l.options.latest()}),
		alias, index+currentMark, index+writeMark)
}

// settings returns the settings of all indices. Each index has one shard. This way, sequence numbers order all writes of a shared index,
// and scores equal those of the other libraries. A second node holds a copy of the shard.
func (o Options) settings() object {
	return object{"number_of_shards": 1, "auto_expand_replicas": "0-1", "refresh_interval": o.RefreshInterval.String()}
}

// propertyOf returns the property whose items an index contains. It returns false for other indices. It also returns false if the
// property is not served and its name is too long to be part of the name of the index.
func (l *Library) propertyOf(index string) (library.PropertyID, bool) {
	if p, ok := l.names.property(index); ok {
		return p, true
	}
	for p := range l.records.state.Load().set.Catalogues() {
		if strings.HasPrefix(index, l.names.items(p)+generationMark) {
			return p, true
		}
	}
	return "", false
}
