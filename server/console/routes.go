package console

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/problems"
)

// New returns a handler that serves the console below Path, redirects browsers from the root to it, and passes all other requests to o.API.
// It fails if the files of the application cannot be used or if the key is too short.
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
	if o.OIDC != nil {
		if c.people, err = newPeople(o.OIDC, o.Key, o.Clock); err != nil {
			return nil, err
		}
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
		"GET /console/oidc":                    c.guarded(c.showProvider),
		"POST /console/oidc":                   c.guarded(c.beginLogin),
		"POST /console/codes":                  c.guarded(c.makeCode),
		"POST /console/codes/lookup":           c.guarded(c.lookUpCode),
		"/console/api/":                        c.guarded(c.callAPI),
	} {
		c.mux.HandleFunc(pattern, handle)
	}
	return c, nil
}

// ServeHTTP implements http.Handler.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == strings.TrimSuffix(Path, "/") {
		http.Redirect(w, r, Path, http.StatusPermanentRedirect)
		return
	}
	if r.URL.Path == "/" && prefersPage(r) {
		w.Header().Set("Vary", "Accept")
		http.Redirect(w, r, Path, http.StatusFound)
		return
	}
	if !strings.HasPrefix(r.URL.Path, Path) {
		c.o.API.ServeHTTP(w, r)
		return
	}
	protect(w.Header())
	if !c.knowsHost(r) {
		(&problem{problems.HostRefused, "the console does not accept this host name: use localhost, or the external URL of the server"}).write(w)
		return
	}
	c.mux.ServeHTTP(w, r)
}

// prefersPage returns whether a browser requests a page for a user. Clients of the API do not accept HTML, or also accept JSON by name.
func prefersPage(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(accept, "text/html") && !strings.Contains(accept, "json")
}

// showPage serves index.html for every path that is not an endpoint. The application selects its page by the path.
func (c *console) showPage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		(&problem{problems.MethodNotAllowed, "this path does not support the method " + r.Method}).write(w)
		return
	}
	c.current().servePage(w, r)
}
