package gitops_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helm "github.com/fluxcd/helm-controller/api/v2"
	kustomize "github.com/fluxcd/kustomize-controller/api/v1"
	notification "github.com/fluxcd/notification-controller/api/v1beta3"
	source "github.com/fluxcd/source-controller/api/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/hack/install/render"
)

// TestFlux checks that every field of the manifests for Flux exists in Flux's Go types, and that referenced files and objects exist.
func TestFlux(t *testing.T) {
	sources := map[string]bool{}
	seen := 0
	for _, d := range documents(t) {
		h := headerOf(t, d)
		var into any
		switch h.APIVersion {
		case source.GroupVersion.String():
			into = &source.GitRepository{}
			sources[h.Metadata.Name] = true
		case kustomize.GroupVersion.String():
			into = &kustomize.Kustomization{}
		case helm.GroupVersion.String():
			into = &helm.HelmRelease{}
		case notification.GroupVersion.String():
			into = map[string]any{"Provider": &notification.Provider{}, "Alert": &notification.Alert{}}[h.Kind]
		default:
			if strings.Contains(h.APIVersion, "fluxcd") {
				t.Errorf("%s %s: the apiVersion %s is unknown", h.Kind, h.Metadata.Name, h.APIVersion)
			}
			continue
		}
		seen++
		if err := yaml.UnmarshalStrict([]byte(d), into); err != nil {
			t.Errorf("%s %s: %v", h.Kind, h.Metadata.Name, err)
		}
		path, repository := "", ""
		switch o := into.(type) {
		case *kustomize.Kustomization:
			path, repository = o.Spec.Path, o.Spec.SourceRef.Name
			for _, needed := range o.Spec.DependsOn {
				find(t, h.Kind, needed.Name, &kustomize.Kustomization{})
			}
		case *notification.Alert:
			find(t, "Provider", o.Spec.ProviderRef.Name, &notification.Provider{})
			for _, from := range o.Spec.EventSources {
				find(t, from.Kind, from.Name, &kustomize.Kustomization{})
			}
			continue
		case *helm.HelmRelease:
			path, repository = o.Spec.Chart.Spec.Chart, o.Spec.Chart.Spec.SourceRef.Name
		default:
			continue
		}
		if !sources[repository] {
			t.Errorf("%s %s uses the source %s, which no manifest before it declares", h.Kind, h.Metadata.Name, repository)
		}
		if _, err := os.Stat(filepath.Join(root, path)); repository == "vitrine" && err != nil {
			t.Errorf("%s %s: %v", h.Kind, h.Metadata.Name, err)
		}
	}
	if seen < 5 {
		t.Errorf("%d manifests for Flux", seen)
	}
}

// application is the part of an Argo CD Application that the tests use.
type application struct {
	header
	Spec struct {
		SyncPolicy struct {
			Retry *struct {
				Limit   int64 `json:"limit"`
				Refresh bool  `json:"refresh"`
			} `json:"retry"`
		} `json:"syncPolicy"`
	} `json:"spec"`
}

// TestRetries checks that an Application with unlimited retries uses the newest commit for each retry.
func TestRetries(t *testing.T) {
	seen := 0
	for _, d := range documents(t) {
		if headerOf(t, d).Kind != "Application" {
			continue
		}
		var a application
		if err := yaml.Unmarshal([]byte(d), &a); err != nil {
			t.Fatal(err)
		}
		retry := a.Spec.SyncPolicy.Retry
		if retry == nil {
			continue
		}
		seen++
		if retry.Limit < 0 && !retry.Refresh {
			t.Errorf("the Application %s retries a failed commit without end, and syncs no later one: set refresh: true", a.Metadata.Name)
		}
	}
	if seen == 0 {
		t.Error("no Application has retries")
	}
}

// TestNamespaces checks that the page contains the manifest of each namespace that has a RoleBinding on the page.
func TestNamespaces(t *testing.T) {
	targets := map[string]bool{}
	for _, d := range documents(t) {
		if h := headerOf(t, d); h.Kind == "RoleBinding" {
			targets[h.Metadata.Namespace] = true
		}
	}
	if len(targets) == 0 {
		t.Error("there is no RoleBinding")
	}
	for name := range targets {
		find(t, "Namespace", name, &corev1.Namespace{})
	}
}

// overlay contains the images and patches that the manifests of both tools (Flux and Argo CD) add to config/default.
type overlay struct {
	Images  []types.Image `json:"images"`
	Patches []types.Patch `json:"patches"`
}

// TestKept checks that the patches of both tools change exactly the objects that the tools must not prune, and that the tools replace the
// image.
func TestKept(t *testing.T) {
	var flux kustomize.Kustomization
	find(t, "Kustomization", "vitrine", &flux)
	of := map[string]overlay{}
	ofFlux := overlay{}
	for _, p := range flux.Spec.Patches {
		ofFlux.Patches = append(ofFlux.Patches, types.Patch{Patch: p.Patch, Target: &types.Selector{ResId: resid.NewResId(resid.Gvk{Kind: p.Target.Kind}, "")}})
	}
	for _, i := range flux.Spec.Images {
		ofFlux.Images = append(ofFlux.Images, types.Image{Name: i.Name, NewName: i.NewName, NewTag: i.NewTag})
	}
	of["kustomize.toolkit.fluxcd.io/prune: disabled"] = ofFlux
	var argo struct {
		header
		Spec map[string]any `json:"spec"`
	}
	find(t, "Application", "vitrine", &argo)
	part, err := yaml.Marshal(argo.Spec["source"].(map[string]any)["kustomize"])
	if err != nil {
		t.Fatal(err)
	}
	var ofArgo struct {
		Images  []string      `json:"images"`
		Patches []types.Patch `json:"patches"`
	}
	if err := yaml.UnmarshalStrict(part, &ofArgo); err != nil {
		t.Fatal(err)
	}
	images := []types.Image{}
	for _, i := range ofArgo.Images {
		name, full, _ := strings.Cut(i, "=")
		repository, tag, ok := strings.Cut(full, ":")
		if !ok {
			t.Errorf("the image %s has no tag", i)
		}
		images = append(images, types.Image{Name: name, NewName: repository, NewTag: tag})
	}
	of["argocd.argoproj.io/sync-options: Prune=false,Delete=false"] = overlay{Images: images, Patches: ofArgo.Patches}

	for note, o := range of {
		t.Run(note, func(t *testing.T) {
			key, value, _ := strings.Cut(note, ": ")
			kept := map[string]int{}
			for _, u := range build(t, o) {
				switch got := u.GetAnnotations()[key]; {
				case !slices.Contains([]string{"CustomResourceDefinition", "PersistentVolumeClaim", "Namespace"}, u.GetKind()):
					if got != "" {
						t.Errorf("%s %s has the annotation", u.GetKind(), u.GetName())
					}
				case got != value:
					t.Errorf("%s %s: %s is %q, want %q", u.GetKind(), u.GetName(), key, got, value)
				default:
					kept[u.GetKind()]++
				}
				if u.GetKind() == "Deployment" {
					text, err := yaml.Marshal(u.Object)
					if err != nil || !strings.Contains(string(text), "image: registry.example/vitrine:VERSION\n") {
						t.Errorf("the Deployment runs another image (%v):\n%s", err, text)
					}
				}
			}
			if kept["CustomResourceDefinition"] != 6 || kept["PersistentVolumeClaim"] != 1 || kept["Namespace"] != 1 {
				t.Errorf("kept: %v", kept)
			}
		})
	}
}

// build returns the objects of config/default with an overlay.
func build(t *testing.T, o overlay) []*unstructured.Unstructured {
	t.Helper()
	dir := t.TempDir()
	base, err := filepath.Abs(filepath.Join(root, "config/default"))
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.Rel(dir, base); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(map[string]any{"resources": []string{base}, "images": o.Images, "patches": o.Patches})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = built.AsYaml(); err != nil {
		t.Fatal(err)
	}
	objects, err := render.Objects(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestHelmValues checks that the chart accepts the values of the release.
func TestHelmValues(t *testing.T) {
	var release helm.HelmRelease
	find(t, "HelmRelease", "vitrine", &release)
	values, err := render.Values(release.Spec.Values.Raw)
	if err != nil {
		t.Fatal(err)
	}
	c, err := loader.Load(filepath.Join(root, release.Spec.Chart.Spec.Chart))
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := render.Chart(c, render.Release{Name: release.Name, Namespace: release.Namespace}, values)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"registry.example/vitrine:VERSION", "--external-url=https://content.shop.example"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in the objects that the chart renders", want)
		}
	}
}
