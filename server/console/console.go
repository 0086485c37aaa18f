package console

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
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
	// Actions contains the names of the actions that the token allows. A READ-ONLY token allows none.
	Actions []string
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
	// OIDC configures the login of people through an identity provider. Default: people log in only with tokens.
	OIDC *OIDC
	// Hosts contains additional host names of the server (without a port), such as that of the external URL. As protection from DNS
	// rebinding, the Host header of a request over plain HTTP to a loopback address must name localhost, a loopback address, the host of the
	// login page in OIDC, or one of Hosts.
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
	people   *people // nil if there is no identity provider
	foreign  *http.CrossOriginProtection
	mux      *http.ServeMux
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
