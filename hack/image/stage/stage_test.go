package stage

import (
	"bytes"
	"context"
	"crypto/x509"
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestCommon holds the files of the image, their modes whatever the umask, and that the certificates can be used.
func TestCommon(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "common")
	if err := Common(dir); err != nil {
		t.Fatal(err)
	}
	if err := Common(dir); err != nil {
		t.Fatalf("again: %v", err)
	}
	for name, want := range map[string]fs.FileMode{
		"files":               fs.ModeDir | 0o755,
		"files/etc":           fs.ModeDir | 0o755,
		"files/etc/passwd":    0o644,
		"files/etc/ssl/certs": fs.ModeDir | 0o755,
		"files/etc/ssl/certs/ca-certificates.crt": 0o644,
		"data": fs.ModeDir | 0o700,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode() != want {
			t.Errorf("%s is %s, want %s", name, info.Mode(), want)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "files/etc/ssl/certs/ca-certificates.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("BEGIN CERTIFICATE")); n < 100 || !x509.NewCertPool().AppendCertsFromPEM(text) {
		t.Errorf("%d certificates that cannot be used, or are too few for the public authorities", n)
	}
}

// TestBinary builds a small program from two places, once with flags of the caller's in the environment: the bytes are the
// same, static, and for the architecture that was asked for.
func TestBinary(t *testing.T) {
	build := func(arch string) []byte {
		t.Helper()
		source := t.TempDir()
		for name, text := range map[string]string{
			"go.mod":      "module example.com/small\n\ngo 1.26\n",
			"cmd/main.go": "package main\n\nimport \"net/http\"\n\nfunc main() { println(http.StatusText(200)) }\n",
		} {
			path := filepath.Join(source, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		to := filepath.Join(t.TempDir(), arch, "small")
		if err := Binary(context.Background(), source, "./cmd", arch, to); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	one := build("amd64")
	t.Setenv("GOFLAGS", "-race")
	t.Setenv("CGO_ENABLED", "1")
	t.Setenv("GOAMD64", "v3")
	if two := build("amd64"); !bytes.Equal(one, two) {
		t.Error("two builds of the same source differ")
	}
	file, err := elf.NewFile(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	if libraries, err := file.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("not static: it wants %v (%v)", libraries, err)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("not static: it wants a loader")
		}
	}
	if file.Machine != elf.EM_X86_64 {
		t.Errorf("built for %s", file.Machine)
	}
}
