package plane

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// admin speaks to the API server as its administrator.
type admin struct {
	url    string
	client *http.Client
}

func newAdmin(url string, files credentials) (*admin, error) {
	ca, err := os.ReadFile(files.ca)
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(files.admin.cert, files.admin.key)
	if err != nil {
		return nil, fmt.Errorf("read the administrator's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	return &admin{url: url, client: &http.Client{Transport: transport, Timeout: 10 * time.Second}}, nil
}

func (a *admin) close() { a.client.CloseIdleConnections() }

// do makes a request with body as JSON (none when nil) and decodes the answer into out (not at all when nil). A status of
// 300 or more is an error.
func (a *admin) do(ctx context.Context, method, path string, body, out any) error {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return fmt.Errorf("%s %s: encode the body: %w", method, path, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, &content)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return err // names the method and the address
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, resp.Status, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, path, err)
	}
	return nil
}
