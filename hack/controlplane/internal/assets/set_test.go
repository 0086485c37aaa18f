package assets

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEnsureCopiesCRDs(t *testing.T) {
	opts, calls, _ := fakeGo(t, builds)
	set := Set{
		Name: "tool", Group: "gitops", Modules: []Module{{"tool", "example.com/tool"}},
		Packages: map[string]string{"tool": "example.com/tool/tool"}, CRDs: "crds",
	}
	for file, text := range map[string]string{
		filepath.Join(set.module(opts.Root), "go.mod"):                "module m\n\nrequire example.com/tool v1.2.3\n",
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
	if found, err := set.Find(opts.Root); err != nil || found.Has("tool") {
		t.Errorf("before it is built: %+v, %v", found, err)
	}
	built, err := set.Ensure(t.Context(), opts, "tool")
	if err != nil {
		t.Fatal(err)
	}
	if !built.Has("tool") || built.Version != "v1.2.3" || !strings.Contains(built.Path("tool"), "tool-v1.2.3-") {
		t.Errorf("built: %+v", built)
	}
	crds, err := filepath.Glob(filepath.Join(built.CRDs(), "*"))
	if err != nil || len(crds) != 1 || filepath.Base(crds[0]) != "widgets.yaml" {
		t.Errorf("its CRDs are %v (%v)", crds, err)
	}
	if again, err := set.Ensure(t.Context(), opts, "tool"); err != nil || again != built {
		t.Errorf("a second time: %+v, %v", again, err)
	}
	if text, err := os.ReadFile(calls); err != nil || string(text) != set.Packages["tool"]+"\n" {
		t.Errorf("built %s (%v), want %s once", text, err, set.Packages["tool"])
	}
}

// TestGitOps checks that GitOps builds each program of make gitops once.
func TestGitOps(t *testing.T) {
	opts, calls, _ := fakeGo(t, builds)
	for _, set := range []Set{KustomizeController, ArgoCD} {
		for file, text := range map[string]string{
			filepath.Join(set.module(opts.Root), "go.mod"):       "module m\n\nrequire " + set.Modules[0].Path + " v1.2.3\n",
			filepath.Join(calls+".module", set.CRDs, "crd.yaml"): "kind: CustomResourceDefinition\n",
		} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	paths, err := GitOps(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if lacking := missing(filepath.Dir(path), []string{filepath.Base(path)}); len(lacking) > 0 {
			t.Errorf("%s is not built", path)
		}
	}
	if again, err := GitOps(t.Context(), opts); err != nil || !slices.Equal(again, paths) {
		t.Errorf("a second time: %v, %v, want %v", again, err, paths)
	}
	want := ArgoCD.Packages[ArgoCD.Name] + "\n" + KustomizeController.Packages[KustomizeController.Name] + "\n" + Kubernetes.Packages[ControllerManager] + "\n"
	if text, err := os.ReadFile(calls); err != nil || string(text) != want {
		t.Errorf("built %s (%v), want %s", text, err, want)
	}
}

// TestSets checks that the go.mod of each set requires the set's modules, and lists every program as a tool.
func TestSets(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	for _, set := range []Set{Kubernetes, KustomizeController, ArgoCD} {
		if found, err := set.Find(root); err != nil || !strings.HasPrefix(found.Version, "v") {
			t.Errorf("%s: %+v, %v", set.Name, found, err)
		}
		mod, err := os.ReadFile(filepath.Join(set.module(root), "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(mod), "\n")
		for name, pkg := range set.Packages {
			if !slices.Contains(lines, "\t"+pkg) && !slices.Contains(lines, "tool "+pkg) {
				t.Errorf("%s, %s, is not a tool in the go.mod of %s", name, pkg, set.Name)
			}
		}
	}
	if flags := Kubernetes.linkerFlags("v1.37.1"); !strings.Contains(flags, "gitMinor=37 ") || !strings.Contains(flags, "gitVersion=v1.37.1 ") {
		t.Errorf("the linker flags do not stamp the version: %s", flags)
	}
}
