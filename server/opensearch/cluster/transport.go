package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// transport sends requests with the credentials from files, and trusts the certificate authorities in a file. It reads the files
// repeatedly, because a mounted Secret can change while the process runs.
type transport struct {
	options Options

	mu   sync.Mutex
	read time.Time // when the files were last read
	secrets
	over http.RoundTripper
}

// secrets holds the contents of the files. Each is nil if the file is not configured.
type secrets struct{ username, password, ca []byte }

// rereadAfter is the maximum age of the file contents that are in use.
const rereadAfter = 5 * time.Second

// These constants limit connections, so that a failed node does not delay a request that another node can process.
const (
	dialTimeout      = time.Second
	handshakeTimeout = 5 * time.Second
	idleConnections  = 64
)

// newTransport returns a transport with the current username, password and certificate authorities. Its errors name the file that cannot be
// read.
func newTransport(o Options) (*transport, error) {
	t := &transport{options: o}
	return t, t.reread(o.Clock())
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	over, s := t.current()
	if s.username != nil {
		r = r.Clone(r.Context())
		r.SetBasicAuth(text(s.username), text(s.password))
	}
	return over.RoundTrip(r)
}

// CloseIdleConnections closes the connections that are not in use.
func (t *transport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if over, ok := t.over.(interface{ CloseIdleConnections() }); ok {
		over.CloseIdleConnections()
	}
}

// text returns the content of a file without the trailing line break that editors add.
func text(content []byte) string { return strings.TrimRight(string(content), "\r\n") }

// current returns the transport and the credentials for a request. If the files cannot be read, it returns the contents that were read
// before.
func (t *transport) current() (http.RoundTripper, secrets) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.options.Clock(); now.Sub(t.read) > rereadAfter {
		if err := t.reread(now); err != nil {
			t.options.Logger.Warn("cannot read the credentials of OpenSearch again; the previous credentials stay in use", slog.Any("error", err))
		}
	}
	return t.over, t.secrets
}

// reread reads the username, the password and the certificate authorities again. If the authorities changed, it creates a new connection
// pool. The caller holds mu or is the only user.
func (t *transport) reread(now time.Time) error {
	t.read = now
	var s secrets
	for _, f := range []struct {
		name string
		into *[]byte
	}{{t.options.UsernameFile, &s.username}, {t.options.PasswordFile, &s.password}, {t.options.CAFile, &s.ca}} {
		if f.name == "" {
			continue
		}
		var err error
		if *f.into, err = os.ReadFile(f.name); err != nil {
			return fmt.Errorf("read the credentials for OpenSearch: %w", err)
		}
	}
	if t.over == nil || !bytes.Equal(s.ca, t.ca) {
		over, err := t.connections(s.ca)
		if err != nil {
			return err
		}
		if before, ok := t.over.(*http.Transport); ok {
			before.CloseIdleConnections()
		}
		t.over = over
	}
	t.secrets = s
	return nil
}

// connections creates a connection pool that trusts the CA certificates in ca, or the authorities of the system if ca is nil.
func (t *transport) connections(ca []byte) (http.RoundTripper, error) {
	if t.options.Transport != nil {
		return t.options.Transport, nil
	}
	over := http.DefaultTransport.(*http.Transport).Clone()
	over.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext
	over.TLSHandshakeTimeout = handshakeTimeout
	over.MaxIdleConnsPerHost = idleConnections
	// OpenSearch would compress every page. Within a cluster, compressing takes longer than sending the page uncompressed.
	over.DisableCompression = true
	over.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != nil {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("read the CA certificates for OpenSearch: %s contains no PEM certificate", t.options.CAFile)
		}
		over.TLSClientConfig.RootCAs = roots
	}
	return over, nil
}
