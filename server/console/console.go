package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

// Path is the path of the console. The console's cookie is valid only for this path and the paths below it.
const Path = "/console/"

// Access describes the rights of a token.
type Access struct {
	// Property is the property of the token in the form namespace/name. Token is the name of the token, for the log.
	Property, Token string
	// ReadWrite is true if the class of the token is READ-WRITE, and false if it is READ-ONLY.
	ReadWrite bool
	// FiltersOnly is true if the token may only list certain filters. Such a token cannot be used in the console.
	FiltersOnly bool
	// Expires is the time at which the value of the token expires; zero means never.
	Expires time.Time
}

// Options configures a console.
type Options struct {
	// API is the handler of the public HTTP API. It also receives all requests outside Path. Required.
	API http.Handler
	// Access returns the rights of a token. It returns false if the token is unknown, expired or revoked, and an error if it cannot check
	// the token now. The console calls Access for each request of a session. Required.
	Access func(ctx context.Context, token string) (Access, bool, error)
	// Key is a secret of the library. The console derives the key of the sessions from it, so sessions are valid on all servers with the
	// same Key. Key must have at least 16 bytes. Required.
	Key []byte
	// Hosts contains additional host names of the server (without a port), such as that of the external URL. As protection from DNS
	// rebinding, the Host header of a request over plain HTTP to a loopback address must name localhost, a loopback address or one of
	// Hosts.
	Hosts []string
	// Dir is a folder with the files of the application, for development. The console reads the files on each request. Default: the embedded
	// files.
	Dir string
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
	// Logger receives a line for each login and logout. Default: nothing is logged.
	Logger *slog.Logger
}

// console is the handler that New returns.
type console struct {
	o        Options
	assets   *assets
	sealer   *sealer
	begun    *register
	codes    *codes
	attempts attempts
	foreign  *http.CrossOriginProtection
	mux      *http.ServeMux
}

// New returns a handler that serves the console below Path and passes all other requests to o.API. It fails if the files of the
// application cannot be used or if the key is too short.
func New(o Options) (http.Handler, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &console{o: o, begun: newRegister(sessionFor, maxIssued), foreign: http.NewCrossOriginProtection(), mux: http.NewServeMux()}
	var err error
	if c.sealer, err = newSealer(o.Key, sessionPurpose); err != nil {
		return nil, err
	}
	if c.codes, err = newCodes(); err != nil {
		return nil, err
	}
	if c.assets, err = c.load(); err != nil {
		return nil, fmt.Errorf("load the files of the console: %w", err)
	}
	for pattern, handle := range map[string]http.HandlerFunc{
		"/console/":                            c.showPage,
		"GET /console/assets/{hash}/{file...}": func(w http.ResponseWriter, r *http.Request) { c.current().serveFile(w, r) },
		"GET /console/session":                 c.guarded(c.showSession),
		"POST /console/session":                c.guarded(c.logIn),
		"DELETE /console/session":              c.guarded(c.logOut),
		"POST /console/codes":                  c.guarded(c.makeCode),
		"POST /console/codes/lookup":           c.guarded(c.lookUpCode),
		"/console/api/":                        c.guarded(c.callAPI),
	} {
		c.mux.HandleFunc(pattern, handle)
	}
	return c, nil
}

// load reads the files of the application.
func (c *console) load() (*assets, error) {
	if c.o.Dir != "" {
		return loadAssets(os.DirFS(c.o.Dir))
	}
	files, err := fs.Sub(embedded, "assets")
	if err != nil {
		return nil, err
	}
	return loadAssets(files)
}

// current returns the files of the application. If Options.Dir is set, it reads the files again. If it cannot read them, it returns the
// files that New has read.
func (c *console) current() *assets {
	if c.o.Dir != "" {
		a, err := c.load()
		if err == nil {
			return a
		}
		c.o.Logger.Warn("cannot load the files of the console", "error", err)
	}
	return c.assets
}

// showPage serves index.html for every path that is not an endpoint. The application selects its page by the path.
func (c *console) showPage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		(&problem{methodNotAllowed, "this path does not support the method " + r.Method}).write(w)
		return
	}
	c.current().servePage(w, r)
}

// policy is the Content-Security-Policy. It allows the files of the application. It also allows pictures and videos from all sites, because
// the media of items come from other sites. No script may turn text into markup or code, not even through a policy of Trusted Types.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: http:; media-src https: http:; " +
	"connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// ServeHTTP implements http.Handler.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == strings.TrimSuffix(Path, "/") {
		http.Redirect(w, r, Path, http.StatusPermanentRedirect)
		return
	}
	if !strings.HasPrefix(r.URL.Path, Path) {
		c.o.API.ServeHTTP(w, r)
		return
	}
	protect(w.Header())
	if !c.knowsHost(r) {
		(&problem{hostRefused, "the console does not accept this host name: use localhost, or the external URL of the server"}).write(w)
		return
	}
	c.mux.ServeHTTP(w, r)
}

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
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(c.o.Hosts, name)
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
			p = &problem{unavailable, "the server cannot check the access token now: retry later"}
		}
		p.write(w)
	}
}

// checkOrigin rejects requests that other origins caused. The SameSite attribute of the cookie is not enough: pages on other ports of the
// host and on sibling subdomains belong to the same site, so the browser sends the cookie with their requests.
func (c *console) checkOrigin(r *http.Request) error {
	refused := &problem{requestRefused, "the server accepts this request only from a page of the console"}
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
