// Package stage makes the files of the image: the static binary for each architecture, the certificates of the public
// authorities, the account that it runs under, and the licences and the bill of materials of the binary. It needs nothing but
// the Go toolchain.
package stage

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Architectures are those that images are made for.
func Architectures() []string { return []string{"amd64", "arm64"} }

// passwd has the one account. Nothing in the image looks it up; tools that show processes do.
const passwd = "vitrine:x:65532:65532:Vitrine:/var/lib/vitrine:/vitrine\n"

// Common writes what is the same for every architecture below dir: files/ as the image has them, and data/, the empty folder
// of the store.
func Common(dir string) error {
	certificates, err := authorities()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"etc/passwd":                        []byte(passwd),
		"etc/group":                         []byte("vitrine:x:65532:\n"),
		"etc/ssl/certs/ca-certificates.crt": certificates,
	} {
		if err := write(filepath.Join(dir, "files"), name, content); err != nil {
			return err
		}
	}
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("make the folder of the store: %w", err)
	}
	return os.Chmod(data, 0o700)
}

// write writes a file of the image below top, readable by all whatever the umask.
func write(top, name string, content []byte) error {
	path := filepath.Join(top, filepath.FromSlash(name))
	if err := folder(top, filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("write a file of the image: %w", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		return fmt.Errorf("write a file of the image: %w", err)
	}
	return nil
}

// folder makes path and every folder between it and top, readable by all.
func folder(top, path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("make a folder of the image: %w", err)
	}
	for at := path; ; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			return fmt.Errorf("make a folder of the image: %w", err)
		}
		if at == top {
			return nil
		}
	}
}

// authorities returns the public authorities as PEM. Those that are trusted with a reservation, as for certificates issued
// before some day, are left out: a file cannot say so.
func authorities() ([]byte, error) {
	var out bytes.Buffer
	n := 0
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("write the authorities: %w", err)
		}
		n++
	}
	if n == 0 {
		return nil, errors.New("the bundle has no authority")
	}
	return out.Bytes(), nil
}

// Binary builds the main package pkg of the module in source for linux on arch, static and reproducible, into the file to.
// The version is what the Go toolchain takes from the repository: its tag or commit, with "+dirty" where files differ.
func Binary(ctx context.Context, source, pkg, arch, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("make a folder of the image: %w", err)
	}
	vcs := "-buildvcs=true"
	if _, err := os.Stat(filepath.Join(source, ".git")); err != nil {
		vcs = "-buildvcs=auto" // an archive of the sources knows no commit
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", vcs, "-ldflags=-s -w -buildid=", "-o", to, pkg)
	cmd.Dir = source
	cmd.Env = environment(arch)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for %s: %w\n%s", pkg, arch, err, text)
	}
	return os.Chmod(to, 0o755)
}

// environment is that of the go command for linux on arch. GOAMD64 and GOARM64 are at their lowest: an image has to run
// anywhere. No flags of the caller's may change the bytes.
func environment(arch string) []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=")
}
