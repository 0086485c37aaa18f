package render_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/hack/install/render"
)

// config is the folder config of the repository, relative to this package.
const config = "../../../config"

var update = flag.Bool("update", false, "update the golden files")

// release is the release that corresponds to config/default.
var release = render.Release{Name: "vitrine", Namespace: "vitrine-system"}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(filepath.Join(config, "chart"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// testCase is the input of one rendering of the chart.
type testCase struct {
	release render.Release
	values  map[string]any
}

// firstLine matches the first line of a case that uses another release: "# release NAME in NAMESPACE".
var firstLine = regexp.MustCompile(`^# release (\S+) in (\S+)\n`)

// cases returns the cases of testdata by name.
func cases(t *testing.T) map[string]testCase {
	t.Helper()
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(files) < 12 {
		t.Fatalf("want a dozen cases in testdata, found %d: %v", len(files), err)
	}
	out := map[string]testCase{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		values, err := render.Values(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		c := testCase{release: release, values: values}
		if m := firstLine.FindSubmatch(text); m != nil {
			c.release = render.Release{Name: string(m[1]), Namespace: string(m[2])}
		}
		out[strings.TrimSuffix(filepath.Base(file), ".values.yaml")] = c
	}
	return out
}

// rendered returns the objects of the chart.
func rendered(t *testing.T, values map[string]any) []*unstructured.Unstructured {
	t.Helper()
	text, _, err := render.Chart(loadChart(t), release, values)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := render.Objects(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestChart compares the objects and the notes of every rendering with a golden file. The CRDs, the alerts and the dashboard of the chart
// are copies from config. Of these copies, the golden file contains only the metadata, and those alerts that contain the name of the
// release. TestChartEqualsKustomize compares the rest.
func TestChart(t *testing.T) {
	for name, c := range cases(t) {
		t.Run(name, func(t *testing.T) {
			text, notes, err := render.Chart(loadChart(t), c.release, c.values)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := render.Objects(text)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			for line := range strings.Lines(notes) {
				fmt.Fprintf(&got, "# %s\n", strings.TrimRight(line, "\n"))
			}
			for _, o := range objects {
				switch o.GetKind() {
				case "CustomResourceDefinition":
					delete(o.Object, "spec")
				case "PrometheusRule":
					o.Object["spec"] = alertsOfVolumes(o)
				case "ConfigMap":
					delete(o.Object, "data")
				}
				document, err := yaml.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&got, "---\n%s", document)
			}
			golden := filepath.Join("testdata", name+".golden.yaml")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v (go -C hack/install test ./render -update writes it)", err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("the rendering differs from %s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// alertsOfVolumes returns the expressions of the alerts about volumes, by the name of the alert.
func alertsOfVolumes(o *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	groups, _, _ := unstructured.NestedSlice(o.Object, "spec", "groups")
	for _, g := range groups {
		for _, r := range g.(map[string]any)["rules"].([]any) {
			rule := r.(map[string]any)
			if strings.Contains(rule["expr"].(string), "persistentvolumeclaim") {
				out[rule["alert"].(string)] = rule["expr"]
			}
		}
	}
	return out
}

// TestChartEqualsKustomize checks that the chart renders the same objects as config/default, except for the labels and annotations of Helm.
// With the values that enable a component, it must also render the objects of the component.
func TestChartEqualsKustomize(t *testing.T) {
	for name, c := range map[string]struct {
		values, overlay string
		components      []string
	}{
		"by default":       {"", "", nil},
		"with the webhook": {"webhook: {enabled: true}", "", []string{"webhook"}},
		"with the console": {"console: {enabled: true}", "", []string{"console"}},
		"with monitoring":  {"monitoring: {podMonitor: {enabled: true}, rules: {enabled: true}, dashboard: {enabled: true}}", "", []string{"monitoring"}},
		"with OpenSearch": {`
library: opensearch
replicas: 2
opensearch:
  urls: [https://search-0.search.svc:9200]
  credentialsSecret: {name: vitrine-opensearch}
  caSecret: {name: vitrine-opensearch}
webhook: {enabled: true}
`, patchesIn(t, "opensearch"), []string{"webhook", "opensearch"}},
	} {
		t.Run(name, func(t *testing.T) {
			values, err := render.Values([]byte(c.values))
			if err != nil {
				t.Fatal(err)
			}
			want := byName(overlaid(t, c.overlay, c.components...))
			delete(want, "Namespace vitrine-system") // not part of a chart: `helm install --create-namespace` creates it
			got := byName(rendered(t, values))
			for _, o := range want {
				labels := map[string]string{"app.kubernetes.io/name": "vitrine"} // the chart also labels the objects of components
				maps.Copy(labels, o.GetLabels())
				o.SetLabels(labels)
			}
			for _, o := range got {
				dropHelm(o.Object)
			}
			for _, name := range slices.Sorted(maps.Keys(want)) {
				if got[name] == nil {
					t.Errorf("the chart lacks the %s of config", name)
					continue
				}
				if diff := cmp.Diff(want[name].Object, got[name].Object); diff != "" {
					t.Errorf("%s (-config +chart):\n%s", name, diff)
				}
			}
			for name := range got {
				if want[name] == nil {
					t.Errorf("config lacks the %s of the chart", name)
				}
			}
		})
	}
}

func byName(objects []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	out := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		out[o.GetKind()+" "+o.GetName()] = o
	}
	return out
}

// dropHelm removes the labels and annotations that only Helm needs. It removes them at every depth, because selectors also contain such
// labels.
func dropHelm(in any) {
	switch in := in.(type) {
	case map[string]any:
		for _, key := range []string{"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart", "helm.sh/resource-policy"} {
			delete(in, key)
		}
		for key, v := range in {
			dropHelm(v)
			if m, ok := v.(map[string]any); ok && len(m) == 0 && (key == "labels" || key == "annotations") {
				delete(in, key)
			}
		}
	case []any:
		for _, v := range in {
			dropHelm(v)
		}
	}
}

// TestChartFiles checks that the copies of config in the chart match config. The chart contains copies, because Helm cannot read files
// outside of a chart.
func TestChartFiles(t *testing.T) {
	for from, to := range map[string]string{"crd/bases": "crds", "rbac": "rbac", "monitoring": "monitoring"} {
		copies, err := filepath.Glob(filepath.Join(config, "chart/files", to, "*"))
		if err != nil || len(copies) == 0 {
			t.Fatalf("no files in chart/files/%s: %v", to, err)
		}
		for _, path := range copies {
			want, err := os.ReadFile(filepath.Join(config, from, filepath.Base(path)))
			if err != nil {
				t.Errorf("the chart has a file that config lacks: %v", err)
				continue
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, got) {
				t.Errorf("%s is not config/%s/%s: run make generate", path, from, filepath.Base(path))
			}
		}
	}
	crds, err := filepath.Glob(filepath.Join(config, "crd/bases/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range crds {
		if _, err := os.Stat(filepath.Join(config, "chart/files/crds", filepath.Base(path))); err != nil {
			t.Errorf("the chart lacks a CRD: %v; run make generate", err)
		}
	}
}

// TestChartOwnLabels checks that labels in the values never duplicate or replace the chart's own labels, which the selectors use.
func TestChartOwnLabels(t *testing.T) {
	values, err := render.Values([]byte(`
commonLabels: {app.kubernetes.io/version: mine, app.kubernetes.io/name: mine, team: web}
podLabels: {app.kubernetes.io/name: mine, app.kubernetes.io/instance: mine, tier: content}
podAnnotations: {kubectl.kubernetes.io/default-container: mine}
monitoring:
  podMonitor: {enabled: true, labels: {app.kubernetes.io/name: mine, team: other}}
  rules: {enabled: true, labels: {helm.sh/chart: mine}}
  dashboard: {enabled: true, labels: {app.kubernetes.io/managed-by: mine}}
`))
	if err != nil {
		t.Fatal(err)
	}
	objects := rendered(t, values) // rendered fails the test if a mapping contains a key twice
	for _, o := range objects {
		for key, value := range o.GetLabels() {
			if value == "mine" {
				t.Errorf("%s %s: the label %s was replaced", o.GetKind(), o.GetName(), key)
			}
		}
		if o.GetLabels()["team"] == "" {
			t.Errorf("%s %s lacks the common label", o.GetKind(), o.GetName())
		}
	}
	if got := objectOf(t, objects, "PodMonitor", "vitrine").GetLabels()["team"]; got != "other" {
		t.Errorf("the PodMonitor's own label is %q", got)
	}
	deployment := objectOf(t, objects, "Deployment", "vitrine")
	want := map[string]any{"app.kubernetes.io/name": "vitrine", "app.kubernetes.io/instance": "vitrine", "tier": "content", "team": "web", "app.kubernetes.io/version": "mine"}
	if diff := cmp.Diff(want, member(t, deployment, "spec", "template", "metadata", "labels")); diff != "" {
		t.Errorf("the pod's labels (-want +got):\n%s", diff)
	}
	if got := member(t, deployment, "spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/default-container"); got != "vitrine" {
		t.Errorf("kubectl's default container is %v", got)
	}
}

// TestChartCRDs checks the values that make the chart contain CRDs, and the values that keep the CRDs after an uninstall.
func TestChartCRDs(t *testing.T) {
	count := func(values map[string]any) (all, kept int) {
		for _, o := range rendered(t, values) {
			if o.GetKind() != "CustomResourceDefinition" {
				continue
			}
			all++
			if o.GetAnnotations()["helm.sh/resource-policy"] == "keep" {
				kept++
			}
			if o.GetAnnotations()["controller-gen.kubebuilder.io/version"] == "" {
				t.Errorf("%s lost its annotations", o.GetName())
			}
		}
		return all, kept
	}
	for name, c := range map[string]struct {
		crds      map[string]any
		all, kept int
	}{
		"by default":  {nil, 6, 6},
		"not kept":    {map[string]any{"keep": false}, 6, 0},
		"not brought": {map[string]any{"enabled": false}, 0, 0},
	} {
		values := map[string]any{}
		if c.crds != nil {
			values["crds"] = c.crds
		}
		if all, kept := count(values); all != c.all || kept != c.kept {
			t.Errorf("%s: %d CRDs, %d of them kept, want %d and %d", name, all, kept, c.all, c.kept)
		}
	}
}

// TestChartHostNetwork checks that a pod in the network of its node can resolve the names of Services. TestAPIServer cannot check this
// case, because the Pod Security level "restricted" forbids the host network.
func TestChartHostNetwork(t *testing.T) {
	for policy, want := range map[string]string{"": "ClusterFirstWithHostNet", "Default": "Default"} {
		deployment := objectOf(t, rendered(t, map[string]any{"hostNetwork": true, "dnsPolicy": policy}), "Deployment", "vitrine")
		if member(t, deployment, "spec", "template", "spec", "hostNetwork") != true || member(t, deployment, "spec", "template", "spec", "dnsPolicy") != want {
			t.Errorf("dnsPolicy %q: %v", policy, member(t, deployment, "spec", "template", "spec"))
		}
	}
}

// TestChartNames checks that two releases in one cluster share no cluster-scoped object.
func TestChartNames(t *testing.T) {
	names := map[string]bool{}
	for _, as := range []render.Release{{Name: "vitrine", Namespace: "a"}, {Name: "staging", Namespace: "b"}} {
		text, _, err := render.Chart(loadChart(t), as, map[string]any{"crds": map[string]any{"enabled": false}})
		if err != nil {
			t.Fatal(err)
		}
		objects, err := render.Objects(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			name := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
			if names[name] {
				t.Errorf("both releases have %s", name)
			}
			names[name] = true
		}
	}
}

// TestChartInvalidValues checks that invalid values are rejected with a message that names the mistake.
func TestChartInvalidValues(t *testing.T) {
	for name, c := range map[string]struct{ values, says string }{
		"an unknown value":                        {"volumes: 2", "volumes"},
		"an unknown value further in":             {"server: {externalUrl: https://a.example}", "externalUrl"},
		"an address without a scheme":             {"server: {externalURL: content.example}", "externalURL"},
		"an argument that is no flag":             {"server: {extraArgs: [serve]}", "extraArgs"},
		"a namespace that cannot be":              {"watchNamespaces: ['*']", "watchNamespaces"},
		"a digest that is none":                   {"image: {digest: latest}", "digest"},
		"an ingress without a host":               {"ingress: {enabled: true}", "hosts"},
		"a route without a gateway":               {"httpRoute: {enabled: true}", "parentRefs"},
		"a budget that counts replicas":           {"podDisruptionBudget: {maxUnavailable: 2}", "maxUnavailable"},
		"an account without a name":               {"serviceAccount: {create: false}", "serviceAccount.name"},
		"an access mode that is no use":           {"persistence: {accessModes: [ReadOnlyMany]}", "accessModes"},
		"a Service that is no address":            {"service: {type: ExternalName}", "type"},
		"a network without a way to API":          {"networkPolicy: {apiServerPorts: []}", "apiServerPorts"},
		"a node port of a ClusterIP":              {"service: {nodePort: 30443}", "nodePort"},
		"a traffic policy of one":                 {"service: {externalTrafficPolicy: Local}", "externalTrafficPolicy"},
		"a load balancer's class of one":          {"service: {loadBalancerClass: example.com/lb}", "loadBalancerClass"},
		"a class of a NodePort":                   {"service: {type: NodePort, loadBalancerClass: example.com/lb}", "loadBalancerClass"},
		"a name that no Service can have":         {"fullnameOverride: '4711'", "fullnameOverride"},
		"two replicas of the engine":              {"replicas: 2", "replicas: must be 1 with library: engine"},
		"an autoscaler of the engine":             {"autoscaling: {enabled: true}", "autoscaling.enabled: must be false with library: engine"},
		"an unknown library":                      {"library: reference", "library"},
		"OpenSearch without a URL":                {"library: opensearch", "opensearch/urls"},
		"a URL with credentials":                  {"opensearch: {urls: ['https://u:p@search:9200']}", "opensearch/urls/0"},
		"a URL without TLS":                       {"{library: opensearch, opensearch: {urls: ['http://search:9200']}}", "opensearch.allowPlaintext"},
		"an impossible index prefix":              {"opensearch: {indexPrefix: Shop}", "indexPrefix"},
		"a Secret without a key":                  {"opensearch: {caSecret: {name: ca, key: ''}}", "caSecret"},
		"a backup of OpenSearch":                  {"{library: opensearch, opensearch: {urls: ['https://search:9200']}, backup: {enabled: true}}", "need library: engine"},
		"a backup without a period":               {"backup: {every: daily}", "every"},
		"a store that is no id":                   {"backup: {takeOver: vitrine}", "takeOver"},
		"a restore of a store without id":         {"{backup: {s3: {bucket: backups}}, restore: {path: a/, fromStore: x}}", "fromStore"},
		"a backup with no time between":           {"backup: {every: 0h}", "every"},
		"a certificate valid for days":            {"tls: {certManager: {issuerRef: {name: ca}, duration: 90d}}", "duration"},
		"a restore of no backup":                  {"restore: {claimName: old}", "path"},
		"a bucket that cannot be":                 {"backup: {s3: {bucket: Backups}}", "bucket"},
		"a store without TLS":                     {"{backup: {enabled: true, s3: {bucket: backups, endpoint: 'http://s3.example'}}}", "backup.s3.allowPlaintext"},
		"a store with credentials":                {"backup: {s3: {endpoint: 'https://u:p@s3.example'}}", "endpoint"},
		"an unknown addressing":                   {"backup: {s3: {addressing: dns}}", "addressing"},
		"a restore of OpenSearch":                 {"{library: opensearch, opensearch: {urls: ['https://search:9200']}, backup: {s3: {bucket: backups}}, restore: {path: a/}}", "need library: engine"},
		"a restore from elsewhere":                {"restore: {claimName: old, path: ../x}", "path"},
		"source ranges of a ClusterIP":            {"service: {loadBalancerSourceRanges: [192.0.2.0/24]}", "loadBalancerSourceRanges"},
		"a probe of another endpoint":             {"livenessProbe: {httpGet: {path: /}}", "livenessProbe"},
		"an unknown DNS policy":                   {"dnsPolicy: Cluster", "dnsPolicy"},
		"an interval without a unit":              {"monitoring: {serviceMonitor: {interval: '30'}}", "interval"},
		"an issuer of an unknown form":            {"tls: {certManager: {issuerRef: public}}", "issuerRef"},
		"a certificate for a URL":                 {"tls: {certManager: {issuerRef: {name: ca}, dnsNames: ['https://a.example']}}", "dnsNames"},
		"an identity provider without a secret":   {"{server: {externalURL: 'https://content.shop.example'}, console: {enabled: true, oidc: {issuerURL: 'https://login.shop.example', clientID: a}}}", "console.oidc.clientSecret.name"},
		"an identity provider that cannot return": {"console: {enabled: true, oidc: {issuerURL: 'https://login.shop.example', clientID: a, clientSecret: {name: a}}}", "console.oidc: needs server.externalURL"},
		"clients of any authority":                {"webhook: {enabled: true, clientCA: {names: [apiserver]}}", "webhook.clientCA.names"},
		"a client name with a comma":              {"webhook: {clientCA: {names: ['a,b']}}", "names"},
		"a network without OpenSearch":            {"networkPolicy: {opensearchPorts: []}", "opensearchPorts"},
	} {
		values, err := render.Values([]byte(c.values))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, _, err := render.Chart(loadChart(t), release, values); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: want an error that names %s, got %v", name, c.says, err)
		}
	}
}

// owned contains the values whose members are fields of Kubernetes objects, and not values of the chart. TestChartNull does not check these
// members: null is valid for them, and stands for the default of Kubernetes.
var owned = map[string]bool{
	"resources": true, "readinessProbe": true, "livenessProbe": true, "startupProbe": true, "podSecurityContext": true,
	"containerSecurityContext": true, "nodeSelector": true, "labels": true,
}

// TestChartNull sets each value to null, which makes Helm remove the default of the value. If the default is not empty, the chart must
// reject null with an error that names the value. If the default is empty, null must have the same effect as the default.
func TestChartNull(t *testing.T) {
	c := loadChart(t)
	all := cases(t)
	text := func(values map[string]any) (string, error) {
		text, _, err := render.Chart(c, release, values)
		return string(text), err
	}
	var check func(defaults map[string]any, path ...string)
	check = func(defaults map[string]any, path ...string) {
		for name, value := range defaults {
			at := append(slices.Clone(path), name)
			for _, base := range []string{"everything", "opensearch", "backup", "backup-s3"} {
				plain, null := clone(t, all[base].values), clone(t, all[base].values)
				unstructured.RemoveNestedField(plain, at...)
				if err := unstructured.SetNestedField(null, nil, at...); err != nil {
					t.Fatal(err)
				}
				got, err := text(null)
				if !empty(value) {
					if err == nil || !strings.Contains(err.Error(), "missing property '"+name+"'") {
						t.Errorf("%s: %s without its default: want an error that names it, got %v", base, strings.Join(at, "."), err)
					}
					continue
				}
				want, wantErr := text(plain) // wantErr is not nil if this case is invalid without the value
				if (err == nil) != (wantErr == nil) || got != want {
					t.Errorf("%s: %s: null is not the default: %v, %v (-default +null):\n%s",
						base, strings.Join(at, "."), wantErr, err, cmp.Diff(want, got))
				}
			}
			if members, ok := value.(map[string]any); ok && !owned[name] {
				check(members, at...)
			}
		}
	}
	check(c.Values)
}

// empty reports whether the condition of an if in a template treats a value as false.
func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return reflect.ValueOf(value).IsZero()
}

// clone returns a copy of values.
func clone(t *testing.T, values map[string]any) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	out, err := render.Values(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestChartLint checks that `helm lint` reports nothing for all cases.
func TestChartLint(t *testing.T) {
	for name, c := range cases(t) {
		for _, m := range lint.All(filepath.Join(config, "chart"), c.values, c.release.Namespace, true).Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
}

// TestValues checks that the schema has a rule for every value, and that a template or a helper uses the value.
func TestValues(t *testing.T) {
	var templates strings.Builder
	c := loadChart(t)
	for _, f := range c.Templates {
		templates.Write(f.Data)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		if !strings.Contains(templates.String(), ".Values."+name) {
			t.Errorf("no template uses the value %s", name)
		}
		if !bytes.Contains(c.Schema, []byte("\n    \""+name+"\": {")) {
			t.Errorf("values.schema.json has no rule for %s", name)
		}
	}
}
