package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/manifest"
	"github.com/vitrine-dev/vitrine/internal/cli/validate"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/client"
)

// newCluster starts an API server with the CRDs, and returns a client and a kubeconfig for it.
func newCluster(t *testing.T) (kube.Client, string) {
	t.Helper()
	return newClusterWith(t, nil)
}

// newClusterWith is like newCluster, but passes more flags to the API server.
func newClusterWith(t *testing.T, flags map[string]string) (kube.Client, string) {
	t.Helper()
	const variable = "KUBEBUILDER_ASSETS"
	if os.Getenv(variable) == "" {
		t.Fatalf("%s is not set: run `make test`, or set it to what `make -s assets` prints", variable)
	}
	environment := &envtest.Environment{CRDDirectoryPaths: []string{"../../config/crd/bases"}, ErrorIfCRDPathMissing: true}
	for name, value := range flags {
		environment.ControlPlane.GetAPIServer().Configure().Set(name, value)
	}
	if _, err := environment.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	user, err := environment.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	content, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, "kubeconfig", string(content))
	k, _, err := (&connect.Cluster{Kubeconfig: file}).Open()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace that names the cluster there", func() bool {
		return k.Get(t.Context(), types.NamespacedName{Name: "kube-system"}, &corev1.Namespace{}) == nil
	})
	return k, file
}

// apply creates the objects of manifests.
func apply(t *testing.T, k kube.Client, paths []string, text string) {
	t.Helper()
	files, err := manifest.Files(paths)
	if err != nil {
		t.Fatal(err)
	}
	objects, problems, err := manifest.Read(files, strings.NewReader(text), validate.Ours)
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v, %v", problems, err)
	}
	for _, o := range objects {
		if err := k.Create(t.Context(), o.Unstructured); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlugin runs the commands of the kubectl plugin against a cluster, and a server that follows the cluster.
func TestPlugin(t *testing.T) {
	k, config := newCluster(t)
	if err := k.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"VITRINE_SERVER", "VITRINE_TOKEN", "VITRINE_CA_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("KUBECONFIG", config)
	plugin := func(args ...string) result {
		var stdout, stderr bytes.Buffer
		code := execute(t.Context(), "/usr/local/bin/"+pluginName, args, strings.NewReader(""), &stdout, &stderr)
		return result{code, stdout.String(), stderr.String()}
	}
	plugin("--help").want(t, 0, "kubectl vitrine [command]")
	completion := func(args ...string) result {
		var stdout, stderr bytes.Buffer
		code := execute(t.Context(), "/usr/local/bin/"+completionName, args, strings.NewReader(""), &stdout, &stderr)
		return result{code, stdout.String(), stderr.String()}
	}
	completion("sta").want(t, 0, "status\tShow how many objects")
	completion("items", "-n", "sh").want(t, 0, "shop\n")
	plugin("status", "-n", "shop").want(t, 0, "Property        0", "0 items")
	plugin("status", "-n", "nope").want(t, exit.Failed, `namespace "nope" does not exist`)

	apply(t, k, []string{"../../config/samples"}, "")
	plugin("status", "-n", "shop").want(t, 0, "ContentFilter   8       0", "NotSeen", "Check that an operator runs and watches this namespace")
	completion("items", "-n", "shop", "").want(t, 0, "latest\nmoderation-queue\n")
	plugin("items", "latest", "-n", "shop").want(t, exit.Failed, "ContentFilter shop/latest was never served")

	s := startIn(t, config, "--console", "--tls-hosts", "vitrine.shop.svc")
	eventually(t, "everything Ready", func() bool {
		return strings.Contains(plugin("status", "-n", "shop").stdout, "ContentFilter   8       8") &&
			strings.Contains(plugin("status", "-n", "shop").stdout, "AccessToken     3       3")
	})
	apply(t, k, []string{manifest.Stdin}, filterManifest("broken", "query: 'a AND'")+filterManifest("advised", "query: 'bogus:x'")+filterManifest("frozen", "query: love, suspend: true"))
	eventually(t, "judged", func() bool {
		out := plugin("status", "-n", "shop").stdout
		return strings.Contains(out, "InvalidQuery") && strings.Contains(out, "ValidWithWarnings")
	})
	server := []string{"-n", "shop", "--server", "https://" + s.addresses["https"]}
	secretOf := func(name string) *corev1.Secret {
		t.Helper()
		secret := &corev1.Secret{}
		if err := k.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: name}, secret); err != nil {
			t.Fatal(err)
		}
		return secret
	}
	value := string(secretOf("backoffice").Data["token"])
	t.Setenv("VITRINE_SERVER", server[3])
	t.Setenv("VITRINE_TOKEN", value)
	t.Setenv("VITRINE_CA_FILE", filepath.Join(s.dir, "tls", "ca.crt"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	submitted := `{"id":7,"approval_status":"app","created_on":"2026-11-16T00:00:00Z","submission":{"email":"ann@shop.example"},` +
		`"content":{"content_type":"text","text":"posted by a person","social_platform":"direct","created_on":"2026-11-16T00:00:00Z"}}` + "\n"
	vitrine(t.Context(), itemLines(1, 3)+submitted, "import", "-").want(t, 0, "4 added")
	t.Setenv("VITRINE_SERVER", "")
	t.Setenv("VITRINE_TOKEN", "")
	t.Setenv("VITRINE_CA_FILE", "")

	t.Run("which token", func(t *testing.T) {
		// The plugin tries these tokens before the token of the samples, because it sorts tokens by class and name. a-twin has the value of
		// another token, and the value of a-short is too short. The value of b-newline has a trailing newline, which the operator removes.
		secrets := map[string]string{
			"a-twin": string(secretOf("storefront").Data["token"]), "a-short": "short", "b-newline": strings.Repeat("newline", 6) + "\n",
		}
		for name, value := range secrets {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Data: map[string][]byte{"value": []byte(value)}}
			if err := k.Create(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			token := &v1alpha1.AccessToken{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: v1alpha1.AccessTokenSpec{
				Class: v1alpha1.ReadWrite, ExistingSecret: &v1alpha1.SecretKeyReference{Name: name, Key: "value"},
			}}
			if err := k.Create(t.Context(), token); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := k.Delete(context.WithoutCancel(t.Context()), token); err != nil {
					t.Error(err)
				}
			})
		}
		eventually(t, "the tokens are judged", func() bool {
			out := plugin("tokens", "-n", "shop").stdout
			return regexp.MustCompile(`a-twin +False`).MatchString(out) && regexp.MustCompile(`a-short +False`).MatchString(out) &&
				regexp.MustCompile(`b-newline +True`).MatchString(out)
		})
		authority := filepath.Join(s.dir, "tls", "ca.crt") // the Secret of the chosen token has no ca.crt
		plugin(append([]string{"explain", "summer-wall", "1", "--ca-file", authority}, server...)...).want(t, 0, "Item 1 is in ContentFilter shop/summer-wall.")
	})
	t.Run("status", func(t *testing.T) {
		got := plugin("status", "-n", "shop")
		got.want(t, 0, "KIND            TOTAL   READY   SUSPENDED   WARNINGS", "ContentFilter   11      9       1           1")
		for name, want := range map[string]string{
			"broken":  `ContentFilter +broken +False +InvalidQuery +\w+ +spec.query: nothing after AND at position 5`,
			"advised": `ContentFilter +advised +True +ValidWithWarnings +\w+ +there is no field "bogus"`,
			"frozen":  `ContentFilter +frozen +Unknown +Suspended +\w+ +Reconciliation is suspended`,
		} {
			if !regexp.MustCompile(want).MatchString(got.stdout) {
				t.Errorf("%s: want %s in\n%s", name, want, got.stdout)
			}
		}
		plugin("status", "-A").want(t, 0, "shop/broken")
		var status clusterStatus
		if err := yaml.Unmarshal([]byte(plugin("status", "-n", "shop", "-o", "yaml").stdout), &status); err != nil {
			t.Fatal(err)
		}
		if len(status.Kinds) != 6 || len(status.Notable) != 3 {
			t.Errorf("as YAML: %+v", status)
		}
	})
	t.Run("items", func(t *testing.T) {
		got := plugin(append([]string{"items", "latest"}, server...)...)
		got.want(t, 0, "ID   CREATED                STATUS   TYPE   PLATFORM   TEXT\n7    2026-11-16T00:00:00Z   app      text   direct     posted by a person\n3  ")
		plugin(append([]string{"items", "latest", "--limit", "1", "-q", "id:2"}, server...)...).want(t, 0, "\n2    2026")
		var items []struct {
			ID         int64
			Submission json.RawMessage
		}
		if err := json.Unmarshal([]byte(plugin(append([]string{"items", "latest", "-o", "json", "--sort-by", "id:asc"}, server...)...).stdout), &items); err != nil {
			t.Fatal(err)
		}
		if len(items) != 4 || items[3].ID != 7 || items[3].Submission != nil {
			t.Errorf("as JSON: %+v", items)
		}
		plugin(append([]string{"items", "none"}, server...)...).want(t, exit.Failed, "namespace shop has no ContentFilter none")
		plugin(append([]string{"items", "latest", "-o", "wide"}, server...)...).want(t, exit.Usage, "must be table, json or yaml")
		plugin("items", "latest", "-n", "shop").want(t, exit.Usage, "has no server URL: pass --server")
	})
	t.Run("explain", func(t *testing.T) {
		plugin(append([]string{"explain", "summer-wall", "1"}, server...)...).want(t, 0, "Item 1 is in ContentFilter shop/summer-wall.\n\n✓ ", "├─ ✓ must approval_status:app", "└─ ✓ must ")
		got := plugin(append([]string{"explain", "summer-wall", "7"}, server...)...)
		got.want(t, 0, "Item 7 is not in ContentFilter shop/summer-wall.\n\n✗ ", "├─ ✓ must approval_status:app", "└─ ✗ must tags.marketer_tags.key:summer")
		plugin(append([]string{"explain", "summer-wall", "seven"}, server...)...).want(t, exit.Usage, `item id "seven": must be a number`)
		plugin(append([]string{"explain", "summer-wall", "99"}, server...)...).want(t, exit.Failed, "no item of this property has the id 99")
	})
	t.Run("console", func(t *testing.T) {
		authority := filepath.Join(s.dir, "tls", "ca.crt")
		direct := startConsole(t, append([]string{"--no-browser", "--ca-file", authority}, server...)...)
		if code, body := browse(t, direct.login)("session"); code != http.StatusOK || !strings.Contains(body, `"class":"READ-WRITE","property":"shop/default"`) {
			t.Errorf("the session: %d %s", code, body)
		}
		direct.stop()
		plugin("console", "-n", "default", "--no-browser").want(t, exit.Failed, "namespace default has no AccessToken that the console can use")
		plugin("console", "-n", "shop", "--property", "none", "--no-browser").want(t, exit.Failed, "has no AccessToken")
		plugin("console", "-n", "shop", "--no-browser").want(t, exit.Failed, "there is no Service vitrine-system/vitrine")
		plugin("console", "-n", "shop", "--service", "vitrine").want(t, exit.Usage, "must be NAMESPACE/NAME")

		node, stopKubelet := startKubelet(t, k, s.addresses["https"])
		labels := map[string]string{"app.kubernetes.io/name": "vitrine"}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "vitrine-0", Labels: labels}, Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "vitrine", Image: "vitrine", Ports: []corev1.ContainerPort{{Name: "https", ContainerPort: 8443}}}},
		}}
		for _, o := range []kube.Object{pod, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "vitrine"}, Spec: corev1.ServiceSpec{
			Selector: labels, Ports: []corev1.ServicePort{{Name: "https", Port: 443, TargetPort: intstr.FromString("https")}},
		}}} {
			if err := k.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		forwarded := []string{"-n", "shop", "--service", "shop/vitrine", "--ca-file", authority, "--no-browser"}
		plugin(append([]string{"console"}, forwarded...)...).want(t, exit.Failed, "no pod of Service shop/vitrine is ready")
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		if err := k.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		opened := startConsole(t, forwarded...)
		call := browse(t, opened.login)
		for range 3 {
			if code, body := call("api/v2/content/items?q=*:*"); code != http.StatusOK || !strings.Contains(body, `"total_results":4`) {
				t.Errorf("the items, through the forwarded port: %d %s", code, body)
			}
		}
		opened.stop()
		opened = startConsole(t, forwarded...)
		stopKubelet()
		opened.wait(exit.Failed, "lost the connection to pod shop/vitrine-0")
	})
	t.Run("tokens", func(t *testing.T) {
		got := plugin("tokens", "-n", "shop")
		got.want(t, 0, "NAME", "ROTATES IN", "backoffice   True    ReadWrite   default    everything", "storefront   True    ReadOnly    default    readOnlyQuery", "summer-wall", "29d", "never")
		all := got.stdout + plugin("tokens", "-A", "-o", "json").stdout + plugin("tokens", "-A", "-o", "yaml").stdout
		for _, name := range []string{"backoffice", "storefront", "display"} {
			if strings.Contains(all, string(secretOf(name).Data["token"])) {
				t.Errorf("the output reveals the value of %s", name)
			}
		}
	})
	if strings.Contains(s.logged(), value) {
		t.Error("the log of the server holds a token")
	}
}

// startIn runs serve against a cluster, with a new data directory.
func startIn(t *testing.T, kubeconfig string, flags ...string) *instance {
	t.Helper()
	return start(t, filepath.Join(t.TempDir(), "data"), append([]string{"--without-kubernetes=false", "--kubeconfig", kubeconfig}, flags...)...)
}

func TestTree(t *testing.T) {
	e := client.Explanation{Clause: "all of", Matched: true, Score: 3.576, Children: []client.Explanation{
		{Clause: "approval_status:app", Occur: "must", Matched: true, Score: 1, Detail: "app"},
		{Clause: "all of", Occur: "must", Matched: true, Children: []client.Explanation{
			{Clause: "text:beach", Occur: "should", Matched: true, Score: 2.576}, {Clause: "text:sunset", Occur: "should"},
		}},
		{Clause: "content.content_type:text", Occur: "must not", Detail: "image"},
		{Clause: "featured:true", Occur: "must not", Matched: true},
		{Clause: "campaign:12", Occur: "must"},
	}}
	var out bytes.Buffer
	tree(&out, e, "", "")
	want := `✓ all of  (score 3.58)
├─ ✓ must approval_status:app  (score 1)
│      app
├─ ✓ must all of
│  ├─ ✓ should text:beach  (score 2.58)
│  └─ · should text:sunset
├─ ✓ must not content.content_type:text
│      image
├─ ✗ must not featured:true
└─ ✗ must campaign:12
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func TestUntil(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	got := []string{until(time.Time{}, now), until(now, now), until(now.Add(-time.Hour), now), until(now.Add(90*time.Minute), now)}
	if diff := cmp.Diff([]string{"never", "over", "over", "90m"}, got); diff != "" {
		t.Errorf("until (-want +got):\n%s", diff)
	}
}
