package render_test

import (
	"path/filepath"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vitrine-dev/vitrine/hack/install/render"
)

// TestPackage checks that a package contains the whole chart, and that the packaged chart runs the image with the given repository and
// version. It also checks that invalid versions are rejected.
func TestPackage(t *testing.T) {
	path, err := render.Package(filepath.Join(config, "chart"), "1.2.3", "registry.example/vitrine", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(path) != "vitrine-1.2.3.tgz" {
		t.Errorf("written to %s", path)
	}
	c, err := loader.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	source := loadChart(t)
	if len(c.Files) != len(source.Files) || len(c.Templates) != len(source.Templates) || len(c.Schema) == 0 {
		t.Errorf("the package has %d files and %d templates, the source %d and %d", len(c.Files), len(c.Templates), len(source.Files), len(source.Templates))
	}
	text, _, err := render.Chart(c, release, nil)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := render.Objects(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := imageOf(t, byName(objects)["Deployment vitrine"]); got != "registry.example/vitrine:v1.2.3" {
		t.Errorf("the packaged chart runs %s", got)
	}
	for _, version := range []string{"", "latest", "1.2", "v1", "vv1.2.3", "1.2.3.4", "01.2.3"} {
		if path, err := render.Package(filepath.Join(config, "chart"), version, "", t.TempDir()); err == nil {
			t.Errorf("version %q is accepted: %s", version, path)
		}
	}
}

// TestPackageVersions checks the name, the image and the labels for each form of a version.
func TestPackageVersions(t *testing.T) {
	for version, want := range map[string]struct{ file, image string }{
		"v1.2.3":         {"vitrine-1.2.3.tgz", "vitrine:v1.2.3"},
		"1.2.3-rc.1":     {"vitrine-1.2.3-rc.1.tgz", "vitrine:v1.2.3-rc.1"},
		"1.2.3+build.5":  {"vitrine-1.2.3+build.5.tgz", "vitrine:v1.2.3_build.5"},
		"v1.2.3-a+b-c.d": {"vitrine-1.2.3-a+b-c.d.tgz", "vitrine:v1.2.3-a_b-c.d"},
	} {
		path, err := render.Package(filepath.Join(config, "chart"), version, "", t.TempDir())
		if err != nil {
			t.Errorf("%s: %v", version, err)
			continue
		}
		if filepath.Base(path) != want.file {
			t.Errorf("%s is written to %s, want %s", version, path, want.file)
		}
		c, err := loader.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		text, _, err := render.Chart(c, release, nil)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := render.Objects(text)
		if err != nil {
			t.Fatal(err)
		}
		deployment := byName(objects)["Deployment vitrine"]
		if got := imageOf(t, deployment); got != want.image {
			t.Errorf("%s runs %s, want %s", version, got, want.image)
		}
		for key, value := range deployment.GetLabels() {
			if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
				t.Errorf("%s: the label %s: %v", version, key, errs)
			}
		}
	}
}

// TestManifest checks that the manifest runs the given image.
func TestManifest(t *testing.T) {
	for _, want := range []string{"registry.example/vitrine:v9", "vitrine@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"} {
		at, err := render.Image(want)
		if err != nil {
			t.Fatal(err)
		}
		text, err := render.Kustomize(filepath.Join(config, "default"), at)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := render.Objects(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := imageOf(t, byName(objects)["Deployment vitrine"]); got != want {
			t.Errorf("the manifest runs %s, want %s", got, want)
		}
		if first := objects[0].GetKind(); first != "Namespace" {
			t.Errorf("the manifest begins with a %s, want the Namespace, so that it is applied before the objects in it", first)
		}
	}
}
