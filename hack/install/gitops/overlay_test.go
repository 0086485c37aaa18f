package gitops_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	manifests "github.com/vitrine-dev/vitrine/internal/cli/manifest"
	"github.com/vitrine-dev/vitrine/internal/cli/validate"
)

// component is the component of the repository that makes kustomize update references.
const component = "https://github.com/vitrine-dev/vitrine//config/kustomize?ref=VERSION"

// TestOverlay renders the overlay of the page, with and without the component, with the kustomize library and with kubectl. With the
// component, every reference must name an object of the overlay. Without it, vitrine validate must warn.
func TestOverlay(t *testing.T) {
	var overlay types.Kustomization
	find(t, "Kustomization", "", &overlay)
	if diff := cmp.Diff([]string{component}, overlay.Components); diff != "" {
		t.Fatalf("components (-want +got):\n%s", diff)
	}
	var base []string
	for _, d := range documents(t) {
		if h := headerOf(t, d); slices.Contains([]string{"Property events", "ContentFilter stage", "AccessToken screen"}, h.Kind+" "+h.Metadata.Name) {
			base = append(base, d)
		}
	}
	base = append(base, "apiVersion: v1\nkind: Secret\nmetadata: {name: sealed, namespace: shop}\nstringData: {value: '0123456789012345678901234567890123456789'}\n",
		"apiVersion: vitrine.dev/v1alpha1\nkind: AccessToken\nmetadata: {name: other, namespace: shop}\n"+
			"spec: {propertyRef: {name: events}, class: ReadWrite, existingSecret: {name: sealed, key: value}}\n",
		"apiVersion: vitrine.dev/v1alpha1\nkind: Tag\nmetadata: {name: summer, namespace: shop}\n"+
			"spec: {propertyRef: {name: events}, namespace: vibe, key: summer, items: [1]}\n",
		"apiVersion: vitrine.dev/v1alpha1\nkind: ActivateUnit\nmetadata: {name: sandals, namespace: shop}\n"+
			"spec: {propertyRef: {name: events}, name: Sandals, imageURL: 'https://a.example/a.png', clickThroughURL: 'https://a.example/'}\n")
	for name, render := range map[string]func(t *testing.T, dir string) []byte{"library": withLibrary, "kubectl": withKubectl} {
		t.Run(name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			write := func(name string, content any) {
				t.Helper()
				text, isText := content.(string)
				if !isText {
					encoded, err := yaml.Marshal(content)
					if err != nil {
						t.Fatal(err)
					}
					text = string(encoded)
				}
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.CopyFS(filepath.Join(root, "component"), os.DirFS("../../../config/kustomize")); err != nil {
				t.Fatal(err)
			}
			write("base/content.yaml", strings.Join(base, "\n---\n"))
			write("base/kustomization.yaml", "resources: [content.yaml]\n")
			changed := overlay
			changed.Components = []string{"../component"}
			write("staging/kustomization.yaml", changed)
			rendered := render(t, filepath.Join(root, "staging"))
			if got := warnings(t, rendered); len(got) > 0 {
				t.Errorf("with the component: %v", got)
			}
			for text, want := range map[string]int{"name: staging-events\n": 6, "- staging-stage\n": 1, "name: staging-sealed\n": 2, "secretName: screen\n": 1} {
				if n := strings.Count(string(rendered), text); n != want {
					t.Errorf("%q occurs %d times, want %d:\n%s", text, n, want, rendered)
				}
			}
			changed.Components = nil
			write("staging/kustomization.yaml", changed)
			if got := warnings(t, render(t, filepath.Join(root, "staging"))); len(got) != 6 {
				t.Errorf("without the component: %v, want a warning for each of 5 Properties and for 1 filter", got)
			}
		})
	}
}

// withLibrary renders a directory with the library of kustomize.
func withLibrary(t *testing.T, dir string) []byte {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// withKubectl renders a directory with kubectl.
func withKubectl(t *testing.T, dir string) []byte {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: run `make test`, or set it to what `make -s assets` prints")
	}
	text, err := exec.CommandContext(t.Context(), filepath.Join(assets, "kubectl"), "kustomize", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// warnings returns the findings of vitrine validate about references. It fails if there is any other finding.
func warnings(t *testing.T, text []byte) []string {
	t.Helper()
	objects, problems, err := manifests.Read([]string{manifests.Stdin}, bytes.NewReader(text), validate.Ours)
	if err != nil {
		t.Fatal(err)
	}
	report, _, err := validate.Run(t.Context(), objects, problems, "shop")
	if err != nil || report.Objects < 6 {
		t.Fatalf("%d objects, %v", report.Objects, err)
	}
	var all []string
	for _, f := range report.Findings {
		if f.Rule != validate.RuleReference {
			t.Errorf("%s: %s", f.Rule, f.Message)
		}
		all = append(all, f.Object.String()+": "+f.Member)
	}
	return all
}
