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

// file is a file or a directory in the root filesystem of the image.
type file struct {
	name    string // without a leading or trailing slash
	mode    fs.FileMode
	uid     int // the owner: both the user and the group
	content []byte
}

const (
	uid     = 65532
	dataDir = "var/lib/vitrine"
	docDir  = "usr/share/doc/vitrine"
	command = "./cmd/vitrine"
)

// source describes the sources from which the binaries are built.
type source struct {
	dir string // the root of the repository
	// version is the version that the binaries report. If it is empty, they report the version that the Go toolchain derives from Git.
	version string
	// built contains the binaries that the method program has already compiled.
	built map[platform]binary
}

// program returns Vitrine's binary for a platform. It compiles each binary only once, because the image and the archives share the
// binaries.
func (s *source) program(ctx context.Context, on platform) (binary, error) {
	if b, ok := s.built[on]; ok {
		return b, nil
	}
	b, err := compile(ctx, *s, command, on)
	if err != nil {
		return binary{}, err
	}
	if s.built == nil {
		s.built = map[platform]binary{}
	}
	s.built[on] = b
	return b, nil
}

// platform is an operating system and an architecture as Go names them, such as linux/amd64.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// build returns the files of the image for an architecture: the binary with its licenses and its bill of materials, the certificates of
// public authorities, the account of the process, and the empty directory of the store.
func build(ctx context.Context, from *source, arch string) ([]file, error) {
	b, err := from.program(ctx, platform{"linux", arch})
	if err != nil {
		return nil, err
	}
	docs, err := documents(ctx, *from, b)
	if err != nil {
		return nil, err
	}
	folder := func(name string) file { return file{name: name, mode: fs.ModeDir | 0o755} }
	text := func(name string, content []byte) file { return file{name: name, mode: 0o644, content: content} }
	return []file{
		folder("etc"),
		// No program in the image looks up the account, but tools that list processes do.
		text("etc/passwd", []byte(fmt.Sprintf("vitrine:x:%d:%d:Vitrine:/%s:/vitrine\n", uid, uid, dataDir))),
		text("etc/group", []byte(fmt.Sprintf("vitrine:x:%d:\n", uid))),
		folder("etc/ssl"), folder("etc/ssl/certs"),
		text("etc/ssl/certs/ca-certificates.crt", authorities()),
		folder("var"), folder("var/lib"), {name: dataDir, mode: fs.ModeDir | 0o700, uid: uid},
		folder("usr"), folder("usr/share"), folder("usr/share/doc"), folder(docDir),
		text(docDir+"/"+licenseFile, docs.license),
		text(docDir+"/"+noticesFile, docs.notices),
		text(docDir+"/"+sbomFile, docs.sbom),
		{name: "vitrine", mode: 0o755, content: b.content},
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

// authorities returns the public certificate authorities as PEM. It omits authorities that are trusted only with a constraint, because PEM
// cannot express constraints. An example is an authority that is trusted only for certificates issued before a certain date.
func authorities() (out []byte) {
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})...)
		}
	}
	return out
}

// binary is a program for a platform.
type binary struct {
	platform platform
	content  []byte
}

// compile builds the main package pkg for a platform as a static, reproducible binary. The Go toolchain adds the commit to the binary, with
// "+dirty" if files differ from the commit.
func compile(ctx context.Context, from source, pkg string, on platform) (binary, error) {
	dir, err := os.MkdirTemp("", "vitrine-binary-")
	if err != nil {
		return binary{}, fmt.Errorf("make a directory for the binary: %w", err)
	}
	defer os.RemoveAll(dir)
	vcs, flags := "-buildvcs=true", "-s -w -buildid="
	if _, err := os.Stat(filepath.Join(from.dir, ".git")); err != nil {
		vcs = "-buildvcs=auto" // outside of a Git repository, as in a source archive, there is no commit
	}
	if from.version != "" {
		flags += " -X github.com/vitrine-dev/vitrine/internal/version.released=" + from.version
	}
	to := filepath.Join(dir, "binary")
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", vcs, "-ldflags="+flags, "-o", to, pkg)
	cmd.Dir, cmd.Env = from.dir, environment(on)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if text, err := cmd.CombinedOutput(); err != nil {
		return binary{}, fmt.Errorf("build %s for %s: %w\n%s", pkg, on, err, text)
	}
	content, err := os.ReadFile(to)
	if err != nil {
		return binary{}, fmt.Errorf("read the binary: %w", err)
	}
	return binary{on, content}, nil
}

// environment returns the environment of the go command for a platform. It overrides the caller's flags, which would change the bytes of
// the binary. GOAMD64 and GOARM64 select the oldest versions of the architectures, so that the binary runs on every processor.
func environment(on platform) []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+on.os, "GOARCH="+on.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=")
}
