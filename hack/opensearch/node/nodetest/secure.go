package nodetest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node"
)

// Secure is a node with the security plugin that belongs to one test.
type Secure struct {
	// URL is the address of the node. CAFile contains the CA certificate.
	URL, CAFile string

	t      testing.TB
	client *http.Client
}

// NewSecure starts a node with the security plugin, and stops it at the end of the test. It skips the test unless
// VITRINE_OPENSEARCH is set.
func NewSecure(t testing.TB) *Secure {
	t.Helper()
	n := started(t, func() ([]*node.Node, error) {
		n, err := node.Start(t.Context(), node.Options{Dir: t.TempDir(), Version: node.Version2, Heap: "512m", Security: true})
		return []*node.Node{n}, err
	})[0]
	authority, err := os.ReadFile(n.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	return &Secure{n.URL, n.CAFile, t, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}}
}

// User creates a user with permissions on the cluster and on the indices that match a pattern. It returns the paths of files with the
// username and the password.
func (s *Secure) User(name string, cluster []string, pattern string, indices []string) (username, password string) {
	s.t.Helper()
	const secret = "Correct-horse-battery-7-staple"
	role := map[string]any{
		"cluster_permissions": cluster,
		"index_permissions":   []any{map[string]any{"index_patterns": []string{pattern}, "allowed_actions": indices}},
	}
	s.put("roles/"+name, role)
	s.put("internalusers/"+name, map[string]any{"password": secret})
	s.put("rolesmapping/"+name, map[string]any{"users": []string{name}})
	dir := s.t.TempDir()
	username, password = filepath.Join(dir, "username"), filepath.Join(dir, "password")
	if err := errors.Join(os.WriteFile(username, []byte(name), 0o600), os.WriteFile(password, []byte(secret), 0o600)); err != nil {
		s.t.Fatal(err)
	}
	return username, password
}

// put stores an object, such as a user, with the API of the security plugin. If the plugin has not read its configuration yet, put waits.
func (s *Secure) put(path string, object any) {
	s.t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		s.t.Fatal(err)
	}
	deadline := time.After(time.Minute)
	for {
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPut, s.URL+"/_plugins/_security/api/"+path, strings.NewReader(string(body)))
		if err != nil {
			s.t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.SetBasicAuth(node.Administrator, node.Administrator)
		res, err := s.client.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil {
			s.t.Error(err)
		}
		if res.StatusCode < 300 {
			return
		}
		select {
		case <-deadline:
			s.t.Fatalf("PUT %s: %s", path, res.Status)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
