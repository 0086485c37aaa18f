package render_test

import (
	"path/filepath"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/vitrine-dev/vitrine/hack/install/image"
	"github.com/vitrine-dev/vitrine/hack/install/render"
)

// TestPackage holds that a package has everything of the chart, and the version everywhere.
func TestPackage(t *testing.T) {
	path, err := render.Package(filepath.Join(config, "chart"), "1.2.3", t.TempDir())
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
	if got := imageOf(t, byName(objects)["Deployment vitrine"]); got != "vitrine:v1.2.3" {
		t.Errorf("the packaged chart runs %s", got)
	}
	if _, err := render.Package(filepath.Join(config, "chart"), "latest", t.TempDir()); err == nil {
		t.Error("a version that is none was taken")
	}
}

// TestManifest holds that the one file runs the image that it is told to.
func TestManifest(t *testing.T) {
	for _, want := range []string{"registry.example/vitrine:v9", "vitrine@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"} {
		at, err := image.Parse(want)
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
			t.Errorf("the manifest begins with a %s: what is in a namespace could come before it", first)
		}
	}
}
