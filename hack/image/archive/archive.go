// Package archive writes container images without an engine: a tar file that is at once an OCI image layout, with an index
// over the platforms, and what `docker save` writes, so that `docker load`, `podman load`, `ctr images import`, `skopeo`,
// `crane` and `kind load image-archive` all take it.
//
// The same input gives the same bytes: entries are sorted, every time is the one that is given, and owners are numbers.
//
// It imports nothing but the standard library and recipe.
package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/image/recipe"
)

const (
	mediaIndex    = "application/vnd.oci.image.index.v1+json"
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// Image is the image for one platform.
type Image struct {
	// Architecture is a GOARCH; the system is linux.
	Architecture string
	Config       recipe.Config
	Layers       []Layer
}

// Archive is an image for some platforms, under one name.
type Archive struct {
	// Name and Tag of the image, such as "registry.example/vitrine" and "v1".
	Name, Tag string
	// Created is the time of everything in the archive.
	Created time.Time
	Images  []Image
}

// Summary says what was written.
type Summary struct {
	// Digest of the index over the platforms: "sha256:…". A registry gives the image the same one.
	Digest string
	// Sizes are bytes as a registry would keep them, compressed, and Unpacked bytes on a node; both by architecture.
	Sizes, Unpacked map[string]int64
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type history struct {
	Created   string `json:"created"`
	CreatedBy string `json:"created_by"`
}

type config struct {
	Created      string        `json:"created"`
	Architecture string        `json:"architecture"`
	OS           string        `json:"os"`
	Config       recipe.Config `json:"config"`
	RootFS       struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	History []history `json:"history"`
}

// saved is a row of what `docker save` calls manifest.json.
type saved struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// Write writes the archive.
func (a Archive) Write(to io.Writer) (Summary, error) {
	s := Summary{Sizes: map[string]int64{}, Unpacked: map[string]int64{}}
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	blob := func(media string, content []byte) descriptor {
		sum := sha256.Sum256(content)
		name := hex.EncodeToString(sum[:])
		files["blobs/sha256/"+name] = content
		return descriptor{MediaType: media, Digest: "sha256:" + name, Size: int64(len(content))}
	}
	platforms := index{SchemaVersion: 2, MediaType: mediaIndex}
	var rows []saved
	for _, image := range a.Images {
		c := config{Created: a.created(), Architecture: image.Architecture, OS: "linux", Config: image.Config}
		c.RootFS.Type = "layers"
		m := manifest{SchemaVersion: 2, MediaType: mediaManifest}
		row := saved{RepoTags: []string{a.reference()}}
		for _, l := range image.Layers {
			plain, err := l.tar(a.Created)
			if err != nil {
				return s, err
			}
			packed, err := compress(plain)
			if err != nil {
				return s, err
			}
			sum := sha256.Sum256(plain)
			c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, "sha256:"+hex.EncodeToString(sum[:]))
			c.History = append(c.History, history{Created: a.created(), CreatedBy: l.Line})
			d := blob(mediaLayer, packed)
			m.Layers = append(m.Layers, d)
			row.Layers = append(row.Layers, place(d))
			s.Sizes[image.Architecture] += d.Size
			s.Unpacked[image.Architecture] += int64(len(plain))
		}
		text, err := json.Marshal(c)
		if err != nil {
			return s, fmt.Errorf("write the configuration: %w", err)
		}
		m.Config = blob(mediaConfig, text)
		row.Config = place(m.Config)
		if text, err = json.Marshal(m); err != nil {
			return s, fmt.Errorf("write the manifest: %w", err)
		}
		d := blob(mediaManifest, text)
		d.Platform = &platform{Architecture: image.Architecture, OS: "linux"}
		platforms.Manifests = append(platforms.Manifests, d)
		rows = append(rows, row)
	}
	text, err := json.Marshal(platforms)
	if err != nil {
		return s, fmt.Errorf("write the index: %w", err)
	}
	all := blob(mediaIndex, text)
	s.Digest = all.Digest
	all.Annotations = map[string]string{
		"io.containerd.image.name":          a.full(),
		"org.opencontainers.image.ref.name": a.Tag,
	}
	top, err := json.Marshal(index{SchemaVersion: 2, MediaType: mediaIndex, Manifests: []descriptor{all}})
	if err != nil {
		return s, fmt.Errorf("write the layout: %w", err)
	}
	files["index.json"] = top
	// Docker knows one platform in a file: the first.
	if files["manifest.json"], err = json.Marshal(rows[:1]); err != nil {
		return s, fmt.Errorf("write the list for docker: %w", err)
	}
	return s, a.pack(to, files)
}

func (a Archive) created() string   { return a.Created.UTC().Format(time.RFC3339) }
func (a Archive) reference() string { return a.Name + ":" + a.Tag }

// full is the name as containerd keeps it: with the registry that a short name stands for.
func (a Archive) full() string {
	first, rest, found := strings.Cut(a.Name, "/")
	switch {
	case !found:
		return "docker.io/library/" + a.reference()
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		return "docker.io/" + first + "/" + rest + ":" + a.Tag
	}
	return a.reference()
}

func place(d descriptor) string { return "blobs/sha256/" + strings.TrimPrefix(d.Digest, "sha256:") }

func (a Archive) pack(to io.Writer, files map[string][]byte) error {
	out := tar.NewWriter(to)
	for _, folder := range []string{"blobs/", "blobs/sha256/"} {
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755, ModTime: a.Created}); err != nil {
			return fmt.Errorf("write the archive: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := add(out, &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, ModTime: a.Created}, files[name]); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}

func add(out *tar.Writer, header *tar.Header, content []byte) error {
	header.Size, header.Format = int64(len(content)), tar.FormatPAX
	if err := out.WriteHeader(header); err != nil {
		return fmt.Errorf("write %s: %w", header.Name, err)
	}
	if _, err := out.Write(content); err != nil {
		return fmt.Errorf("write %s: %w", header.Name, err)
	}
	return nil
}

func compress(plain []byte) ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress a layer: %w", err)
	}
	if _, err := zip.Write(plain); err != nil {
		return nil, fmt.Errorf("compress a layer: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("compress a layer: %w", err)
	}
	return out.Bytes(), nil
}
