package permissions_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/vitrine-dev/vitrine/hack/install/permissions"
	"github.com/vitrine-dev/vitrine/hack/install/render"
	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
)

func TestMain(m *testing.M) { os.Exit(nodetest.Run(m)) }

const (
	root    = "../../.."
	system  = "vitrine-system"
	account = "system:serviceaccount:vitrine-system:vitrine"
)

// plane is an API server whose audit log records the requests of Vitrine's ServiceAccount.
type plane struct {
	env   *envtest.Environment
	kube  client.Client
	typed kubernetes.Interface
	audit string
	bin   string
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal(`KUBEBUILDER_ASSETS is not set: run make test, or KUBEBUILDER_ASSETS="$(make -s assets)" go -C hack/install test ./...`)
	}
	dir := t.TempDir()
	p := &plane{audit: filepath.Join(dir, "audit.log"), bin: filepath.Join(dir, "vitrine")}
	ctrllog.SetLogger(logr.Discard())
	build := exec.CommandContext(t.Context(), "go", "build", "-o", p.bin, "./cmd/vitrine")
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, text)
	}
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(permissions.Policy(account)), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join(root, "config/crd/bases")}, ErrorIfCRDPathMissing: true}
	// Enable an admission plugin that OpenShift uses too. With this plugin, an account may set an owner reference that blocks the deletion
	// of the owner only if the account may update the finalizers of the owner.
	p.env.ControlPlane.GetAPIServer().Configure().
		Append("audit-policy-file", policy).Append("audit-log-path", p.audit).Append("audit-log-mode", "blocking").
		Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	access, err := p.env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.env.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	if p.kube, err = client.New(access, client.Options{}); err != nil {
		t.Fatal(err)
	}
	if p.typed, err = kubernetes.NewForConfig(access); err != nil {
		t.Fatal(err)
	}
	return p
}

// apply applies a kustomization below config.
func (p *plane) apply(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	text, err := render.Kustomize(filepath.Join(root, "config", name), types.Image{})
	if err != nil {
		t.Fatal(err)
	}
	return p.applyText(t, text)
}

// applyFile applies the objects in a file below config.
func (p *plane) applyFile(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "config", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return p.applyText(t, text)
}

// applyText applies the objects of manifests.
func (p *plane) applyText(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	objects, err := render.Objects(text)
	if err != nil {
		t.Fatal(err)
	}
	p.put(t, objects...)
	return objects
}

func (p *plane) put(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			continue // the object already exists
		}
		if err := p.kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o.DeepCopy()), client.ForceOwnership, client.FieldOwner("test")); err != nil {
			t.Fatalf("apply %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// object returns an object of a Vitrine kind from YAML.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	objects, err := render.Objects([]byte(text))
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects: %v", len(objects), err)
	}
	return objects[0]
}

// serve runs the binary with its account, as in the pod, until the test ends or stop is called.
func (p *plane) serve(t *testing.T, more ...string) (stop func()) {
	t.Helper()
	ctx := t.Context()
	token, err := p.typed.CoreV1().ServiceAccounts(system).CreateToken(ctx, "vitrine", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: p.env.Config.Host, CertificateAuthorityData: p.env.Config.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	dir := t.TempDir()
	path := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	args := append([]string{
		"serve", "--kubeconfig=" + path, "--data-dir=" + filepath.Join(dir, "data"), "--https-bind-address=127.0.0.1:0",
		"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=", "--external-url=https://vitrine.example",
	}, more...)
	running, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(running, p.bin, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("the server ended with %v, and printed:\n%s", err, said.String())
		}
	}
	t.Cleanup(stop)
	return stop
}

// until calls complaint repeatedly until it returns "". If that takes more than a minute, until fails the test with the last complaint.
func until(t *testing.T, what string, complaint func() string) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		says := complaint()
		if says == "" {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("%s: %s", what, says)
		case <-tick.C:
		}
	}
}

// ready waits until an object is Ready in its current generation.
func (p *plane) ready(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	until(t, o.GetKind()+" "+o.GetName(), func() string {
		is := &unstructured.Unstructured{}
		is.SetGroupVersionKind(o.GroupVersionKind())
		if err := p.kube.Get(t.Context(), client.ObjectKeyFromObject(o), is); err != nil {
			return err.Error()
		}
		seen, _, err := unstructured.NestedInt64(is.Object, "status", "observedGeneration")
		if err != nil || seen != is.GetGeneration() {
			return fmt.Sprintf("generation %d was seen of %d: %v", seen, is.GetGeneration(), err)
		}
		conditions, _, err := unstructured.NestedSlice(is.Object, "status", "conditions")
		if err != nil {
			return err.Error()
		}
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
				return ""
			}
		}
		return fmt.Sprint(conditions)
	})
}

// calls returns the requests of the account so far.
func (p *plane) calls(t *testing.T) []permissions.Call {
	t.Helper()
	file, err := os.Open(p.audit)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	calls, err := permissions.Calls(file)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// granted returns the grants of the named Roles and ClusterRoles in objects.
func granted(t *testing.T, objects []*unstructured.Unstructured, names ...string) []permissions.Grant {
	t.Helper()
	var rules []rbacv1.PolicyRule
	for _, o := range objects {
		if !strings.HasSuffix(o.GetKind(), "Role") || !slices.Contains(names, o.GetName()) {
			continue
		}
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, role.Rules...)
	}
	grants, err := permissions.Expand(rules)
	if err != nil || len(grants) == 0 {
		t.Fatalf("%d grants: %v", len(grants), err)
	}
	return grants
}

// byTiming contains the grants that the server needs only in some runs, depending on the timing of its requests. The values are the
// reasons.
var byTiming = func() map[permissions.Grant]string {
	out := map[permissions.Grant]string{
		"patch events.events.k8s.io": "an event that is repeated for the same version of an object becomes a series",
	}
	for _, kind := range []string{"accesstokens", "activateunits", "contentfilters", "properties", "tags", "webhooks"} {
		out[permissions.Grant("get "+kind+".vitrine.dev")] = "the server reads an object from the API server while its cache lags behind its own last write"
	}
	return out
}()

// compare checks that the grants are exactly the permissions that the calls and byTiming need.
func compare(t *testing.T, grants []permissions.Grant, calls []permissions.Call, byTiming map[permissions.Grant]string) {
	t.Helper()
	used := map[permissions.Grant]bool{}
	for _, c := range calls {
		if c.Forbidden() {
			t.Errorf("forbidden: %s %s in %q", c.Grant, c.Name, c.Namespace)
		}
		named := c.Grant + permissions.Grant(" "+c.Name)
		if slices.Contains(grants, named) {
			used[named] = true
		} else {
			used[c.Grant] = true
		}
	}
	for g := range byTiming {
		if !slices.Contains(grants, g) {
			t.Errorf("%s is not granted: remove its row in byTiming, or grant it", g)
		}
		used[g] = true
	}
	if diff := cmp.Diff(grants, slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("the grants differ from the permissions that the server used (-granted +used):\n%s", diff)
	}
}

// TestPermissions makes the server do all of its work in a cluster with the role of config/rbac, and compares its requests with the role.
func TestPermissions(t *testing.T) {
	p := newPlane(t)
	ctx := t.Context()
	objects := p.apply(t, "default")
	// Also apply the role of the webhook component, because the server runs with the webhook.
	objects = append(objects, p.applyFile(t, "webhook/rbac.yaml")...)
	// Disable streaming lists in the client, so that it first lists objects and then watches them, as with older API servers, because the
	// role must allow these requests too.
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	stop := p.serve(t)
	property := object(t, "{apiVersion: vitrine.dev/v1alpha1, kind: Property, metadata: {name: listed, namespace: default}, spec: {displayName: Listed}}")
	p.put(t, property)
	p.ready(t, property)
	stop()
	t.Setenv("KUBE_FEATURE_WatchListClient", "true")

	stop = p.serve(t, "--webhook-bind-address=127.0.0.1:0", "--webhook-hosts=vitrine-webhook.vitrine-system.svc")
	for _, o := range p.apply(t, "samples") {
		if o.GetKind() != "Namespace" {
			p.ready(t, o)
		}
	}

	// If a Secret belongs to the user, the server only reads the value in it.
	secrets := p.typed.CoreV1().Secrets("shop")
	if _, err := secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "sealed"}, StringData: map[string]string{"key": strings.Repeat("s", 40)},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	sealed := object(t, `
apiVersion: vitrine.dev/v1alpha1
kind: AccessToken
metadata: {name: sealed, namespace: shop}
spec: {class: ReadWrite, existingSecret: {name: sealed, key: key}}
`)
	p.put(t, sealed)
	p.ready(t, sealed)

	// The server reports in the status of a Webhook whether the receiver answers.
	webhook := object(t, `
apiVersion: vitrine.dev/v1alpha1
kind: Webhook
metadata: {name: index, namespace: shop}
spec: {url: "https://receiver.invalid/vitrine", query: 'approval_status:app'}
`)
	p.put(t, webhook)
	p.ready(t, webhook)

	// The server restores its own Secret after a change by another client.
	spoilt, err := secrets.Get(ctx, "storefront", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spoilt.Data["url"] = []byte("https://elsewhere.example")
	if _, err := secrets.Update(ctx, spoilt, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the spoilt Secret", func() string {
		s, err := secrets.Get(ctx, "storefront", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if string(s.Data["url"]) != "https://vitrine.example" {
			return fmt.Sprintf("its url is %s", s.Data["url"])
		}
		return ""
	})

	// The server deletes its own Secret after a change of its name.
	renamed := object(t, "{apiVersion: vitrine.dev/v1alpha1, kind: AccessToken, metadata: {name: renamed, namespace: shop}, spec: {class: ReadOnly}}")
	p.put(t, renamed)
	p.ready(t, renamed)
	p.put(t, object(t, "{apiVersion: vitrine.dev/v1alpha1, kind: AccessToken, metadata: {name: renamed, namespace: shop}, spec: {class: ReadOnly, secretName: another}}"))
	until(t, "the previous Secret", func() string {
		if _, err := secrets.Get(ctx, "renamed", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("it still exists: %v", err)
		}
		return ""
	})

	// The server writes the certificate authority into the webhook's configuration.
	hook := p.applyFile(t, "webhook/configuration.yaml")[0]
	until(t, "the webhook's configuration", func() string {
		is := &unstructured.Unstructured{}
		is.SetGroupVersionKind(schema.FromAPIVersionAndKind(hook.GetAPIVersion(), hook.GetKind()))
		if err := p.kube.Get(ctx, client.ObjectKeyFromObject(hook), is); err != nil {
			return err.Error()
		}
		if hooks, _, err := unstructured.NestedSlice(is.Object, "webhooks"); err != nil || !strings.Contains(fmt.Sprint(hooks), "caBundle") {
			return fmt.Sprintf("it names no authority: %v", err)
		}
		return ""
	})
	if err := p.kube.Delete(ctx, hook); err != nil {
		t.Fatal(err)
	}

	// The server reports a broken object in its status and with an event.
	broken := object(t, `
apiVersion: vitrine.dev/v1alpha1
kind: ContentFilter
metadata: {name: broken, namespace: shop}
spec: {query: 'approval_status:app AND ('}
`)
	p.put(t, broken)
	until(t, "the event about the broken filter", func() string {
		list, err := p.typed.EventsV1().Events("shop").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		for _, e := range list.Items {
			if e.Regarding.Name == "broken" {
				return ""
			}
		}
		return fmt.Sprintf("none among %d", len(list.Items))
	})
	stop()
	compare(t, granted(t, objects, "vitrine", "vitrine-webhook"), p.calls(t), byTiming)
}

// TestNamespacedPermissions checks that config/namespaced is sufficient for its own namespace, and grants nothing in other namespaces.
func TestNamespacedPermissions(t *testing.T) {
	p := newPlane(t)
	p.apply(t, "namespaced")
	stop := p.serve(t, "--watch-namespaces="+system)
	for _, text := range []string{
		"{apiVersion: vitrine.dev/v1alpha1, kind: Property, metadata: {name: default, namespace: vitrine-system}, spec: {displayName: Shop}}",
		"{apiVersion: vitrine.dev/v1alpha1, kind: AccessToken, metadata: {name: display, namespace: vitrine-system}, spec: {class: ReadOnly}}",
		"{apiVersion: vitrine.dev/v1alpha1, kind: Tag, metadata: {name: summer, namespace: vitrine-system}, spec: {namespace: marketer_tags, key: summer, items: [1]}}",
	} {
		o := object(t, text)
		p.put(t, o)
		p.ready(t, o)
	}
	if err := p.kube.Delete(t.Context(), object(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tags.vitrine.dev}}")); err != nil {
		t.Fatal(err)
	}
	until(t, "the event about the held removal", func() string {
		list, err := p.typed.EventsV1().Events(system).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		for _, e := range list.Items {
			if e.Reason == "SweepHeld" {
				return ""
			}
		}
		return fmt.Sprintf("none among %d", len(list.Items))
	})
	stop()
	for _, c := range p.calls(t) {
		switch {
		case c.Forbidden():
			t.Errorf("forbidden: %s %s in %q", c.Grant, c.Name, c.Namespace)
		case c.Namespace != system && c.Name != "kube-system" && c.Grant != "get customresourcedefinitions.apiextensions.k8s.io":
			t.Errorf("the server sent a request outside of its namespace: %s %s in %q", c.Grant, c.Name, c.Namespace)
		}
	}
}

// TestReplicaPermissions checks that the role of config/opensearch grants exactly the permissions that a replica needs in its own namespace
// while it watches only other namespaces.
func TestReplicaPermissions(t *testing.T) {
	flags := []string{
		"--library=opensearch", "--opensearch-url=" + strings.Join(nodetest.URLs(t), ","), "--opensearch-index-prefix=" + nodetest.Prefix(t),
		"--lease-namespace=" + system, "--watch-namespaces=default",
	}
	p := newPlane(t)
	ctx := t.Context()
	for _, o := range p.apply(t, "namespaced") {
		if o.GetKind() == "RoleBinding" {
			if err := p.kube.Delete(ctx, o); err != nil {
				t.Fatal(err)
			}
			o.SetNamespace("default")
			p.put(t, o)
		}
	}
	p.applyFile(t, "webhook/rbac.yaml")
	grants := granted(t, p.applyFile(t, "opensearch/role.yaml"), "vitrine-replicas")

	// holds waits until a replica runs the controllers and the Secret contains a certificate authority under the key member.
	holds := func(member, displayName string) {
		property := object(t, "{apiVersion: vitrine.dev/v1alpha1, kind: Property, metadata: {name: shop, namespace: default}, spec: {displayName: "+displayName+"}}")
		p.put(t, property)
		p.ready(t, property)
		until(t, "the Secret of the authorities", func() string {
			s, err := p.typed.CoreV1().Secrets(system).Get(ctx, "vitrine-authority", metav1.GetOptions{})
			if err != nil {
				return err.Error()
			}
			if len(s.Data[member]) == 0 {
				return "it has no " + member
			}
			return ""
		})
	}
	// The first replica creates the Lease and the Secret, and the second replica updates both.
	stop := p.serve(t, flags...)
	holds("tls.pem", "First")
	stop()
	stop = p.serve(t, append(flags, "--webhook-bind-address=127.0.0.1:0", "--webhook-hosts=vitrine-webhook.vitrine-system.svc")...)
	holds("webhook.pem", "Second")
	stop()
	calls := slices.DeleteFunc(p.calls(t), func(c permissions.Call) bool { return c.Namespace != system && !c.Forbidden() })
	compare(t, grants, calls, nil)
}
