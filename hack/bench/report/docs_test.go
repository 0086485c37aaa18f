package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs is the directory of the documents of this repository.
const docs = "../../../docs"

// TestDocs checks that the pages in docs match the figures in the JSON files.
func TestDocs(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(docs, folder))); err != nil {
		t.Fatal(err)
	}
	var scale Scale
	if err := json.Unmarshal([]byte(read(t, filepath.Join(docs, "scale.json"))), &scale); err != nil {
		t.Fatal(err)
	}
	if err := scale.Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"benchmarks.md", "scale.md", "scale.json"} {
		if diff := cmp.Diff(read(t, filepath.Join(docs, name)), read(t, filepath.Join(dir, name))); diff != "" {
			t.Errorf("docs/%s does not match the JSON files beside it (-docs +rendered):\n%s", name, diff)
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
