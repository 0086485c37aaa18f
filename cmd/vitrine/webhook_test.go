package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/exit"
)

// freeAddress returns a loopback address on which no process listens, for tests that need the address before it is bound.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestWebhook checks that a real API server trusts the certificate of the webhook, and that the webhook validates manifests.
func TestWebhook(t *testing.T) {
	k, config := newCluster(t)
	if err := k.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	s := startIn(t, config, "--webhook-bind-address", address, "--webhook-url", "https://"+address+"/", "--debug-bind-address", "127.0.0.1:0")
	broken := &v1alpha1.ContentFilter{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "broken"}, Spec: v1alpha1.ContentFilterSpec{Query: "a AND"},
	}
	eventually(t, "refused", func() bool {
		err := k.Create(t.Context(), broken.DeepCopy(), kube.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "spec.query: nothing after AND at position 5")
	})
	sound := broken.DeepCopy()
	sound.Spec.Query = "love"
	if err := k.Create(t.Context(), sound, kube.DryRunAll); err != nil {
		t.Errorf("a valid filter: %v", err)
	}
	if _, page := get(t, "http://"+s.addresses["metrics"]+"/metrics"); !strings.Contains(page, `vitrine_admission_reviews_total{kind="ContentFilter",outcome="refused"}`) {
		t.Error("refusals are not counted")
	}
	if code, _ := get(t, "http://"+s.addresses["debug"]+"/debug/pprof/goroutine?debug=1"); code != http.StatusOK {
		t.Errorf("profiles: %d", code)
	}
	if code, _ := get(t, "http://"+s.addresses["debug"]+"/debug/pprof/cmdline"); code == http.StatusOK {
		t.Error("the command line can be read")
	}
}

// TestWebhookClientCertificate checks that a real API server that is configured as docs/admission.md describes can call a webhook that
// requires a client certificate, and that other callers cannot.
func TestWebhookClientCertificate(t *testing.T) {
	address := freeAddress(t)
	ca := newAuthority(t)
	certificate, key := ca.issue(t, "front-proxy-client")
	kubeconfig := write(t, "webhooks.kubeconfig", fmt.Sprintf(`
apiVersion: v1
kind: Config
users:
  - name: %q
    user: {client-certificate: %s, client-key: %s}
`, address, certificate, key))
	k, config := newClusterWith(t, map[string]string{"admission-control-config-file": write(t, "admission.yaml", fmt.Sprintf(`
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
  - name: ValidatingAdmissionWebhook
    configuration:
      apiVersion: apiserver.config.k8s.io/v1
      kind: WebhookAdmissionConfiguration
      kubeConfigFile: %s
`, kubeconfig))})
	if err := k.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	s := startIn(t, config, "--webhook-bind-address", address, "--webhook-url", "https://"+address,
		"--webhook-client-ca-file", ca.file, "--webhook-client-names", "apiserver,front-proxy-client")
	broken := &v1alpha1.ContentFilter{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "broken"}, Spec: v1alpha1.ContentFilterSpec{Query: "a AND"},
	}
	eventually(t, "refused", func() bool {
		err := k.Create(t.Context(), broken.DeepCopy(), kube.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "spec.query: nothing after AND at position 5")
	})
	// call sends an empty review with the given certificate.
	call := func(certificates ...tls.Certificate) (*http.Response, error) {
		client := &http.Client{Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}, //nolint:gosec // checks the other side
		}}
		return client.Post("https://"+s.addresses["webhook"]+"/validate", "application/json", strings.NewReader("{}"))
	}
	load := func(certificate, key string) tls.Certificate {
		t.Helper()
		c, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if r, err := call(); err == nil {
		r.Body.Close()
		t.Errorf("a caller without a certificate gets %s", r.Status)
	}
	if r, err := call(load(ca.issue(t, "system:node:a"))); err == nil {
		r.Body.Close()
		t.Errorf("a caller with another name gets %s", r.Status)
	}
	r, err := call(load(certificate, key))
	if err != nil {
		t.Fatalf("the certificate of the API server: %v", err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusBadRequest {
		t.Errorf("an empty review: %s", r.Status)
	}
}

// authority is a certificate authority for clients.
type authority struct {
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = a.make(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.file = write(t, "ca.crt", encode("CERTIFICATE", a.cert.Raw))
	return a
}

// issue writes a client certificate with a common name and its key to files.
func (a *authority) issue(t *testing.T, name string) (certificateFile, keyFile string) {
	t.Helper()
	cert, key := a.make(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "client.crt", encode("CERTIFICATE", cert.Raw)), write(t, "client.key", encode("PRIVATE KEY", der))
}

// make signs a certificate with the key of the authority, or with its own key if the authority has none yet.
func (a *authority) make(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func TestWebhookFlags(t *testing.T) {
	cases := map[string]struct {
		args []string
		says string
	}{
		"without a cluster":        {[]string{"--webhook-bind-address", ":0", "--without-kubernetes"}, "cannot be used with --without-kubernetes"},
		"no address":               {[]string{"--webhook-url", "https://a.example"}, "need --webhook-bind-address"},
		"plain HTTP":               {[]string{"--webhook-bind-address", ":0", "--webhook-url", "http://a.example"}, "must be an absolute https URL"},
		"no configuration":         {[]string{"--webhook-bind-address", ":0", "--webhook-configuration", ""}, "must not be empty"},
		"hosts without an address": {[]string{"--webhook-hosts", "a"}, "need --webhook-bind-address"},
		"clients without address":  {[]string{"--webhook-client-ca-file", "a"}, "need --webhook-bind-address"},
		"names of all clients":     {[]string{"--webhook-bind-address", ":0", "--webhook-client-names", "a"}, "--webhook-client-names needs --webhook-client-ca-file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			vitrine(t.Context(), "", append([]string{"serve"}, tc.args...)...).want(t, exit.Usage, tc.says)
		})
	}
}
