package admission

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// authority issues certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue returns a certificate with a common name, issued by parent, or by its own key if parent is nil.
func issue(t *testing.T, parent *authority, name string, use x509.ExtKeyUsage) (*authority, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
		parent = &authority{t, template, key}
	} else {
		template.ExtKeyUsage = []x509.ExtKeyUsage{use}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.cert, &key.PublicKey, parent.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t, cert, key}, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) client(name string) *tls.Certificate {
	_, c := issue(a.t, a, name, x509.ExtKeyUsageClientAuth)
	return &c
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// TestClients checks which client certificates the webhook accepts.
func TestClients(t *testing.T) {
	trusted, _ := issue(t, nil, "trusted", 0)
	next, _ := issue(t, nil, "next", 0)
	file := filepath.Join(t.TempDir(), "ca.crt")
	write := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(trusted.pem())
	clients, err := OpenClients(file, []string{"front-proxy-client", "apiserver"}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(newHandler(t))
	server.Config.ErrorLog = nil
	_, own := issue(t, trusted, "server", x509.ExtKeyUsageServerAuth)
	// httptest's own certificate cannot be used, because it sets Certificates after Require has cloned the configuration.
	server.TLS = clients.Require(&tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}})
	server.StartTLS()
	defer server.Close()
	// accepted reports whether the server answers a review of a caller with a certificate, in each version of TLS.
	accepted := func(t *testing.T, c *tls.Certificate) bool {
		t.Helper()
		answers := map[bool]int{}
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			config := &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version} //nolint:gosec // checks the other side
			if c != nil {
				// Send the certificate even if the server does not name its authority as acceptable.
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c, nil }
			}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
			response, err := client.Post(server.URL+Path, "application/json", strings.NewReader(review("beach")))
			if err == nil {
				response.Body.Close()
			}
			answers[err == nil]++
		}
		if len(answers) != 1 {
			t.Errorf("the versions of TLS differ: %v", answers)
		}
		return answers[true] > 0
	}
	_, selfSigned := issue(t, nil, "apiserver", 0)
	_, serverCertificate := issue(t, trusted, "apiserver", x509.ExtKeyUsageServerAuth)
	for name, tc := range map[string]struct {
		certificate *tls.Certificate
		want        bool
	}{
		"no certificate":                   {nil, false},
		"the API server":                   {trusted.client("apiserver"), true},
		"another accepted name":            {trusted.client("front-proxy-client"), true},
		"a kubelet of the same authority":  {trusted.client("system:node:a"), false},
		"another authority":                {next.client("apiserver"), false},
		"a certificate of its own":         {&selfSigned, false},
		"a certificate of a server":        {&serverCertificate, false},
		"a name that contains an accepted": {trusted.client("apiserver.shop"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := accepted(t, tc.certificate); got != tc.want {
				t.Errorf("accepted: %v; want %v", got, tc.want)
			}
		})
	}
	t.Run("the authorities change", func(t *testing.T) {
		write([]byte("no certificate"))
		if !accepted(t, trusted.client("apiserver")) {
			t.Error("a file without a certificate replaces the authorities")
		}
		write(next.pem())
		if !accepted(t, next.client("apiserver")) {
			t.Error("the new authority is not accepted")
		}
		if accepted(t, trusted.client("apiserver")) {
			t.Error("the old authority is still accepted")
		}
	})
	t.Run("no names", func(t *testing.T) {
		if c, err := OpenClients(file, nil, logr.Discard()); err != nil || c.checkName(tls.ConnectionState{PeerCertificates: []*x509.Certificate{next.cert}}) != nil {
			t.Errorf("without names, a name is refused: %v", err)
		}
	})
	write(nil)
	for _, path := range []string{file, file + ".absent"} {
		if _, err := OpenClients(path, nil, logr.Discard()); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
