// Package s3test starts a real S3-compatible store for tests. It imports nothing from this project.
package s3test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// The credentials of the S3 store that the tests start.
const (
	User   = "test-user"
	Secret = "test-secret-that-must-never-be-printed"
)

// Store is a real S3-compatible store, versitygw. It stores the bucket backups in a directory.
type Store struct {
	t *testing.T
	// URL is the address of the store, CAFile is the file with its certificate, and Dir contains the files of the bucket.
	URL, CAFile, Dir string
	roots            *x509.CertPool
	client           *minio.Client
}

// New starts a store, stops it when the test ends, and sets its credentials in the environment. It skips the test if the path of
// versitygw is not configured.
func New(t *testing.T) *Store {
	t.Helper()
	program := os.Getenv("VITRINE_S3_SERVER")
	if program == "" {
		t.Skip("DID NOT RUN: run make test, which sets VITRINE_S3_SERVER to the program versitygw")
	}
	s := &Store{t: t, CAFile: filepath.Join(t.TempDir(), "ca.crt"), roots: x509.NewCertPool()}
	key := s.certify()
	address, root := s.freeAddress(), t.TempDir()
	s.URL, s.Dir = "https://"+address, filepath.Join(root, "backups")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--port", address, "--access", User, "--secret", Secret, "--cert", s.CAFile, "--key", key, "--quiet",
		"posix", "--sidecar", t.TempDir(), root)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // ignore the error, which only reports that the program was killed
		if t.Failed() {
			t.Logf("output of the store:\n%s", log.String())
		}
	})
	t.Setenv("AWS_ACCESS_KEY_ID", User)
	t.Setenv("AWS_SECRET_ACCESS_KEY", Secret)
	var err error
	s.client, err = minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(User, Secret, ""), Secure: true, Transport: s.transport(), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	s.await(address)
	if err := s.client.MakeBucket(t.Context(), "backups", minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// certify creates a certificate, writes it to CAFile, and returns the path of its private key.
func (s *Store) certify() (key string) {
	s.t.Helper()
	issuer := httptest.NewTLSServer(nil) // provides a certificate
	defer issuer.Close()
	s.roots.AddCert(issuer.Certificate())
	certificate := issuer.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		s.t.Fatal(err)
	}
	key = filepath.Join(s.t.TempDir(), "tls.key")
	s.write(s.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}))
	s.write(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return key
}

// freeAddress returns an address on which no program listens, because versitygw cannot choose a port.
func (s *Store) freeAddress() string {
	s.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		s.t.Fatal(err)
	}
	return l.Addr().String()
}

// await waits until the store accepts connections.
func (s *Store) await(address string) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the store does not respond: %v", err)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func (s *Store) write(path string, content []byte) {
	s.t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Store) transport() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.roots, MinVersion: tls.VersionTLS12}}
}

// Flags returns the flags for the store, followed by other arguments.
func (s *Store) Flags(args ...string) []string {
	return append([]string{"--s3-endpoint", s.URL, "--s3-ca-file", s.CAFile}, args...)
}

// Visible returns the keys of all files in the bucket, and the keys of all incomplete uploads.
func (s *Store) Visible() (files, incomplete []string) {
	s.t.Helper()
	for o := range s.client.ListObjectsIter(s.t.Context(), "backups", minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			s.t.Fatal(o.Err)
		}
		files = append(files, o.Key)
	}
	for u := range s.client.ListIncompleteUploads(s.t.Context(), "backups", "", true) {
		if u.Err != nil {
			s.t.Fatal(u.Err)
		}
		incomplete = append(incomplete, u.Key)
	}
	return files, incomplete
}

// Stuck returns the URL of a proxy in front of the store. The proxy never returns the response to the upload of a part. Stuck also returns
// a channel that is closed when the store has received the first part.
func (s *Store) Stuck() (address string, uploaded <-chan struct{}) {
	s.t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	reached := make(chan struct{})
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Transport: s.transport(),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // keep the host, because the signature of the request covers it
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.URL.Query().Has("partNumber") {
				close(reached)
				<-r.Request.Context().Done()
			}
			return nil
		},
	})
	s.t.Cleanup(proxy.Close)
	return proxy.URL, reached
}
