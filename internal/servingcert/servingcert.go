// Package servingcert creates the certificate of a server whose user does not provide one. It creates a certificate authority once and
// keeps it in a directory. This authority issues the server certificate, which the package renews before the certificate expires.
//
// Several servers can share an authority. For this, one server gets an authority from ProposeAuthority and stores it in a place that all
// servers can read. Each server then copies it to its own directory with Adopt.
//
// Invariants: only the owner of the files can read the private keys in the directory. The package replaces files by rename, so that a crash
// leaves either the old or the new file. It imports only the standard library.
package servingcert

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// authorityFor is the lifetime of the authority. If less than authorityLeft of it remains, Open creates a new authority, and clients
	// have to trust the new one.
	authorityFor  = 10 * 365 * 24 * time.Hour
	authorityLeft = 365 * 24 * time.Hour
	// certificateFor is the lifetime of a server certificate. The certificate is renewed when less than certificateLeft of it remains.
	certificateFor  = 90 * 24 * time.Hour
	certificateLeft = 30 * 24 * time.Hour
	// backdate is the time by which a certificate's validity begins before its creation, so that clients whose clocks are slow accept the
	// certificate.
	backdate = time.Hour
	// lookEvery is the interval at which Run checks whether the certificate must be renewed.
	lookEvery = 6 * time.Hour
	// authorityFile contains the certificate and the key of the authority.
	authorityFile = "ca.pem"
)

// Source provides the certificate that a server currently uses. It is safe for concurrent use.
type Source struct {
	dir       string
	hosts     []string
	clock     func() time.Time
	authority pair
	current   atomic.Pointer[tls.Certificate]
}

// pair is a certificate and its key.
type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Open reads the authority and the server certificate from dir. If one of them is missing or expires soon, Open creates a new one. It also
// creates a new server certificate if the certificate in dir is not valid for all hosts (names and IP addresses). A nil clock means
// time.Now.
func Open(dir string, hosts []string, clock func() time.Time) (*Source, error) {
	if clock == nil {
		clock = time.Now
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of the certificates: %w", err)
	}
	s := &Source{dir: dir, hosts: slices.Clone(hosts), clock: clock}
	var err error
	if s.authority, err = s.openAuthority(); err != nil {
		return nil, err
	}
	if _, err := s.Renew(); err != nil {
		return nil, err
	}
	return s, nil
}

// ProposeAuthority returns an authority for several servers, as a certificate and a key in PEM. If dir contains a valid authority that does
// not expire soon, ProposeAuthority returns it, so that clients of this server can continue to trust it. Otherwise, ProposeAuthority
// returns a new authority.
func ProposeAuthority(dir string) ([]byte, error) {
	kept, err := os.ReadFile(filepath.Join(dir, authorityFile))
	if err == nil && usable(kept) == nil {
		return kept, nil
	}
	made, err := makeAuthority(time.Now())
	if err != nil {
		return nil, fmt.Errorf("create an authority: %w", err)
	}
	return encodePair(made)
}

// ErrExpiring means that an authority expires too soon to be used.
var ErrExpiring = errors.New("the certificate authority expires in less than a year")

// Adopt stores an authority from ProposeAuthority in dir, so that Open uses it. If the authority expires soon, Adopt returns ErrExpiring.
// If the authority is not valid, Adopt returns another error.
func Adopt(dir string, authority []byte) error {
	if err := usable(authority); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the directory of the certificates: %w", err)
	}
	return writeFile(filepath.Join(dir, authorityFile), authority, 0o600)
}

// usable returns an error if an authority is not valid or expires soon.
func usable(authority []byte) error {
	p, err := parsePair(authority)
	if err == nil && time.Now().Add(authorityLeft).After(p.certificate.NotAfter) {
		err = ErrExpiring
	}
	return err
}

// HasAuthority reports whether dir contains an authority.
func HasAuthority(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, authorityFile))
	return err == nil
}

// GetCertificate returns the current certificate. It is the value of the member with the same name in tls.Config.
func (s *Source) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.current.Load(), nil
}

// CABundle returns the certificate of the authority, in PEM. Clients have to trust this certificate.
func (s *Source) CABundle() []byte { return encodeCertificate(s.authority.certificate) }

// CAFile returns the path of the file with the CA bundle.
func (s *Source) CAFile() string { return filepath.Join(s.dir, "ca.crt") }

// Run renews the certificate when necessary, until ctx ends. It calls report after each renewal and each error. After an error, the server
// continues to use the old certificate, and Run tries again at the next check.
func (s *Source) Run(ctx context.Context, report func(renewed bool, err error)) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if renewed, err := s.Renew(); renewed || err != nil {
				report(renewed, err)
			}
		}
	}
}

// Renew uses the stored server certificate if serves returns true for it. Otherwise, it creates and stores a new one, and returns true.
func (s *Source) Renew() (bool, error) {
	path := filepath.Join(s.dir, "server.pem")
	kept, err := readPair(path)
	if err == nil && s.serves(kept) {
		s.use(kept)
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotPEM) {
		return false, fmt.Errorf("read the server certificate: %w", err)
	}
	made, err := s.issue()
	if err != nil {
		return false, fmt.Errorf("create a server certificate: %w", err)
	}
	if err := writePair(path, made); err != nil {
		return false, fmt.Errorf("store the server certificate: %w", err)
	}
	s.use(made)
	return true, nil
}

func (s *Source) use(p pair) {
	s.current.Store(&tls.Certificate{Certificate: [][]byte{p.certificate.Raw}, PrivateKey: p.key, Leaf: p.certificate})
}

// serves reports whether a certificate is from this authority, does not expire soon, and is valid for every host.
func (s *Source) serves(p pair) bool {
	if p.certificate.CheckSignatureFrom(s.authority.certificate) != nil || s.clock().Add(certificateLeft).After(p.certificate.NotAfter) {
		return false
	}
	for _, h := range s.hosts {
		if p.certificate.VerifyHostname(h) != nil {
			return false
		}
	}
	return true
}

func (s *Source) openAuthority() (pair, error) {
	keyed := filepath.Join(s.dir, authorityFile)
	kept, err := readPair(keyed)
	switch {
	case err == nil && s.clock().Add(authorityLeft).Before(kept.certificate.NotAfter):
		return kept, writeFile(s.CAFile(), encodeCertificate(kept.certificate), 0o644)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		// Return an error instead of replacing the authority, because clients that trust the old authority could no longer connect.
		return pair{}, fmt.Errorf("read the certificate authority in %s: %w; if you remove the file, the server creates a new authority, and clients need the new ca.crt", keyed, err)
	}
	made, err := makeAuthority(s.clock())
	if err != nil {
		return pair{}, fmt.Errorf("create an authority: %w", err)
	}
	if err := writePair(keyed, made); err != nil {
		return pair{}, fmt.Errorf("store the authority: %w", err)
	}
	return made, writeFile(s.CAFile(), encodeCertificate(made.certificate), 0o644)
}

func makeAuthority(now time.Time) (pair, error) {
	serial := newSerial()
	return sign(&x509.Certificate{
		SerialNumber: serial,
		// The number distinguishes this authority from other authorities of Vitrine in a list of trusted authorities.
		Subject:               pkix.Name{CommonName: "vitrine authority " + hex.EncodeToString(serial.Bytes()[:4])},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityFor),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}, nil)
}

func (s *Source) issue() (pair, error) {
	c := &x509.Certificate{
		SerialNumber:          newSerial(),
		Subject:               pkix.Name{CommonName: "vitrine"},
		NotBefore:             s.clock().Add(-backdate),
		NotAfter:              s.clock().Add(certificateFor),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, h := range s.hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, strings.ToLower(h))
		}
	}
	return sign(c, &s.authority)
}

// sign creates a key for c and signs c with the key of parent. If parent is nil, c is self-signed.
func sign(c *x509.Certificate, parent *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	issuer, signer := c, key
	if parent != nil {
		issuer, signer = parent.certificate, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, issuer, &key.PublicKey, signer)
	if err != nil {
		return pair{}, err
	}
	made, err := x509.ParseCertificate(der)
	return pair{made, key}, err
}

// newSerial returns a random serial number of 127 bits. The highest bit is always set, so that all serial numbers have the same length.
func newSerial() *big.Int {
	b := make([]byte, 16)
	rand.Read(b) // rand.Read never fails
	b[0] = b[0]&0x7f | 0x40
	return new(big.Int).SetBytes(b)
}

var errNotPEM = errors.New("expected a CERTIFICATE and its EC PRIVATE KEY in PEM format")

func readPair(path string) (pair, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return pair{}, err
	}
	return parsePair(content)
}

func parsePair(content []byte) (p pair, err error) {
	for rest := content; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		switch block.Type {
		case "CERTIFICATE":
			p.certificate, err = x509.ParseCertificate(block.Bytes)
		case "EC PRIVATE KEY":
			p.key, err = x509.ParseECPrivateKey(block.Bytes)
		}
		if err != nil {
			return pair{}, fmt.Errorf("%w: %w", errNotPEM, err)
		}
	}
	if p.certificate == nil || p.key == nil || !p.key.PublicKey.Equal(p.certificate.PublicKey) {
		return pair{}, errNotPEM
	}
	return p, nil
}

func writePair(path string, p pair) error {
	content, err := encodePair(p)
	if err != nil {
		return err
	}
	return writeFile(path, content, 0o600)
}

func encodePair(p pair) ([]byte, error) {
	key, err := x509.MarshalECPrivateKey(p.key)
	if err != nil {
		return nil, err
	}
	return append(encodeCertificate(p.certificate), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})...), nil
}

func encodeCertificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// writeFile replaces a file by rename. If the file already has the content, writeFile does nothing.
func writeFile(path string, content []byte, mode fs.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
