package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodePort is one that clusters seldom give away.
const nodePort = 32443

// helm walks an install with the chart.
func (w *world) helm() []step {
	return []step{
		{"nothing of an earlier walk is there", w.vacant},
		{"the chart is installed", w.helmInstall},
		{"the samples become Ready", w.applySamples},
		{"a client pod imports items", w.importItems("import")},
		{"an upgrade opens a NodePort, and keeps what was posted", w.helmUpgrade},
		{"a client pod reads the items over the NodePort", w.overNodePort},
		{"the webhook, which that turned on, refuses what cannot be served, with the place of the mistake", w.judged},
		{"an upgrade confines the server to one namespace", w.helmConfine},
		{"what is declared elsewhere is left alone, and its Secrets cannot be read", w.confined},
		{"uninstalled, it leaves the CRDs, what is declared, and the volume", w.helmUninstall},
		{"installed again, it serves what it served, under the same addresses", w.helmAgain},
		{"a namespace with declared objects goes at once while the operator runs", w.removeShop},
		{"without the operator the CRDs, the volume and the namespace go at once", w.helmRemove},
	}
}

// values of the walk's releases.
func (w *world) values(more map[string]any) map[string]any {
	values := map[string]any{"image": map[string]any{"repository": w.image.Repository, "tag": w.image.Tag, "digest": w.image.Digest}}
	for key, v := range more {
		values[key] = v
	}
	return values
}

// actions connects Helm to the cluster.
func (w *world) actions() (*action.Configuration, error) {
	settings := cli.New()
	settings.SetNamespace(system)
	c := &action.Configuration{}
	if err := c.Init(settings.RESTClientGetter(), system, "secret", func(string, ...any) {}); err != nil {
		return nil, fmt.Errorf("connect Helm: %w", err)
	}
	return c, nil
}

func (w *world) helmInstall(ctx context.Context) error {
	if err := w.namespace(ctx, system); err != nil {
		return err
	}
	c, err := w.actions()
	if err != nil {
		return err
	}
	chart, err := loader.Load(filepath.Join(w.config, "chart"))
	if err != nil {
		return err
	}
	install := action.NewInstall(c)
	install.ReleaseName, install.Namespace, install.Wait, install.Timeout = "vitrine", system, true, patience
	if _, err := install.RunWithContext(ctx, chart, w.values(nil)); err != nil {
		return fmt.Errorf("helm install: %w", err)
	}
	_, err = w.rolledOut(ctx)
	return err
}

func (w *world) upgrade(ctx context.Context, values map[string]any) error {
	c, err := w.actions()
	if err != nil {
		return err
	}
	chart, err := loader.Load(filepath.Join(w.config, "chart"))
	if err != nil {
		return err
	}
	upgrade := action.NewUpgrade(c)
	upgrade.Namespace, upgrade.Wait, upgrade.Timeout = system, true, patience
	if _, err := upgrade.RunWithContext(ctx, "vitrine", chart, w.values(values)); err != nil {
		return fmt.Errorf("helm upgrade: %w", err)
	}
	_, err = w.rolledOut(ctx)
	return err
}

// exposed are the values of the upgrades: a NodePort, a certificate for the node's address, and the webhook.
func (w *world) exposed(ctx context.Context) (map[string]any, error) {
	at, err := w.nodeAddress(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"service": map[string]any{"type": "NodePort", "nodePort": nodePort},
		// The address in status and Secrets stays that of the Service.
		"server":  map[string]any{"tlsHosts": []any{at}, "logLevel": "debug"},
		"webhook": map[string]any{"enabled": true},
	}, nil
}

func (w *world) nodeAddress(ctx context.Context) (string, error) {
	nodes, err := w.typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, n := range nodes.Items {
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return a.Address, nil
			}
		}
	}
	return "", errors.New("no node has an internal address")
}

func (w *world) helmUpgrade(ctx context.Context) error {
	before, err := w.pod(ctx)
	if err != nil {
		return err
	}
	values, err := w.exposed(ctx)
	if err != nil {
		return err
	}
	if err := w.upgrade(ctx, values); err != nil {
		return err
	}
	return w.replaced(ctx, before)
}

func (w *world) overNodePort(ctx context.Context) error {
	at, err := w.nodeAddress(ctx)
	if err != nil {
		return err
	}
	return w.exportItems("export-node-port", fmt.Sprintf("https://%s:%d", at, nodePort))(ctx)
}

// judged holds that the API server asks the operator, and takes what can be served. The API server goes on without an
// answer, so that the first tries may go through.
func (w *world) judged(ctx context.Context) error {
	query := func(text string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group, "kind": "ContentFilter",
			"metadata": map[string]any{"name": "judged", "namespace": shop},
			"spec":     map[string]any{"query": text},
		}}
	}
	try := func(o *unstructured.Unstructured) error {
		return w.kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), owner, client.DryRunAll)
	}
	err := eventually(ctx, prompt, func() error {
		err := try(query("approval_status:app AND (beach OR"))
		if err == nil || !strings.Contains(err.Error(), "validate.vitrine.dev") || !strings.Contains(err.Error(), "position") {
			return fmt.Errorf("a query that is cut off: %w", cmp.Or(err, errors.New("it went through")))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return try(query("approval_status:app AND (beach OR sunset)"))
}

func (w *world) helmConfine(ctx context.Context) error {
	if err := w.namespace(ctx, other); err != nil {
		return err
	}
	values, err := w.exposed(ctx)
	if err != nil {
		return err
	}
	values["watchNamespaces"] = []any{shop}
	if err := w.upgrade(ctx, values); err != nil {
		return err
	}
	return w.readFilter(ctx)
}

func (w *world) confined(ctx context.Context) error {
	if err := w.apply(ctx, property(other), property(shop)); err != nil {
		return err
	}
	// When the one that was declared later is Ready, the first has been seen, or never will be.
	if err := w.ready(ctx, property(shop)); err != nil {
		return err
	}
	o, err := w.object(ctx, group, "Property", other, "confined")
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return fmt.Errorf("read the status of the Property elsewhere: %w", err)
	}
	if len(conditions) > 0 {
		return fmt.Errorf("the Property elsewhere was judged: %v", conditions)
	}
	user, groups := account()
	err = w.grants(ctx, user, groups, []grant{
		{"list", "", "secrets", shop, "", true},
		{"list", "vitrine.dev", "contentfilters", shop, "", true},
		{"get", "", "namespaces", "kube-system", "kube-system", true},
		{"get", "apiextensions.k8s.io", "customresourcedefinitions", "", "tags.vitrine.dev", true},
		{"list", "", "secrets", other, "", false},
		{"list", "", "secrets", "", "", false},
		{"get", "", "secrets", "kube-system", "", false},
		{"list", "vitrine.dev", "contentfilters", "", "", false},
	})
	if err != nil {
		return err
	}
	return w.remove(ctx, "v1", "Namespace", other)
}

// property is one more than the samples have.
func property(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group, "kind": "Property",
		"metadata": map[string]any{"name": "confined", "namespace": namespace},
		"spec":     map[string]any{"displayName": "Confined"},
	}}
}

func (w *world) uninstall() error {
	c, err := w.actions()
	if err != nil {
		return err
	}
	uninstall := action.NewUninstall(c)
	uninstall.Wait, uninstall.Timeout = true, patience
	if _, err := uninstall.Run("vitrine"); err != nil {
		return fmt.Errorf("helm uninstall: %w", err)
	}
	return nil
}

func (w *world) helmUninstall(ctx context.Context) error {
	if err := w.uninstall(); err != nil {
		return err
	}
	for _, name := range crds() {
		if _, err := w.object(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name); err != nil {
			return fmt.Errorf("a CRD went with the release: %w", err)
		}
	}
	if _, err := w.object(ctx, group, "ContentFilter", shop, filter); err != nil {
		return fmt.Errorf("what was declared went with the release: %w", err)
	}
	if _, err := w.object(ctx, "v1", "PersistentVolumeClaim", system, "vitrine"); err != nil {
		return fmt.Errorf("the volume went with the release: %w", err)
	}
	return w.absent(ctx, "apps/v1", "Deployment", system, "vitrine")
}

func (w *world) helmAgain(ctx context.Context) error {
	before, err := w.filterPath(ctx)
	if err != nil {
		return err
	}
	if err := w.helmInstall(ctx); err != nil {
		return err
	}
	if err := w.readFilter(ctx); err != nil {
		return err
	}
	after, err := w.filterPath(ctx)
	if err == nil && after != before {
		err = fmt.Errorf("the filter was at %s and is at %s", before, after)
	}
	return err
}

func (w *world) removeShop(ctx context.Context) error {
	return w.remove(ctx, "v1", "Namespace", shop)
}

func (w *world) helmRemove(ctx context.Context) error {
	if err := w.uninstall(); err != nil {
		return err
	}
	if err := w.removeCRDs(ctx); err != nil {
		return err
	}
	return w.remove(ctx, "v1", "Namespace", system)
}
