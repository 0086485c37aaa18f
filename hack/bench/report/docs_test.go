package report

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs is the directory of the documents of this repository.
const docs = "../../../docs"

// TestDocs checks that the pages in docs match the figures beside them, and that every requirement was measured.
func TestDocs(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "benchmarks"), os.DirFS(filepath.Join(docs, "benchmarks"))); err != nil {
		t.Fatal(err)
	}
	var scale Scale
	if err := json.Unmarshal([]byte(read(t, filepath.Join(docs, "scale.json"))), &scale); err != nil {
		t.Fatal(err)
	}
	if err := scale.Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Write(dir), WriteGrowth(dir)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"benchmarks.md", "growth.md", "scale.md", "scale.json"} {
		if diff := cmp.Diff(read(t, filepath.Join(docs, name)), read(t, filepath.Join(dir, name))); diff != "" {
			t.Errorf("docs/%s does not match the figures beside it (-docs +rendered):\n%s", name, diff)
		}
	}
	for _, name := range Results {
		file, err := os.Open(filepath.Join(docs, name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, bar := range Bars {
			if !bar.Measure(r).Known {
				t.Errorf("%s does not contain %s", name, bar.ID)
			}
		}
		for _, w := range r.Workloads {
			if titles[w.Name] == [2]string{} && w.Name[:9] != "Libraries" && filepath.Base(w.Name) != "size" && !strings.HasSuffix(w.Name, "-each") {
				t.Errorf("the page has no title for %s", w.Name)
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
