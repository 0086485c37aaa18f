package httpapi

import (
	"strings"

	"github.com/vitrine-dev/vitrine/server/item"
)

// cacheTags are the cache tags of a response, in the forms of the headers that caches know: Surrogate-Key (Fastly, Varnish), Cache-Tag
// (Akamai, Cloudflare) and Cache-Groups (RFC 9875). Two or three tags of 13 characters are far below the limits of all of them. The tags of
// all items on a page would not be, and would make every page more expensive to send.
type cacheTags struct{ keys, tags, groups string }

// shown is a filter by its UUID, an item by its ID, or neither.
type shown struct {
	filter string
	item   item.ID
}

// cacheTags returns the cache tags of the response: that of the property, and that of the filter or the item that the response shows. Each
// tag takes about a microsecond, so a cached page contains its tags.
func (x *exchange) cacheTags() cacheTags {
	all := []string{x.server.tags.Property(x.grant.property)}
	if x.shown.filter != "" {
		all = append(all, x.server.tags.Filter(x.grant.property, x.shown.filter))
	}
	if x.shown.item != 0 {
		all = append(all, x.server.tags.Item(x.grant.property, x.shown.item))
	}
	return cacheTags{strings.Join(all, " "), strings.Join(all, ","), `"` + strings.Join(all, `", "`) + `"`}
}

// cacheable reports whether caches may store a response to the caller. Only these responses have cache tags.
func (x *exchange) cacheable(f freshness) bool {
	return x.route.access.needsToken() && !x.grant.rights.ReadWrite && !f.never
}

// setCacheTags sets the headers with the cache tags.
func (x *exchange) setCacheTags(t cacheTags) {
	x.set("Surrogate-Key", t.keys)
	x.set("Cache-Tag", t.tags)
	x.set("Cache-Groups", t.groups)
}
