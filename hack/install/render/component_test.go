package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/vitrine-dev/vitrine/hack/install/render"
)

// withComponents renders config/default with components of config.
func withComponents(t *testing.T, names ...string) []*unstructured.Unstructured {
	t.Helper()
	return overlaid(t, "", names...)
}

// overlaid renders config/default with components of config. more contains further lines of the kustomization, such as patches.
func overlaid(t *testing.T, more string, names ...string) []*unstructured.Unstructured {
	t.Helper()
	overlay, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bases, err := filepath.Abs(config)
	if err == nil {
		bases, err = filepath.EvalSymlinks(bases)
	}
	if err != nil {
		t.Fatal(err)
	}
	from, err := filepath.Rel(overlay, bases)
	if err != nil {
		t.Fatal(err)
	}
	kustomization := fmt.Sprintf("resources: [%s/default]\ncomponents:\n", filepath.ToSlash(from))
	for _, name := range names {
		kustomization += fmt.Sprintf("  - %s/%s\n", filepath.ToSlash(from), name)
	}
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(kustomization+more), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := render.Kustomize(overlay, types.Image{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := render.Objects(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func objectOf(t *testing.T, objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })
	if i < 0 {
		t.Fatalf("there is no %s %s", kind, name)
	}
	return objects[i]
}

// member returns the value at a path. Numbers in the path are indexes of lists.
func member(t *testing.T, o *unstructured.Unstructured, path ...any) any {
	t.Helper()
	var at any = o.Object
	for _, step := range path {
		switch in := at.(type) {
		case map[string]any:
			at = in[step.(string)]
		case []any:
			at = in[step.(int)]
		}
		if at == nil {
			t.Fatalf("%s %s has no %v", o.GetKind(), o.GetName(), path)
		}
	}
	return at
}

// TestWebhookComponent checks that the API server can reach the port on which the Deployment serves the webhook, through the webhook's
// configuration, the Service and the NetworkPolicy.
func TestWebhookComponent(t *testing.T) {
	objects := withComponents(t, "webhook")
	called := objectOf(t, objects, "ValidatingWebhookConfiguration", "vitrine")
	service := objectOf(t, objects, "Service", member(t, called, "webhooks", 0, "clientConfig", "service", "name").(string))
	if member(t, called, "webhooks", 0, "clientConfig", "service", "namespace") != service.GetNamespace() {
		t.Errorf("the Service is in namespace %s", service.GetNamespace())
	}
	deployment := objectOf(t, objects, "Deployment", "vitrine")
	container := func(path ...any) any {
		return member(t, deployment, append([]any{"spec", "template", "spec", "containers", 0}, path...)...)
	}
	port := member(t, service, "spec", "ports", 0, "targetPort")
	i := slices.IndexFunc(container("ports").([]any), func(p any) bool { return p.(map[string]any)["name"] == port })
	if i < 0 {
		t.Fatalf("the Deployment has no port %v", port)
	}
	args := container("args").([]any)
	for _, want := range []string{
		fmt.Sprintf("--webhook-bind-address=:%v", container("ports", i, "containerPort")),
		"--webhook-hosts=" + service.GetName() + "." + service.GetNamespace() + ".svc",
	} {
		if !slices.Contains(args, any(want)) {
			t.Errorf("the Deployment lacks %s: %v", want, args)
		}
	}
	if selected := member(t, service, "spec", "selector"); fmt.Sprint(selected) != fmt.Sprint(member(t, deployment, "spec", "selector", "matchLabels")) {
		t.Errorf("the Service selects %v", selected)
	}
	policy := fmt.Sprint(member(t, objectOf(t, objects, "NetworkPolicy", "vitrine"), "spec", "ingress"))
	if !strings.Contains(policy, "port:webhook") {
		t.Errorf("the NetworkPolicy blocks the API server: %s", policy)
	}
	binding := objectOf(t, objects, "ClusterRoleBinding", "vitrine-webhook")
	if member(t, binding, "subjects", 0, "namespace") != deployment.GetNamespace() {
		t.Error("the role to write the configuration is bound to an account in another namespace")
	}
	for _, o := range withComponents(t) {
		if o.GetName() != "webhooks.vitrine.dev" && strings.Contains(strings.ToLower(o.GetKind()+o.GetName()), "webhook") {
			t.Errorf("%s %s exists without the component", o.GetKind(), o.GetName())
		}
	}
}

// TestWebhookClientCA checks that the patch and the values in docs/admission.md make the webhook require a client certificate from the
// authority in the ConfigMap that the page creates, and close the port to other addresses.
func TestWebhookClientCA(t *testing.T) {
	chart := func(values string) []*unstructured.Unstructured {
		t.Helper()
		parsed, err := render.Values([]byte(values))
		if err != nil {
			t.Fatal(err)
		}
		text, _, err := render.Chart(loadChart(t), release, parsed)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := render.Objects(text)
		if err != nil {
			t.Fatal(err)
		}
		return objects
	}
	deployments := map[string]*unstructured.Unstructured{
		"kustomize": objectOf(t, overlaid(t, onPage(t, "admission.md", "--webhook-client-ca-file"), "webhook"), "Deployment", "vitrine"),
		"chart":     objectOf(t, chart(onPage(t, "admission.md", "clientCA:")), "Deployment", "vitrine"),
	}
	policy := objectOf(t, chart("webhook: {enabled: true}\n"+onPage(t, "admission.md", "webhookFrom:")), "NetworkPolicy", "vitrine")
	for by, d := range deployments {
		args := fmt.Sprint(member(t, d, "spec", "template", "spec", "containers", 0, "args"))
		for _, want := range []string{"--webhook-client-ca-file=/etc/vitrine/webhook/ca.crt", "--webhook-client-names=front-proxy-client"} {
			if !strings.Contains(args, want) {
				t.Errorf("%s: the Deployment lacks %s: %s", by, want, args)
			}
		}
		mounts := fmt.Sprint(member(t, d, "spec", "template", "spec", "containers", 0, "volumeMounts"))
		volumes := fmt.Sprint(member(t, d, "spec", "template", "spec", "volumes"))
		if !strings.Contains(mounts, "mountPath:/etc/vitrine/webhook name:webhook-client-ca") || !strings.Contains(volumes, "name:vitrine-webhook-client-ca") {
			t.Errorf("%s: the file is not there: %s; %s", by, mounts, volumes)
		}
	}
	if rules := fmt.Sprint(member(t, policy, "spec", "ingress")); !strings.Contains(rules,
		"map[from:[map[ipBlock:map[cidr:192.0.2.10/32]] map[ipBlock:map[cidr:192.0.2.11/32]]] ports:[map[port:webhook protocol:TCP]]]") {
		t.Errorf("the NetworkPolicy: %s", rules)
	}
}

// onPage returns the yaml block on a page of docs that contains a text, without its indentation.
func onPage(t *testing.T, page, text string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(config, "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(content), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		if !strings.Contains(block, text) {
			continue
		}
		indent := block[:len(block)-len(strings.TrimLeft(block, " "))]
		var out strings.Builder
		for line := range strings.Lines(block) {
			out.WriteString(strings.TrimPrefix(line, indent))
		}
		return out.String()
	}
	t.Fatalf("docs/%s has no yaml block with %q", page, text)
	return ""
}

// TestMonitoringComponent checks that the PodMonitor selects the pod and its port. It also checks that the dashboard in the ConfigMap is
// the one that hack/monitoring tests.
func TestMonitoringComponent(t *testing.T) {
	objects := withComponents(t, "monitoring")
	monitor := objectOf(t, objects, "PodMonitor", "vitrine")
	deployment := objectOf(t, objects, "Deployment", "vitrine")
	if monitor.GetNamespace() != deployment.GetNamespace() {
		t.Errorf("the PodMonitor is in namespace %s", monitor.GetNamespace())
	}
	labels := member(t, deployment, "spec", "template", "metadata", "labels").(map[string]any)
	for key, value := range member(t, monitor, "spec", "selector", "matchLabels").(map[string]any) {
		if labels[key] != value {
			t.Errorf("the PodMonitor selects %s=%v, the pod has %v", key, value, labels[key])
		}
	}
	port := member(t, monitor, "spec", "podMetricsEndpoints", 0, "port")
	ports := member(t, deployment, "spec", "template", "spec", "containers", 0, "ports").([]any)
	if !slices.ContainsFunc(ports, func(p any) bool { return p.(map[string]any)["name"] == port }) {
		t.Errorf("the pod has no port %v", port)
	}
	dashboard := objectOf(t, objects, "ConfigMap", "vitrine-dashboard")
	if dashboard.GetLabels()["grafana_dashboard"] != "1" {
		t.Errorf("Grafana does not find the dashboard by its labels: %v", dashboard.GetLabels())
	}
	want, err := os.ReadFile(filepath.Join(config, "monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	if member(t, dashboard, "data", "vitrine.json") != string(want) {
		t.Error("the ConfigMap contains another dashboard")
	}
	objectOf(t, objects, "PrometheusRule", "vitrine")
}

// TestOpenSearchComponent checks the example in the first comment of the component. The replicas must need no volume, and must have the
// permissions for the Lease and the Secret that they share by default.
func TestOpenSearchComponent(t *testing.T) {
	objects := overlaid(t, patchesIn(t, "opensearch"), "opensearch")
	deployment := objectOf(t, objects, "Deployment", "vitrine")
	args := member(t, deployment, "spec", "template", "spec", "containers", 0, "args").([]any)
	for _, want := range []string{"--library=opensearch", "--opensearch-url=https://search-0.search.svc:9200"} {
		if !slices.Contains(args, any(want)) {
			t.Errorf("the Deployment lacks %s: %v", want, args)
		}
	}
	if i := slices.IndexFunc(args, func(a any) bool { return strings.HasPrefix(a.(string), "--lease-name") }); i >= 0 {
		t.Errorf("%v: the role allows only the default name", args[i])
	}
	for _, o := range objects {
		if o.GetKind() == "PersistentVolumeClaim" || strings.Contains(fmt.Sprint(o.Object), "persistentVolumeClaim") {
			t.Errorf("%s %s concerns a volume", o.GetKind(), o.GetName())
		}
	}
	role := objectOf(t, objects, "Role", "vitrine-replicas")
	if role.GetNamespace() != deployment.GetNamespace() {
		t.Errorf("the Role is in namespace %s", role.GetNamespace())
	}
	for i, want := range map[int]string{1: "vitrine", 3: "vitrine-authority"} {
		if got := fmt.Sprint(member(t, role, "rules", i, "resourceNames")); got != "["+want+"]" {
			t.Errorf("rule %d is for %s, want [%s]", i, got, want)
		}
	}
}

// patchesIn returns the patches of the example in the first comment of a component.
func patchesIn(t *testing.T, component string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(config, component, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(text), "\napiVersion")
	_, patches, found := strings.Cut(strings.ReplaceAll(comment, "\n#   ", "\n"), "\npatches:\n")
	if !found {
		t.Fatalf("the first comment of config/%s has no patches", component)
	}
	return "patches:\n" + patches + "\n"
}
