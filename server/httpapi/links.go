package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
)

// links contains the HAL links of a list. A link that is "" is omitted. All lists have the link self.
type links struct{ self, first, prev, next string }

// append appends the value of the member _links as JSON. It escapes nothing, because the links are percent-encoded, including < and >.
func (l links) append(dst []byte) []byte {
	separator := byte('{')
	for _, to := range [...]struct{ rel, href string }{{"self", l.self}, {"first", l.first}, {"prev", l.prev}, {"next", l.next}} {
		if to.href == "" {
			continue
		}
		dst = append(append(append(dst, separator, '"'), to.rel...), `":{"href":"`...)
		dst = append(append(dst, to.href...), `"}`...)
		separator = ','
	}
	return append(dst, '}')
}

// MarshalJSON implements json.Marshaler.
func (l links) MarshalJSON() ([]byte, error) { return l.append(nil), nil }

// baseURL returns the prefix of short links: the external URL of the property, or else that of the server, or "" if neither is set.
func (x *exchange) baseURL() string {
	if own := strings.TrimRight(x.settings.ExternalURL, "/"); own != "" {
		return own
	}
	return x.server.options.ExternalURL
}

// linkTo returns a link to a path of the interface. The link has no host. It begins with the path of the base URL.
func (x *exchange) linkTo(path string) string {
	if p := &x.prefix; !p.known {
		p.known = true
		if u, err := url.Parse(x.baseURL()); err == nil {
			p.path = strings.TrimRight(u.EscapedPath(), "/")
		}
	}
	return x.prefix.path + path
}

// change is a new value for a parameter. "" removes the parameter.
type change struct{ name, value string }

// linkHere returns a link to the current path, with the current parameters except for the given changes. The link never contains the token.
func (x *exchange) linkHere(changes ...change) string {
	names := make([]string, 0, 8)
	for name := range x.params {
		changed := slices.ContainsFunc(changes, func(c change) bool { return c.name == name })
		if !changed && name != "access_token" {
			names = append(names, name)
		}
	}
	for _, c := range changes {
		if c.value != "" {
			names = append(names, c.name)
		}
	}
	slices.Sort(names)
	href := make([]byte, 0, 256)
	href = append(href, x.linkTo(x.r.URL.EscapedPath())...)
	if x.keepsSlash() {
		href = append(href, '/')
	}
	separator := byte('?')
	add := func(name, value string) {
		href = append(append(href, separator), url.QueryEscape(name)...)
		href = append(append(href, '='), url.QueryEscape(value)...)
		separator = '&'
	}
	for _, name := range names {
		if i := slices.IndexFunc(changes, func(c change) bool { return c.name == name }); i >= 0 {
			add(name, changes[i].value)
			continue
		}
		for _, value := range x.params[name] {
			if x.token == "" || !strings.Contains(value, x.token) { // omit a token that was sent in the wrong parameter
				add(name, value)
			}
		}
	}
	return string(href)
}

// keepsSlash reports whether links to this resource end with a slash. In the specification, all paths below /v1/ end with a slash, except
// the path of a single unit.
func (x *exchange) keepsSlash() bool {
	return strings.HasPrefix(x.resource.path, "/v1/") && x.resource.path != "/v1/activate_units/{id}"
}

// pageLinks returns the links of page n of a list. The next link contains the cursor, which is "" on the last page. The other links contain
// page numbers. seed is the seed of the random order, or "".
func (x *exchange) pageLinks(n int64, cursor library.Cursor, seed string) links {
	changes := make([]change, 0, 3)
	if seed != "" {
		changes = append(changes, change{"seed", seed})
	}
	here := func(page int64, cursor string) string {
		return x.linkHere(append(changes, change{"page", strconv.FormatInt(page, 10)}, change{"cursor", cursor})...)
	}
	l := links{self: x.linkHere(changes...), first: here(1, "")}
	if n > 1 {
		l.prev = here(n-1, "")
	}
	if cursor != "" {
		l.next = here(n+1, string(cursor))
	}
	return l
}

// maxLinkHeader is the maximum total size of the Link header values, in bytes. Clients and proxies refuse responses with larger header
// fields. Their limits are between 8 KiB and 64 KiB.
const maxLinkHeader = 4 << 10

// header returns the links to other pages as values of the header Link (RFC 8288). If long request parameters make the links exceed
// maxLinkHeader, it returns no links. The body always contains the links.
func (l links) header() []string {
	if len(l.prev)+len(l.next) > maxLinkHeader {
		return nil
	}
	var values []string
	if l.prev != "" {
		values = append(values, "<"+l.prev+`>; rel="prev"`)
	}
	if l.next != "" {
		values = append(values, "<"+l.next+`>; rel="next"`)
	}
	return values
}

// announce adds the Link headers.
func (l links) announce(x *exchange) {
	for _, value := range l.header() {
		x.Header().Add("Link", value)
	}
}
