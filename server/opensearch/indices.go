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

// names are the names of the indices of a library.
type names struct{ prefix string }

// All requests name aliases: a write to an alias that is missing makes no index.
func (n names) definitions() string { return n.prefix + "-definitions" }
func (n names) facts() string       { return n.prefix + "-facts" }

// items is the alias of a property's items.
func (n names) items(p library.PropertyID) string { return n.prefix + "-items-" + encodeProperty(p) }

// generation is the index behind an alias: the first one of this mapping.
func generation(alias string) string { return alias + "-1" }

// everyItems matches the items of all properties.
func (n names) everyItems() string { return n.prefix + "-items-*" }

// property returns whose items an index holds. The names of some properties are too long to be read from the name (see
// Library.propertyOf).
func (n names) property(index string) (library.PropertyID, bool) {
	name, ok := strings.CutPrefix(index, n.prefix+"-items-")
	if !ok {
		return "", false
	}
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return "", false
	}
	return decodeProperty(name[:at])
}

// longestName is how many bytes of the name of an index a property may take: OpenSearch allows 255 in all.
const longestName = 180

// encodeProperty writes a property as part of the name of an index. Namespaces and names of Kubernetes objects hold neither
// "_", which stands for the slash, nor "=", which begins the code of any other byte.
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
		return "==" + hex.EncodeToString(sum[:])
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

// create makes an index with an alias unless it is there.
func (c *cluster) create(ctx context.Context, alias string, settings, mapping object) error {
	body := object{"settings": settings, "mappings": mapping, "aliases": object{alias: object{}}}
	err := c.do(ctx, http.MethodPut, "/"+generation(alias), body, nil)
	if hasType(err, "resource_already_exists_exception") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create index %s: %w", generation(alias), err)
	}
	return nil
}

// createItems makes the index of a property's items, with its alias, unless it is there.
func (l *Library) createItems(ctx context.Context, p library.PropertyID) error {
	return l.cluster.create(ctx, l.names.items(p), l.itemSettings(), itemMapping(p))
}

// settings are those of the small indices: one shard, so that sequence numbers order all that is written.
func (o Options) settings() object {
	return object{"number_of_shards": 1, "auto_expand_replicas": o.Replicas, "refresh_interval": o.RefreshInterval.String()}
}

// propertyOf returns whose items an index holds; false for an index of another kind, and for one of a property that is not served
// and whose name is too long to be read from that of the index.
func (l *Library) propertyOf(index string) (library.PropertyID, bool) {
	if p, ok := l.names.property(index); ok {
		return p, true
	}
	for p := range l.records.state.Load().set.Catalogues() {
		if generation(l.names.items(p)) == index {
			return p, true
		}
	}
	return "", false
}
