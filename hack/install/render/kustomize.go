package render

import (
	"fmt"

	"github.com/distribution/reference"
	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Image parses the reference of an image for the server, such as "registry.example:5000/vitrine:v1" or "vitrine@sha256:…". It rejects a
// reference without a tag or digest, because it could refer to another image after each push.
func Image(text string) (types.Image, error) {
	ref, err := reference.Parse(text)
	image := types.Image{Name: "vitrine"}
	if named, ok := ref.(reference.Named); ok {
		image.NewName = named.Name()
	}
	if tagged, ok := ref.(reference.Tagged); ok {
		image.NewTag = tagged.Tag()
	}
	if digested, ok := ref.(reference.Digested); ok {
		image.Digest = digested.Digest().String()
	}
	if err != nil || image.NewName == "" || image.NewTag+image.Digest == "" {
		return types.Image{}, fmt.Errorf("image %q: must be repository:tag or repository@sha256:…", text)
	}
	return image, nil
}

// Kustomize renders the kustomization in dir as YAML documents, namespaces and CRDs first. If at is not zero, it replaces the image of the
// server, as `kustomize edit set image` does.
func Kustomize(dir string, at types.Image) ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	made, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("build the kustomization %s: %w", dir, err)
	}
	if at != (types.Image{}) {
		set := imagetag.Filter{ImageTag: at, FsSlice: []types.FieldSpec{{Path: "spec/template/spec/containers[]/image"}}}
		if err := made.ApplyFilter(set); err != nil {
			return nil, fmt.Errorf("set the image %s: %w", at.NewName, err)
		}
	}
	text, err := made.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("write the objects of %s: %w", dir, err)
	}
	return text, nil
}
