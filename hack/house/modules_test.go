package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModules holds that no check of the main module leaves one of the modules out that lie within the repository, apart
// for their heavy imports: each has to be tidy, and one with packages to be vetted, linted and tested.
func TestModules(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	makefile := string(text)
	_, tests, _ := strings.Cut(makefile, "hack/testrun .")
	tests, _, _ = strings.Cut(tests, "\n")
	found, err := filepath.Glob(filepath.Join(root, "hack", "*", "go.mod"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no modules: %v", err)
	}
	for _, path := range found {
		name := "hack/" + filepath.Base(filepath.Dir(path))
		wanted := []string{"$(GO) -C " + name + " mod tidy -diff"}
		if hasPackages(t, filepath.Dir(path)) {
			wanted = append(wanted, "$(GO) -C "+name+" vet ./...", "cd "+name+" && $(GO) tool -modfile=../tools/go.mod golangci-lint run ./...")
			if !strings.Contains(tests+" ", " "+name+" ") {
				t.Errorf("make test leaves %s out", name)
			}
		}
		for _, line := range wanted {
			if !strings.Contains(makefile, "\n\t"+line+"\n") {
				t.Errorf("the Makefile lacks %q", line)
			}
		}
	}
}

func hasPackages(t *testing.T, dir string) bool {
	t.Helper()
	has := false
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		has = has || strings.HasSuffix(path, ".go")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return has
}
