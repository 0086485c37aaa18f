package main

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// file is a file or a directory in the image.
type file struct {
	name    string // without a leading or trailing slash
	mode    fs.FileMode
	uid     int // user and group
	content []byte
}

const (
	uid     = 65532
	dataDir = "var/lib/vitrine"
	docDir  = "usr/share/doc/vitrine"
	command = "./cmd/vitrine"
)

// build returns the files of the image for an architecture: the binary with its licences and its bill of materials, the
// certificates of public authorities, the account of the process, and the empty directory of the store.
func build(ctx context.Context, source, arch string) ([]file, error) {
	dir, err := os.MkdirTemp("", "vitrine-binary-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the binary: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "vitrine")
	if err := compile(ctx, source, command, arch, path); err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the binary: %w", err)
	}
	docs, err := documents(ctx, source, arch, path)
	if err != nil {
		return nil, err
	}
	folder := func(name string) file { return file{name: name, mode: fs.ModeDir | 0o755} }
	text := func(name string, content []byte) file { return file{name: name, mode: 0o644, content: content} }
	return []file{
		folder("etc"),
		// Nothing in the image looks up the account; tools that list processes do.
		text("etc/passwd", []byte(fmt.Sprintf("vitrine:x:%d:%d:Vitrine:/%s:/vitrine\n", uid, uid, dataDir))),
		text("etc/group", []byte(fmt.Sprintf("vitrine:x:%d:\n", uid))),
		folder("etc/ssl"), folder("etc/ssl/certs"),
		text("etc/ssl/certs/ca-certificates.crt", authorities()),
		folder("var"), folder("var/lib"), {name: dataDir, mode: fs.ModeDir | 0o700, uid: uid},
		folder("usr"), folder("usr/share"), folder("usr/share/doc"), folder(docDir),
		text(docDir+"/"+licenseFile, docs.license),
		text(docDir+"/"+noticesFile, docs.notices),
		text(docDir+"/"+sbomFile, docs.sbom),
		{name: "vitrine", mode: 0o755, content: binary},
	}, nil
}

// writeFiles writes the files below dir, owned by the caller, with their modes independent of the umask.
func writeFiles(dir string, files []file) error {
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		var err error
		if f.mode.IsDir() {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = os.WriteFile(path, f.content, 0o644)
		}
		if err := errors.Join(err, os.Chmod(path, f.mode.Perm())); err != nil {
			return fmt.Errorf("write the root filesystem: %w", err)
		}
	}
	return nil
}

// authorities returns the public certificate authorities as PEM. It omits those that are trusted with a constraint, for example
// only for certificates issued before a date, because PEM cannot express constraints.
func authorities() (out []byte) {
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})...)
		}
	}
	return out
}

// compile builds the main package pkg of the module in source for linux on arch as a static, reproducible binary in the file to.
// The Go toolchain takes the version from the repository: its tag or commit, with "+dirty" if files differ.
func compile(ctx context.Context, source, pkg, arch, to string) error {
	vcs := "-buildvcs=true"
	if _, err := os.Stat(filepath.Join(source, ".git")); err != nil {
		vcs = "-buildvcs=auto" // a source archive has no commit
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", vcs, "-ldflags=-s -w -buildid=", "-o", to, pkg)
	cmd.Dir, cmd.Env = source, environment(arch)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for %s: %w\n%s", pkg, arch, err, text)
	}
	return nil
}

// environment returns the environment of the go command for linux on arch. It overrides the caller's flags, which would change the
// bytes. GOAMD64 and GOARM64 are the lowest levels, so that the image runs on every processor.
func environment(arch string) []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=")
}
