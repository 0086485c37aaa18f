package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/vitrine-dev/vitrine/server/problems"
)

const (
	// exposedHeaders are the response headers that scripts of an allowed page may read, in addition to the CORS-safelisted ones.
	exposedHeaders = "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, Warning, X-Request-Id"
	// requestHeaders are the request headers that such scripts may send.
	requestHeaders = "Authorization, Content-Type, If-Match, If-None-Match, If-Unmodified-Since, Last-Event-ID"
	// preflightAge is how long a browser may cache a preflight, in seconds.
	preflightAge = "600"
	// everyOrigin lets web pages of every origin read a response that needs no token.
	everyOrigin = "*"
)

// allowOrigin refuses a request from a web page if the property does not list the page's origin. A page with a listed origin may read the
// response, including errors.
func (x *exchange) allowOrigin() error {
	origin := x.r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	if !originAllowed(x.settings.AllowedOrigins, origin) {
		return refusedOrigin()
	}
	x.exposeTo(origin)
	return nil
}

// exposeTo lets web pages of an origin read the response.
func (x *exchange) exposeTo(origin string) {
	x.Header().Set("Access-Control-Allow-Origin", origin)
	x.Header().Set("Access-Control-Expose-Headers", exposedHeaders)
}

func refusedOrigin() error {
	return &problem{Type: problems.OriginRefused, Detail: "the property does not list the origin of this web page: add the origin to spec.allowedOrigins of the Property"}
}

// options answers OPTIONS: a preflight, or a request for the supported methods.
//
// A preflight carries no Authorization header. If its URL contains access_token, the property of that token decides. Otherwise, the
// preflight succeeds if any property allows the origin, and the server checks the origin again in the actual request. If web pages of every
// origin may read the resource, every preflight succeeds.
func (x *exchange) options() error {
	h := x.Header()
	h.Set("Cache-Control", "private, no-store")
	origin := x.r.Header.Get("Origin")
	if origin == "" || x.r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Allow", x.resource.allow)
		x.write(http.StatusNoContent, "", nil)
		return nil
	}
	h.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	if x.resource.anyPage {
		origin = everyOrigin
	} else if err := x.preflight(origin); err != nil {
		return err
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Methods", x.resource.allow)
	h.Set("Access-Control-Allow-Headers", requestHeaders)
	h.Set("Access-Control-Max-Age", preflightAge)
	x.write(http.StatusNoContent, "", nil)
	return nil
}

func (x *exchange) preflight(origin string) error {
	if len(x.presented) > 0 {
		if err := x.authenticate(); err != nil {
			return err
		}
		return x.allowOrigin()
	}
	for _, p := range x.server.lib.Properties() {
		if settings, err := x.server.lib.Property(p); err == nil && originAllowed(settings.AllowedOrigins, origin) {
			return nil
		}
	}
	return refusedOrigin()
}

// originAllowed reports whether the list of a property contains an origin. Scheme, host and port must match exactly, but the default port
// of the scheme may be omitted. A leading "*." of a listed host matches one label.
func originAllowed(listed []string, origin string) bool {
	scheme, host, port, ok := splitOrigin(origin)
	if !ok {
		return false
	}
	for _, l := range listed {
		s, h, p, ok := splitOrigin(l)
		if !ok || s != scheme || p != port {
			continue
		}
		if h == host {
			return true
		}
		if parent, wild := strings.CutPrefix(h, "*."); wild {
			if label, rest, _ := strings.Cut(host, "."); label != "" && rest == parent {
				return true
			}
		}
	}
	return false
}

// splitOrigin splits an origin into its parts. It returns false for a text that is not an origin, such as "null".
func splitOrigin(origin string) (scheme, host, port string, ok bool) {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", "", "", false
	}
	scheme, port = strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme, strings.ToLower(u.Hostname()), port, true
}
