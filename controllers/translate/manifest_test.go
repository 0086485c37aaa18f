package translate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/controllers/translate"
)

// TestManifest checks that a manifest has everything that its author wrote, also members that this version of the API does not have, and
// nothing that the API server or a tool has added.
func TestManifest(t *testing.T) {
	tests := map[string]struct{ object, want, path string }{
		"an object of a cluster": {
			object: `
apiVersion: vitrine.dev/v1alpha1
kind: ContentFilter
metadata:
  name: wall
  namespace: shop
  uid: 0b6f0b5e-0000-4000-8000-000000000000
  resourceVersion: "17"
  generation: 3
  creationTimestamp: "2026-03-01T08:00:00Z"
  finalizers: [example.com/hold]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: a, uid: b}]
  managedFields: [{manager: kubectl, operation: Apply}]
  labels:
    team: brand
    app.kubernetes.io/managed-by: Helm
    app.kubernetes.io/instance: shop
    argocd.argoproj.io/instance: shop
    kustomize.toolkit.fluxcd.io/name: content
    kustomize.toolkit.fluxcd.io/namespace: flux-system
    helm.toolkit.fluxcd.io/name: content
  annotations:
    owner: brand@shop.example
    vitrine.dev/source-path: walls/main.yaml
    kubectl.kubernetes.io/last-applied-configuration: '{}'
    argocd.argoproj.io/tracking-id: shop:vitrine.dev/ContentFilter:shop/wall
    argocd.argoproj.io/sync-wave: "2"
    kustomize.toolkit.fluxcd.io/prune: disabled
    kustomize.toolkit.fluxcd.io/checksum: abc
    meta.helm.sh/release-name: shop
spec: {query: beach, suspend: false, later: {a: [1]}}
status: {id: 7}
`,
			want: `{"apiVersion":"vitrine.dev/v1alpha1","kind":"ContentFilter","metadata":{"name":"wall","namespace":"shop",` +
				`"labels":{"app.kubernetes.io/instance":"shop","team":"brand"},` +
				`"annotations":{"argocd.argoproj.io/sync-wave":"2","kustomize.toolkit.fluxcd.io/prune":"disabled","owner":"brand@shop.example","vitrine.dev/source-path":"walls/main.yaml"}},` +
				`"spec":{"later":{"a":[1]},"query":"beach","suspend":false}}`,
			path: "walls/main.yaml",
		},
		"only labels of tools": {
			object: `{apiVersion: a/v1, kind: Tag, metadata: {name: x, labels: {kustomize.toolkit.fluxcd.io/name: y}, annotations: {meta.helm.sh/release-name: z}}, spec: {}}`,
			want:   `{"apiVersion":"a/v1","kind":"Tag","metadata":{"name":"x"},"spec":{}}`,
		},
		"a path outside the repository": {
			object: `{apiVersion: a/v1, kind: Tag, metadata: {name: x, annotations: {vitrine.dev/source-path: ../x.yaml}}}`,
			want:   `{"apiVersion":"a/v1","kind":"Tag","metadata":{"name":"x","annotations":{"vitrine.dev/source-path":"../x.yaml"}}}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tc.object), &o.Object); err != nil {
				t.Fatal(err)
			}
			before := o.DeepCopy()
			m, err := translate.Manifest(o)
			if err != nil || m.Path != tc.path {
				t.Errorf("path %q, want %q; %v", m.Path, tc.path, err)
			}
			if diff := cmp.Diff(tc.want, string(m.Object)); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, o); diff != "" {
				t.Errorf("the argument has changed (-before +after):\n%s", diff)
			}
		})
	}
}
