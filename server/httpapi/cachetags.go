package httpapi

import "strings"

// cacheTags are the cache tags of a response, in the forms of the headers that caches know: Surrogate-Key (Fastly, Varnish), Cache-Tag
// (Akamai, Cloudflare) and Cache-Groups (RFC 9875). Two or three tags of 13 characters are far below the limits of all of them. The tags of
// all items on a page would not be, and would make every page more expensive to send.
type cacheTags struct{ keys, tags, groups string }

// cacheTags returns the cache tags of the response: that of the property, and those of what the handler shows (see exchange.shows).
func (x *exchange) cacheTags() cacheTags {
	all := append([]string{x.server.tags.Property(x.grant.property)}, x.shows...)
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
