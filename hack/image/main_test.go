package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/hack/image/archive"
	"github.com/vitrine-dev/vitrine/hack/image/recipe"
)

// TestDockerfile holds the real recipe: what it copies is what is staged, and what config/manager expects of the image.
func TestDockerfile(t *testing.T) {
	file, err := os.Open("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := recipe.Read(file, map[string]string{"TARGETARCH": "arm64", "VERSION": "v1", "REVISION": "abc"})
	if err != nil {
		t.Fatal(err)
	}
	var copied []string
	for _, c := range r.Copies {
		copied = append(copied, c.From)
	}
	want := []string{"dist/image/common/files/", "dist/image/common/data/", "dist/image/arm64/doc/", "dist/image/arm64/vitrine"}
	if diff := cmp.Diff(want, copied); diff != "" {
		t.Errorf("copied (-want +got):\n%s", diff)
	}
	deployment, err := os.ReadFile("../../config/manager/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	user, _, _ := strings.Cut(r.Config.User, ":")
	expected := []string{"runAsUser: " + user, "mountPath: " + slices.Collect(maps.Keys(r.Config.Volumes))[0]}
	for port := range r.Config.ExposedPorts {
		expected = append(expected, "containerPort: "+strings.TrimSuffix(port, "/tcp"))
	}
	for _, text := range expected {
		if !strings.Contains(string(deployment), text) {
			t.Errorf("config/manager/deployment.yaml lacks %q, which the image has", text)
		}
	}
	if r.Config.Labels["org.opencontainers.image.version"] != "v1" || r.Config.Labels["org.opencontainers.image.revision"] != "abc" {
		t.Errorf("the labels are %v", r.Config.Labels)
	}
}

func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an unknown architecture": {[]string{"-architectures", "riscv64", "-ref", "a:b", "-to", "x"}, "riscv64"},
		"no tag":                  {[]string{"-ref", "registry:5000/vitrine", "-to", "x"}, "name:tag"},
		"nowhere to write":        {[]string{"-ref", "vitrine:v1"}, "-to"},
	} {
		if err := run(context.Background(), c.args, io.Discard); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: want an error that says %s, got %v", name, c.says, err)
		}
	}
}

// TestLimit holds that an image which has grown too large is not written.
func TestLimit(t *testing.T) {
	file := fstest.MapFS{"vitrine": {Data: make([]byte, limit), Mode: 0o755}}
	layer, err := archive.Collect(file, recipe.Copy{From: "vitrine", To: "/vitrine"})
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "image.tar")
	a := archive.Archive{Name: "vitrine", Tag: "v1", Images: []archive.Image{{Architecture: "amd64", Layers: []archive.Layer{layer}}}}
	if err := write(a, to, io.Discard); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("want an error about the size, got %v", err)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("it was written all the same")
	}
}

// TestCommit holds that SOURCE_DATE_EPOCH decides the time of everything in the image, and has to be a time.
func TestCommit(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	_, at, err := commit(context.Background(), t.TempDir())
	if err != nil || at.Unix() != 1_700_000_000 {
		t.Errorf("%v, %v", at, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, _, err := commit(context.Background(), t.TempDir()); err == nil || !bytes.Contains([]byte(err.Error()), []byte("yesterday")) {
		t.Errorf("a time that is none was taken: %v", err)
	}
}
