package render_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/go-logr/logr"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/hack/install/render"
)

// imageOf returns the image of a Deployment's first container.
func imageOf(t *testing.T, deployment *unstructured.Unstructured) string {
	t.Helper()
	if deployment == nil {
		t.Fatal("there is no Deployment")
	}
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		t.Fatalf("the Deployment has no containers: %v", err)
	}
	return fmt.Sprint(containers[0].(map[string]any)["image"])
}

// warnings collects the warnings of the API server: deprecated versions, and pods that Pod Security would reject.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last call.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.texts
	w.texts = nil
	return out
}

// TestAPIServer validates every rendering with a real API server. It uses a server-side dry run with strict validation, in namespaces that
// admit only pods of the Pod Security level "restricted". The test also fails on warnings.
func TestAPIServer(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal(`KUBEBUILDER_ASSETS is not set: run make test, or KUBEBUILDER_ASSETS="$(make -s assets)" go -C hack/install test ./...`)
	}
	ctx := context.Background()
	ctrllog.SetLogger(logr.Discard())
	cluster := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(config, "crd/bases"), gatewayCRDs(ctx, t)},
		ErrorIfCRDPathMissing: true,
	}
	access, err := cluster.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	said := &warnings{}
	access = rest.CopyConfig(access)
	access.WarningHandler = said
	access.QPS, access.Burst = 1000, 1000
	kube, err := client.New(access, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	namespaces := map[string]bool{release.Namespace: true, "shop": true, "staging": true}
	for _, c := range cases(t) {
		namespaces[c.release.Namespace] = true
		watched, _, err := unstructured.NestedStringSlice(c.values, "watchNamespaces")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range watched {
			namespaces[name] = true
		}
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "1000"}, Value: 1000} // the case all-digits uses this class
	if err := kube.Create(ctx, class); err != nil {
		t.Fatal(err)
	}
	for name := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
		}}}
		if err := kube.Create(ctx, ns); err != nil {
			t.Fatal(err)
		}
	}

	renderings := map[string]func(t *testing.T) []byte{}
	for _, name := range []string{"default", "namespaced", "samples"} {
		renderings["config/"+name] = func(t *testing.T) []byte {
			text, err := render.Kustomize(filepath.Join(config, name), types.Image{})
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
	for name, c := range cases(t) {
		renderings["chart "+name] = func(t *testing.T) []byte {
			text, _, err := render.Chart(loadChart(t), c.release, c.values)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
	apply := func(o *unstructured.Unstructured) error {
		return kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.DryRunAll, client.ForceOwnership, client.FieldOwner("test"))
	}
	for name, source := range renderings {
		t.Run(name, func(t *testing.T) {
			objects, err := render.Objects(source(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects {
				about := o.GetKind() + " " + o.GetName()
				if group := o.GroupVersionKind().Group; group == monitoring.SchemeGroupVersion.Group || group == certmanager.SchemeGroupVersion.Group {
					if err := declared(o); err != nil {
						t.Errorf("%s: %v", about, err)
					}
					continue
				}
				if err := apply(o.DeepCopy()); err != nil {
					t.Errorf("%s: %v", about, err)
				}
				if o.GetKind() == "Deployment" {
					pod := podOf(t, o)
					if err := kube.Create(ctx, pod, client.DryRunAll); err != nil {
						t.Errorf("a pod of %s: %v", about, err)
					}
				}
				for _, text := range said.take() {
					t.Errorf("%s: warning: %s", about, text)
				}
			}
		})
	}

	// Check that the dry run does detect mistakes.
	broken := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "broken", "namespace": "shop"},
		"spec": map[string]any{"prots": []any{}},
	}}
	if err := apply(broken); err == nil || !strings.Contains(err.Error(), "prots") {
		t.Errorf("a misspelled field is accepted: %v", err)
	}
	loose := podOf(t, byName(rendered(t, map[string]any{"containerSecurityContext": map[string]any{"allowPrivilegeEscalation": true}}))["Deployment vitrine"])
	if err := kube.Create(ctx, loose, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "restricted") {
		t.Errorf("a pod that can gain privileges is accepted: %v", err)
	}
}

// declared checks an object of the Prometheus operator or of cert-manager with its Go type. An unknown field is an error.
func declared(o *unstructured.Unstructured) error {
	text, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	switch o.GetKind() {
	case certmanager.CertificateKind:
		return yaml.UnmarshalStrict(text, &certmanager.Certificate{})
	case monitoring.PodMonitorsKind:
		return yaml.UnmarshalStrict(text, &monitoring.PodMonitor{})
	case monitoring.ServiceMonitorsKind:
		return yaml.UnmarshalStrict(text, &monitoring.ServiceMonitor{})
	case monitoring.PrometheusRuleKind:
		return yaml.UnmarshalStrict(text, &monitoring.PrometheusRule{})
	}
	return errors.New("this test does not know the kind")
}

// gatewayCRDs returns the path of the CRD of HTTPRoute in the module of the Gateway API.
func gatewayCRDs(ctx context.Context, t *testing.T) string {
	t.Helper()
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatalf("find the Gateway API: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "config/crd/standard", gateway.GroupName+"_httproutes.yaml")
}

// podOf returns the pod that a Deployment creates.
func podOf(t *testing.T, deployment *unstructured.Unstructured) *corev1.Pod {
	t.Helper()
	template, _, err := unstructured.NestedMap(deployment.Object, "spec", "template")
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, pod); err != nil {
		t.Fatal(err)
	}
	pod.GenerateName, pod.Namespace = "pod-", deployment.GetNamespace()
	return pod
}
