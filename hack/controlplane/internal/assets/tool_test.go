package assets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEnsureToolBuildsOnce(t *testing.T) {
	opts, calls, _ := fakeGo(t, builds)
	tool := Tool{Name: "tool", Module: "example.com/tool", Package: "example.com/tool/cmd", CRDs: "crds"}
	for file, text := range map[string]string{
		filepath.Join(tool.module(opts.Root), "go.mod"):               "module m\n\nrequire example.com/tool v1.2.3\n",
		filepath.Join(calls+".module", "crds", "widgets.yaml"):        "kind: CustomResourceDefinition\n",
		filepath.Join(calls+".module", "crds", "kustomization.yaml"):  "kind: Kustomization\n",
		filepath.Join(calls+".module", "crds", "README.md"):           "about them\n",
		filepath.Join(calls+".module", "other", "unrelated-crd.yaml"): "kind: CustomResourceDefinition\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := FindTool(opts.Root, tool); err != nil || found.Complete() {
		t.Errorf("before it is built: %+v, %v", found, err)
	}
	built, err := EnsureTool(t.Context(), opts, tool)
	if err != nil {
		t.Fatal(err)
	}
	if !built.Complete() || built.Version != "v1.2.3" || !strings.Contains(built.Path, "tool-v1.2.3-") {
		t.Errorf("built: %+v", built)
	}
	crds, err := filepath.Glob(filepath.Join(built.CRDs, "*"))
	if err != nil || len(crds) != 1 || filepath.Base(crds[0]) != "widgets.yaml" {
		t.Errorf("its CRDs are %v (%v)", crds, err)
	}
	if again, err := EnsureTool(t.Context(), opts, tool); err != nil || again != built {
		t.Errorf("a second time: %+v, %v", again, err)
	}
	if text, err := os.ReadFile(calls); err != nil || string(text) != tool.Package+"\n" {
		t.Errorf("built %s (%v), want %s once", text, err, tool.Package)
	}
}

// TestTools holds the go.mod of each tool: it requires the tool's module, and the program is a tool of it.
func TestTools(t *testing.T) {
	for _, tool := range []Tool{KustomizeController, ArgoCD} {
		if found, err := FindTool(filepath.Join("..", "..", "..", ".."), tool); err != nil || !strings.HasPrefix(found.Version, "v") {
			t.Errorf("%s: %+v, %v", tool.Name, found, err)
		}
		mod, err := os.ReadFile(filepath.Join("..", "..", "tools", tool.Name, "go.mod"))
		if err != nil || !strings.Contains(string(mod), "\ntool "+tool.Package+"\n") {
			t.Errorf("%s is no tool of its go.mod (%v)", tool.Package, err)
		}
	}
}
