package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"
)

// programs are the names under which the binary is distributed as a command-line program. As kubectl-vitrine, it is a plugin of kubectl.
var programs = []string{"vitrine", "kubectl-vitrine"}

// archivePrograms builds the binaries for the platforms. For each platform and each name in programs, it writes an archive with the binary,
// the license and the notices into the directory to: a .zip file for Windows, otherwise a .tar.gz file. It also writes the notices and the
// bill of materials of all the binaries.
func archivePrograms(ctx context.Context, from *source, platforms []string, to string) error {
	_, created, err := commit(ctx, from.dir)
	if err != nil {
		return err
	}
	var binaries []binary
	for _, name := range platforms {
		var on platform
		var ok bool
		if on.os, on.arch, ok = strings.Cut(name, "/"); !ok {
			return fmt.Errorf("-platforms %q: must be a list such as linux/amd64,windows/amd64", name)
		}
		b, err := from.program(ctx, on)
		if err != nil {
			return err
		}
		binaries = append(binaries, b)
	}
	docs, err := documents(ctx, *from, binaries...)
	if err != nil {
		return err
	}
	out := map[string][]byte{noticesFile: docs.notices, sbomFile: docs.sbom}
	for _, b := range binaries {
		for _, program := range programs {
			name, content, err := archive(b, program, from.version, docs, created)
			if err != nil {
				return err
			}
			out[name] = content
		}
	}
	for name, content := range out {
		path := filepath.Join(to, name)
		if err := errors.Join(os.MkdirAll(to, 0o755), renameio.WriteFile(path, content, 0o644, renameio.IgnoreUmask())); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}

// archive returns the name and the content of an archive in which the binary has the name program.
func archive(b binary, program, version string, docs papers, at time.Time) (string, []byte, error) {
	name := fmt.Sprintf("%s_%s_%s_%s", program, version, b.platform.os, b.platform.arch)
	windows := b.platform.os == "windows"
	if windows {
		program += ".exe"
	}
	files := []file{
		{name: licenseFile, mode: 0o644, content: docs.license},
		{name: noticesFile, mode: 0o644, content: docs.notices},
		{name: program, mode: 0o755, content: b.content},
	}
	if windows {
		content, err := packZip(files, at)
		return name + ".zip", content, err
	}
	plain, err := pack(files, at)
	if err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(plain); err != nil {
		return "", nil, fmt.Errorf("compress %s: %w", name, err)
	}
	if err := w.Close(); err != nil {
		return "", nil, fmt.Errorf("compress %s: %w", name, err)
	}
	return name + ".tar.gz", out.Bytes(), nil
}

// packZip returns a zip file of the files with the given time.
func packZip(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		to, err := w.CreateHeader(h)
		if err == nil {
			_, err = to.Write(f.content)
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack the files: %w", err)
	}
	return out.Bytes(), nil
}
