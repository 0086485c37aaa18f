package admission

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/go-logr/logr"
)

// Clients decides which callers may send reviews, by their client certificates. It is safe for concurrent use.
type Clients struct {
	file  string
	names []string
	log   logr.Logger
	mu    sync.Mutex
	// content is the content of file from which authorities was read.
	content     []byte
	authorities *x509.CertPool
	// told is the last logged failure to read the file. The same failure is not logged twice in a row.
	told string
}

// OpenClients accepts callers with a client certificate of one of the authorities in a PEM file. If names is not empty, the common name of
// the certificate must be one of names. Clients reads the file again for each connection. If the file is then missing or contains no
// certificate, Clients logs the problem and keeps the authorities that it has read before.
func OpenClients(file string, names []string, log logr.Logger) (*Clients, error) {
	c := &Clients{file: file, names: names, log: log}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// load reads the file. The caller must hold c.mu, except in OpenClients.
func (c *Clients) load() error {
	content, err := os.ReadFile(c.file)
	if err != nil {
		return fmt.Errorf("read the authorities of client certificates: %w", err)
	}
	if c.authorities != nil && bytes.Equal(content, c.content) {
		return nil
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(content) {
		return fmt.Errorf("read the authorities of client certificates: %s contains no PEM certificate", c.file)
	}
	c.content, c.authorities = content, authorities
	return nil
}

func (c *Clients) current() *x509.CertPool {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.load()
	if err == nil {
		c.told = ""
	} else if err.Error() != c.told {
		c.told = err.Error()
		c.log.Error(err, "keeping the authorities of client certificates that were read before")
	}
	return c.authorities
}

// Require returns the configuration of a server that accepts only these callers. It refuses all others in the TLS handshake, before it
// reads any request. config is the configuration of a server that accepts all callers.
func (c *Clients) Require(config *tls.Config) *tls.Config {
	required := config.Clone()
	required.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		one := config.Clone()
		one.ClientAuth = tls.RequireAndVerifyClientCert
		one.ClientCAs = c.current()
		one.VerifyConnection = c.checkName
		one.SessionTicketsDisabled = true // so that each connection is checked against the current authorities
		return one, nil
	}
	return required
}

// checkName checks the common name of a verified certificate.
func (c *Clients) checkName(s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the client has sent no certificate")
	}
	if name := s.PeerCertificates[0].Subject.CommonName; len(c.names) > 0 && !slices.Contains(c.names, name) {
		return fmt.Errorf("the common name %q of the client certificate is not accepted", name)
	}
	return nil
}
