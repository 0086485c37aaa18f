package translate

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Manifest returns an object as an author would write it. It is not typed, so that it also keeps members of a newer version of the API. It
// omits the status, what the API server adds to the metadata, and what kubectl and GitOps tools add to the labels and annotations. A path
// that is not valid is omitted, too.
func Manifest(o *unstructured.Unstructured) (library.Manifest, error) {
	type metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace,omitempty"`
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	labels, annotations := o.GetLabels(), o.GetAnnotations() // copies
	maps.DeleteFunc(labels, ofTool)
	maps.DeleteFunc(annotations, ofTool)
	object, err := json.Marshal(struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Metadata   metadata `json:"metadata"`
		Spec       any      `json:"spec,omitempty"`
	}{o.GetAPIVersion(), o.GetKind(), metadata{o.GetName(), o.GetNamespace(), labels, annotations}, o.Object["spec"]})
	if err != nil {
		return library.Manifest{}, fmt.Errorf("encode an object: %w", err)
	}
	path, err := v1alpha1.SourcePath(annotations)
	if err != nil {
		path = ""
	}
	return library.Manifest{Object: object, Path: path}, nil
}

// ofTool reports whether kubectl, Argo CD, Flux or Helm itself writes a label or an annotation. Their labels and annotations that authors
// write, such as argocd.argoproj.io/sync-wave, are not among these.
func ofTool(key, value string) bool {
	domain, name, _ := strings.Cut(key, "/")
	switch domain {
	case "kubectl.kubernetes.io", "meta.helm.sh":
		return true
	case "argocd.argoproj.io":
		return name == "tracking-id" || name == "installation-id" || name == "instance"
	case "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io":
		return name == "name" || name == "namespace" || name == "checksum"
	case "app.kubernetes.io":
		return name == "managed-by" && value == "Helm"
	}
	return false
}
