package node

import (
	"archive/zip"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The path and the SHA-256 of the newest security plugin for Version2 on Maven Central, which is an archive of jars.
const (
	securityPath = "org/opensearch/plugin/opensearch-security/2.19.4.0/opensearch-security-2.19.4.0.zip"
	securitySum  = "1f673622c462c4171a8c53f9b1ad20e5b839834cb79b0d3b388da180a0e514e8"
)

// modulePath is a part of the paths of those jars that can contain a module or plugin. The launcher looks for modules only in these jars.
const modulePath = "org/opensearch/plugin/"

// Administrator is the name, and also the password, of the user with all permissions on a node with security.
const Administrator = "admin"

// secure prepares a node with security in dir: it adds the plugin to the class path, and writes certificates and the default users. It
// returns the settings of the plugin.
func (l *launcher) secure(ctx context.Context, dir string) ([]string, error) {
	plugin, err := provideSecurity(ctx, l.maven)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, jar := range l.classPath {
		there[artifact(jar)] = true
	}
	libraries, err := filepath.Glob(filepath.Join(plugin, "*.jar"))
	if err != nil {
		return nil, err
	}
	itself, err := filepath.Glob(filepath.Join(plugin, filepath.FromSlash(modulePath), "*.jar"))
	if err != nil {
		return nil, err
	}
	for _, jar := range append(itself, libraries...) {
		if !there[artifact(jar)] {
			l.classPath = append(l.classPath, jar)
		}
	}
	l.archive = strings.TrimSuffix(l.archive, ".jsa") + "-security.jsa"
	config := filepath.Join(dir, "config")
	if err := os.CopyFS(filepath.Join(config, "opensearch-security"), os.DirFS(filepath.Join(plugin, "config"))); err != nil {
		return nil, fmt.Errorf("configure security: %w", err)
	}
	if err := writeCertificates(config); err != nil {
		return nil, fmt.Errorf("configure security: %w", err)
	}
	settings := []string{
		"plugins.security.allow_default_init_securityindex=true", "plugins.security.restapi.roles_enabled=all_access",
		"plugins.security.ssl.transport.enforce_hostname_verification=false", "plugins.security.ssl.http.enabled=true",
	}
	for _, layer := range []string{"transport", "http"} {
		prefix := "plugins.security.ssl." + layer + ".pem"
		settings = append(settings, prefix+"cert_filepath=node.pem", prefix+"key_filepath=node.key", prefix+"trustedcas_filepath=ca.pem")
	}
	return settings, nil
}

// caFile returns the file with the CA certificate of a node with security.
func caFile(dir string) string { return filepath.Join(dir, "config", "ca.pem") }

var jarVersion = regexp.MustCompile(`-[0-9][^/]*\.jar$`)

// artifact returns the name of a jar without its version.
func artifact(jar string) string { return jarVersion.ReplaceAllString(filepath.Base(jar), "") }

// provideSecurity downloads and unpacks the plugin, and returns its directory.
func provideSecurity(ctx context.Context, maven string) (string, error) {
	archive := filepath.Join(maven, filepath.FromSlash(securityPath))
	if err := provideJar(ctx, archive, securityPath, securitySum); err != nil {
		return "", &AbsentError{err.Error()}
	}
	dir := filepath.Join(filepath.Dir(maven), "security")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	temp, err := os.MkdirTemp(filepath.Dir(maven), ".security-*")
	if err != nil {
		return "", fmt.Errorf("unpack the security plugin: %w", err)
	}
	defer os.RemoveAll(temp)
	if err := unpack(archive, temp); err != nil {
		return "", fmt.Errorf("unpack the security plugin: %w", err)
	}
	if err := os.Rename(temp, dir); err != nil {
		if _, there := os.Stat(dir); there != nil { // another process may have unpacked the plugin in the meantime
			return "", fmt.Errorf("unpack the security plugin: %w", err)
		}
	}
	return dir, nil
}

// unpack extracts the plugin, its libraries and its default configuration into dir. The jar of the plugin itself goes into modulePath.
func unpack(archive, dir string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer r.Close()
	itself, err := fs.Glob(r, "opensearch-security-*.jar")
	if err != nil {
		return err
	}
	if err := errors.Join(os.CopyFS(dir, r), os.MkdirAll(filepath.Join(dir, filepath.FromSlash(modulePath)), 0o755)); err != nil {
		return err
	}
	for _, jar := range itself {
		if err := os.Rename(filepath.Join(dir, jar), filepath.Join(dir, filepath.FromSlash(modulePath), jar)); err != nil {
			return err
		}
	}
	return nil
}

// writeCertificates writes a certificate for a node on 127.0.0.1, its key and the CA certificate. The certificate of net/http/httptest is
// both that of the node and that of the authority.
func writeCertificates(dir string) error {
	issuer := httptest.NewTLSServer(nil)
	defer issuer.Close()
	certificate := issuer.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		return err
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	for name, content := range map[string][]byte{"ca.pem": public, "node.pem": public, "node.key": private} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
