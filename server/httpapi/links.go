package httpapi

import (
	"fmt"
	"net/url"
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
	if u, err := url.Parse(x.baseURL()); err == nil {
		return strings.TrimRight(u.EscapedPath(), "/") + path
	}
	return path
}

// linkHere makes a link to the present path with the present parameters, some of them changed: an empty value takes one
// away. It never holds the token.
func (x *exchange) linkHere(changes map[string]string) *link {
	params := make(url.Values, len(x.params)+len(changes))
	for name, values := range x.params {
		params[name] = values
	}
	params.Del("access_token")
	for name, value := range changes {
		if value == "" {
			params.Del(name)
		} else {
			params.Set(name, value)
		}
	}
	href := x.linkTo(x.r.URL.EscapedPath())
	if x.keepsSlash() {
		href += "/"
	}
	if encoded := params.Encode(); encoded != "" {
		href += "?" + encoded
	}
	return &link{Href: href}
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
