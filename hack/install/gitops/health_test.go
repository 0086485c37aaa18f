package gitops_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/hack/install/render"
)

// newCluster starts an API server with the CRDs and the namespace shop. It returns a client and a kubeconfig.
func newCluster(t *testing.T) (kube client.Client, kubeconfig string) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal(`KUBEBUILDER_ASSETS is not set: run make test, or KUBEBUILDER_ASSETS="$(make -s assets)" go -C hack/install test ./...`)
	}
	ctrllog.SetLogger(logr.Discard())
	env := &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join(root, "config/crd/bases")}, ErrorIfCRDPathMissing: true}
	access, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	if kube, err = client.New(access, client.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return kube, kubeconfig
}

// serve builds the server and runs it until the test ends.
func serve(t *testing.T, kubeconfig string) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "vitrine")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/vitrine")
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, text)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, "serve", "--kubeconfig="+kubeconfig, "--data-dir="+filepath.Join(dir, "data"),
		"--https-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("the server ended with %v, and printed:\n%s", err, said.String())
		}
	})
}

// put applies a manifest server-side with strict validation, as Flux and Argo CD do.
func put(t *testing.T, kube client.Client, text string, options ...client.ApplyOption) *unstructured.Unstructured {
	t.Helper()
	objects, err := render.Objects([]byte(text))
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects: %v", len(objects), err)
	}
	options = append(options, client.FieldOwner("test"), client.ForceOwnership)
	if err := client.WithFieldValidation(kube, metav1.FieldValidationStrict).Apply(
		t.Context(), client.ApplyConfigurationFromUnstructured(objects[0].DeepCopy()), options...,
	); err != nil {
		t.Fatalf("apply %s %s: %v", objects[0].GetKind(), objects[0].GetName(), err)
	}
	return objects[0]
}

// manifest returns an object of a Vitrine kind in the namespace shop.
func manifest(kind, name, spec string) string {
	return fmt.Sprintf("{apiVersion: vitrine.dev/v1alpha1, kind: %s, metadata: {name: %s, namespace: shop}, spec: {%s}}", kind, name, spec)
}

// TestHealth creates objects and runs a server, so that the objects are in all possible states. For each object, it checks the result of
// the page's script for Argo CD and the result of kstatus.
func TestHealth(t *testing.T) {
	script := healthScript(t)
	kube, kubeconfig := newCluster(t)
	// is returns the health of an object: the result of kstatus, followed by the result of the script.
	is := func(o *unstructured.Unstructured) (string, error) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(o.GroupVersionKind())
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(o), u); err != nil {
			return "", err
		}
		result, err := kstatus.Compute(u)
		if err != nil {
			return "", err
		}
		status, message, err := judge(script, u)
		if message == "" {
			return "", fmt.Errorf("%s without a message", status)
		}
		return fmt.Sprintf("%s %s", result.Status, status), err
	}

	unseen := put(t, kube, manifest("ContentFilter", "unseen", "query: love"))
	if got, err := is(unseen); err != nil || got != "InProgress Progressing" {
		t.Errorf("without an operator: %s, %v", got, err)
	}
	put(t, kube, manifest("Property", "default", "displayName: Shop"))
	put(t, kube, manifest("Tag", "holder", "namespace: marketer_tags, key: summer, items: [1]"))
	serve(t, kubeconfig)
	become(t, is, unseen, "Current Healthy")

	states := map[string]struct {
		manifests []string // the test applies each manifest after the operator has observed the previous one
		want      string
	}{
		"a property":                    {[]string{manifest("Property", "outlet", "displayName: Outlet")}, "Current Healthy"},
		"a token":                       {[]string{manifest("AccessToken", "t", "class: ReadOnly")}, "Current Healthy"},
		"a unit":                        {[]string{manifest("ActivateUnit", "u", `name: U, imageURL: "https://a.example/u.png", clickThroughURL: "https://a.example"`)}, "Current Healthy"},
		"advice":                        {[]string{manifest("ContentFilter", "advice", "query: 'a AND b OR c'")}, "Current Healthy"},
		"a broken query":                {[]string{manifest("ContentFilter", "broken", "query: 'a AND ('")}, "Failed Degraded"},
		"a claim that is held":          {[]string{manifest("Tag", "later", "namespace: marketer_tags, key: summer, items: [2]")}, "Failed Degraded"},
		"a property that is not there":  {[]string{manifest("ContentFilter", "orphan", "query: love, propertyRef: {name: nowhere}")}, "InProgress Progressing"},
		"a Secret that is not there":    {[]string{manifest("AccessToken", "sealed", "class: ReadOnly, existingSecret: {name: absent, key: token}")}, "InProgress Progressing"},
		"suspended while it was served": {[]string{manifest("ContentFilter", "frozen", "query: love"), manifest("ContentFilter", "frozen", "query: love, suspend: true")}, "Current Suspended"},
		"suspended while it was broken": {[]string{manifest("ContentFilter", "both", "query: 'a AND ('"), manifest("ContentFilter", "both", "query: 'a AND (', suspend: true")}, "Failed Degraded"},
		"suspended from the first on":   {[]string{manifest("ContentFilter", "never", "query: love, suspend: true")}, "InProgress Suspended"},
		"mended":                        {[]string{manifest("ContentFilter", "mended", "query: 'a AND ('"), manifest("ContentFilter", "mended", "query: a")}, "Current Healthy"},
	}
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			for _, text := range state.manifests {
				o := put(t, kube, text)
				if text != state.manifests[len(state.manifests)-1] {
					become(t, observed(t, kube), o, "observed")
					continue
				}
				become(t, is, o, state.want)
			}
		})
	}
}

// observed returns a function that reports whether the operator has observed the newest generation of an object.
func observed(t *testing.T, kube client.Client) func(o *unstructured.Unstructured) (string, error) {
	return func(o *unstructured.Unstructured) (string, error) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(o.GroupVersionKind())
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(o), u); err != nil {
			return "", err
		}
		if n, _, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); err != nil || n != u.GetGeneration() {
			return "not yet", err
		}
		return "observed", nil
	}
}

// become waits until the function is returns want for an object.
func become(t *testing.T, is func(*unstructured.Unstructured) (string, error), o *unstructured.Unstructured, want string) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		got, err := is(o)
		if err == nil && got == want {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("%s %s: %s (%v), want %s", o.GetKind(), o.GetName(), got, err, want)
		case <-tick.C:
		}
	}
}

// TestManifests validates the manifests of the page with a real API server, except for kinds of other products.
func TestManifests(t *testing.T) {
	kube, _ := newCluster(t)
	for _, name := range []string{"flux-system", "argocd"} {
		if err := kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	judged := map[string]int{}
	for _, d := range documents(t) {
		h := headerOf(t, d)
		group, _, _ := strings.Cut(h.APIVersion, "/")
		switch {
		case h.APIVersion == "", strings.HasSuffix(group, ".fluxcd.io"), group == "argoproj.io", group == "external-secrets.io", group == "kustomize.config.k8s.io":
			continue // the API server does not know kinds of other products
		}
		put(t, kube, d, client.DryRunAll)
		judged[group]++
	}
	if judged["vitrine.dev"] < 2 || judged["rbac.authorization.k8s.io"] == 0 {
		t.Errorf("judged: %v", judged)
	}
}

// healthScript returns the script for Vitrine's kinds in the ConfigMap of the page.
func healthScript(t *testing.T) string {
	t.Helper()
	var configuration corev1.ConfigMap
	find(t, "ConfigMap", "argocd-cm", &configuration)
	var customizations map[string]struct {
		Health string `json:"health.lua"`
	}
	if err := yaml.UnmarshalStrict([]byte(configuration.Data["resource.customizations"]), &customizations); err != nil {
		t.Fatal(err)
	}
	script := customizations["vitrine.dev/*"].Health
	if script == "" {
		t.Fatalf("no script for vitrine.dev/* in %v", customizations)
	}
	return script
}

// judge runs the script on an object. As in Argo CD, the script can use only the Lua libraries base and table.
func judge(script string, u *unstructured.Unstructured) (status, message string, err error) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return "", "", err
		}
	}
	l.SetGlobal("obj", value(l, u.Object))
	if err := l.DoString(script); err != nil {
		return "", "", err
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("the script returned %s", l.Get(-1).Type())
	}
	return lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message")), nil
}

// value converts a JSON value to Lua.
func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		list := l.NewTable()
		for _, e := range v {
			list.Append(value(l, e))
		}
		return list
	case map[string]any:
		table := l.NewTable()
		for key, e := range v {
			table.RawSetString(key, value(l, e))
		}
		return table
	}
	return lua.LNil
}
