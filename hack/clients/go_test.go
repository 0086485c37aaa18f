package clients

import (
	"os"
	"path/filepath"
	"testing"

	// The code that oapi-codegen generates imports these packages. Import them here too, so that go.mod of this module determines their
	// versions.
	_ "github.com/oapi-codegen/runtime"
	_ "github.com/oapi-codegen/runtime/types"
)

func TestGo(t *testing.T) {
	dir := workspace(t, "go")
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command(t, dir, nil, "go", "mod", "edit", "-replace=github.com/vitrine-dev/vitrine="+absolute(t, root))
	command(t, dir, nil, "go", "tool", "oapi-codegen", "-package", "main", "-generate", "types,client", "-o", "client.go", document(t))
	command(t, dir, nil, "go", "vet", ".")
	command(t, dir, nil, "go", "build", "-o", "calls", ".")
	calls(t, func(t *testing.T, env []string) { t.Log(command(t, dir, env, "./calls")) })
}
