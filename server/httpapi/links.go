package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
)

// link is one HAL link.
type link struct {
	Href string `json:"href"`
}

// links are the HAL links of a list; those that lead nowhere are absent.
type links struct {
	Self  *link `json:"self,omitempty"`
	First *link `json:"first,omitempty"`
	Prev  *link `json:"prev,omitempty"`
	Next  *link `json:"next,omitempty"`
}

// baseURL is what stands before short links: the address of the property, else the server's own, else nothing.
func (x *exchange) baseURL() string {
	if own := strings.TrimRight(x.settings.ExternalURL, "/"); own != "" {
		return own
	}
	return x.server.options.ExternalURL
}

// linkTo makes a link to a path of the interface: absolute within the host, below the path of the base URL.
func (x *exchange) linkTo(path string) string {
	if p := &x.prefix; !p.known {
		p.known = true
		if u, err := url.Parse(x.baseURL()); err == nil {
			p.path = strings.TrimRight(u.EscapedPath(), "/")
		}
	}
	return x.prefix.path + path
}

// linkHere makes a link to the present path with the present parameters, some of them changed: an empty value takes one
// away. It never holds the token.
func (x *exchange) linkHere(changes map[string]string) *link {
	names := make([]string, 0, 8)
	for name := range x.params {
		if _, changed := changes[name]; !changed && name != "access_token" {
			names = append(names, name)
		}
	}
	for name, value := range changes {
		if value != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	href := make([]byte, 0, 256)
	href = append(href, x.linkTo(x.r.URL.EscapedPath())...)
	if x.keepsSlash() {
		href = append(href, '/')
	}
	separator := byte('?')
	for _, name := range names {
		values := x.params[name]
		if value := changes[name]; value != "" {
			values = []string{value}
		}
		for _, value := range values {
			href = append(append(href, separator), url.QueryEscape(name)...)
			href = append(append(href, '='), url.QueryEscape(value)...)
			separator = '&'
		}
	}
	return &link{Href: string(href)}
}

// keepsSlash reports whether links to this resource end with a slash, as the specification writes the paths below /v1/
// except that of a single unit.
func (x *exchange) keepsSlash() bool {
	return strings.HasPrefix(x.resource.path, "/v1/") && x.resource.path != "/v1/activate_units/{id}"
}

// pageLinks are the links of page n of a list: numbered ones, and next by cursor ("" on the last page). seed is the one
// that the list was shuffled with, "" for none.
func (x *exchange) pageLinks(n int64, cursor library.Cursor, seed string) links {
	here := func(page, cursor string) *link {
		changes := map[string]string{"page": page, "cursor": cursor}
		if seed != "" {
			changes["seed"] = seed
		}
		return x.linkHere(changes)
	}
	self := map[string]string{}
	if seed != "" {
		self["seed"] = seed
	}
	l := links{Self: x.linkHere(self), First: here("1", "")}
	if n > 1 {
		l.Prev = here(strconv.FormatInt(n-1, 10), "")
	}
	if cursor != "" {
		l.Next = here(strconv.FormatInt(n+1, 10), string(cursor))
	}
	return l
}

// header repeats the links to other pages, as values of the header Link (RFC 8288).
func (l links) header() []string {
	var values []string
	for _, to := range []struct {
		rel  string
		link *link
	}{{"prev", l.Prev}, {"next", l.Next}} {
		if to.link != nil {
			values = append(values, fmt.Sprintf("<%s>; rel=%q", to.link.Href, to.rel))
		}
	}
	return values
}

// announce puts the header Link.
func (l links) announce(x *exchange) {
	for _, value := range l.header() {
		x.Header().Add("Link", value)
	}
}
