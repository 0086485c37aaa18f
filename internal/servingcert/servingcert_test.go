package servingcert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var hosts = []string{"localhost", "127.0.0.1", "::1", "Vitrine.shop.svc"}

// verify connects to a server under a name, with a client that trusts only bundle.
func verify(t *testing.T, s *Source, bundle []byte, name string, now time.Time) error {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		t.Fatal("the bundle holds no certificate")
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: s.GetCertificate, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.(*tls.Conn).Handshake()
			_ = c.Close()
		}
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: roots, ServerName: name, Time: func() time.Time { return now }})
	if err == nil {
		_ = c.Close()
	}
	return err
}

func TestEveryHostIsServed(t *testing.T) {
	s, err := Open(t.TempDir(), hosts, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"localhost", "127.0.0.1", "::1", "vitrine.shop.svc"} {
		if err := verify(t, s, s.CABundle(), name, time.Now()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := verify(t, s, s.CABundle(), "elsewhere.example", time.Now()); err == nil {
		t.Error("the certificate is valid for another name")
	}
}

func TestCertificateIsKeptAcrossStarts(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	open := func(hosts ...string) *Source {
		t.Helper()
		s, err := Open(dir, hosts, func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	serial := func(s *Source) string { return s.current.Load().Leaf.SerialNumber.String() }

	first := open("localhost")
	again := open("localhost")
	if serial(first) != serial(again) || string(first.CABundle()) != string(again.CABundle()) {
		t.Error("a second start created a new certificate")
	}

	more := open("localhost", "shop.example")
	if serial(more) == serial(first) {
		t.Error("a new host did not lead to a new certificate")
	}
	if err := verify(t, more, first.CABundle(), "shop.example", now); err != nil {
		t.Errorf("the new certificate is not of the first authority: %v", err)
	}

	now = now.Add(certificateFor - certificateLeft + time.Minute)
	if renewed, err := more.Renew(); err != nil || !renewed {
		t.Errorf("renewed %v, %v although it was due", renewed, err)
	}
	if err := verify(t, more, first.CABundle(), "shop.example", now.Add(certificateLeft)); err != nil {
		t.Errorf("the renewed certificate: %v", err)
	}
	if renewed, err := more.Renew(); err != nil || renewed {
		t.Errorf("renewed %v, %v although it was not due", renewed, err)
	}
}

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	if _, err := Open(dir, hosts, nil); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"ca.crt": 0o644, "ca.pem": 0o600, "server.pem": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v; want %v", name, info.Mode(), err, mode)
		}
	}

	if err := os.WriteFile(filepath.Join(dir, "server.pem"), []byte("cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, hosts, nil); err != nil {
		t.Errorf("a damaged server certificate is not replaced: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), []byte("cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, hosts, nil); err == nil {
		t.Error("a damaged authority was replaced silently")
	}
}

func TestServersShareAnAuthority(t *testing.T) {
	first := filepath.Join(t.TempDir(), "tls")
	own, err := Open(first, hosts, nil)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := ProposeAuthority(first)
	if err != nil || !bytes.HasPrefix(authority, own.CABundle()) {
		t.Fatalf("the authority of the server is not the proposed one: %v", err)
	}
	if fresh, err := ProposeAuthority(t.TempDir()); err != nil || bytes.Equal(fresh, authority) {
		t.Errorf("no new authority for an empty directory: %v", err)
	}
	var bundles []string
	for range 2 {
		dir := filepath.Join(t.TempDir(), "tls")
		if HasAuthority(dir) {
			t.Error("an empty directory has an authority")
		}
		// The server already has an authority of its own when it adopts the shared one.
		if _, err := Open(dir, hosts, nil); err != nil {
			t.Fatal(err)
		}
		if err := Adopt(dir, authority); err != nil || !HasAuthority(dir) {
			t.Fatal(err)
		}
		s, err := Open(dir, hosts, nil)
		if err != nil {
			t.Fatal(err)
		}
		bundles = append(bundles, string(s.CABundle()))
		if err := verify(t, s, []byte(bundles[0]), "localhost", time.Now()); err != nil {
			t.Errorf("server %d: %v", len(bundles), err)
		}
	}
	if bundles[0] != bundles[1] {
		t.Error("two servers with the same authority have different bundles")
	}
	if err := Adopt(t.TempDir(), []byte("cut")); err == nil {
		t.Error("adopted a damaged authority")
	}
	old, err := makeAuthority(time.Now().Add(authorityLeft - authorityFor - time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	content, err := encodePair(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := Adopt(t.TempDir(), content); !errors.Is(err, ErrExpiring) {
		t.Errorf("adopted an authority that expires soon: %v", err)
	}
}
