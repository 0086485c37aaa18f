// Package connect finds what a command connects to: a server and a token, a cluster, a ContentFilter that a server serves, and a port of a
// pod. It imports the API types, controllers/tokens and controllers/translate, internal/exit, internal/version, message and server/client.
package connect

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/vitrine-dev/vitrine/internal/cli/textinput"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/version"
	"github.com/vitrine-dev/vitrine/server/client"
)

// Connection is the flags that describe the server to which a client command connects. There is no flag for the token itself, because
// command lines appear in process lists, shell histories and audit logs.
type Connection struct {
	Server, tokenFile, caFile string
}

// Bind declares the flags.
func (c *Connection) Bind(fs *pflag.FlagSet) {
	fs.StringVar(&c.Server, "server", "", "base URL of the server, such as https://content.shop.example (environment: VITRINE_SERVER)")
	fs.StringVar(&c.tokenFile, "token-file", "", "file with the access token (environment: VITRINE_TOKEN holds the token itself)")
	fs.StringVar(&c.caFile, "ca-file", "", "PEM file of CA certificates to trust instead of the system's CA certificates (environment: VITRINE_CA_FILE)")
}

// Open returns a client of the server.
func (c *Connection) Open() (*client.Client, error) {
	server := cmp.Or(c.Server, os.Getenv("VITRINE_SERVER"))
	if server == "" {
		return nil, exit.Usagef("no server: pass --server or set VITRINE_SERVER")
	}
	token, err := c.Token()
	if err != nil {
		return nil, err
	}
	if token == "" {
		return nil, exit.Usagef("no access token: pass --token-file or set VITRINE_TOKEN")
	}
	o := client.Options{Server: server, Token: token, UserAgent: "vitrine/" + version.Get().Version}
	if o.RootCAs, err = c.Authority(); err != nil {
		return nil, err
	}
	return client.New(o)
}

// Token returns the access token that the user passes, or "" if there is none.
func (c *Connection) Token() (string, error) {
	if c.tokenFile == "" {
		return os.Getenv("VITRINE_TOKEN"), nil
	}
	content, err := textinput.ReadFile(c.tokenFile)
	if err != nil {
		return "", fmt.Errorf("read the access token: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// Authority returns the only certificate authorities to trust, or nil if the user specifies none.
func (c *Connection) Authority() (*x509.CertPool, error) {
	file := cmp.Or(c.caFile, os.Getenv("VITRINE_CA_FILE"))
	if file == "" {
		return nil, nil
	}
	content, err := textinput.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, exit.With(exit.Certificate, fmt.Errorf("%s contains no PEM certificate", file))
	}
	return pool, nil
}
