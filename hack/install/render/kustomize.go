package render

import (
	"fmt"

	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/vitrine-dev/vitrine/hack/install/image"
)

// Kustomize renders the kustomization in dir, namespaces and CRDs first, as YAML documents. at, unless it is zero, replaces
// the image of the server.
func Kustomize(dir string, at image.Reference) ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	made, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("build the kustomization %s: %w", dir, err)
	}
	if at != (image.Reference{}) {
		if err := setImage(made, at); err != nil {
			return nil, err
		}
	}
	text, err := made.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("write the objects of %s: %w", dir, err)
	}
	return text, nil
}

// setImage does what `kustomize edit set image` would.
func setImage(objects resmap.ResMap, at image.Reference) error {
	set := imagetag.Filter{
		ImageTag: types.Image{Name: "vitrine", NewName: at.Repository, NewTag: at.Tag, Digest: at.Digest},
		FsSlice:  []types.FieldSpec{{Path: "spec/template/spec/containers[]/image"}},
	}
	if err := objects.ApplyFilter(set); err != nil {
		return fmt.Errorf("set the image %s: %w", at, err)
	}
	return nil
}
