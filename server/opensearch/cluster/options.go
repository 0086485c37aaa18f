package cluster

import (
	"log/slog"
	"net/http"
	"time"
)

// Options configures a connection to a cluster.
type Options struct {
	// URLs contains the HTTP addresses of nodes of the cluster.
	URLs []string
	// UsernameFile and PasswordFile contain the credentials, and CAFile the certificates of the authorities. Each can be empty.
	UsernameFile, PasswordFile, CAFile string
	// Timeout limits a request if the caller sets no earlier deadline.
	Timeout time.Duration
	Clock   func() time.Time
	Logger  *slog.Logger
	// Transport replaces the HTTP transport in tests; nil means a copy of http.DefaultTransport.
	Transport http.RoundTripper
}
