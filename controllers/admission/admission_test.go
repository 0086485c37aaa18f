package admission_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/admission"
)

// warnings records the warnings of the API server.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

// newCluster starts an API server with the CRDs and the namespace shop.
func newCluster(t *testing.T) (*rest.Config, client.Client, *warnings) {
	t.Helper()
	const variable = "KUBEBUILDER_ASSETS"
	if os.Getenv(variable) == "" {
		t.Fatalf("%s is not set: run `make test`, or set it to what `make -s assets` prints", variable)
	}
	environment := &envtest.Environment{CRDDirectoryPaths: []string{"../../config/crd/bases"}, ErrorIfCRDPathMissing: true}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), admissionregistrationv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	seen := &warnings{}
	own := rest.CopyConfig(config)
	own.WarningHandler = seen
	kube, err := client.New(own, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	return config, kube, seen
}

func object(kind, name, spec string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte("{apiVersion: " + v1alpha1.GroupVersion.String() + ", kind: " + kind + ", metadata: {namespace: shop, name: " + name + "}, spec: {" + spec + "}}"))
	if err == nil {
		err = u.UnmarshalJSON(text)
	}
	if err != nil {
		panic(err)
	}
	return u
}

// TestAdmission calls the webhook through a real API server.
func TestAdmission(t *testing.T) {
	config, kube, seen := newCluster(t)
	handler, err := admission.New(admission.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	keeper := &admission.Keeper{
		RESTConfig: func() (*rest.Config, error) { return config, nil }, Name: "vitrine", URL: server.URL,
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	if changed, err := keeper.Once(t.Context()); err != nil || !changed {
		t.Fatalf("the configuration: changed %v, %v", changed, err)
	}
	if changed, err := keeper.Once(t.Context()); err != nil || changed {
		t.Errorf("the configuration is written again: %v", err)
	}
	const broken = "spec.query: nothing after AND at position 5, at the end: expected a clause"
	awaitCall(t, kube, object(v1alpha1.ContentFilterKind, "probe", "query: 'a AND'"), broken)
	seen.take()

	tests := map[string]struct {
		kind, spec string
		refused    string
		warned     []string
	}{
		"valid":                {kind: v1alpha1.ContentFilterKind, spec: "query: beach"},
		"a broken query":       {kind: v1alpha1.ContentFilterKind, spec: "query: 'a AND'", refused: broken},
		"a broken order":       {kind: v1alpha1.ContentFilterKind, spec: "query: beach, sortBy: 'created_on:dsc'", refused: "spec.sortBy: a bad sort direction"},
		"a loop":               {kind: v1alpha1.TagKind, spec: "namespace: vibe, key: x, selector: {query: 'tags.vibe.key:y'}", refused: "spec.selector.query: field tags.vibe.key is not allowed"},
		"a tag by selector":    {kind: v1alpha1.TagKind, spec: "namespace: vibe, key: x, selector: {query: mountain}"},
		"a tag by id":          {kind: v1alpha1.TagKind, spec: "namespace: vibe, key: x, items: [7]"},
		"another property":     {kind: v1alpha1.ContentFilterKind, spec: "query: mountain, propertyRef: {name: later}"},
		"mixed operators":      {kind: v1alpha1.ContentFilterKind, spec: "query: 'beach AND text:beach OR sunset'", warned: []string{"spec.query: AND and OR are mixed without parentheses, and neither takes precedence: the query is read as +beach +text:beach sunset; use parentheses to group clauses"}},
		"another name":         {kind: v1alpha1.ContentFilterKind, spec: "query: 'status:app'", warned: []string{`spec.query: there is no field "status", so its clause finds nothing; did you mean "approval_status"?`}},
		"an unknown field":     {kind: v1alpha1.ContentFilterKind, spec: "query: 'beach OR bogus:x'", warned: []string{`spec.query: there is no field "bogus", so its clause finds nothing`}},
		"a token":              {kind: v1alpha1.AccessTokenKind, spec: "class: ReadOnly"},
		"a property":           {kind: v1alpha1.PropertyKind, spec: "displayName: Shop"},
		"refused by CEL rules": {kind: v1alpha1.ContentFilterKind, spec: "query: ' '", refused: "the query must not be blank"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := kube.Create(t.Context(), object(tc.kind, "it", tc.spec), client.DryRunAll)
			if (err == nil) != (tc.refused == "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("create: %v; want %q", err, tc.refused)
			}
			if diff := cmp.Diff(tc.warned, seen.take()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}

	t.Run("the metadata of an invalid object can change", func(t *testing.T) {
		filter := object(v1alpha1.ContentFilterKind, "old", "query: 'a AND'")
		if err := kube.Delete(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "vitrine"}}); err != nil {
			t.Fatal(err)
		}
		await(t, func() bool { return kube.Create(t.Context(), filter) == nil })
		if _, err := keeper.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		awaitCall(t, kube, object(v1alpha1.ContentFilterKind, "probe", "query: 'a AND'"), broken)
		filter.SetLabels(map[string]string{"a": "b"})
		if err := kube.Update(t.Context(), filter); err != nil {
			t.Errorf("a label: %v", err)
		}
		filter.Object["spec"] = map[string]any{"query": "b AND"}
		if err := kube.Update(t.Context(), filter); err == nil || !strings.Contains(err.Error(), "spec.query") {
			t.Errorf("another broken query: %v", err)
		}
	})
	t.Run("a bad path is only a warning", func(t *testing.T) {
		located := object(v1alpha1.ContentFilterKind, "located", "query: beach")
		for path, warned := range map[string]bool{"walls/located.yaml": false, "../located.yaml": true} {
			for what, call := range map[string]func() error{
				"create": func() error { return kube.Create(t.Context(), located.DeepCopy(), client.DryRunAll) },
				"update": func() error { return kube.Update(t.Context(), located.DeepCopy(), client.DryRunAll) },
			} {
				if what == "update" {
					located.SetAnnotations(nil)
					if err := kube.Create(t.Context(), located); err != nil {
						t.Fatal(err)
					}
				}
				located.SetAnnotations(map[string]string{v1alpha1.SourcePathAnnotation: path})
				seen.take()
				if err := call(); err != nil {
					t.Errorf("%s with %s: %v", what, path, err)
				}
				if all := seen.take(); (len(all) == 1 && strings.Contains(all[0], v1alpha1.SourcePathAnnotation+" must be the path")) != warned {
					t.Errorf("%s with %s: warnings %q", what, path, all)
				}
				if what == "update" {
					if err := kube.Delete(t.Context(), located); err != nil {
						t.Fatal(err)
					}
					located = object(v1alpha1.ContentFilterKind, "located", "query: beach")
				}
			}
		}
	})
	t.Run("manifests are accepted without an operator", func(t *testing.T) {
		server.Close()
		if err := kube.Create(t.Context(), object(v1alpha1.ContentFilterKind, "late", "query: 'a AND'"), client.DryRunAll); err != nil {
			t.Error(err)
		}
	})

	t.Run("applying the manifest keeps its members and the CA bundle", func(t *testing.T) {
		text, err := os.ReadFile(filepath.FromSlash("../../config/webhook/configuration.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		manifest := &unstructured.Unstructured{}
		if text, err = yaml.YAMLToJSON(text); err == nil {
			err = manifest.UnmarshalJSON(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		manifest.SetName("by-manifest")
		named := &admission.Keeper{RESTConfig: keeper.RESTConfig, CABundle: keeper.CABundle, Name: "by-manifest"}
		if _, err := named.Once(t.Context()); err == nil || !strings.Contains(err.Error(), "ValidatingWebhookConfiguration by-manifest is missing, apply config/webhook") {
			t.Errorf("without a manifest: %v", err)
		}
		applied := func() {
			t.Helper()
			if err := kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(manifest.DeepCopy()), client.FieldOwner("gitops"), client.ForceOwnership); err != nil {
				t.Fatal(err)
			}
		}
		applied()
		if changed, err := named.Once(t.Context()); err != nil || !changed {
			t.Fatalf("the authority: changed %v, %v", changed, err)
		}
		applied()
		if changed, err := named.Once(t.Context()); err != nil || changed {
			t.Errorf("applying the manifest removed the authority: %v", err)
		}
		got := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := kube.Get(t.Context(), client.ObjectKey{Name: "by-manifest"}, got); err != nil {
			t.Fatal(err)
		}
		w := got.Webhooks[0]
		if len(got.Webhooks) != 1 || w.ClientConfig.Service == nil || *w.ClientConfig.Service.Path != admission.Path || *w.FailurePolicy != admissionregistrationv1.Ignore {
			t.Errorf("the configuration: %+v", got.Webhooks)
		}
		for _, rule := range w.Rules {
			if !slices.Equal(rule.APIGroups, []string{v1alpha1.GroupVersion.Group}) {
				t.Errorf("it is called for %v", rule.APIGroups)
			}
		}
	})
}

// TestKeeperRetries checks that the Keeper retries while the cluster cannot be reached.
func TestKeeperRetries(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	k := &admission.Keeper{Name: "vitrine", CABundle: []byte("x"), Interval: time.Millisecond, RESTConfig: func() (*rest.Config, error) {
		if tries++; tries == 3 {
			cancel()
		}
		return nil, errors.New("not there")
	}}
	if err := k.Run(ctx); err != nil || tries != 3 {
		t.Errorf("%d attempts, %v", tries, err)
	}
	if err := (&admission.Keeper{}).Run(t.Context()); err == nil {
		t.Error("a keeper without options runs")
	}
}

// awaitCall waits until the API server has seen the configuration and calls the webhook.
func awaitCall(t *testing.T, kube client.Client, o *unstructured.Unstructured, says string) {
	t.Helper()
	await(t, func() bool {
		err := kube.Create(t.Context(), o.DeepCopy(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), says)
	})
}

func await(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("not in time")
		}
	}
}
