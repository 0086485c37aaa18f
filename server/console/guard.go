package console

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/vitrine-dev/vitrine/server/problems"
)

// policy is the Content-Security-Policy. It allows the files of the application. The page also allows the files that it contains, by their
// digests. The policy allows pictures and videos from all sites, because the media of items come from other sites. No script may turn text
// into markup or code, not even through a policy of Trusted Types.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: http:; media-src https: http:; " +
	"connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// protect sets the headers that protect the responses of the console in a browser.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // needed by browsers that do not support frame-ancestors
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// knowsHost reports whether the Host header may name this server. A site can make its own name resolve to a loopback address. The pages
// of the site can then reach a server on the machine of their visitor (DNS rebinding). For requests over TLS, knowsHost accepts every
// name, because the certificate does not contain the name of the site. For addresses other than loopback addresses, it also accepts every
// name, because the attacker does not know these addresses.
func (c *console) knowsHost(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if r.TLS != nil || local == nil || !local.IP.IsLoopback() {
		return true
	}
	name := hostname(r.Host)
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.IsLoopback()
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(c.o.Hosts, name) || c.people != nil && name == c.people.host
}

// hostname returns the name or the address from a Host header, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// header is a header that the scripts of the console send with each request. A form cannot set it. A page of another origin can set it
// only after a preflight request, which the console never allows.
//
// In a request to the API, the value is the public ID of the session that the page shows. All tabs of a browser share one cookie, so a
// login in another tab replaces the session. The ID prevents a request from changing a property other than the one that the user sees. In
// other requests, the header may have any value.
const header = "X-Vitrine-Console"

// background is a header of requests that an open page sends without a user, such as those that wait for changes. They do not renew the
// session, so that it ends when the user has been away for idleFor.
const background = "X-Vitrine-Background"

// guarded returns a handler that rejects requests from other sites and otherwise calls handle. If handle returns an error, the handler
// sends it as a problem.
func (c *console) guarded(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		err := c.checkOrigin(r)
		if err == nil {
			err = handle(w, r)
		}
		if err == nil {
			return
		}
		p := (*problem)(nil)
		if !errors.As(err, &p) {
			c.o.Logger.ErrorContext(r.Context(), "a request to the console failed", "error", err)
			p = &problem{problems.Unavailable, "the server cannot check the access token now: retry later"}
		}
		p.write(w)
	}
}

// checkOrigin rejects requests that other origins caused. The SameSite attribute of the cookie is not enough: pages on other ports of the
// host and on sibling subdomains belong to the same site, so the browser sends the cookie with their requests.
func (c *console) checkOrigin(r *http.Request) error {
	refused := &problem{problems.OriginRefused, "the server accepts this request only from a page of the console"}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return refused
	}
	// A page of any site can use a URL of the API as the source of a picture, so even reads of the API need the header.
	if read := r.Method == http.MethodGet || r.Method == http.MethodHead; read && !strings.HasPrefix(r.URL.Path, apiPath+"/") {
		return nil
	}
	// A program requests a code with its token. Such a request needs no cookie, and no site can make a browser send it.
	program := r.URL.Path == codesPath && r.Method == http.MethodPost && bearer(r) != ""
	if c.foreign.Check(r) != nil || r.Header.Get(header) == "" && !program {
		return refused
	}
	return nil
}
