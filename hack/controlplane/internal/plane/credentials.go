package plane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// credentials are the files with which the programs know each other.
type credentials struct {
	ca     string // certificate of the authority; its key is never stored
	server pair   // serves etcd and the API server, is the API server's client certificate at etcd, and signs service account tokens
	admin  pair   // the administrator
}

// pair is a certificate and its key.
type pair struct{ cert, key string }

// lifetime of the certificates. They are made anew when less than renewal of it is left.
const (
	lifetime = 365 * 24 * time.Hour
	renewal  = 30 * 24 * time.Hour
)

// ensureCredentials returns those in dir, made when they are absent or about to expire.
func ensureCredentials(dir string) (credentials, error) {
	files := credentials{
		ca:     filepath.Join(dir, "ca.crt"),
		server: pair{filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")},
		admin:  pair{filepath.Join(dir, "admin.crt"), filepath.Join(dir, "admin.key")},
	}
	if usable(files, time.Now()) {
		return files, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return credentials{}, fmt.Errorf("make the directory of the certificates: %w", err)
	}
	if err := makeCredentials(files, time.Now()); err != nil {
		return credentials{}, fmt.Errorf("make certificates: %w", err)
	}
	return files, nil
}

// usable reports whether all files are there and the authority has time left; all are made together. The administrator's
// key is written last, so an interrupted making is noticed.
func usable(files credentials, now time.Time) bool {
	for _, file := range []string{files.server.cert, files.server.key, files.admin.cert, files.admin.key} {
		if _, err := os.Stat(file); err != nil {
			return false
		}
	}
	text, err := os.ReadFile(files.ca)
	if err != nil {
		return false
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return false
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	return err == nil && now.Add(renewal).Before(ca.NotAfter)
}

func makeCredentials(files credentials, now time.Time) error {
	// Whatever is there is of an older authority.
	if err := os.RemoveAll(files.admin.key); err != nil {
		return err
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	authority := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "local control plane"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	if err := issue(pair{cert: files.ca}, authority, authority, caKey, caKey); err != nil {
		return err
	}
	leaves := []struct {
		files    pair
		template *x509.Certificate
	}{
		{files.server, &x509.Certificate{
			Subject:     pkix.Name{CommonName: "kube-apiserver"},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			DNSNames:    []string{"localhost", "kubernetes.default.svc"},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}},
		{files.admin, &x509.Certificate{
			Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}},
	}
	for _, leaf := range leaves {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		leaf.template.NotBefore, leaf.template.NotAfter = authority.NotBefore, authority.NotAfter
		leaf.template.KeyUsage = x509.KeyUsageDigitalSignature
		if err := issue(leaf.files, leaf.template, authority, key, caKey); err != nil {
			return err
		}
	}
	return nil
}

// issue signs a certificate and writes it, and its key where there is a place for it.
func issue(files pair, template, authority *x509.Certificate, key *ecdsa.PrivateKey, signer crypto.Signer) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return err
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), signer)
	if err != nil {
		return err
	}
	if err := os.WriteFile(files.cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return err
	}
	if files.key == "" {
		return nil
	}
	der, err = x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(files.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

// writeKubeconfig writes the administrator's kubeconfig, complete in itself, as JSON, which every YAML parser reads.
func writeKubeconfig(file, url string, files credentials) error {
	encoded := map[string]string{}
	for _, name := range []string{files.ca, files.admin.cert, files.admin.key} {
		text, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read a credential: %w", err)
		}
		encoded[name] = base64.StdEncoding.EncodeToString(text)
	}
	type object = map[string]any
	const name = "vitrine-local"
	text, err := json.MarshalIndent(object{
		"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": []object{{"name": name, "cluster": object{"server": url, "certificate-authority-data": encoded[files.ca]}}},
		"users":    []object{{"name": name, "user": object{"client-certificate-data": encoded[files.admin.cert], "client-key-data": encoded[files.admin.key]}}},
		"contexts": []object{{"name": name, "context": object{"cluster": name, "user": name}}},
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the kubeconfig: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}
