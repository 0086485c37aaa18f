package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distribution/reference"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestConfig checks that the Dockerfile and config/manager match the configuration of the image.
func TestConfig(t *testing.T) {
	dockerfile, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	deployment, err := os.ReadFile("../../config/manager/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := config(stamp{version: "${VERSION}", revision: "${REVISION}"})
	user, _, _ := strings.Cut(c.User, ":")
	volume := slices.Collect(maps.Keys(c.Volumes))[0]
	lines := []string{
		"USER " + c.User, "ENV " + c.Env[0], "VOLUME " + volume, fmt.Sprintf("ENTRYPOINT [%q]", c.Entrypoint[0]), fmt.Sprintf("CMD [%q]", c.Cmd[0]), "EXPOSE 8443 8081 9090",
	}
	for label, value := range c.Labels {
		lines = append(lines, "LABEL "+label+"="+value)
	}
	for _, line := range lines {
		if !strings.Contains(string(dockerfile), "\n"+line+"\n") {
			t.Errorf("Dockerfile lacks the line %q", line)
		}
	}
	expected := []string{"runAsUser: " + user, "mountPath: " + volume}
	for port := range c.ExposedPorts {
		expected = append(expected, "containerPort: "+strings.TrimSuffix(port, "/tcp"))
	}
	for _, text := range expected {
		if !strings.Contains(string(deployment), text) {
			t.Errorf("config/manager/deployment.yaml lacks %q, which the image has", text)
		}
	}
}

func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an unknown architecture": {[]string{"-architectures", "riscv64", "-ref", "a:b", "-to", "x"}, "riscv64"},
		"no tag":                  {[]string{"-ref", "registry:5000/vitrine", "-to", "x"}, "NAME:TAG"},
		"no name":                 {[]string{"-ref", "Vitrine:v1", "-to", "x"}, "Vitrine"},
		"nowhere to write":        {[]string{"-ref", "vitrine:v1"}, "-to"},
		"a version of nothing":    {[]string{"-archives", "x"}, "-version"},
		"archives for nothing":    {[]string{"-archives", "x", "-version", "v1"}, "-platforms"},
		"two root filesystems":    {[]string{"-root", "x", "-architectures", "amd64,arm64"}, "one architecture"},
	} {
		if err := run(context.Background(), c.args, io.Discard); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: want an error that says %s, got %v", name, c.says, err)
		}
	}
}

// TestLimit checks that an image that is too large is rejected.
func TestLimit(t *testing.T) {
	large := []file{{name: "vitrine", mode: 0o755, content: make([]byte, limit)}}
	if _, err := newImage("amd64", large, stamp{}); err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("want an error about the size, got %v", err)
	}
}

// TestCommit checks that SOURCE_DATE_EPOCH sets the time of everything in the image, and that an invalid value is an error.
func TestCommit(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	_, at, err := commit(context.Background(), t.TempDir())
	if err != nil || at.Unix() != 1_700_000_000 {
		t.Errorf("%v, %v", at, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, _, err := commit(context.Background(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "yesterday") {
		t.Errorf("no error about a SOURCE_DATE_EPOCH that is not a number: %v", err)
	}
}

// newArchive writes a small image for both architectures and returns its path.
func newArchive(t *testing.T) string {
	t.Helper()
	s := stamp{version: "v1", revision: "abc", created: time.Unix(1_700_000_000, 0)}
	var images []platformImage
	for _, arch := range []string{"amd64", "arm64"} {
		files := []file{
			{name: "var", mode: fs.ModeDir | 0o755}, {name: "var/data", mode: fs.ModeDir | 0o700, uid: uid},
			{name: "vitrine", mode: 0o755, content: []byte(arch)},
		}
		image, err := newImage(arch, files, s)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, image)
	}
	ref, err := reference.ParseNormalizedNamed("content/vitrine:v1")
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "dist", "image.tar")
	if _, err := writeArchive(to, ref.(reference.NamedTagged), s.created, images); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestArchive reads an archive as a registry client and as docker, checks every digest, and checks that the same input produces the
// same bytes.
func TestArchive(t *testing.T) {
	to := newArchive(t)
	first, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(newArchive(t)); err != nil || !bytes.Equal(first, second) {
		t.Errorf("two archives of the same image differ: %v", err)
	}
	dir := t.TempDir()
	for in := tar.NewReader(bytes.NewReader(first)); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		content, readErr := io.ReadAll(in)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(time.Unix(1_700_000_000, 0)) {
			t.Errorf("%s has the time %s", h.Name, h.ModTime)
		}
		if err := writeFiles(dir, []file{{name: strings.TrimSuffix(h.Name, "/"), mode: h.FileInfo().Mode(), content: content}}); err != nil {
			t.Fatal(err)
		}
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Error(err)
	}
	m, err := top.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	if got := m.Manifests[0].Annotations["io.containerd.image.name"]; got != "docker.io/content/vitrine:v1" {
		t.Errorf("containerd would call it %q", got)
	}
	platforms, err := top.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = platforms.IndexManifest(); err != nil || len(m.Manifests) != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		image, err := platforms.Image(m.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		c, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if p := m.Manifests[i].Platform; p.Architecture != arch || p.OS != "linux" || c.Architecture != arch || c.Created.Unix() != 1_700_000_000 {
			t.Errorf("%s: platform %+v, created %s", arch, p, c.Created)
		}
		if diff := cmp.Diff(config(stamp{version: "v1", revision: "abc"}), c.Config); diff != "" {
			t.Errorf("%s: configuration (-want +got):\n%s", arch, diff)
		}
	}
	tag, err := name.NewTag("content/vitrine:v1")
	if err != nil {
		t.Fatal(err)
	}
	docker, err := tarball.ImageFromPath(to, &tag)
	if err != nil {
		t.Fatalf("docker load: %v", err)
	}
	if err := validate.Image(docker); err != nil {
		t.Errorf("docker load: %v", err)
	}
	checkLayer(t, docker)
}

// checkLayer checks the contents of the only layer of an image, with owners and modes.
func checkLayer(t *testing.T, image v1.Image) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	var got []string
	for in := tar.NewReader(content); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %d:%d", h.Name, h.FileInfo().Mode(), h.Uid, h.Gid))
	}
	want := []string{"var/ drwxr-xr-x 0:0", "var/data/ drwx------ 65532:65532", "vitrine -rwxr-xr-x 0:0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("layer (-want +got):\n%s", diff)
	}
}

// TestArchivePacking checks the names, modes and times in the archives of a binary, and that the same input produces the same bytes.
func TestArchivePacking(t *testing.T) {
	docs := papers{license: []byte("license"), notices: []byte("notices")}
	at := time.Unix(1_700_000_000, 0).UTC()
	for on, want := range map[platform]struct{ name, files string }{
		{"darwin", "arm64"}:  {"kubectl-vitrine_v0.1.0_darwin_arm64.tar.gz", "LICENSE -rw-r--r--, THIRD-PARTY-NOTICES -rw-r--r--, kubectl-vitrine -rwxr-xr-x"},
		{"windows", "amd64"}: {"kubectl-vitrine_v0.1.0_windows_amd64.zip", "LICENSE -rw-r--r--, THIRD-PARTY-NOTICES -rw-r--r--, kubectl-vitrine.exe -rwxr-xr-x"},
	} {
		b := binary{on, []byte("program")}
		name, content, err := archive(b, "kubectl-vitrine", "v0.1.0", docs, at)
		if err != nil || name != want.name {
			t.Fatalf("%s: named %s, want %s (%v)", on, name, want.name, err)
		}
		if _, again, err := archive(b, "kubectl-vitrine", "v0.1.0", docs, at); err != nil || !bytes.Equal(content, again) {
			t.Errorf("%s: two archives of the same binary differ: %v", name, err)
		}
		var got []string
		see := func(info fs.FileInfo) {
			if got = append(got, info.Name()+" "+info.Mode().String()); !info.ModTime().Equal(at) {
				t.Errorf("%s: %s has the time %s", name, info.Name(), info.ModTime())
			}
		}
		if on.os == "windows" {
			in, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range in.File {
				see(f.FileInfo())
			}
		} else {
			plain, err := gzip.NewReader(bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			for in := tar.NewReader(plain); ; {
				h, err := in.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				see(h.FileInfo())
			}
		}
		if strings.Join(got, ", ") != want.files {
			t.Errorf("%s contains %s, want %s", name, strings.Join(got, ", "), want.files)
		}
	}
}
