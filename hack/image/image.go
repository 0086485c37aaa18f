package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/renameio/v2"
)

// limit is the maximum size in bytes of an image on a node.
const limit = 62_000_000

// stamp identifies the source of an image.
type stamp struct {
	version, revision string
	created           time.Time
}

// platformImage is the image for one architecture. It has two sizes in bytes: the size in a registry, and the unpacked size on a node.
type platformImage struct {
	v1.Image
	arch             string
	packed, unpacked int64
}

// config returns the configuration of the image. It must match the Dockerfile, and a test checks that it does.
func config(s stamp) v1.Config {
	return v1.Config{
		User: fmt.Sprintf("%d:%d", uid, uid), // a number, so that Kubernetes can verify that the user is not root
		Env:  []string{"PATH=/"},
		ExposedPorts: map[string]struct{}{
			"8443/tcp": {}, "8081/tcp": {}, "9090/tcp": {},
		},
		Volumes:    map[string]struct{}{"/" + dataDir: {}},
		Entrypoint: []string{"/vitrine"},
		Cmd:        []string{"serve"},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "Vitrine",
			"org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.source":   "https://github.com/vitrine-dev/vitrine",
			"org.opencontainers.image.version":  s.version,
			"org.opencontainers.image.revision": s.revision,
		},
	}
}

// newImage returns an image with one layer, which contains the files. It fails if the image exceeds limit.
func newImage(arch string, files []file, s stamp) (platformImage, error) {
	plain, err := pack(files, s.created)
	if err != nil {
		return platformImage{}, err
	}
	if len(plain) >= limit {
		return platformImage{}, fmt.Errorf("the image for %s has %d bytes unpacked, but the limit is %d: use go version -m and go tool nm -size to find what was added", arch, len(plain), limit)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(plain)), nil },
		tarball.WithCompressedCaching, tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return platformImage{}, fmt.Errorf("create the layer: %w", err)
	}
	size, err := layer.Size()
	if err != nil {
		return platformImage{}, fmt.Errorf("create the layer: %w", err)
	}
	created := v1.Time{Time: s.created}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(base, &v1.ConfigFile{
		Architecture: arch, OS: "linux", Created: created, Config: config(s), RootFS: v1.RootFS{Type: "layers"},
	})
	if err == nil {
		image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: created, CreatedBy: "hack/image"}})
	}
	if err != nil {
		return platformImage{}, fmt.Errorf("create the image: %w", err)
	}
	return platformImage{image, arch, size, int64(len(plain))}, nil
}

// pack returns a tar file of the files with the given time.
func pack(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode.Perm()), Uid: f.uid, Gid: f.uid, Size: int64(len(f.content)), ModTime: at, Format: tar.FormatPAX}
		if f.mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, f.name+"/"
		}
		err := w.WriteHeader(h)
		if err == nil {
			_, err = w.Write(f.content)
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack the files: %w", err)
	}
	return out.Bytes(), nil
}

// writeArchive writes the images as an OCI image layout in a tar file. The file also contains the list that `docker load` reads.
// It returns the digest of the multi-platform index, which is also the digest of the image in a registry.
func writeArchive(to string, name reference.NamedTagged, created time.Time, images []platformImage) (v1.Hash, error) {
	var all v1.ImageIndex = empty.Index
	for _, image := range images {
		all = mutate.AppendManifests(all, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: "linux", Architecture: image.arch},
		}})
	}
	digest, err := all.Digest()
	if err != nil {
		return digest, fmt.Errorf("create the index: %w", err)
	}
	dir, err := os.MkdirTemp("", "vitrine-image-")
	if err != nil {
		return digest, fmt.Errorf("create the layout: %w", err)
	}
	defer os.RemoveAll(dir)
	named := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: all, Descriptor: v1.Descriptor{Annotations: map[string]string{
		"io.containerd.image.name":          name.String(), // the full name, including the registry
		"org.opencontainers.image.ref.name": name.Tag(),
	}}})
	written, err := layout.Write(dir, named)
	if err != nil {
		return digest, fmt.Errorf("write the layout: %w", err)
	}
	list, err := dockerList(images[0], reference.FamiliarString(name)) // docker load supports only one architecture in a file
	if err == nil {
		err = written.WriteFile("manifest.json", list, 0o644)
	}
	if err != nil {
		return digest, fmt.Errorf("write the list for docker: %w", err)
	}
	files, err := readFiles(dir)
	if err != nil {
		return digest, fmt.Errorf("read the layout: %w", err)
	}
	packed, err := pack(files, created)
	if err != nil {
		return digest, err
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), renameio.WriteFile(to, packed, 0o644, renameio.IgnoreUmask())); err != nil {
		return digest, fmt.Errorf("write the archive: %w", err)
	}
	return digest, nil
}

// dockerList returns the file manifest.json of `docker save`, which refers to the blobs of the layout.
func dockerList(image v1.Image, name string) ([]byte, error) {
	m, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	blob := func(d v1.Descriptor) string { return path.Join("blobs", d.Digest.Algorithm, d.Digest.Hex) }
	row := tarball.Descriptor{Config: blob(m.Config), RepoTags: []string{name}}
	for _, l := range m.Layers {
		row.Layers = append(row.Layers, blob(l))
	}
	return json.Marshal([]tarball.Descriptor{row})
}

// readFiles returns the directories and files below dir, ordered by name and readable by all.
func readFiles(dir string) (files []file, err error) {
	top := os.DirFS(dir)
	err = fs.WalkDir(top, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir():
			files = append(files, file{name: name, mode: fs.ModeDir | 0o755})
			return nil
		}
		content, err := fs.ReadFile(top, name)
		files = append(files, file{name: name, mode: 0o644, content: content})
		return err
	})
	return files, err
}
