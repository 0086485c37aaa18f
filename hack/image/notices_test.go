package main

import (
	"bytes"
	"debug/buildinfo"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

// TestDocuments builds the server. It checks that every module in the binary has its license in the notices and a row in the bill of
// materials, and that the same binary produces the same bytes.
func TestDocuments(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	from := source{dir: root}
	b, err := compile(t.Context(), from, command, platform{"linux", runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.Read(bytes.NewReader(b.content))
	if err != nil {
		t.Fatal(err)
	}
	docs, err := documents(t.Context(), from, b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := documents(t.Context(), from, b, b)
	if err != nil || !reflect.DeepEqual(docs, again) {
		t.Errorf("the same binaries give different documents: %v", err)
	}
	if !bytes.Contains(docs.license, []byte("Apache License")) {
		t.Errorf("the license is not that of this repository:\n%.200s", docs.license)
	}

	parts := map[string]string{} // parts of the notices by heading
	for _, p := range strings.Split(string(docs.notices), heading)[1:] {
		name, texts, _ := strings.Cut(p, "\n")
		parts[name] = texts
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(docs.sbom), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	rows := map[string]cyclonedx.Component{}
	for _, c := range *bom.Components {
		rows[c.Name+" "+c.Version] = c
	}
	dirs := directories(t, root)
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
		// The notices must contain all license and notice files in the module's root.
		found := 0
		for _, pattern := range []string{"LICENSE*", "LICENCE*", "License*", "license*", "COPYING*", "UNLICENSE*", "NOTICE*"} {
			paths, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				content, err := os.ReadFile(path)
				if err != nil {
					continue // the path is a directory, and not a notice
				}
				found++
				text := string(bytes.TrimSpace(content))
				if !containsText(parts, name, text) {
					t.Errorf("%s: its %s is not in the notices", name, filepath.Base(path))
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: no license was found in %s", name, dir)
		}
		row, ok := rows[name]
		if !ok {
			t.Errorf("%s is not in the bill of materials", name)
		} else if row.Licenses == nil || !strings.HasPrefix(row.PackageURL, "pkg:golang/") {
			t.Errorf("%s: no license or no address in the bill of materials: %+v", name, row)
		}
	}
	if len(rows) != len(want) || len(parts) != len(want) {
		t.Errorf("%d rows in the bill of materials and %d parts in the notices, want %d", len(rows), len(parts), len(want))
	}
	if got := bom.Metadata.Component.Name; got != info.Main.Path {
		t.Errorf("the bill of materials describes %s", got)
	}
}

// containsText reports whether a part of the notices contains a text, or refers to another part with the text.
func containsText(parts map[string]string, name, text string) bool {
	for other, content := range parts {
		if strings.Contains(content, text) && (other == name || strings.Contains(parts[name], sameText+other+", ")) {
			return true
		}
	}
	return false
}

// directories returns the directories of the modules of a source by path.
func directories(t *testing.T, root string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{$.Module.Path}} {{.Dir}}{{end}}", "./cmd/vitrine")
	cmd.Dir, cmd.Env = root, environment(platform{"linux", runtime.GOARCH})
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

// TestDocumentsRefuse checks that a module without a license causes an error that names the module.
func TestDocumentsRefuse(t *testing.T) {
	dir := t.TempDir()
	var files []file
	for name, text := range map[string]string{
		"LICENSE":              "mine",
		"go.mod":               "module example.com/small\n\ngo 1.26\n\nrequire example.com/bare v1.0.0\n\nreplace example.com/bare => ./bare\n",
		"bare/go.mod":          "module example.com/bare\n\ngo 1.26\n",
		"bare/license.go":      "package bare\n\nfunc Do() { println() }\n",
		"cmd/vitrine/main.go":  "package main\n\nimport \"example.com/bare\"\n\nfunc main() { bare.Do() }\n",
		"other/LICENSE":        "of something else",
		"bare/testdata/NOTICE": "of test data",
	} {
		files = append(files, file{name: filepath.Dir(name), mode: fs.ModeDir | 0o755}, file{name: name, mode: 0o644, content: []byte(text)})
	}
	if err := writeFiles(dir, files); err != nil {
		t.Fatal(err)
	}
	from := source{dir: dir}
	b, err := compile(t.Context(), from, command, platform{"linux", runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	_, err = documents(t.Context(), from, b)
	if err == nil || !strings.Contains(err.Error(), "bare") || !strings.Contains(err.Error(), "no license") {
		t.Errorf("a module without a license: %v", err)
	}
}
