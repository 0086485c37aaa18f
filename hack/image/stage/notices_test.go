package stage

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

// documents makes the documents of a binary and returns their bytes by name.
func documents(t *testing.T, source, binary string) map[string][]byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "doc")
	if err := Documents(t.Context(), source, "./cmd/vitrine", runtime.GOARCH, binary, dir); err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, name := range []string{License, Notices, SBOM} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = content
	}
	return out
}

// TestDocuments builds the server and holds that every module which its binary names has its licence in the notices and its
// row in the bill of materials, and that the same binary gives the same bytes.
func TestDocuments(t *testing.T) {
	source, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "vitrine")
	if err := Binary(t.Context(), source, "./cmd/vitrine", runtime.GOARCH, binary); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	files := documents(t, source, binary)
	for name, content := range documents(t, source, binary) {
		if !bytes.Equal(files[name], content) {
			t.Errorf("%s differs when it is made again", name)
		}
	}
	if !bytes.Contains(files[License], []byte("Apache License")) {
		t.Errorf("%s is not that of this repository:\n%.200s", License, files[License])
	}

	parts := map[string]string{} // of the notices, by their heading
	for _, p := range strings.Split(string(files[Notices]), heading)[1:] {
		name, texts, _ := strings.Cut(p, "\n")
		parts[name] = texts
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(files[SBOM]), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	rows := map[string]cyclonedx.Component{}
	for _, c := range *bom.Components {
		rows[c.Name+" "+c.Version] = c
	}
	dirs := directories(t, source)
	goroot, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"std " + strings.TrimPrefix(info.GoVersion, "go"): strings.TrimSpace(string(goroot))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		want[m.Path+" "+m.Version] = dirs[m.Path]
	}
	for name, dir := range want {
		// What the module itself has at its top, whatever its name.
		found := 0
		for _, pattern := range []string{"LICENSE*", "LICENCE*", "License*", "license*", "COPYING*", "UNLICENSE*", "NOTICE*"} {
			paths, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				content, err := os.ReadFile(path)
				if err != nil {
					continue // a folder
				}
				found++
				if !strings.Contains(parts[name], string(bytes.TrimSpace(content))) {
					t.Errorf("%s: its %s is not in the notices", name, filepath.Base(path))
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: no licence was found in %s", name, dir)
		}
		row, ok := rows[name]
		if !ok {
			t.Errorf("%s is not in the bill of materials", name)
		} else if row.Licenses == nil || !strings.HasPrefix(row.PackageURL, "pkg:golang/") {
			t.Errorf("%s: no licence or no address in the bill of materials: %+v", name, row)
		}
	}
	if len(rows) != len(want) || len(parts) != len(want) {
		t.Errorf("%d rows in the bill of materials and %d parts in the notices, want %d", len(rows), len(parts), len(want))
	}
	if got := bom.Metadata.Component.Name; got != info.Main.Path {
		t.Errorf("the bill of materials is that of %s", got)
	}
}

// directories returns where the modules of a source lie, by path.
func directories(t *testing.T, source string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{$.Module.Path}} {{.Dir}}{{end}}", "./cmd/vitrine")
	cmd.Dir, cmd.Env = source, environment(runtime.GOARCH)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, dir, found := strings.Cut(strings.TrimSpace(line), " "); found {
			dirs[path] = dir
		}
	}
	return dirs
}

// TestDocumentsRefuse holds that a module without a licence is an error that names it.
func TestDocumentsRefuse(t *testing.T) {
	source := t.TempDir()
	for name, text := range map[string]string{
		"LICENSE":              "mine",
		"go.mod":               "module example.com/small\n\ngo 1.26\n\nrequire example.com/bare v1.0.0\n\nreplace example.com/bare => ./bare\n",
		"bare/go.mod":          "module example.com/bare\n\ngo 1.26\n",
		"bare/license.go":      "package bare\n\nfunc Do() { println() }\n",
		"cmd/vitrine/main.go":  "package main\n\nimport \"example.com/bare\"\n\nfunc main() { bare.Do() }\n",
		"other/LICENSE":        "of something else",
		"bare/testdata/NOTICE": "of test data",
	} {
		if err := write(source, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(t.TempDir(), "vitrine")
	if err := Binary(t.Context(), source, "./cmd/vitrine", runtime.GOARCH, binary); err != nil {
		t.Fatal(err)
	}
	err := Documents(t.Context(), source, "./cmd/vitrine", runtime.GOARCH, binary, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "bare") || !strings.Contains(err.Error(), "no licence") {
		t.Errorf("a module without a licence: %v", err)
	}
}
