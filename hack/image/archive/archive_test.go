package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/hack/image/recipe"
)

// context is what the images of these tests are made from.
func context() fstest.MapFS {
	return fstest.MapFS{
		"stage/files/etc":        {Mode: fs.ModeDir | 0o755},
		"stage/files/etc/passwd": {Data: []byte("vitrine:x:65532:65532:::\n"), Mode: 0o644},
		"stage/data":             {Mode: fs.ModeDir | 0o700},
		"stage/amd64/vitrine":    {Data: []byte("binary"), Mode: 0o755},
		"stage/link":             {Data: []byte("elsewhere"), Mode: fs.ModeSymlink},
	}
}

func layers(t *testing.T) []Layer {
	t.Helper()
	var out []Layer
	for _, c := range []recipe.Copy{
		{From: "stage/files/", To: "/"},
		{From: "stage/data/", To: "/var/lib/vitrine", UID: 65532, GID: 65532},
		{From: "stage/amd64/vitrine", To: "/vitrine"},
	} {
		l, err := Collect(context(), c)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

// TestLayers holds what stands in each layer, with which owner and mode.
func TestLayers(t *testing.T) {
	want := [][]string{
		{"etc/ drwxr-xr-x 0:0", "etc/passwd -rw-r--r-- 0:0"},
		{"var/ drwxr-xr-x 0:0", "var/lib/ drwxr-xr-x 0:0", "var/lib/vitrine/ drwx------ 65532:65532"},
		{"vitrine -rwxr-xr-x 0:0"},
	}
	for i, l := range layers(t) {
		text, err := l.tar(time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		in := tar.NewReader(bytes.NewReader(text))
		for {
			h, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s %d:%d", h.Name, h.FileInfo().Mode(), h.Uid, h.Gid))
			if !h.ModTime.Equal(time.Unix(1, 0)) {
				t.Errorf("%s is of %s", h.Name, h.ModTime)
			}
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("layer %d (-want +got):\n%s", i, diff)
		}
	}
	if _, err := Collect(context(), recipe.Copy{From: "stage/absent", To: "/a"}); err == nil {
		t.Error("a file that is not there was copied")
	}
	if _, err := Collect(context(), recipe.Copy{From: "stage/link", To: "/a"}); err == nil {
		t.Error("a link was copied")
	}
}

func archive(t *testing.T) (Archive, []byte, Summary) {
	t.Helper()
	a := Archive{Name: "registry.example/vitrine", Tag: "v1", Created: time.Unix(1_700_000_000, 0)}
	for _, arch := range []string{"amd64", "arm64"} {
		a.Images = append(a.Images, Image{Architecture: arch, Config: recipe.Config{User: "65532:65532"}, Layers: layers(t)})
	}
	var out bytes.Buffer
	s, err := a.Write(&out)
	if err != nil {
		t.Fatal(err)
	}
	return a, out.Bytes(), s
}

// TestReproducible holds that the same input gives the same bytes.
func TestReproducible(t *testing.T) {
	_, first, one := archive(t)
	_, second, two := archive(t)
	if !bytes.Equal(first, second) || one.Digest != two.Digest {
		t.Error("two archives of the same image differ")
	}
}

// TestArchive walks an archive as a registry client does, from the layout over the index to the layers, and as docker does.
func TestArchive(t *testing.T) {
	_, text, summary := archive(t)
	files := map[string][]byte{}
	in := tar.NewReader(bytes.NewReader(text))
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = content
		if sum, found := strings.CutPrefix(h.Name, "blobs/sha256/"); found && sum != "" {
			if is := sha256.Sum256(content); hex.EncodeToString(is[:]) != sum {
				t.Errorf("%s has another digest", h.Name)
			}
		}
	}
	get := func(d descriptor, into any) {
		t.Helper()
		content, found := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if !found || int64(len(content)) != d.Size {
			t.Fatalf("%s %s: %d bytes, want %d", d.MediaType, d.Digest, len(content), d.Size)
		}
		if err := json.Unmarshal(content, into); err != nil {
			t.Fatal(err)
		}
	}
	var layout, platforms index
	if err := json.Unmarshal(files["index.json"], &layout); err != nil {
		t.Fatal(err)
	}
	if len(layout.Manifests) != 1 || layout.Manifests[0].Digest != summary.Digest {
		t.Fatalf("the layout names %+v, the summary %s", layout.Manifests, summary.Digest)
	}
	if got := layout.Manifests[0].Annotations["io.containerd.image.name"]; got != "registry.example/vitrine:v1" {
		t.Errorf("containerd would call it %q", got)
	}
	get(layout.Manifests[0], &platforms)
	var rows []saved
	if err := json.Unmarshal(files["manifest.json"], &rows); err != nil {
		t.Fatal(err)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		if p := platforms.Manifests[i].Platform; p.Architecture != arch || p.OS != "linux" {
			t.Errorf("platform %d is %+v", i, p)
		}
		var m manifest
		get(platforms.Manifests[i], &m)
		var c config
		get(m.Config, &c)
		if c.Architecture != arch || c.Config.User != "65532:65532" || c.Created != "2023-11-14T22:13:20Z" {
			t.Errorf("%s: %+v", arch, c)
		}
		if len(m.Layers) != 3 || len(c.RootFS.DiffIDs) != 3 {
			t.Fatalf("%s: %d layers, %d digests", arch, len(m.Layers), len(c.RootFS.DiffIDs))
		}
		for j, l := range m.Layers {
			zip, err := gzip.NewReader(bytes.NewReader(files[place(l)]))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(zip)
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(plain); "sha256:"+hex.EncodeToString(sum[:]) != c.RootFS.DiffIDs[j] {
				t.Errorf("%s: layer %d has another digest unpacked", arch, j)
			}
		}
		if i == 0 {
			if len(rows) != 1 || rows[0].Config != place(m.Config) || rows[0].RepoTags[0] != "registry.example/vitrine:v1" || len(rows[0].Layers) != 3 {
				t.Errorf("for docker: %+v", rows)
			}
		}
	}
}

func TestFullName(t *testing.T) {
	for name, want := range map[string]string{
		"vitrine":                   "docker.io/library/vitrine:v1",
		"content/vitrine":           "docker.io/content/vitrine:v1",
		"localhost/vitrine":         "localhost/vitrine:v1",
		"registry.example/vitrine":  "registry.example/vitrine:v1",
		"registry:5000/a/b/vitrine": "registry:5000/a/b/vitrine:v1",
	} {
		if got := (Archive{Name: name, Tag: "v1"}).full(); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
