package main

import (
	"bytes"
	"crypto/x509"
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBuild checks the files of the image, their modes and owners in a directory and in a layer, and that the certificates are
// usable.
func TestBuild(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := build(t.Context(), &source{dir: root}, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{
		"etc": fs.ModeDir | 0o755, "etc/passwd": 0o644, "etc/group": 0o644, "etc/ssl": fs.ModeDir | 0o755, "etc/ssl/certs": fs.ModeDir | 0o755,
		"etc/ssl/certs/ca-certificates.crt": 0o644, "var": fs.ModeDir | 0o755, "var/lib": fs.ModeDir | 0o755, "var/lib/vitrine": fs.ModeDir | 0o700,
		"usr": fs.ModeDir | 0o755, "usr/share": fs.ModeDir | 0o755, "usr/share/doc": fs.ModeDir | 0o755, "usr/share/doc/vitrine": fs.ModeDir | 0o755,
		"usr/share/doc/vitrine/LICENSE": 0o644, "usr/share/doc/vitrine/THIRD-PARTY-NOTICES": 0o644, "usr/share/doc/vitrine/vitrine.cdx.json": 0o644,
		"vitrine": 0o755,
	}
	to := t.TempDir()
	for range 2 { // write twice, because the second call must overwrite the files of the first call
		if err := writeFiles(to, files); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]fs.FileMode{}
	for _, f := range files {
		info, err := os.Stat(filepath.Join(to, f.name))
		if err != nil {
			t.Fatal(err)
		}
		if got[f.name] = info.Mode(); (f.uid != 0) != (f.name == dataDir) {
			t.Errorf("%s belongs to %d", f.name, f.uid)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join(to, "etc/ssl/certs/ca-certificates.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("BEGIN CERTIFICATE")); n < 100 || !x509.NewCertPool().AppendCertsFromPEM(text) {
		t.Errorf("%d usable certificates: want 100 or more", n)
	}
	if _, err := elf.Open(filepath.Join(to, "vitrine")); err != nil {
		t.Errorf("the binary: %v", err)
	}
}

// TestCompile builds a small program from two directories, once with flags of the caller in the environment. It checks that the binaries
// are equal, static, and for the requested architecture.
func TestCompile(t *testing.T) {
	build := func(arch string) []byte {
		t.Helper()
		dir := t.TempDir()
		for name, text := range map[string]string{
			"go.mod":      "module example.com/small\n\ngo 1.26\n",
			"cmd/main.go": "package main\n\nimport \"net/http\"\n\nfunc main() { println(http.StatusText(200)) }\n",
		} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		b, err := compile(t.Context(), source{dir: dir}, "./cmd", platform{"linux", arch})
		if err != nil {
			t.Fatal(err)
		}
		return b.content
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
		t.Errorf("not static: it needs the libraries %v (%v)", libraries, err)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("not static: it needs a loader")
		}
	}
	if file.Machine != elf.EM_X86_64 {
		t.Errorf("built for %s", file.Machine)
	}
}
